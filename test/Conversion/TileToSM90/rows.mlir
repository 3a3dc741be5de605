// RUN: moe-opt %s --convert-tile-to-sm90 --split-input-file | FileCheck %s

// 4096 columns of bf16 are 512 pieces of 16 bytes: four for each of 128 threads, straight-line. The index is read once. All
// buffers are the program's own, so nothing asks for their alignment.
module {
  module @kernels {
    // CHECK-LABEL: sm90.kernel @gather <threads = 128, per_sm = 16>
    // CHECK-NOT: llvm.ptrtoint
    // CHECK: scf.for
    // CHECK: llvm.inline_asm {{.*}}ld.global.nc.b32
    // CHECK-COUNT-4: llvm.inline_asm {{.*}}ld.global.nc.v4.b32
    // CHECK-NOT: ld.global
    func.func @gather(%x: memref<?x4096xbf16>, %t: memref<?xi32>, %y: memref<?x4096xbf16>) {
      tile.rows ins(%x, %t : memref<?x4096xbf16>, memref<?xi32>) outs(%y : memref<?x4096xbf16>) {
      ^bb0(%r: index, %xs: memref<?x4096xbf16>, %ts: memref<?xi32>):
        %0 = tile.load %ts[%r] : memref<?xi32> -> i32
        %1 = arith.index_cast %0 : i32 to index
        %2 = tile.load %xs[%1] : memref<?x4096xbf16> -> vector<4096xbf16>
        tile.yield %2 : vector<4096xbf16>
      }
      return
    }
  }
}

// -----

// A caller's buffers may lie anywhere: one version for 16 bytes at a time and one for elements.
module {
  module @kernels {
    // CHECK-LABEL: sm90.kernel @caller
    // CHECK: llvm.ptrtoint
    // CHECK: llvm.ptrtoint
    // CHECK: %[[ALIGNED:.*]] = arith.cmpi eq
    // CHECK: scf.if %[[ALIGNED]] {
    // CHECK:   ld.global.nc.v4.b32
    // CHECK:   llvm.store {{.*}} {alignment = 16 : i64} : vector<4xf32>
    // CHECK: } else {
    // CHECK-NOT: ld.global.nc.v4
    // CHECK:   llvm.store {{.*}} {alignment = 4 : i64} : f32
    func.func @caller(%x: memref<?x64xf32, strided<[?, 1]>>, %y: memref<?x64xf32, strided<[?, 1]>>) {
      tile.rows ins(%x : memref<?x64xf32, strided<[?, 1]>>) outs(%y : memref<?x64xf32, strided<[?, 1]>>) {
      ^bb0(%r: index, %xs: memref<?x64xf32, strided<[?, 1]>>):
        %0 = tile.load %xs[%r] : memref<?x64xf32, strided<[?, 1]>> -> vector<64xf32>
        %1 = arith.negf %0 : vector<64xf32>
        tile.yield %1 : vector<64xf32>
      }
      return
    }
  }
}

// -----

// 64 columns of f32 have 16 threads. What both sinks need is loaded and computed once; the sum goes over the 16 lanes.
module {
  module @kernels {
    // CHECK-LABEL: sm90.kernel @shares <threads = 128, per_sm = 16>
    // CHECK: ld.global.nc.v4.b32
    // CHECK-COUNT-4: math.sqrt
    // CHECK-COUNT-4: nvvm.shfl.sync bfly
    // CHECK-NOT: math.sqrt
    // CHECK: llvm.store
    func.func @shares(%x: memref<?x64xf32>, %y: memref<?x64xf32>) {
      tile.rows ins(%x : memref<?x64xf32>) outs(%y : memref<?x64xf32>) {
      ^bb0(%r: index, %xs: memref<?x64xf32>):
        %0 = tile.load %xs[%r] : memref<?x64xf32> -> vector<64xf32>
        %1 = math.sqrt %0 : vector<64xf32>
        %2 = vector.reduction <add>, %1 : vector<64xf32> into f32
        %3 = vector.broadcast %2 : f32 to vector<64xf32>
        %4 = arith.divf %1, %3 : vector<64xf32>
        tile.yield %4 : vector<64xf32>
      }
      return
    }
  }
}

// -----

// Groups: the row's is searched for, rows of none are zero and nothing is read for them.
module {
  module @kernels {
    // CHECK-LABEL: sm90.kernel @groups
    // CHECK-COUNT-3: arith.cmpi sle
    // CHECK: %[[LIVE:.*]] = arith.andi
    // CHECK: %[[VALID:.*]] = arith.andi %[[LIVE]],
    // CHECK: llvm.inline_asm {{.*}}ld.global.nc{{.*}} %[[VALID]]
    // CHECK: arith.select %[[LIVE]]
    func.func @groups(%x: memref<?x16xf32>, %b: memref<4x2xi64>, %y: memref<?x16xf32>) {
      tile.rows ins(%x : memref<?x16xf32>) bounds(%b : memref<4x2xi64>) outs(%y : memref<?x16xf32>) {
      ^bb0(%r: index, %g: index, %xs: memref<?x16xf32>):
        %0 = tile.load %xs[%r] : memref<?x16xf32> -> vector<16xf32>
        %1 = arith.negf %0 : vector<16xf32>
        tile.yield %1 : vector<16xf32>
      }
      return
    }
  }
}

