// RUN: moe-opt %s --convert-tile-to-sm90 | FileCheck %s

// Every block counts all slots; an order comes from warps that take turns, never from atomics.
module {
  module @kernels {
    // CHECK-LABEL: sm90.kernel @plan <threads = 1024, per_sm = 1> params
    // Counters, and what is found of dropped slots, in shared memory.
    // CHECK: %[[BEFORE:.*]] = sm90.alloc 32
    // CHECK: %[[AFTER:.*]] = sm90.alloc 32
    // Count: ids four at a time, one counter of two.
    // CHECK-COUNT-4: llvm.inline_asm {{.*}}ld.global.nc.b32
    // CHECK: llvm.atomicrmw add {{.*}} syncscope("block") monotonic
    // CHECK: nvvm.barrier
    // Scan: sums within warps, then of the warps.
    // CHECK-COUNT-5: nvvm.shfl.sync up
    // Place: a bad id is a fault, with a lock around the first record; then the rank in the warp by the lanes of equal id.
    // CHECK: llvm.inline_asm {{.*}}atom.acquire.gpu.global.exch
    // CHECK: nvvm.match.sync any
    // CHECK: scf.for
    // CHECK:   nvvm.bar.warp.sync
    // CHECK:   nvvm.barrier
    func.func @plan(%ids: memref<?x2xi32>, %s: memref<8xi32>, %b: memref<8x2xi64>, %p: memref<?xi32>, %t: memref<?xi32>, %i: memref<?x2xi32>,
                    %d: memref<1xi64>) {
      tile.plan ids(%ids : memref<?x2xi32>)
          outs(%s, %b, %p, %t, %i, %d : memref<8xi32>, memref<8x2xi64>, memref<?xi32>, memref<?xi32>, memref<?x2xi32>, memref<1xi64>)
          {align = 16 : i64}
      return
    }

    // Each group has a block of 3 rows: once all know where the rows of each group end, all threads fill what is left; a
    // slot has a row only within the block of its group.
    // CHECK-LABEL: sm90.kernel @blocks
    // CHECK: nvvm.match.sync any
    // CHECK: %[[NEXT:.*]] = arith.addi %{{.*}}, %c1_i32
    // CHECK: %[[LIMIT:.*]] = arith.muli %[[NEXT]], %c3_i32
    // CHECK: arith.cmpi ult, %{{.*}}, %[[LIMIT]]
    func.func @blocks(%ids: memref<?x2xi32>, %s: memref<8xi32>, %b: memref<8x2xi64>, %p: memref<24xi32>, %t: memref<24xi32>, %i: memref<?x2xi32>,
                      %d: memref<1xi64>) {
      tile.plan ids(%ids : memref<?x2xi32>)
          outs(%s, %b, %p, %t, %i, %d : memref<8xi32>, memref<8x2xi64>, memref<24xi32>, memref<24xi32>, memref<?x2xi32>, memref<1xi64>)
          {equal_blocks}
      return
    }
  }
}
