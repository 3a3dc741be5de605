// RUN: moe-opt %s --convert-sm90-to-nvvm --canonicalize --cse | FileCheck %s

gpu.module @kernels {
  // CHECK-LABEL: llvm.func @ring(
  // CHECK-SAME: %[[MAP:.*]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}
  // CHECK-SAME: nvvm.kernel
  // CHECK-SAME: nvvm.maxntid = array<i32: 384>
  // CHECK-SAME: sm90.launch = #sm90.launch<threads = 384, shared = 8224, per_sm = 1>
  sm90.kernel @ring <threads = 384, per_sm = 1>
      params [#sm90.tensor_map<0, bf16, dims = [<of = size, dim = 1>, <of = size>], strides = [<of = stride>], box = [64, 32]>] {
  ^bb0(%map: !sm90.tensor_map):
    // The next kernel may come; the last one must have ended.
    // CHECK: nvvm.griddepcontrol launch_dependents
    // CHECK-NEXT: nvvm.griddepcontrol wait
    // The full barrier of a stage, then its empty one, behind the stages.
    // CHECK-COUNT-4: nvvm.mbarrier.init
    // CHECK: nvvm.fence.mbarrier.init
    // CHECK: nvvm.barrier0
    %ring = sm90.ring arrivals 1 releases 8 : !sm90.ring<2 x 4096>
    %start = sm90.start
    %zero = arith.constant 0 : i32
    // The producer waits for the phase before.
    // CHECK: nvvm.mbarrier.try_wait.parity %{{.*}}, %[[ONE:.*]], %{{.*}} : !llvm.ptr<3>, i32, i32
    // CHECK: nvvm.mbarrier.arrive.expect_tx %[[FULL:.*]], %{{.*}} : !llvm.ptr<3>, i32
    // CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %[[MAP]], %[[FULL]], box[%{{.*}}, %{{.*}}] {isCTAOnly = true}
    sm90.acquire %ring[%start] expect 4096 : !sm90.ring<2 x 4096>
    sm90.tma_load %map[%zero, %zero] to %ring[%start] + %zero bytes 4096 : !sm90.ring<2 x 4096>
    // CHECK: nvvm.mbarrier.try_wait.parity
    // CHECK: nvvm.inline_ptx "mbarrier.arrive.shared::cta.b64 _, [$0];" ro({{.*}}), predicate =
    sm90.wait %ring[%start] : !sm90.ring<2 x 4096>
    sm90.release %ring[%start] : !sm90.ring<2 x 4096>
    // CHECK: llvm.return
  }
  // CHECK: llvm.mlir.global external @shared_ring() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>

  // In a cluster a release arrives in both blocks, and no block ends before the other.
  // CHECK-LABEL: llvm.func @cluster(
  // CHECK-SAME: nvvm.cluster_dim = array<i32: 2, 1, 1>
  // CHECK: nvvm.cluster.wait {aligned}
  // CHECK: nvvm.mapa
  // CHECK: nvvm.inline_ptx "mbarrier.arrive.shared::cluster.b64 _, [$0];"
  // CHECK: nvvm.cluster.arrive {aligned}
  // CHECK: nvvm.cluster.wait {aligned}
  // CHECK-NEXT: llvm.return
  sm90.kernel @cluster <threads = 384, cluster = 2, per_sm = 1> params [] {
    %ring = sm90.ring arrivals 1 releases 16 : !sm90.ring<2 x 4096>
    %start = sm90.start
    sm90.release %ring[%start] : !sm90.ring<2 x 4096>
  }

  // Three stages on, from stage 1 of 4 for example, is stage 0 of the next phase.
  // CHECK-LABEL: llvm.func @further(
  // CHECK: %[[SUM:.*]] = arith.addi %{{.*}}, %[[COUNT:.*]] : i32
  // CHECK: %[[WRAPS:.*]] = arith.divui %[[SUM]], %c4_i32
  // CHECK: arith.muli %[[WRAPS]], %c4_i32
  // CHECK: arith.andi %[[WRAPS]], %c1_i32
  // CHECK: nvvm.mbarrier.try_wait.parity
  sm90.kernel @further <threads = 384, per_sm = 1> params [#sm90.size<arg = 0, dim = 0>] {
  ^bb0(%n: i32):
    %ring = sm90.ring arrivals 1 releases 8 : !sm90.ring<4 x 4096>
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %start = sm90.start
    %end = scf.for %i = %zero to %n step %one iter_args(%c = %start) -> (!sm90.cursor) : i32 {
      %next = sm90.advance %ring[%c] by %n : !sm90.ring<4 x 4096>
      scf.yield %next : !sm90.cursor
    }
    sm90.wait %ring[%end] : !sm90.ring<4 x 4096>
  }

  // Turn number / 2 of warpgroup number mod 2: the first of warpgroup 0 does not wait. Passed by four warps to the barrier of the other.
  // CHECK-LABEL: llvm.func @turns(
  // CHECK-SAME: %[[NUMBER:[^:]*]]: i32
  // CHECK-COUNT-2: nvvm.mbarrier.init %{{.*}}, %c4_i32
  // CHECK: %[[MINE:.*]] = arith.andi %[[NUMBER]], %c1_i32
  // CHECK: %[[TURN:.*]] = arith.shrui %[[NUMBER]], %c1_i32
  // CHECK: %[[OTHER:.*]] = arith.xori %[[MINE]], %c1_i32
  // CHECK: %[[SUM:.*]] = arith.xori %[[TURN]], %[[OTHER]]
  // CHECK: %[[PHASE:.*]] = arith.andi %[[SUM]], %c1_i32
  // CHECK: nvvm.mbarrier.try_wait.parity %{{.*}}, %[[PHASE]]
  // CHECK: nvvm.inline_ptx "mbarrier.arrive.shared::cta.b64 _, [$0];"
  sm90.kernel @turns <threads = 384, per_sm = 1> params [#sm90.size<arg = 0, dim = 0>] {
  ^bb0(%number: i32):
    %turns = sm90.turns : !llvm.ptr<3>
    sm90.wait_turn %turns[%number] : !llvm.ptr<3>
    sm90.pass_turn %turns[%number] : !llvm.ptr<3>
  }

  // A number is stored and the stage full; a block takes the tile after those of the first round.
  // CHECK-LABEL: llvm.func @numbers(
  // CHECK-SAME: %[[COUNTER:[^:]*]]: !llvm.ptr<1>
  // CHECK: %[[BEFORE:.*]] = llvm.atomicrmw add %[[COUNTER]], %{{.*}} syncscope("device") monotonic
  // CHECK: %[[BLOCKS:.*]] = nvvm.read.ptx.sreg.nctaid.x
  // CHECK: %[[NUMBER:.*]] = arith.addi %[[BEFORE]], %[[BLOCKS]] : i32
  // CHECK: nvvm.mbarrier.try_wait.parity %[[EMPTY:.*]], %{{.*}}, %{{.*}} : !llvm.ptr<3>, i32, i32
  // CHECK: llvm.store %[[NUMBER]], %{{.*}} : i32, !llvm.ptr<3>
  // CHECK: nvvm.inline_ptx "mbarrier.arrive.shared::cta.b64 _, [$0];"
  // CHECK: nvvm.mbarrier.try_wait.parity
  // CHECK: %[[READ:.*]] = llvm.load volatile %{{.*}} : !llvm.ptr<3> -> i32
  // When the number is there, and by one thread: not the first lane of a warp.
  // CHECK: %[[NONE:.*]] = arith.shrui %[[READ]], %{{.*}} : i32
  // CHECK: %[[AFTER:.*]] = llvm.getelementptr inbounds %[[EMPTY]][%[[NONE]]
  // CHECK: nvvm.inline_ptx "mbarrier.arrive.shared::cta.b64 _, [$0];" ro(%[[AFTER]] : !llvm.ptr<3>)
  // CHECK-NOT: predicate
  // CHECK: llvm.return
  sm90.kernel @numbers <threads = 384, per_sm = 1> params [#sm90.counter, #sm90.pointer<0>] {
  ^bb0(%counter: !llvm.ptr<1>, %to: !llvm.ptr<1>):
    %queue = sm90.ring arrivals 1 releases 1 : !sm90.ring<4 x 16>
    %start = sm90.start
    %number = sm90.take %counter : !llvm.ptr<1>
    sm90.send %number to %queue[%start] : !sm90.ring<4 x 16>
    sm90.wait %queue[%start] : !sm90.ring<4 x 16>
    %received = sm90.receive %queue[%start] : !sm90.ring<4 x 16>
    sm90.release thread %queue[%start] read %received : !sm90.ring<4 x 16>
    llvm.store %received, %to : i32, !llvm.ptr<1>
  }

  // In a cluster each block expects the number, and the first one takes and sends it.
  // CHECK-LABEL: llvm.func @cluster_numbers(
  // CHECK: %[[BEFORE:.*]] = scf.if
  // CHECK:   llvm.atomicrmw add
  // CHECK: arith.addi %[[BEFORE]]
  // CHECK: nvvm.mbarrier.arrive.expect_tx %{{.*}}, %c4_i32
  // CHECK: scf.if
  // CHECK-COUNT-2: nvvm.inline_ptx "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [$0], $1, [$2];"
  // CHECK: }
  // CHECK-COUNT-2: nvvm.inline_ptx "mbarrier.arrive.shared::cluster.b64 _, [$0];"
  sm90.kernel @cluster_numbers <threads = 384, cluster = 2, per_sm = 1> params [#sm90.counter] {
  ^bb0(%counter: !llvm.ptr<1>):
    %queue = sm90.ring arrivals 1 releases 1 : !sm90.ring<4 x 16>
    %start = sm90.start
    %number = sm90.take %counter : !llvm.ptr<1>
    sm90.send %number to %queue[%start] : !sm90.ring<4 x 16>
    sm90.release thread %queue[%start] : !sm90.ring<4 x 16>
  }
}
