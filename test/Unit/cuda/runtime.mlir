// Everything the runtime makes of a launch, on a GPU: pointers, sizes, strides, scalars, the fault block, a counter, tensor maps, fallbacks;
// fills and copies between rows with padding. Written to a .moe by moe-write-cuda-program; test/gpu/check_runtime.py runs it.

#rows = strided<[?, 1]>

// add: out = x + y * s, and bad elements (x < 0) are faults; blocks take elements off the counter.
// box: rows of 64 bf16 through a tensor map; copied: the same without one, for pitches that a map cannot have; tells who ran in `who`.
module @kernels {
  func.func private @add(memref<?x?xf32, #rows> {prog.access = "read"}, memref<?x?xf32, #rows> {prog.access = "read"}, memref<?x?xf32, #rows> {prog.access = "write"}, i64)
  func.func private @box(memref<?x64xbf16, #rows> {prog.access = "read"}, memref<?x64xbf16, #rows> {prog.access = "write"}, memref<1xi32> {prog.access = "write"})
  gpu.module @kernels {
    llvm.mlir.global external @smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>

    llvm.func @add(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %out: !llvm.ptr<1>, %rows: i64, %columns: i32, %px: i64, %py: i64, %po: i32, %s: i64,
                   %faults: !llvm.ptr<1>, %counter: !llvm.ptr<1>)
        attributes {nvvm.kernel, nvvm.maxntid = array<i32: 128>,
          sm90.launch = #sm90.launch<threads = 128, per_sm = 2>,
          sm90.params = [#sm90.pointer<0>, #sm90.pointer<1>, #sm90.pointer<2>, #sm90.size<arg = 0, dim = 0, width = 64>,
            #sm90.size<arg = 0, dim = 1, width = 32>, #sm90.stride<arg = 0, dim = 0, width = 64>, #sm90.stride<arg = 1, dim = 0, width = 64>,
            #sm90.stride<arg = 2, dim = 0, width = 32>, #sm90.scalar<index = 0, width = 64>, #sm90.faults, #sm90.counter]} {
      nvvm.griddepcontrol wait
      %one = llvm.mlir.constant(1 : i32) : i32
      %zero = llvm.mlir.constant(0.0 : f32) : f32
      %one64 = llvm.mlir.constant(1 : i64) : i64
      %columns64 = llvm.zext %columns : i32 to i64
      %po64 = llvm.zext %po : i32 to i64
      %n = llvm.mul %rows, %columns64 : i64
      %sf = llvm.sitofp %s : i64 to f32
      llvm.br ^next
    ^next:
      %i32 = llvm.atomicrmw add %counter, %one monotonic : !llvm.ptr<1>, i32
      %i = llvm.zext %i32 : i32 to i64
      %more = llvm.icmp "ult" %i, %n : i64
      llvm.cond_br %more, ^element, ^done
    ^element:
      %r = llvm.udiv %i, %columns64 : i64
      %c = llvm.urem %i, %columns64 : i64
      %rx = llvm.mul %r, %px : i64
      %ix = llvm.add %rx, %c : i64
      %ry = llvm.mul %r, %py : i64
      %iy = llvm.add %ry, %c : i64
      %ro = llvm.mul %r, %po64 : i64
      %io = llvm.add %ro, %c : i64
      %ax = llvm.getelementptr %x[%ix] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
      %ay = llvm.getelementptr %y[%iy] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
      %ao = llvm.getelementptr %out[%io] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
      %vx = llvm.load %ax : !llvm.ptr<1> -> f32
      %vy = llvm.load %ay : !llvm.ptr<1> -> f32
      %m = llvm.fmul %vy, %sf : f32
      %v = llvm.fadd %vx, %m : f32
      llvm.store %v, %ao : f32, !llvm.ptr<1>
      %bad = llvm.fcmp "olt" %vx, %zero : f32
      llvm.cond_br %bad, ^fault, ^next
    ^fault:
      // Record 0 of the fault block counts them.
      %old = llvm.atomicrmw add %faults, %one64 monotonic : !llvm.ptr<1>, i64
      llvm.br ^next
    ^done:
      llvm.return
    }

    // One block of one thread: a box at a time of up to 16 rows into shared memory and out again. The map clips the last.
    llvm.func @box(%from: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant}, %rows: i32,
                   %to: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant}, %who: !llvm.ptr<1>)
        attributes {nvvm.kernel, nvvm.maxntid = array<i32: 32>, sm90.fallback = @copied,
          sm90.launch = #sm90.launch<threads = 32, shared = 3072, blocks = 1>,
          sm90.params = [#sm90.tensor_map<0, bf16, dims = [<constant = 64>, <of = size, dim = 0>], strides = [<of = stride, dim = 0>], box = [64, 16]>,
            #sm90.size<arg = 0, dim = 0, width = 32>,
            #sm90.tensor_map<1, bf16, dims = [<constant = 64>, <of = size, dim = 0>], strides = [<of = stride, dim = 0>], box = [64, 16]>,
            #sm90.pointer<2, align = 32>]} {
      nvvm.griddepcontrol wait
      %c0 = llvm.mlir.constant(0 : i32) : i32
      %c1 = llvm.mlir.constant(1 : i32) : i32
      %c16 = llvm.mlir.constant(16 : i32) : i32
      %bytes = llvm.mlir.constant(2048 : i32) : i32
      %ticks = llvm.mlir.constant(10000000 : i32) : i32
      %smem = llvm.mlir.addressof @smem : !llvm.ptr<3>
      %bar = llvm.getelementptr %smem[2048] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
      %tid = nvvm.read.ptx.sreg.tid.x : i32
      %first = llvm.icmp "eq" %tid, %c0 : i32
      llvm.cond_br %first, ^start, ^done
    ^start:
      llvm.store %c1, %who : i32, !llvm.ptr<1>
      nvvm.mbarrier.init %bar, %c1 : !llvm.ptr<3>, i32
      nvvm.fence.mbarrier.init
      llvm.br ^next(%c0, %c0 : i32, i32)
    ^next(%row: i32, %phase: i32):
      %more = llvm.icmp "ult" %row, %rows : i32
      llvm.cond_br %more, ^copy, ^done
    ^copy:
      nvvm.mbarrier.arrive.expect_tx %bar, %bytes : !llvm.ptr<3>, i32
      nvvm.cp.async.bulk.tensor.shared.cluster.global %smem, %from, %bar, box[%c0, %row] {isCTAOnly = true} : !llvm.ptr<3>, !llvm.ptr
      nvvm.mbarrier.try_wait.parity %bar, %phase, %ticks : !llvm.ptr<3>, i32, i32
      nvvm.cp.async.bulk.tensor.global.shared.cta %to, %smem, box[%c0, %row] : !llvm.ptr, !llvm.ptr<3>
      nvvm.cp.async.bulk.commit.group
      nvvm.cp.async.bulk.wait_group 0
      %after = llvm.add %row, %c16 : i32
      %flipped = llvm.xor %phase, %c1 : i32
      llvm.br ^next(%after, %flipped : i32, i32)
    ^done:
      llvm.return
    }

    llvm.func @copied(%from: !llvm.ptr<1>, %to: !llvm.ptr<1>, %rows: i64, %pf: i64, %pt: i64, %who: !llvm.ptr<1>)
        attributes {nvvm.kernel, nvvm.maxntid = array<i32: 64>, sm90.launch = #sm90.launch<threads = 64, blocks = 1>,
          sm90.params = [#sm90.pointer<0>, #sm90.pointer<1>, #sm90.size<arg = 0, dim = 0, width = 64>, #sm90.stride<arg = 0, dim = 0, width = 64>,
            #sm90.stride<arg = 1, dim = 0, width = 64>, #sm90.pointer<2>]} {
      nvvm.griddepcontrol wait
      %c0 = llvm.mlir.constant(0 : i64) : i64
      %c1 = llvm.mlir.constant(1 : i64) : i64
      %two = llvm.mlir.constant(2 : i32) : i32
      %tid32 = nvvm.read.ptx.sreg.tid.x : i32
      %tid = llvm.zext %tid32 : i32 to i64
      llvm.store %two, %who : i32, !llvm.ptr<1>
      llvm.br ^next(%c0 : i64)
    ^next(%row: i64):
      %more = llvm.icmp "ult" %row, %rows : i64
      llvm.cond_br %more, ^copy, ^done
    ^copy:
      %rf = llvm.mul %row, %pf : i64
      %if = llvm.add %rf, %tid : i64
      %rt = llvm.mul %row, %pt : i64
      %it = llvm.add %rt, %tid : i64
      %af = llvm.getelementptr %from[%if] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, bf16
      %at = llvm.getelementptr %to[%it] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, bf16
      %v = llvm.load %af : !llvm.ptr<1> -> bf16
      llvm.store %v, %at : bf16, !llvm.ptr<1>
      %after = llvm.add %row, %c1 : i64
      llvm.br ^next(%after : i64)
    ^done:
      llvm.return
    }
  }
}

// out = (x + 3 * y) + 3 * constant, through the arena, twice through a counter.
prog.program @sum(%x: memref<?x?xf32, #rows>, %y: memref<?x?xf32, #rows>) attributes {input_names = ["x", "y"], output_names = ["out"]} {
  %m = prog.dim %x, 0 : memref<?x?xf32, #rows>
  %n = prog.dim %x, 1 : memref<?x?xf32, #rows>
  %my = prog.dim %y, 0 : memref<?x?xf32, #rows>
  %ny = prog.dim %y, 1 : memref<?x?xf32, #rows>
  prog.require %my = %m
  prog.require %ny = %n
  %three = arith.constant 3 : i64
  %out = prog.output 0(%m, %n) : memref<?x?xf32, #rows>
  prog.launch @kernels::@add(%x, %y, %out, %three) : memref<?x?xf32, #rows>, memref<?x?xf32, #rows>, memref<?x?xf32, #rows>, i64
  prog.return
}

// Copies rows, with a tensor map where one can be had, and says who did.
prog.program @boxes(%x: memref<?x64xbf16, #rows>) attributes {input_names = ["x"], output_names = ["out", "who"]} {
  %m = prog.dim %x, 0 : memref<?x64xbf16, #rows>
  %out = prog.output 0(%m) : memref<?x64xbf16, #rows>
  %who = prog.output 1() : memref<1xi32>
  prog.launch @kernels::@box(%x, %out, %who) : memref<?x64xbf16, #rows>, memref<?x64xbf16, #rows>, memref<1xi32>
  prog.return
}

// Fills and copies: out = x, filled = 0x55 bytes, constant = a tensor of the file.
prog.program @moves(%x: memref<?x?xf32, #rows>) attributes {input_names = ["x"], output_names = ["out", "filled", "constant"]} {
  %m = prog.dim %x, 0 : memref<?x?xf32, #rows>
  %n = prog.dim %x, 1 : memref<?x?xf32, #rows>
  %out = prog.output 0(%m, %n) : memref<?x?xf32, #rows>
  %filled = prog.output 1(%m, %n) : memref<?x?xf32, #rows>
  %constant = prog.output 2() : memref<2x3xf32, #rows>
  %c = prog.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32> : memref<2x3xf32>
  prog.copy %x, %out : memref<?x?xf32, #rows>, memref<?x?xf32, #rows>
  prog.memset %filled, 85 : memref<?x?xf32, #rows>
  prog.copy %c, %constant : memref<2x3xf32>, memref<2x3xf32, #rows>
  prog.return
}
