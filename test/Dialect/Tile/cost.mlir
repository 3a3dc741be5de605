// RUN: moe-opt %s --tile-outline-kernels --canonicalize | FileCheck %s

// What each kernel computes and moves. Sizes are static here, so that costs are constants, each worked out beside its op.

// Sizes are read, bounds written: 6 * 4 + 6 * 16.
// CHECK-LABEL: func @offsets
// CHECK: prog.launch @kernels::@offsets_0_offsets({{.*}}) flops(%c0_i64) bytes(%c120_i64) {bounds = 1 : i64}
func.func @offsets(%s: memref<6xi32>, %m: index, %b: memref<6x2xi64>) {
  tile.offsets sizes(%s : memref<6xi32>) rows(%m) outs(%b : memref<6x2xi64>)
  return
}

// ids and inverse 5 * 2 * 4 each, sizes 6 * 4, bounds 6 * 16, permutation and token 10 * 4 each, dropped 8.
// CHECK-LABEL: func @plan
// CHECK: prog.launch @kernels::@plan_0_plan({{.*}}) flops(%c0_i64) bytes(%c288_i64) {bounds = 2 : i64}
func.func @plan(%ids: memref<5x2xi32>, %s: memref<6xi32>, %b: memref<6x2xi64>, %perm: memref<10xi32>, %tok: memref<10xi32>, %inv: memref<5x2xi32>, %d: memref<1xi64>) {
  tile.plan ids(%ids : memref<5x2xi32>)
      outs(%s, %b, %perm, %tok, %inv, %d : memref<6xi32>, memref<6x2xi64>, memref<10xi32>, memref<10xi32>, memref<5x2xi32>, memref<1xi64>)
  return
}

// 2 * 100 * 64 * 224 flops: both accumulators count. Left rows are gathered from 30 tokens, each read once: 30 * 64 * 2. Weights 8 * 64 * 224 * 2,
// gather 100 * 4, bounds 8 * 16, an extra for each row 100 * 4, out 100 * 112 * 2.
// CHECK-LABEL: func @gathered
// CHECK: prog.launch @kernels::@gathered_0_ragged_gemm({{.*}}) flops(%c2867200_i64) bytes(%c256544_i64) :
func.func @gathered(%x: memref<30x64xbf16>, %tok: memref<100xi32>, %w: memref<8x64x224xbf16>, %b: memref<8x2xi64>, %e: memref<100xf32>, %y: memref<100x112xbf16>) {
  tile.ragged_gemm lhs(%x : memref<30x64xbf16>) gather(%tok : memref<100xi32>) rhs(%w : memref<8x64x224xbf16>) bounds(%b : memref<8x2xi64>)
      extras(%e : memref<100xf32>) outs(%y : memref<100x112xbf16>)
      attributes {accs = #tile.accs<concatenated>, extra_kinds = [#tile.extra<row>]} {
  ^bb0(%gate: f32, %up: f32, %s: f32):
    %0 = arith.mulf %gate, %up : f32
    %1 = arith.mulf %0, %s : f32
    %2 = arith.truncf %1 : f32 to bf16
    tile.yield %2 : bf16
  }
  return
}

