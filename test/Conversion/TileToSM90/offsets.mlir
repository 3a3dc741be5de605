// RUN: moe-opt %s --convert-tile-to-sm90 | FileCheck %s

module {
  module @kernels {
    // CHECK-LABEL: sm90.kernel @offsets <threads = 256, blocks = 1> params [#sm90.pointer<0>, #sm90.pointer<1>, #sm90.stride<arg = 0, dim = 0>,
    // CHECK-SAME: #sm90.stride<arg = 1, dim = 0>, #sm90.scalar<index = 0>, #sm90.faults]
    // A warp's 32 groups: sizes before them, then sums over the lanes below.
    // CHECK: scf.for
    // CHECK:   scf.for
    // CHECK:   nvvm.shfl.sync  bfly
    // CHECK:   nvvm.shfl.sync  up
    // CHECK:   scf.if
    // CHECK:     llvm.store {{.*}} : i64, !llvm.ptr<1>
    // CHECK:     llvm.store {{.*}} : i64, !llvm.ptr<1>
    // CHECK: nvvm.barrier #nvvm.reduction<or>
    func.func @offsets(%s: memref<8xi32>, %b: memref<8x2xi64>, %m: index) {
      tile.offsets sizes(%s : memref<8xi32>) rows(%m) outs(%b : memref<8x2xi64>)
      return
    }
  }
}
