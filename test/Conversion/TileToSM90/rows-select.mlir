// RUN: moe-opt %s --convert-tile-to-sm90 --split-input-file | FileCheck %s

// Keys of 32 experts and ids in shared memory, for each of the 16 rows of a block; 8 lanes find the largest key below the last
// one. The values are looked up in the row that was loaded, where it lies in memory.
module {
  module @kernels {
    // CHECK-LABEL: sm90.kernel @top <threads = 128, per_sm = 16>
    // CHECK: sm90.alloc 4096
    // CHECK: sm90.alloc 256
    // CHECK: arith.cmpf uno
    // CHECK: nvvm.bar.warp.sync
    // CHECK: scf.for
    // CHECK:   scf.for
    // CHECK:     arith.maxsi
    // CHECK-COUNT-6: nvvm.shfl.sync bfly
    // CHECK: nvvm.bar.warp.sync
    // CHECK: llvm.load {{.*}} : !llvm.ptr<3> -> i32
    // CHECK: ld.global.nc.b32
    func.func @top(%x: memref<?x32xf32>, %i: memref<?x4xi32>, %v: memref<?x4xf32>) {
      tile.rows ins(%x : memref<?x32xf32>) outs(%i, %v : memref<?x4xi32>, memref<?x4xf32>) {
      ^bb0(%r: index, %xs: memref<?x32xf32>):
        %0 = tile.load %xs[%r] : memref<?x32xf32> -> vector<32xf32>
        %1 = tile.select %0 : vector<32xf32> -> vector<4xi32>
        %2 = tile.lookup %0[%1] : vector<32xf32>, vector<4xi32> -> vector<4xf32>
        tile.yield %1, %2 : vector<4xi32>, vector<4xf32>
      }
      return
    }
  }
}

// -----

// Groups of experts: a thread adds up a group's best, and what is not in the best groups loses its key. A computed row is
// looked up in shared memory.
module {
  module @kernels {
    // CHECK-LABEL: sm90.kernel @limited
    // CHECK-COUNT-4: sm90.alloc
    // CHECK: arith.addf {{.*}} : f32
    // CHECK: arith.divui
    // CHECK: llvm.store {{.*}} : i64, !llvm.ptr<3>
    // CHECK-NOT: ld.global
    func.func @limited(%x: memref<?x32xf32>, %v: memref<?x4xf32>) {
      tile.rows ins(%x : memref<?x32xf32>) outs(%v : memref<?x4xf32>) {
      ^bb0(%r: index, %xs: memref<?x32xf32>):
        %0 = tile.load %xs[%r] : memref<?x32xf32> -> vector<32xf32>
        %n = arith.negf %0 : vector<32xf32>
        %1 = tile.select %n {groups = 4 : i64, keep_groups = 2 : i64, group_top = 2 : i64} : vector<32xf32> -> vector<4xi32>
        %2 = tile.lookup %n[%1] : vector<32xf32>, vector<4xi32> -> vector<4xf32>
        tile.yield %2 : vector<4xf32>
      }
      return
    }
  }
}