// -----

// 100,000 columns are walked by a loop; constants that threads choose lie in a table.
module {
  module @kernels {
    // CHECK: llvm.mlir.global internal constant @wide_table_0
    // CHECK-LABEL: sm90.kernel @wide <threads = 512, per_sm = 4>
    // CHECK: llvm.mlir.addressof @wide_table_0
    // CHECK: scf.for
    // CHECK:   scf.for
    // CHECK:     ld.global.nc.v4.b32
    func.func @wide(%x: memref<?x100000xf32>, %z: memref<?x8xf32>, %y: memref<?x100000xf32>) {
      tile.rows ins(%x : memref<?x100000xf32>) outs(%y, %z : memref<?x100000xf32>, memref<?x8xf32>) {
      ^bb0(%r: index, %xs: memref<?x100000xf32>):
        %c = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : vector<8xf32>
        %0 = tile.load %xs[%r] : memref<?x100000xf32> -> vector<100000xf32>
        %1 = arith.negf %0 : vector<100000xf32>
        tile.yield %1, %c : vector<100000xf32>, vector<8xf32>
      }
      return
    }
  }
}

// -----

// In an order: place i of it, in row i / 2 and column i mod 2, names the row, or -1 none. Narrow rows share a warp, so that nothing branches.
module {
  module @kernels {
    // CHECK-LABEL: sm90.kernel @ordered
    // CHECK-SAME: #sm90.size<arg = 2, dim = 0, width = 64>
    // CHECK: scf.for
    // CHECK: %[[T:.*]] = arith.divui %[[PLACE:.*]], %c2_i64
    // CHECK: %[[J:.*]] = arith.remui %[[PLACE]], %c2_i64
    // CHECK: %[[NAMED:.*]] = arith.extsi %{{.*}} : i32 to i64
    // CHECK: %[[EXISTS:.*]] = arith.cmpi ult, %[[NAMED]], %{{.*}} : i64
    // CHECK: arith.select %[[EXISTS]], %[[NAMED]], %c0_i64
    func.func @ordered(%x: memref<?x8xf32>, %o: memref<?x2xi32>, %y: memref<?x8xf32>) {
      tile.rows ins(%x : memref<?x8xf32>) order(%o : memref<?x2xi32>) outs(%y : memref<?x8xf32>) {
      ^bb0(%r: index, %xs: memref<?x8xf32>):
        %0 = tile.load %xs[%r] : memref<?x8xf32> -> vector<8xf32>
        tile.yield %0 : vector<8xf32>
      }
      return
    }
  }
}

// -----

