// RUN: moe-opt %s | moe-opt | FileCheck %s
// RUN: moe-opt %s --mlir-print-op-generic | moe-opt | FileCheck %s

gpu.module @kernels {
  // CHECK-LABEL: sm90.kernel @gemm <threads = 384, per_sm = 1>
  // CHECK-SAME: #sm90.tensor_map<0, bf16, dims = [<of = size, dim = 1>, <of = size>], strides = [<of = stride>], box = [64, 128]>
  // CHECK-SAME: #sm90.tensor_map<1, bf16, dims = [<constant = 64>, <constant = 1073741824>], strides = [<constant = 34359738368, of = stride, sign = -1>], box = [64, 16]>
  // CHECK-SAME: fallback @other
  sm90.kernel @gemm <threads = 384, per_sm = 1>
      params [#sm90.tensor_map<0, bf16, dims = [<of = size, dim = 1>, <of = size>], strides = [<of = stride>], box = [64, 128]>,
              #sm90.tensor_map<1, bf16, dims = [<constant = 64>, <constant = 1073741824>], strides = [<constant = 34359738368, of = stride, sign = -1>], box = [64, 16]>,
              #sm90.pointer<2>, #sm90.size<arg = 1, dim = 0>, #sm90.stride<arg = 1, dim = 0>, #sm90.scalar<index = 0>, #sm90.faults, #sm90.counter]
      fallback @other {
  ^bb0(%a: !sm90.tensor_map, %y: !sm90.tensor_map, %bounds: !llvm.ptr<1>, %rows: i32, %pitch: i64, %s: i64, %f: !llvm.ptr<1>, %n: !llvm.ptr<1>):
    // CHECK: %[[WARP:.*]] = sm90.warp
    // CHECK: %[[STAGING:.*]] = sm90.alloc 32768 : !llvm.ptr<3>
    // CHECK: %[[RING:.*]] = sm90.ring arrivals 1 releases 8 : <4 x 16384>
    // CHECK: %[[TURNS:.*]] = sm90.turns : !llvm.ptr<3>
    // CHECK: sm90.specialize %[[WARP]] producer 40 {
    // CHECK:   sm90.elect %[[WARP]] {
    // CHECK:     sm90.for_tiles bounds(%{{.*}} : !llvm.ptr<1>) rows(%{{.*}}) init(%{{.*}} : !sm90.cursor) attributes {columns = 768 : i64,
    // CHECK:       sm90.acquire %[[RING]][%{{.*}}] expect 16384 : <4 x 16384>
    // CHECK:       sm90.tma_load %{{.*}}[%{{.*}}, %{{.*}}] to %[[RING]][%{{.*}}] + %{{.*}} bytes 16384 : <4 x 16384>
    // CHECK:       sm90.advance
    // CHECK: } consumers 232 {
    // CHECK:   sm90.wait %[[RING]][%{{.*}}] : <4 x 16384>
    // CHECK:   sm90.wgmma first bf16 %[[RING]][%{{.*}}] %{{.*}}, %{{.*}}, into %{{.*}} : <4 x 16384>, <k>, <mn>, !sm90.acc<64> -> !sm90.acc<64>
    // CHECK:   sm90.wgmma_wait 0 %{{.*}} : !sm90.acc<64> -> !sm90.acc<64>
    // CHECK:   sm90.release %[[RING]]
    // CHECK:   sm90.wait_turn %[[TURNS]][%{{.*}}] : !llvm.ptr<3>
    // CHECK:   sm90.pass_turn %[[TURNS]][%{{.*}}] : !llvm.ptr<3>
    // CHECK:   sm90.advance %[[RING]][%{{.*}}] by %{{.*}} : <4 x 16384>
    // CHECK:   sm90.epilogue
    // CHECK:   sm90.store_zeros
    // CHECK:   %[[NUMBER:.*]] = sm90.take %{{.*}} : !llvm.ptr<1>
    // CHECK:   sm90.send %[[NUMBER]] to %[[QUEUE:.*]][%{{.*}}] : <4 x 16>
    // CHECK:   sm90.receive %[[QUEUE]][%{{.*}}] : <4 x 16>
    // CHECK:   sm90.release thread %[[QUEUE]][%{{.*}}] read %{{.*}} : <4 x 16>
    // CHECK:   sm90.for_tiles rows(%{{.*}}) queue(%[[QUEUE]] : !sm90.ring<4 x 16>) takes(%{{.*}} : !llvm.ptr<1>) attributes
    %warp = sm90.warp
    %staging = sm90.alloc 32768 : !llvm.ptr<3>
    %ring = sm90.ring arrivals 1 releases 8 : !sm90.ring<4 x 16384>
    %turns = sm90.turns : !llvm.ptr<3>
    %queue = sm90.ring arrivals 1 releases 1 : !sm90.ring<4 x 16>
    %zero = arith.constant 0 : i32
    sm90.specialize %warp producer 40 {
      sm90.elect %warp {
        %start = sm90.start
        %end = sm90.for_tiles bounds(%bounds : !llvm.ptr<1>) rows(%rows) init(%start : !sm90.cursor)
            attributes {groups = 8 : i64, columns = 768 : i64, tile_m = 128 : i64, tile_n = 64 : i64, raster = 16 : i64} {
        ^bb0(%m: i32, %c: i32, %g: i32, %b: i32, %e: i32, %live: i1, %cursor: !sm90.cursor):
          sm90.acquire %ring[%cursor] expect 16384 : !sm90.ring<4 x 16384>
          sm90.tma_load %a[%c, %m] to %ring[%cursor] + %zero bytes 16384 : !sm90.ring<4 x 16384>
          %next = sm90.advance %ring[%cursor] : !sm90.ring<4 x 16384>
          sm90.yield %next : !sm90.cursor
        } -> !sm90.cursor
      }
    } consumers 232 {
      %cursor = sm90.start
      %left = sm90.operand %ring + %zero : !sm90.ring<4 x 16384> -> !sm90.operand<k>
      %right = sm90.operand %ring + %zero : !sm90.ring<4 x 16384> -> !sm90.operand<mn>
      sm90.wait %ring[%cursor] : !sm90.ring<4 x 16384>
      %undef = sm90.undef : !sm90.acc<64>
      %acc = sm90.wgmma first bf16 %ring[%cursor] %left, %right, into %undef : !sm90.ring<4 x 16384>, !sm90.operand<k>, !sm90.operand<mn>, !sm90.acc<64> -> !sm90.acc<64>
      %done = sm90.wgmma_wait 0 %acc : !sm90.acc<64> -> !sm90.acc<64>
      sm90.release %ring[%cursor] : !sm90.ring<4 x 16384>
      sm90.wait_turn %turns[%zero] : !llvm.ptr<3>
      sm90.pass_turn %turns[%zero] : !llvm.ptr<3>
      %later = sm90.advance %ring[%cursor] by %rows : !sm90.ring<4 x 16384>
      sm90.epilogue %done at (%zero, %zero) end %rows group %zero warp %warp staging %staging maps(%y) outs(%bounds pitches %pitch)
          attributes {types = [bf16], extra_types = [], extra_kinds = array<i64>, columns = 768 : i64, parts = 1 : i64, buffers = 2 : i64} {
      ^bb0(%x: f32):
        %t = arith.truncf %x : f32 to bf16
        sm90.yield %t : bf16
      } : !llvm.ptr<3>, !sm90.acc<64> outs !llvm.ptr<1>
      sm90.store_zeros %bounds pitch %pitch at (%zero, %zero) end %rows {element = bf16, columns = 768 : i64, height = 64 : i64, width = 64 : i64} : !llvm.ptr<1>
      %number = sm90.take %n : !llvm.ptr<1>
      sm90.send %number to %queue[%cursor] : !sm90.ring<4 x 16>
      %received = sm90.receive %queue[%cursor] : !sm90.ring<4 x 16>
      sm90.release thread %queue[%cursor] read %received : !sm90.ring<4 x 16>
      sm90.for_tiles rows(%rows) queue(%queue : !sm90.ring<4 x 16>) takes(%n : !llvm.ptr<1>)
          attributes {groups = 8 : i64, columns = 768 : i64, tile_m = 128 : i64, tile_n = 64 : i64, raster = 16 : i64} {
      ^bb0(%m: i32, %c: i32, %g: i32, %b: i32, %e: i32, %live: i1):
      }
    }
  }

  // CHECK-LABEL: sm90.kernel @gather
  // CHECK-SAME: #sm90.pointer<0, align = 16>
  // CHECK: %[[ROWS:.*]] = sm90.gather_rows %{{.*}}[%{{.*}} to %{{.*}}] : !llvm.ptr<1> -> <128>
  // CHECK: sm90.gather_load %{{.*}} pitch %{{.*}} width %{{.*}}[%[[ROWS]]] block %{{.*}} to %{{.*}}[%{{.*}}] + %{{.*}} : !llvm.ptr<1>, <128>, <2 x 16384>
  sm90.kernel @gather <threads = 384, per_sm = 1> params [#sm90.pointer<1>, #sm90.pointer<0, align = 16>, #sm90.size<arg = 0, dim = 1>] {
  ^bb0(%index: !llvm.ptr<1>, %base: !llvm.ptr<1>, %n: i32):
    %ring = sm90.ring arrivals 65 releases 8 : !sm90.ring<2 x 16384>
    %start = sm90.start
    %rows = sm90.gather_rows %index[%n to %n] : !llvm.ptr<1> -> !sm90.rows<128>
    sm90.gather_load %base pitch %n width %n [%rows] block %n to %ring[%start] + %n : !llvm.ptr<1>, !sm90.rows<128>, !sm90.ring<2 x 16384>
  }

  // CHECK-LABEL: sm90.kernel @other <threads = 128, blocks = 1>
  sm90.kernel @other <threads = 128, blocks = 1> params [] {
  }
}

// CHECK: sm90.schedule = #sm90.schedule<roles = pingpong, m = 64, n = 256, stages = 5, buffers = 1>
module attributes {sm90.schedule = #sm90.schedule<roles = pingpong, m = 64, n = 256, stages = 5, buffers = 1>} {}

// CHECK: sm90.schedule = #sm90.schedule<m = 128, n = 256, stages = 4, cluster = 2, order = dynamic>
module attributes {sm90.schedule = #sm90.schedule<m = 128, n = 256, stages = 4, cluster = 2, order = dynamic>} {}
