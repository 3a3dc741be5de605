// RUN: moe-opt %s --convert-sm90-to-nvvm --canonicalize --cse | FileCheck %s

gpu.module @kernels {
  // One branch, each arm with its budget first.
  // CHECK-LABEL: llvm.func @roles
  // CHECK: %[[WARP:.*]] = nvvm.shfl.sync  idx
  // CHECK: scf.if
  // CHECK-NEXT: nvvm.setmaxregister decrease 40
  // CHECK: nvvm.elect.sync
  // CHECK: } else {
  // CHECK-NEXT: nvvm.setmaxregister increase 232
  sm90.kernel @roles <threads = 384, per_sm = 1> params [#sm90.pointer<0>] {
  ^bb0(%p: !llvm.ptr<1>):
    %warp = sm90.warp
    sm90.specialize %warp producer 40 {
      sm90.elect %warp {
        llvm.store %warp, %p : i32, !llvm.ptr<1>
      }
    } consumers 232 {
      llvm.store %warp, %p : i32, !llvm.ptr<1>
    }
  }

  // A kernel that waits for other ranks lets no other begin behind it.
  // CHECK-LABEL: llvm.func @waits
  // CHECK-NOT: launch_dependents
  // CHECK: nvvm.griddepcontrol wait
  sm90.kernel @waits <threads = 128, blocks = 16> params [#sm90.peers] {
  ^bb0(%p: !llvm.ptr<1>):
  }

  // 8 groups: 17 sections, of which the odd ones are groups. The last section's end is `rows`.
  // CHECK-LABEL: llvm.func @rows(
  // CHECK-SAME: %[[BOUNDS:[^:]*]]: !llvm.ptr<1>, %[[ROWS:[^:]*]]: i32
  // CHECK-DAG: %[[LAST:.*]] = arith.constant 16 : i32
  // CHECK: scf.while
  // CHECK:   scf.while
  // CHECK:     %[[MORE:.*]] = arith.cmpi slt, %{{.*}}, %[[LAST]]
  // CHECK:   } do {
  // CHECK:     %[[END:.*]] = llvm.load %{{.*}} {{.*}}: !llvm.ptr<1> -> i64
  // CHECK:     %[[END32:.*]] = arith.trunci %[[END]] : i64 to i32
  // CHECK:     arith.select %{{.*}}, %[[ROWS]], %[[END32]]
  // CHECK: } do {
  // CHECK:   llvm.store
  sm90.kernel @rows <threads = 128, per_sm = 1> params [#sm90.pointer<0>, #sm90.size<arg = 1, dim = 0>] {
  ^bb0(%bounds: !llvm.ptr<1>, %rows: i32):
    sm90.for_tiles bounds(%bounds : !llvm.ptr<1>) rows(%rows)
        attributes {groups = 8 : i64, columns = 768 : i64, tile_m = 128 : i64, tile_n = 256 : i64, raster = 16 : i64} {
    ^bb0(%m: i32, %n: i32, %g: i32, %b: i32, %e: i32, %live: i1):
      llvm.store %m, %bounds : i32, !llvm.ptr<1>
      llvm.store %live, %bounds : i1, !llvm.ptr<1>
    }
  }

  // In a cluster of 2, sections count pairs of tiles; the blocks of one differ by their rank, in rows or, without a pair, in columns. A
  // band of 16 rows of tiles has 8 of pairs.
  // CHECK-LABEL: llvm.func @pairs(
  // CHECK: %[[FIRST:.*]] = nvvm.read.ptx.sreg.clusterid.x
  // CHECK: %[[CLUSTERS:.*]] = nvvm.read.ptx.sreg.nclusterid.x
  // CHECK: %[[RANK:.*]] = nvvm.read.ptx.sreg.cluster.ctaid.x
  // CHECK: scf.while ({{.*}} = %[[FIRST]],
  // CHECK: arith.addi %{{.*}}, %[[CLUSTERS]]
  // CHECK: arith.divui %{{.*}}, %c24_i32
  // CHECK: arith.addi %{{.*}}, %[[RANK]]
  // CHECK: arith.addi %{{.*}}, %[[RANK]]
  sm90.kernel @pairs <threads = 128, cluster = 2, per_sm = 1> params [#sm90.pointer<0>, #sm90.size<arg = 1, dim = 0>] {
  ^bb0(%bounds: !llvm.ptr<1>, %rows: i32):
    sm90.for_tiles bounds(%bounds : !llvm.ptr<1>) rows(%rows)
        attributes {groups = 8 : i64, columns = 768 : i64, tile_m = 128 : i64, tile_n = 256 : i64, raster = 16 : i64} {
    ^bb0(%m: i32, %n: i32, %g: i32, %b: i32, %e: i32, %live: i1, %pair: i1):
      llvm.store %m, %bounds : i32, !llvm.ptr<1>
      llvm.store %n, %bounds : i32, !llvm.ptr<1>
    }
  }

  // With a queue: the role that takes tiles sends the number that it took a tile ago, then all receive it. The next one is taken before the
  // tile is worked on.
  // CHECK-LABEL: llvm.func @queue(
  // CHECK: %[[FIRST:.*]] = nvvm.read.ptx.sreg.ctaid.x
  // CHECK: scf.while (%[[TILE:.*]] = %[[FIRST]],
  // CHECK:   llvm.store %[[TILE]], %{{.*}} : i32, !llvm.ptr<3>
  // CHECK:   %[[NUMBER:.*]] = llvm.load volatile
  // CHECK:   arith.cmpi ult, %[[NUMBER]]
  // CHECK: } do {
  // CHECK:   %[[TAKEN:.*]] = llvm.atomicrmw add
  // CHECK:   %[[NEXT:.*]] = arith.addi %[[TAKEN]]
  // CHECK:   llvm.store {{.*}} : i32, !llvm.ptr<1>
  // CHECK:   scf.yield %[[NEXT]],
  // CHECK: scf.while
  // CHECK:   llvm.load volatile
  // CHECK-NOT: llvm.atomicrmw
  // CHECK: llvm.return
  sm90.kernel @queue <threads = 384, per_sm = 1> params [#sm90.pointer<0>, #sm90.size<arg = 1, dim = 0>, #sm90.counter] {
  ^bb0(%bounds: !llvm.ptr<1>, %rows: i32, %counter: !llvm.ptr<1>):
    %warp = sm90.warp
    %queue = sm90.ring arrivals 1 releases 9 : !sm90.ring<4 x 16>
    sm90.elect %warp {
      sm90.for_tiles bounds(%bounds : !llvm.ptr<1>) rows(%rows) queue(%queue : !sm90.ring<4 x 16>) takes(%counter : !llvm.ptr<1>)
          attributes {groups = 8 : i64, columns = 768 : i64, tile_m = 128 : i64, tile_n = 256 : i64, raster = 16 : i64} {
      ^bb0(%m: i32, %n: i32, %g: i32, %b: i32, %e: i32, %live: i1):
        llvm.store %m, %bounds : i32, !llvm.ptr<1>
      }
    }
    sm90.for_tiles bounds(%bounds : !llvm.ptr<1>) rows(%rows) queue(%queue : !sm90.ring<4 x 16>)
        attributes {groups = 8 : i64, columns = 768 : i64, tile_m = 128 : i64, tile_n = 256 : i64, raster = 16 : i64} {
    ^bb0(%m: i32, %n: i32, %g: i32, %b: i32, %e: i32, %live: i1):
      llvm.store %m, %bounds : i32, !llvm.ptr<1>
    }
  }
}
