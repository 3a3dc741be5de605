// RUN: moe-opt %s --convert-tile-to-sm90 --canonicalize --cse | FileCheck %s

// Weights [g, N, K] are rows of k in the stage; the product of every group in one kernel, with another for operands that TMA cannot
// address. Rows outside the groups are tiles that are not live.
module {
  module @kernels {
    // CHECK: gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx88">]
    // CHECK-LABEL: sm90.kernel @nk_simple <threads = 256, per_sm = 2>
    // CHECK-LABEL: sm90.kernel @nk <threads = 384, per_sm = 1>
    // CHECK-SAME: #sm90.tensor_map<0, bf16, dims = [<of = size, dim = 1>, <of = size>], strides = [<of = stride>], box = [64, 128]>
    // CHECK-SAME: #sm90.tensor_map<1, bf16, dims = [<of = size, dim = 2>, <of = size, dim = 1>, <of = size>], strides = [<of = stride, dim = 1>, <of = stride>], box = [64, 256, 1]>
    // CHECK-SAME: fallback @nk_simple
    // CHECK: sm90.ring arrivals 1 releases 8 : <4 x 49152>
    // CHECK: producer 40 {
    // CHECK:   sm90.for_tiles bounds({{.*}}) {{.*}}columns = 768 : i64, groups = 8 : i64, raster = 16 : i64, tile_m = 128 : i64, tile_n = 256 : i64
    // CHECK:     sm90.acquire {{.*}} expect 49152
    // CHECK:     sm90.tma_load {{.*}} bytes 16384
    // CHECK:     sm90.tma_load {{.*}} bytes 32768
    // CHECK: } consumers 232 {
    // CHECK:   sm90.operand {{.*}} -> <k>
    // CHECK:   sm90.operand {{.*}} -> <k>
    // CHECK:   sm90.wgmma first bf16 {{.*}} -> !sm90.acc<256>
    // CHECK:   scf.for
    // CHECK:     sm90.wgmma bf16
    // CHECK:     sm90.wgmma_wait 1
    // CHECK:     sm90.release
    // CHECK:   sm90.wgmma_wait 0
    // CHECK:   sm90.epilogue
    // CHECK:     arith.truncf {{.*}} : f32 to bf16
    // CHECK:   sm90.store_zeros
    func.func @nk(%x: memref<?x512xbf16, strided<[?, 1]>>, %w: memref<8x768x512xbf16, strided<[?, ?, 1]>>, %b: memref<8x2xi64>,
                  %y: memref<?x768xbf16, strided<[?, 1]>>) {
      tile.ragged_gemm lhs(%x : memref<?x512xbf16, strided<[?, 1]>>) rhs(%w : memref<8x768x512xbf16, strided<[?, ?, 1]>>) bounds(%b : memref<8x2xi64>)
          outs(%y : memref<?x768xbf16, strided<[?, 1]>>) attributes {layout = #tile.rhs<nk>, sm90.schedule = #sm90.schedule<m = 128, n = 256, stages = 4>} {
      ^bb0(%acc: f32):
        %0 = arith.truncf %acc : f32 to bf16
        tile.yield %0 : bf16
      }
      return
    }

    // Gate and up: half of the tile's columns from each half of the weights, boxes of 64 columns for [g, K, N].
    // CHECK-LABEL: sm90.kernel @gated <
    // CHECK-SAME: box = [64, 64, 1]
    // CHECK: tile_n = 128 : i64
    // CHECK-COUNT-4: sm90.tma_load {{.*}} bytes 8192
    // CHECK: sm90.operand {{.*}} -> <mn>
    // CHECK: sm90.epilogue {{.*}} columns = 384 : i64, {{.*}}parts = 2 : i64
    func.func @gated(%x: memref<?x512xbf16>, %w: memref<8x512x768xbf16>, %b: memref<8x2xi64>, %y: memref<?x384xbf16>) {
      tile.ragged_gemm lhs(%x : memref<?x512xbf16>) rhs(%w : memref<8x512x768xbf16>) bounds(%b : memref<8x2xi64>)
          outs(%y : memref<?x384xbf16>) attributes {accs = #tile.accs<concatenated>, sm90.schedule = #sm90.schedule<m = 128, n = 256, stages = 4>} {
      ^bb0(%gate: f32, %up: f32):
        %0 = arith.mulf %gate, %up : f32
        %1 = arith.truncf %0 : f32 to bf16
        tile.yield %1 : bf16
      }
      return
    }

    // Interleaved accumulators: one piece of neighbouring columns, which the epilogue tells apart.
    // CHECK-LABEL: sm90.kernel @interleaved <
    // CHECK: tile_n = 128 : i64
    // CHECK: %[[COLUMN:.*]] = arith.muli %{{.*}}, %c2_i32 : i32
    // CHECK: sm90.tma_load %{{.*}}[%[[COLUMN]], %{{.*}}, %{{.*}}] {{.*}} bytes 8192
    // CHECK-COUNT-3: sm90.tma_load {{.*}} bytes 8192
    // CHECK: sm90.epilogue {{.*}} columns = 384 : i64, {{.*}}interleaved, parts = 2 : i64
    func.func @interleaved(%x: memref<?x512xbf16>, %w: memref<8x512x768xbf16>, %b: memref<8x2xi64>, %y: memref<?x384xbf16>) {
      tile.ragged_gemm lhs(%x : memref<?x512xbf16>) rhs(%w : memref<8x512x768xbf16>) bounds(%b : memref<8x2xi64>)
          outs(%y : memref<?x384xbf16>) attributes {accs = #tile.accs<interleaved>, sm90.schedule = #sm90.schedule<m = 128, n = 256, stages = 4>} {
      ^bb0(%gate: f32, %up: f32):
        %0 = arith.mulf %gate, %up : f32
        %1 = arith.truncf %0 : f32 to bf16
        tile.yield %1 : bf16
      }
      return
    }

    // Ragged contraction: both sides through a map that ends at the group's end.
    // CHECK-LABEL: sm90.kernel @wgrad <
    // CHECK-SAME: #sm90.tensor_map<0, bf16, dims = [<of = size, dim = 1>, <constant = 1073741824>, <constant = 2147418112>, <constant = 2147418112>], strides = [<of = stride>, <of = stride>, <constant = 34359738368, of = stride, sign = -1>], box = [64, 64, 1, 1]>
    // CHECK: sm90.for_tiles contraction
    // CHECK: sm90.epilogue {{.*}} plane
    func.func @wgrad(%x: memref<?x512xbf16>, %dy: memref<?x768xbf16>, %b: memref<8x2xi64>, %dw: memref<8x512x768xf32>) {
      tile.ragged_gemm lhs(%x : memref<?x512xbf16>) rhs(%dy : memref<?x768xbf16>) bounds(%b : memref<8x2xi64>)
          outs(%dw : memref<8x512x768xf32>) attributes {mode = #tile.mode<contraction>, sm90.schedule = #sm90.schedule<m = 128, n = 256, stages = 4>} {
      ^bb0(%acc: f32):
        tile.yield %acc : f32
      }
      return
    }

    // A sum that is added to f32 is added by TMA, and empty groups add nothing.
    // CHECK-LABEL: sm90.kernel @adds <
    // CHECK: sm90.for_tiles contraction
    // CHECK-NEXT: ^bb0(%{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32, %[[BEGIN:.*]]: i32, %[[END:.*]]: i32, %{{.*}}: i1
    // CHECK: %[[LIVE:.*]] = arith.cmpi slt, %[[BEGIN]], %[[END]]
    // CHECK: arith.select %[[LIVE]], %{{.*}}, %c0_i32
    // CHECK: sm90.epilogue {{.*}} plane, reduce
    // CHECK-NEXT: ^bb0(%[[ACC:[^:]*]]: f32):
    // CHECK-NEXT:   sm90.yield %[[ACC]] : f32
    func.func @adds(%x: memref<?x512xbf16>, %dy: memref<?x768xbf16>, %b: memref<8x2xi64>, %dw: memref<8x512x768xf32>) {
      tile.ragged_gemm lhs(%x : memref<?x512xbf16>) rhs(%dy : memref<?x768xbf16>) bounds(%b : memref<8x2xi64>)
          outs(%dw : memref<8x512x768xf32>) attributes {mode = #tile.mode<contraction>, accumulate, sm90.schedule = #sm90.schedule<m = 128, n = 256, stages = 4>} {
      ^bb0(%acc: f32, %old: f32):
        %0 = arith.addf %old, %acc : f32
        tile.yield %0 : f32
      }
      return
    }

    // Any other use of the old values reads them.
    // CHECK-LABEL: sm90.kernel @averages <
    // CHECK: sm90.epilogue {{.*}}accumulate
    // CHECK-NOT: reduce
    // CHECK: arith.mulf
    func.func @averages(%x: memref<?x512xbf16>, %dy: memref<?x768xbf16>, %b: memref<8x2xi64>, %dw: memref<8x512x768xf32>) {
      tile.ragged_gemm lhs(%x : memref<?x512xbf16>) rhs(%dy : memref<?x768xbf16>) bounds(%b : memref<8x2xi64>)
          outs(%dw : memref<8x512x768xf32>) attributes {mode = #tile.mode<contraction>, accumulate, sm90.schedule = #sm90.schedule<m = 128, n = 256, stages = 4>} {
      ^bb0(%acc: f32, %old: f32):
        %half = arith.constant 0.5 : f32
        %0 = arith.mulf %old, %half : f32
        %1 = arith.addf %0, %acc : f32
        tile.yield %1 : f32
      }
      return
    }

    // Gathered rows: two warps bring them, beside the thread that loads the weights. Their pitch must be one that cp.async can take.
    // CHECK-LABEL: sm90.kernel @gathered <threads = 384
    // CHECK-SAME: #sm90.pointer<0, align = 16>
    // CHECK-SAME: fallback @gathered_simple
    // CHECK: sm90.ring arrivals 65 releases 8 : <4 x 49152>
    // CHECK: sm90.elect
    // CHECK:   sm90.acquire {{.*}} expect 32768
    // CHECK-COUNT-4: sm90.tma_load {{.*}} bytes 8192
    // CHECK: scf.if
    // CHECK:   sm90.for_tiles
    // CHECK-NEXT: ^bb0(%[[ROW:[^:]*]]: i32, %{{.*}}: i32, %{{.*}}: i32, %{{.*}}: i32, %[[END:[^:]*]]: i32
    // CHECK:     %[[ROWS:.*]] = sm90.gather_rows %{{.*}}[%[[ROW]] to %[[END]]] : !llvm.ptr<1> -> <128>
    // CHECK:     scf.for %[[BLOCK:[^ ]*]] =
    // CHECK:       sm90.gather_load %{{.*}} pitch %{{.*}} width %{{.*}}[%[[ROWS]]] block %[[BLOCK]]
    // CHECK: } consumers
    // CHECK:   sm90.wait
    // CHECK-NEXT: nvvm.fence.proxy
    // CHECK-NEXT: sm90.wgmma first bf16
    func.func @gathered(%x: memref<?x500xbf16, strided<[?, 1]>>, %g: memref<?xi32>, %w: memref<8x500x768xbf16, strided<[?, ?, 1]>>, %b: memref<8x2xi64>,
                        %y: memref<?x768xbf16>) {
      tile.ragged_gemm lhs(%x : memref<?x500xbf16, strided<[?, 1]>>) gather(%g : memref<?xi32>) rhs(%w : memref<8x500x768xbf16, strided<[?, ?, 1]>>)
          bounds(%b : memref<8x2xi64>) outs(%y : memref<?x768xbf16>) attributes {sm90.schedule = #sm90.schedule<m = 128, n = 256, stages = 4>} {
      ^bb0(%acc: f32):
        %0 = arith.truncf %acc : f32 to bf16
        tile.yield %0 : bf16
      }
      return
    }

    // In turns and in a dynamic order: a stage is read by one warpgroup, and the warps that gather read the numbers of the tiles too.
    // CHECK-LABEL: sm90.kernel @gathered_in_turns
    // CHECK: sm90.ring arrivals 65 releases 4 : <5 x 40960>
    // CHECK: sm90.ring arrivals 1 releases 11 : <4 x
    // CHECK: sm90.for_tiles
    // CHECK: sm90.for_tiles {{.*}}queue
    // CHECK:     sm90.gather_rows {{.*}} -> <64>
    // CHECK: } consumers
    func.func @gathered_in_turns(%x: memref<?x512xbf16>, %g: memref<?xi32>, %w: memref<8x512x768xbf16>, %b: memref<8x2xi64>, %y: memref<?x768xbf16>) {
      tile.ragged_gemm lhs(%x : memref<?x512xbf16>) gather(%g : memref<?xi32>) rhs(%w : memref<8x512x768xbf16>) bounds(%b : memref<8x2xi64>)
          outs(%y : memref<?x768xbf16>) attributes {sm90.schedule = #sm90.schedule<roles = pingpong, m = 64, n = 256, stages = 5, order = dynamic, buffers = 1>} {
      ^bb0(%acc: f32):
        %0 = arith.truncf %acc : f32 to bf16
        tile.yield %0 : bf16
      }
      return
    }

    // TF32: blocks of 32 of k, rounded on the way into the stage; the result stays f32.
    // CHECK-LABEL: sm90.kernel @tf32 <threads = 384
    // CHECK-SAME: #sm90.tensor_map<0, f32, dims = [<of = size, dim = 1>, <of = size>], strides = [<of = stride>], box = [32, 16]>
    // CHECK-SAME: #sm90.tensor_map<1, tf32, {{.*}}, box = [32, 128]>
    // CHECK-SAME: #sm90.tensor_map<2, tf32, {{.*}}, box = [32, 128, 1]>
    // CHECK: arith.addi %{{.*}}, %c31_i32
    // CHECK: arith.shrui %{{.*}}, %c5_i32
    // CHECK: sm90.wgmma first tf32
    func.func @tf32(%y: memref<?x128xf32>, %x: memref<?x512xf32>, %w: memref<8x128x512xf32>, %b: memref<8x2xi64>) {
      tile.ragged_gemm lhs(%x : memref<?x512xf32>) rhs(%w : memref<8x128x512xf32>) bounds(%b : memref<8x2xi64>)
          outs(%y : memref<?x128xf32>) attributes {layout = #tile.rhs<nk>, precision = #tile.precision<tf32>, sm90.schedule = #sm90.schedule<m = 128, n = 128, stages = 5>} {
      ^bb0(%acc: f32):
        tile.yield %acc : f32
      }
      return
    }

    // Another tile and ring.
    // CHECK-LABEL: sm90.kernel @chosen <
    // CHECK: sm90.ring arrivals 1 releases 8 : <5 x 32768>
    func.func @chosen(%x: memref<?x512xbf16>, %w: memref<8x512x768xbf16>, %b: memref<8x2xi64>, %y: memref<?x768xbf16>) {
      tile.ragged_gemm lhs(%x : memref<?x512xbf16>) rhs(%w : memref<8x512x768xbf16>) bounds(%b : memref<8x2xi64>)
          outs(%y : memref<?x768xbf16>) attributes {sm90.schedule = #sm90.schedule<m = 128, n = 128, stages = 5>} {
      ^bb0(%acc: f32):
        %0 = arith.truncf %acc : f32 to bf16
        tile.yield %0 : bf16
      }
      return
    }

    // A cluster: boxes of half a tile. Tiles that share their columns get half of B from each block, the others half of A.
    // CHECK-LABEL: sm90.kernel @cluster <threads = 384, cluster = 2, per_sm = 1>
    // CHECK-SAME: box = [64, 64]>
    // CHECK-SAME: box = [64, 128, 1]>
    // CHECK: sm90.ring arrivals 1 releases 16 : <4 x 49152>
    // CHECK: ^bb0({{.*}}: i1, %[[PAIR:.*]]: i1, {{.*}}: !sm90.cursor):
    // CHECK: sm90.acquire {{.*}} expect 49152
    // CHECK: %[[RANK:.*]] = nvvm.read.ptx.sreg.cluster.ctaid.x
    // CHECK: scf.if %[[PAIR]] {
    // CHECK-COUNT-2: bytes 8192 : <4 x 49152>
    // CHECK: sm90.tma_load {{.*}} bytes 16384 multicast
    // CHECK: } else {
    // CHECK: sm90.tma_load {{.*}} bytes 8192 multicast
    // CHECK-COUNT-2: bytes 16384 : <4 x 49152>
    func.func @cluster(%x: memref<?x512xbf16>, %w: memref<8x768x512xbf16>, %b: memref<8x2xi64>, %y: memref<?x768xbf16>) {
      tile.ragged_gemm lhs(%x : memref<?x512xbf16>) rhs(%w : memref<8x768x512xbf16>) bounds(%b : memref<8x2xi64>)
          outs(%y : memref<?x768xbf16>) attributes {layout = #tile.rhs<nk>, sm90.schedule = #sm90.schedule<m = 128, n = 256, stages = 4, cluster = 2>} {
      ^bb0(%acc: f32):
        %0 = arith.truncf %acc : f32 to bf16
        tile.yield %0 : bf16
      }
      return
    }

    // The halves of B are gate and up.
    // CHECK-LABEL: sm90.kernel @gated_cluster <
    // CHECK: sm90.tma_load {{.*}} bytes 16384 multicast
    // CHECK: else
    // CHECK-COUNT-2: bytes 16384 : <4 x 49152>
    func.func @gated_cluster(%x: memref<?x512xbf16>, %w: memref<8x768x512xbf16>, %b: memref<8x2xi64>, %y: memref<?x384xbf16>) {
      tile.ragged_gemm lhs(%x : memref<?x512xbf16>) rhs(%w : memref<8x768x512xbf16>) bounds(%b : memref<8x2xi64>)
          outs(%y : memref<?x384xbf16>) attributes {layout = #tile.rhs<nk>, accs = #tile.accs<interleaved>,
          sm90.schedule = #sm90.schedule<m = 128, n = 256, stages = 4, cluster = 2>} {
      ^bb0(%gate: f32, %up: f32):
        %0 = arith.mulf %gate, %up : f32
        %1 = arith.truncf %0 : f32 to bf16
        tile.yield %1 : bf16
      }
      return
    }

    // Boxes of 64 columns on both sides: one of the two of A, two of the four of B.
    // CHECK-LABEL: sm90.kernel @wgrad_cluster <
    // CHECK: scf.if
    // CHECK-COUNT-2: bytes 8192 : <4 x 49152>
    // CHECK-COUNT-2: bytes 8192 multicast
    // CHECK: else
    // CHECK-COUNT-1: bytes 8192 multicast
    // CHECK-COUNT-4: bytes 8192 : <4 x 49152>
    func.func @wgrad_cluster(%x: memref<?x512xbf16>, %dy: memref<?x768xbf16>, %b: memref<8x2xi64>, %dw: memref<8x512x768xf32>) {
      tile.ragged_gemm lhs(%x : memref<?x512xbf16>) rhs(%dy : memref<?x768xbf16>) bounds(%b : memref<8x2xi64>)
          outs(%dw : memref<8x512x768xf32>) attributes {mode = #tile.mode<contraction>, sm90.schedule = #sm90.schedule<m = 128, n = 256, stages = 4, cluster = 2>} {
      ^bb0(%acc: f32):
        tile.yield %acc : f32
      }
      return
    }

    // Pingpong: a warpgroup takes every other tile, all its rows and so both accumulators of 64 rows; the other may wait for its stages when all of
    // these were waited for. A stage is released by the warps of one. Both walk all tiles, past the stages of those that are not theirs.
    // CHECK-LABEL: sm90.kernel @pingpong <threads = 384, per_sm = 1>
    // CHECK: sm90.ring arrivals 1 releases 4 : <6 x 32768>
    // CHECK: %[[TURNS:.*]] = sm90.turns
    // CHECK: consumers 232 {
    // CHECK: %[[WG:.*]] = arith.shrui
    // CHECK: sm90.for_tiles
    // CHECK: ^bb0({{.*}}, %[[CURSOR:[^:]*]]: !sm90.cursor, %[[NUMBER:[^:]*]]: i32):
    // CHECK: %[[PARITY:.*]] = arith.andi %[[NUMBER]]
    // CHECK: %[[MINE:.*]] = arith.cmpi eq, %[[PARITY]], %[[WG]]
    // CHECK: scf.if %[[MINE]] {
    // CHECK:   sm90.wait_turn %[[TURNS]][%[[NUMBER]]]
    // CHECK:   sm90.wgmma first {{.*}} -> !sm90.acc<128>, !sm90.acc<128>
    // CHECK:   scf.for
    // CHECK:   sm90.pass_turn %[[TURNS]][%[[NUMBER]]]
    // CHECK:   sm90.wgmma_wait 0
    // CHECK:   sm90.epilogue
    // CHECK: } else {
    // CHECK:   sm90.pass_turn
    // CHECK:   sm90.store_zeros {{.*}} height = 128 : i64
    // CHECK: sm90.advance {{.*}}[%[[CURSOR]]] by
    func.func @pingpong(%x: memref<?x512xbf16>, %w: memref<8x768x512xbf16>, %b: memref<8x2xi64>, %y: memref<?x768xbf16>) {
      tile.ragged_gemm lhs(%x : memref<?x512xbf16>) rhs(%w : memref<8x768x512xbf16>) bounds(%b : memref<8x2xi64>)
          outs(%y : memref<?x768xbf16>) attributes {layout = #tile.rhs<nk>, sm90.schedule = #sm90.schedule<roles = pingpong, m = 128, n = 128, stages = 6>} {
      ^bb0(%acc: f32):
        %0 = arith.truncf %acc : f32 to bf16
        tile.yield %0 : bf16
      }
      return
    }

    // Dynamic, two accumulators: a short tile is split into halves of each, which lie 128 columns apart in the stage. The rows past a group's end are zeros.
    // CHECK-LABEL: sm90.kernel @dynamic_gated <
    // CHECK-SAME: #sm90.tensor_map<0, bf16, dims = [<of = size, dim = 1>, <constant = 1073741824>, <constant = 2147418112>, <constant = 2147418112>]
    // CHECK-SAME: box = [64, 128, 1, 1]
    // CHECK: arith.minsi
    // CHECK: consumers
    // CHECK: scf.if
    // CHECK: sm90.wgmma first {{.*}} {apart = 16384 : i64} {{.*}} -> !sm90.acc<128>
    // CHECK: sm90.epilogue
    // CHECK: } else {
    // CHECK-NOT: apart
    // CHECK:   sm90.wgmma first {{.*}} -> !sm90.acc<256>
    func.func @dynamic_gated(%x: memref<?x512xbf16>, %w: memref<8x512x768xbf16>, %b: memref<8x2xi64>, %y: memref<?x384xbf16>) {
      tile.ragged_gemm lhs(%x : memref<?x512xbf16>) rhs(%w : memref<8x512x768xbf16>) bounds(%b : memref<8x2xi64>)
          outs(%y : memref<?x384xbf16>) attributes {accs = #tile.accs<concatenated>, sm90.schedule = #sm90.schedule<m = 128, n = 256, stages = 4, order = dynamic>} {
      ^bb0(%gate: f32, %up: f32):
        %0 = arith.mulf %gate, %up : f32
        %1 = arith.truncf %0 : f32 to bf16
        tile.yield %1 : bf16
      }
      return
    }

    // Dynamic: the producer's thread takes tiles from the counter and tells itself and the eight consumer warps, in both blocks of a cluster.
    // A tile of at most 64 rows is split by columns.
    // CHECK-LABEL: sm90.kernel @dynamic <threads = 384, cluster = 2, per_sm = 1>
    // CHECK-SAME: #sm90.counter
    // CHECK: %[[QUEUE:.*]] = sm90.ring arrivals 1 releases 18 : <4 x 16>
    // CHECK: sm90.for_tiles {{.*}} queue(%[[QUEUE]] : !sm90.ring<4 x 16>) takes(%{{.*}} : !llvm.ptr<1>) init
    // CHECK: consumers
    // CHECK: sm90.for_tiles {{.*}} queue(%[[QUEUE]] : !sm90.ring<4 x 16>) init
    // CHECK: %[[LEFT:.*]] = arith.subi
    // CHECK: %[[SHORT:.*]] = arith.cmpi sle, %[[LEFT]], %c64_i32
    // CHECK: scf.if %[[SHORT]] {
    // CHECK:   sm90.wgmma first {{.*}} -> !sm90.acc<128>
    // CHECK:   sm90.epilogue
    // CHECK: } else {
    // CHECK:   sm90.wgmma first {{.*}} -> !sm90.acc<256>
    // CHECK:   sm90.epilogue
    func.func @dynamic(%x: memref<?x512xbf16>, %w: memref<8x512x768xbf16>, %b: memref<8x2xi64>, %y: memref<?x768xbf16>) {
      tile.ragged_gemm lhs(%x : memref<?x512xbf16>) rhs(%w : memref<8x512x768xbf16>) bounds(%b : memref<8x2xi64>)
          outs(%y : memref<?x768xbf16>) attributes {sm90.schedule = #sm90.schedule<m = 128, n = 256, stages = 4, cluster = 2, order = dynamic>} {
      ^bb0(%acc: f32):
        %0 = arith.truncf %acc : f32 to bf16
        tile.yield %0 : bf16
      }
      return
    }

    // Without a schedule: ordinary loads, exact in f32.
    // CHECK-LABEL: sm90.kernel @exact <threads = 256, per_sm = 2>
    // CHECK-NOT: sm90.wgmma
    // CHECK: llvm.intr.fma
    func.func @exact(%x: memref<?x8xf32>, %w: memref<8x8x16xf32>, %b: memref<8x2xi64>, %y: memref<?x16xf32>) {
      tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<8x8x16xf32>) bounds(%b : memref<8x2xi64>) outs(%y : memref<?x16xf32>) {
      ^bb0(%acc: f32):
        tile.yield %acc : f32
      }
      return
    }
  }
}