// Three rows are in at most three of the eight groups, and are gathered from at most three tokens: 3 * 64 * 4, 3 * 64 * 16 * 4, 3 * 4, 8 * 16, 3 * 16 * 4.
// CHECK-LABEL: func @few_rows
// CHECK: prog.launch @kernels::@few_rows_0_ragged_gemm({{.*}}) flops(%c6144_i64) bytes(%c13388_i64) :
func.func @few_rows(%x: memref<30x64xf32>, %tok: memref<3xi32>, %w: memref<8x16x64xf32>, %b: memref<8x2xi64>, %y: memref<3x16xf32>) {
  tile.ragged_gemm lhs(%x : memref<30x64xf32>) gather(%tok : memref<3xi32>) rhs(%w : memref<8x16x64xf32>) bounds(%b : memref<8x2xi64>)
      outs(%y : memref<3x16xf32>) attributes {layout = #tile.rhs<nk>} {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// One product: 2 * 7 * 5 * 3 flops, 4 * (7 * 5 + 5 * 3 + 7 * 3) bytes.
// CHECK-LABEL: func @dense
// CHECK: prog.launch @kernels::@dense_0_ragged_gemm({{.*}}) flops(%c210_i64) bytes(%c284_i64) :
// One for each of two: twice as much.
// CHECK: prog.launch @kernels::@dense_1_ragged_gemm({{.*}}) flops(%c420_i64) bytes(%c568_i64) :
func.func @dense(%x: memref<7x5xf32>, %w: memref<5x3xf32>, %y: memref<7x3xf32>, %xs: memref<2x7x5xf32>, %ws: memref<2x5x3xf32>, %ys: memref<2x7x3xf32>) {
  tile.ragged_gemm lhs(%x : memref<7x5xf32>) rhs(%w : memref<5x3xf32>) outs(%y : memref<7x3xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  tile.ragged_gemm lhs(%xs : memref<2x7x5xf32>) rhs(%ws : memref<2x5x3xf32>) outs(%ys : memref<2x7x3xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// 2 * 9 * 8 * 16 flops. The out is read and written: 9 * 8 * 4, 9 * 16 * 4, 4 * 16, 2 * 4 * 8 * 16 * 4.
// CHECK-LABEL: func @contraction
// CHECK: prog.launch @kernels::@contraction_0_ragged_gemm({{.*}}) flops(%c2304_i64) bytes(%c5024_i64) :
// Sums of rows only add: 9 * 16; bytes 9 * 16 * 4, 4 * 16, 4 * 16 * 4.
// CHECK: prog.launch @kernels::@contraction_1_ragged_gemm({{.*}}) flops(%c144_i64) bytes(%c896_i64) :
func.func @contraction(%x: memref<9x8xf32>, %dy: memref<9x16xf32>, %b: memref<4x2xi64>, %dw: memref<4x8x16xf32>, %db: memref<4x16xf32>) {
  tile.ragged_gemm lhs(%x : memref<9x8xf32>) rhs(%dy : memref<9x16xf32>) bounds(%b : memref<4x2xi64>)
      outs(%dw : memref<4x8x16xf32>) attributes {mode = #tile.mode<contraction>, accumulate} {
  ^bb0(%acc: f32, %old: f32):
    %0 = arith.addf %acc, %old : f32
    tile.yield %0 : f32
  }
  tile.ragged_gemm rhs(%dy : memref<9x16xf32>) bounds(%b : memref<4x2xi64>)
      outs(%db : memref<4x16xf32>) attributes {mode = #tile.mode<contraction>} {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// A body of 16 multiplications, 16 fused ones, a sum of 16 and an exponential, 65 flops for each of 10 rows; conversions, comparisons and selections are
// none. A row loaded twice is read once: 10 * 16 * 2; one of the two columns of s: 10 * 4; of the 6 rows of t no more than there are: 6 * 16 * 4; u is
// not read; bounds 3 * 16; outs 10 * 16 * 4 and 10 * 4.
// CHECK-LABEL: func @rows
// CHECK: prog.launch @kernels::@rows_0_rows({{.*}}) flops(%c650_i64) bytes(%c1472_i64) :
// Loaded at 10 places only: 10 * 16 * 4, ids 10 * 4, out 10 * 16 * 4.
// CHECK: prog.launch @kernels::@rows_1_rows({{.*}}) flops(%c0_i64) bytes(%c1320_i64) :
func.func @rows(%x: memref<10x16xbf16>, %s: memref<10x2xf32>, %t: memref<6x16xf32>, %u: memref<10x16xf32>, %b: memref<3x2xi64>, %y: memref<10x16xf32>, %z: memref<10xf32>, %large: memref<1000x16xf32>, %ids: memref<10xi32>) {
  tile.rows ins(%x, %s, %t, %u : memref<10x16xbf16>, memref<10x2xf32>, memref<6x16xf32>, memref<10x16xf32>) bounds(%b : memref<3x2xi64>)
      outs(%y, %z : memref<10x16xf32>, memref<10xf32>) {
  ^bb0(%r: index, %g: index, %xs: memref<10x16xbf16>, %ss: memref<10x2xf32>, %ts: memref<6x16xf32>, %us: memref<10x16xf32>):
    %c1 = arith.constant 1 : index
    %p = tile.load %xs[%r] : memref<10x16xbf16> -> vector<16xbf16>
    %q = tile.load %xs[%r] : memref<10x16xbf16> -> vector<16xbf16>
    %pf = arith.extf %p : vector<16xbf16> to vector<16xf32>
    %qf = arith.extf %q : vector<16xbf16> to vector<16xf32>
    %row = tile.load %ts[%g] : memref<6x16xf32> -> vector<16xf32>
    %0 = arith.mulf %pf, %qf : vector<16xf32>
    %1 = math.fma %0, %row, %pf : vector<16xf32>
    %2 = vector.reduction <add>, %1 : vector<16xf32> into f32
    %v = tile.load %ss[%r, %c1] : memref<10x2xf32> -> f32
    %3 = math.exp %v : f32
    %less = arith.cmpf olt, %2, %3 : f32
    %4 = arith.select %less, %2, %3 : f32
    tile.yield %1, %4 : vector<16xf32>, f32
  }
  tile.rows ins(%large, %ids : memref<1000x16xf32>, memref<10xi32>) outs(%y : memref<10x16xf32>) {
  ^bb0(%r: index, %xs: memref<1000x16xf32>, %is: memref<10xi32>):
    %i = tile.load %is[%r] : memref<10xi32> -> i32
    %at = arith.index_cast %i : i32 to index
    %row = tile.load %xs[%at] : memref<1000x16xf32> -> vector<16xf32>
    tile.yield %row : vector<16xf32>
  }
  return
}
