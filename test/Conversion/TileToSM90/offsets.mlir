// RUN: moe-opt %s --convert-tile-to-sm90 | FileCheck %s

module {
  module @kernels {
    // CHECK-LABEL: sm90.kernel @offsets <threads = 1024, blocks = 1> params [#sm90.pointer<0>, #sm90.pointer<1>, #sm90.stride<arg = 1, dim = 0>,
    // CHECK-SAME: #sm90.scalar<index = 0>, #sm90.faults]
    // CHECK: scf.for
    // CHECK-COUNT-10: nvvm.shfl.sync up
    // CHECK: llvm.store {{.*}} : i64, !llvm.ptr<1>
    // CHECK: llvm.store {{.*}} : i64, !llvm.ptr<1>
    // CHECK: arith.cmpi ult
    // CHECK: llvm.inline_asm {{.*}}atom.acquire.gpu.global.exch
    func.func @offsets(%s: memref<8xi32>, %b: memref<8x2xi64>, %m: index) {
      tile.offsets sizes(%s : memref<8xi32>) rows(%m) outs(%b : memref<8x2xi64>)
      return
    }
  }
}
