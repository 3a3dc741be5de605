// RUN: moe-opt %s --convert-tile-to-sm90 --split-input-file | FileCheck %s

// By bounds: rows of 256 bytes, 16 bytes at a time, with what no rank sends as a third item of work.
module {
  module @kernels {
    // CHECK-LABEL: sm90.kernel @rows <threads = 1024, blocks = 16> params [#sm90.peers, #sm90.pointer<0>, #sm90.pointer<3>,
    // CHECK-SAME: #sm90.pointer<1>, #sm90.pointer<2>, #sm90.size<arg = 0, dim = 0, width = 64>, #sm90.size<arg = 3, dim = 0, width = 64>]
    // CHECK: %globaltimer
    // The post.
    // CHECK: st.relaxed.sys.global.b64
    // A wait: both words at once; every so often the clock, whether this rank has failed, the host.
    // CHECK: scf.while
    // CHECK: ld.acquire.sys.global.v2.b64
    // CHECK: %globaltimer
    // CHECK: scf.condition
    // CHECK-COUNT-4: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
    // CHECK-COUNT-4: llvm.store {{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
    // CHECK: llvm.mlir.zero : vector<4xi32>
    // CHECK: nvvm.barrier
    // CHECK: red.release.sys.global.add.u64
    // CHECK: scf.while
    // CHECK: ld.acquire.sys.global.b64
    // CHECK: nvvm.barrier
    // CHECK: nvvm.griddepcontrol launch_dependents
    func.func @rows(%x: memref<?x64xf32>, %s: memref<2x2xi64>, %r: memref<2x2xi64>, %y: memref<600x64xf32>) {
      prog.all_to_all %x send %s receive %r into %y {axis = "ep", ranks = 2, transport = #prog.transport<peer>} : memref<?x64xf32>, memref<2x2xi64>, memref<2x2xi64>, memref<600x64xf32>
      return
    }
  }
}

// -----

// Equal blocks of rows of 6 bytes: 2 bytes at a time up to an address that 16 divides, and where the two sides never have one.
module {
  module @kernels {
    // CHECK-LABEL: sm90.kernel @odd
    // CHECK-NOT: llvm.mlir.zero
    // CHECK: llvm.ptrtoint
    // CHECK: arith.xori
    // CHECK: llvm.load {{.*}} {alignment = 2 : i64} : !llvm.ptr<1> -> i16
    // CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
    func.func @odd(%x: memref<8x3xbf16>, %y: memref<8x3xbf16>) {
      prog.all_to_all %x into %y {axis = "ep", ranks = 4, transport = #prog.transport<peer>} : memref<8x3xbf16>, memref<8x3xbf16>
      return
    }
  }
}