// The registers of 128 threads hold what ten rows load in four turns. 4096 pieces are walked by a loop, and not by 512 threads,
// which have half as many registers.
module {
  module @kernels {
    // CHECK-LABEL: sm90.kernel @many_rows <threads = 128, per_sm = 16>
    // CHECK-COUNT-40: ld.global.nc.v4.b32
    // CHECK-NOT: ld.global.nc.v4.b32
    func.func @many_rows(%a0: memref<?x4096xbf16>, %a1: memref<?x4096xbf16>, %a2: memref<?x4096xbf16>, %a3: memref<?x4096xbf16>, %a4: memref<?x4096xbf16>, %a5: memref<?x4096xbf16>, %a6: memref<?x4096xbf16>, %a7: memref<?x4096xbf16>, %a8: memref<?x4096xbf16>, %a9: memref<?x4096xbf16>, %y: memref<?x4096xbf16>) {
      tile.rows ins(%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8, %a9 : memref<?x4096xbf16>, memref<?x4096xbf16>, memref<?x4096xbf16>, memref<?x4096xbf16>, memref<?x4096xbf16>, memref<?x4096xbf16>, memref<?x4096xbf16>, memref<?x4096xbf16>, memref<?x4096xbf16>, memref<?x4096xbf16>) outs(%y : memref<?x4096xbf16>) {
      ^bb0(%r: index, %b0: memref<?x4096xbf16>, %b1: memref<?x4096xbf16>, %b2: memref<?x4096xbf16>, %b3: memref<?x4096xbf16>, %b4: memref<?x4096xbf16>, %b5: memref<?x4096xbf16>, %b6: memref<?x4096xbf16>, %b7: memref<?x4096xbf16>, %b8: memref<?x4096xbf16>, %b9: memref<?x4096xbf16>):
        %0 = tile.load %b0[%r] : memref<?x4096xbf16> -> vector<4096xbf16>
        %1 = tile.load %b1[%r] : memref<?x4096xbf16> -> vector<4096xbf16>
        %2 = tile.load %b2[%r] : memref<?x4096xbf16> -> vector<4096xbf16>
        %3 = tile.load %b3[%r] : memref<?x4096xbf16> -> vector<4096xbf16>
        %4 = tile.load %b4[%r] : memref<?x4096xbf16> -> vector<4096xbf16>
        %5 = tile.load %b5[%r] : memref<?x4096xbf16> -> vector<4096xbf16>
        %6 = tile.load %b6[%r] : memref<?x4096xbf16> -> vector<4096xbf16>
        %7 = tile.load %b7[%r] : memref<?x4096xbf16> -> vector<4096xbf16>
        %8 = tile.load %b8[%r] : memref<?x4096xbf16> -> vector<4096xbf16>
        %9 = tile.load %b9[%r] : memref<?x4096xbf16> -> vector<4096xbf16>
        %s1 = arith.maximumf %0, %1 : vector<4096xbf16>
        %s2 = arith.maximumf %s1, %2 : vector<4096xbf16>
        %s3 = arith.maximumf %s2, %3 : vector<4096xbf16>
        %s4 = arith.maximumf %s3, %4 : vector<4096xbf16>
        %s5 = arith.maximumf %s4, %5 : vector<4096xbf16>
        %s6 = arith.maximumf %s5, %6 : vector<4096xbf16>
        %s7 = arith.maximumf %s6, %7 : vector<4096xbf16>
        %s8 = arith.maximumf %s7, %8 : vector<4096xbf16>
        %s9 = arith.maximumf %s8, %9 : vector<4096xbf16>
        tile.yield %s9 : vector<4096xbf16>
      }
      return
    }
    // CHECK-LABEL: sm90.kernel @many_wide_rows <threads = 256, per_sm = 8>
    // CHECK: scf.for
    // CHECK: scf.for
    // CHECK-COUNT-10: ld.global.nc.v4.b32
    // CHECK-NOT: ld.global.nc.v4.b32
    func.func @many_wide_rows(%a0: memref<?x32768xbf16>, %a1: memref<?x32768xbf16>, %a2: memref<?x32768xbf16>, %a3: memref<?x32768xbf16>, %a4: memref<?x32768xbf16>, %a5: memref<?x32768xbf16>, %a6: memref<?x32768xbf16>, %a7: memref<?x32768xbf16>, %a8: memref<?x32768xbf16>, %a9: memref<?x32768xbf16>, %y: memref<?x32768xbf16>) {
      tile.rows ins(%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8, %a9 : memref<?x32768xbf16>, memref<?x32768xbf16>, memref<?x32768xbf16>, memref<?x32768xbf16>, memref<?x32768xbf16>, memref<?x32768xbf16>, memref<?x32768xbf16>, memref<?x32768xbf16>, memref<?x32768xbf16>, memref<?x32768xbf16>) outs(%y : memref<?x32768xbf16>) {
      ^bb0(%r: index, %b0: memref<?x32768xbf16>, %b1: memref<?x32768xbf16>, %b2: memref<?x32768xbf16>, %b3: memref<?x32768xbf16>, %b4: memref<?x32768xbf16>, %b5: memref<?x32768xbf16>, %b6: memref<?x32768xbf16>, %b7: memref<?x32768xbf16>, %b8: memref<?x32768xbf16>, %b9: memref<?x32768xbf16>):
        %0 = tile.load %b0[%r] : memref<?x32768xbf16> -> vector<32768xbf16>
        %1 = tile.load %b1[%r] : memref<?x32768xbf16> -> vector<32768xbf16>
        %2 = tile.load %b2[%r] : memref<?x32768xbf16> -> vector<32768xbf16>
        %3 = tile.load %b3[%r] : memref<?x32768xbf16> -> vector<32768xbf16>
        %4 = tile.load %b4[%r] : memref<?x32768xbf16> -> vector<32768xbf16>
        %5 = tile.load %b5[%r] : memref<?x32768xbf16> -> vector<32768xbf16>
        %6 = tile.load %b6[%r] : memref<?x32768xbf16> -> vector<32768xbf16>
        %7 = tile.load %b7[%r] : memref<?x32768xbf16> -> vector<32768xbf16>
        %8 = tile.load %b8[%r] : memref<?x32768xbf16> -> vector<32768xbf16>
        %9 = tile.load %b9[%r] : memref<?x32768xbf16> -> vector<32768xbf16>
        %s1 = arith.maximumf %0, %1 : vector<32768xbf16>
        %s2 = arith.maximumf %s1, %2 : vector<32768xbf16>
        %s3 = arith.maximumf %s2, %3 : vector<32768xbf16>
        %s4 = arith.maximumf %s3, %4 : vector<32768xbf16>
        %s5 = arith.maximumf %s4, %5 : vector<32768xbf16>
        %s6 = arith.maximumf %s5, %6 : vector<32768xbf16>
        %s7 = arith.maximumf %s6, %7 : vector<32768xbf16>
        %s8 = arith.maximumf %s7, %8 : vector<32768xbf16>
        %s9 = arith.maximumf %s8, %9 : vector<32768xbf16>
        tile.yield %s9 : vector<32768xbf16>
      }
      return
    }
  }
}
