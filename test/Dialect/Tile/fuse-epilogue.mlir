// A body that is elementwise on a product's row moves into the product's epilogue. The fused result skips the rounding that
// stood between the two ops: extf(truncf(%acc)) is %acc.
// RUN: moe-opt %s -split-input-file --tile-fuse -verify-diagnostics | FileCheck %s
// RUN: moe-opt %s -split-input-file --tile-fuse="disable=epilogue" | FileCheck %s --check-prefix=OFF

// CHECK-LABEL: func @concatenated
// CHECK-SAME: %[[X:.*]]: tensor<?x8xbf16>, %[[W:.*]]: tensor<4x8x32xbf16>, %[[B:.*]]: tensor<4x2xi64>, %{{.*}}: tensor<?x32xbf16>, %[[OUT:.*]]: tensor<?x16xbf16>
// CHECK-NEXT: %[[Y:.*]] = tile.ragged_gemm lhs(%[[X]] : tensor<?x8xbf16>) rhs(%[[W]] : tensor<4x8x32xbf16>) bounds(%[[B]] : tensor<4x2xi64>)
// CHECK-SAME: outs(%[[OUT]] : tensor<?x16xbf16>) attributes {accs = #tile.accs<concatenated>} {
// CHECK-NEXT: ^bb0(%[[GATE:.*]]: f32, %[[UP:.*]]: f32):
// CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: %[[RELU:.*]] = arith.maximumf %[[GATE]], %[[ZERO]] : f32
// CHECK-NEXT: %[[PRODUCT:.*]] = arith.mulf %[[RELU]], %[[UP]] : f32
// CHECK-NEXT: %[[ROUND:.*]] = arith.truncf %[[PRODUCT]] : f32 to bf16
// CHECK-NEXT: tile.yield %[[ROUND]] : bf16
// CHECK: return %[[Y]]
// OFF-LABEL: func @concatenated
// OFF: tile.ragged_gemm
// OFF: tile.rows
func.func @concatenated(%x: tensor<?x8xbf16>, %w: tensor<4x8x32xbf16>, %b: tensor<4x2xi64>, %i0: tensor<?x32xbf16>, %i1: tensor<?x16xbf16>)
    -> tensor<?x16xbf16> {
  %h = tile.ragged_gemm lhs(%x : tensor<?x8xbf16>) rhs(%w : tensor<4x8x32xbf16>) bounds(%b : tensor<4x2xi64>) outs(%i0 : tensor<?x32xbf16>) {
  ^bb0(%acc: f32):
    %0 = arith.truncf %acc : f32 to bf16
    tile.yield %0 : bf16
  } -> tensor<?x32xbf16>
  %y = tile.rows ins(%h : tensor<?x32xbf16>) bounds(%b : tensor<4x2xi64>) outs(%i1 : tensor<?x16xbf16>) {
  ^bb0(%r: index, %g: index, %p: tensor<?x32xbf16>):
    %row = tile.load %p[%r] : tensor<?x32xbf16> -> vector<32xbf16>
    %f = arith.extf %row : vector<32xbf16> to vector<32xf32>
    %gate = vector.extract_strided_slice %f {offsets = [0], sizes = [16], strides = [1]} : vector<32xf32> to vector<16xf32>
    %up = vector.extract_strided_slice %f {offsets = [16], sizes = [16], strides = [1]} : vector<32xf32> to vector<16xf32>
    %zero = arith.constant dense<0.0> : vector<16xf32>
    %relu = arith.maximumf %gate, %zero : vector<16xf32>
    %m = arith.mulf %relu, %up : vector<16xf32>
    %t = arith.truncf %m : vector<16xf32> to vector<16xbf16>
    tile.yield %t : vector<16xbf16>
  } -> tensor<?x16xbf16>
  return %y : tensor<?x16xbf16>
}

// -----

// The product's own epilogue, with a bias by group, runs once for each accumulator.
// CHECK-LABEL: func @interleaved_with_bias
// CHECK: tile.ragged_gemm {{.*}} extras(%{{.*}} : tensor<4x32xf32>) outs(%{{.*}} : tensor<?x16xf32>)
// CHECK-SAME: accs = #tile.accs<interleaved>, extra_kinds = [#tile.extra<group>]
// CHECK-NEXT: ^bb0(%[[A0:.*]]: f32, %[[A1:.*]]: f32, %[[B0:.*]]: f32, %[[B1:.*]]: f32):
// CHECK-NEXT: %[[EVEN:.*]] = arith.addf %[[A0]], %[[B0]] : f32
// CHECK-NEXT: %[[ODD:.*]] = arith.addf %[[A1]], %[[B1]] : f32
// CHECK-NEXT: %[[Y:.*]] = arith.divf %[[EVEN]], %[[ODD]] : f32
// CHECK-NEXT: tile.yield %[[Y]] : f32
// CHECK-NOT: tile.rows
func.func @interleaved_with_bias(%x: tensor<?x8xf32>, %w: tensor<4x8x32xf32>, %b: tensor<4x2xi64>, %bias: tensor<4x32xf32>, %i0: tensor<?x32xf32>,
                                 %i1: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %h = tile.ragged_gemm lhs(%x : tensor<?x8xf32>) rhs(%w : tensor<4x8x32xf32>) bounds(%b : tensor<4x2xi64>) extras(%bias : tensor<4x32xf32>)
      outs(%i0 : tensor<?x32xf32>) attributes {extra_kinds = [#tile.extra<group>]} {
  ^bb0(%acc: f32, %e: f32):
    %0 = arith.addf %acc, %e : f32
    tile.yield %0 : f32
  } -> tensor<?x32xf32>
  %y = tile.rows ins(%h : tensor<?x32xf32>) bounds(%b : tensor<4x2xi64>) outs(%i1 : tensor<?x16xf32>) {
  ^bb0(%r: index, %g: index, %p: tensor<?x32xf32>):
    %row = tile.load %p[%r] : tensor<?x32xf32> -> vector<32xf32>
    %even, %odd = vector.deinterleave %row : vector<32xf32> -> vector<16xf32>
    %q = arith.divf %even, %odd : vector<16xf32>
    tile.yield %q : vector<16xf32>
  } -> tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}

// -----

// One value a row, one an element, one a group and column; the last is read by halves too.
// CHECK-LABEL: func @extras
// CHECK-SAME: %{{.*}}: tensor<4x2xi64>, %[[S:.*]]: tensor<?xf32>, %[[E:.*]]: tensor<?x16xbf16>, %[[G:.*]]: tensor<4x32xf32>
// CHECK: extras(%[[G]], %[[S]], %[[E]] : tensor<4x32xf32>, tensor<?xf32>, tensor<?x16xbf16>)
// CHECK-SAME: extra_kinds = [#tile.extra<group>, #tile.extra<row>, #tile.extra<elem>]
// CHECK-NEXT: ^bb0(%[[A0:.*]]: f32, %[[A1:.*]]: f32, %[[G0:.*]]: f32, %[[G1:.*]]: f32, %[[SS:.*]]: f32, %[[EE:.*]]: bf16):
// CHECK-NEXT: %[[V0:.*]] = arith.addf %[[A0]], %[[G0]] : f32
// CHECK-NEXT: %[[V1:.*]] = arith.addf %[[A1]], %[[G1]] : f32
// CHECK-NEXT: %[[V2:.*]] = arith.mulf %[[V0]], %[[V1]] : f32
// CHECK-NEXT: %[[V3:.*]] = arith.mulf %[[V2]], %[[SS]] : f32
// CHECK-NEXT: %[[V4:.*]] = arith.extf %[[EE]] : bf16 to f32
// CHECK-NEXT: %[[V5:.*]] = arith.addf %[[V3]], %[[V4]] : f32
// CHECK-NEXT: tile.yield %[[V5]] : f32
func.func @extras(%x: tensor<?x8xf32>, %w: tensor<4x8x32xf32>, %b: tensor<4x2xi64>, %s: tensor<?xf32>, %e: tensor<?x16xbf16>, %gb: tensor<4x32xf32>,
                  %i0: tensor<?x32xf32>, %i1: tensor<?x16xf32>) -> tensor<?x16xf32> {
  %h = tile.ragged_gemm lhs(%x : tensor<?x8xf32>) rhs(%w : tensor<4x8x32xf32>) bounds(%b : tensor<4x2xi64>) outs(%i0 : tensor<?x32xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<?x32xf32>
  %y = tile.rows ins(%h, %s, %e, %gb : tensor<?x32xf32>, tensor<?xf32>, tensor<?x16xbf16>, tensor<4x32xf32>) bounds(%b : tensor<4x2xi64>)
      outs(%i1 : tensor<?x16xf32>) {
  ^bb0(%r: index, %g: index, %p: tensor<?x32xf32>, %ss: tensor<?xf32>, %ee: tensor<?x16xbf16>, %gg: tensor<4x32xf32>):
    %row = tile.load %p[%r] : tensor<?x32xf32> -> vector<32xf32>
    %bias = tile.load %gg[%g] : tensor<4x32xf32> -> vector<32xf32>
    %sum = arith.addf %row, %bias : vector<32xf32>
    %lo = vector.extract_strided_slice %sum {offsets = [0], sizes = [16], strides = [1]} : vector<32xf32> to vector<16xf32>
    %hi = vector.extract_strided_slice %sum {offsets = [16], sizes = [16], strides = [1]} : vector<32xf32> to vector<16xf32>
    %m = arith.mulf %lo, %hi : vector<16xf32>
    %f = tile.load %ss[%r] : tensor<?xf32> -> f32
    %fs = vector.broadcast %f : f32 to vector<16xf32>
    %n = arith.mulf %m, %fs : vector<16xf32>
    %q = tile.load %ee[%r] : tensor<?x16xbf16> -> vector<16xbf16>
    %qf = arith.extf %q : vector<16xbf16> to vector<16xf32>
    %o = arith.addf %n, %qf : vector<16xf32>
    tile.yield %o : vector<16xf32>
  } -> tensor<?x16xf32>
  return %y : tensor<?x16xf32>
}

// -----

// A chain of bodies; a weight of rank 2 has its bias as one row. Both outs of the last body are written.
// CHECK-LABEL: func @chain
// CHECK-SAME: %{{.*}}: tensor<5x8xf32>, %{{.*}}: tensor<8x16xf32>, %[[BIAS:.*]]: tensor<16xf32>
// CHECK-NEXT: %[[Y:.*]]:2 = tile.ragged_gemm {{.*}} extras(%[[BIAS]] : tensor<16xf32>) outs(%{{.*}} : tensor<5x16xf32>, tensor<5x16xbf16>)
// CHECK-SAME: {extra_kinds = [#tile.extra<group>]}
// CHECK-NEXT: ^bb0(%[[ACC:.*]]: f32, %[[B:.*]]: f32):
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[ACC]], %[[B]] : f32
// CHECK-NEXT: %[[EXP:.*]] = math.exp %[[SUM]] : f32
// CHECK-NEXT: %[[LOW:.*]] = arith.truncf %[[EXP]] : f32 to bf16
// CHECK-NEXT: tile.yield %[[EXP]], %[[LOW]] : f32, bf16
// CHECK: return %[[Y]]#0, %[[Y]]#1
func.func @chain(%x: tensor<5x8xf32>, %w: tensor<8x16xf32>, %bias: tensor<16xf32>, %i0: tensor<5x16xf32>, %i1: tensor<5x16xbf16>)
    -> (tensor<5x16xf32>, tensor<5x16xbf16>) {
  %h = tile.ragged_gemm lhs(%x : tensor<5x8xf32>) rhs(%w : tensor<8x16xf32>) outs(%i0 : tensor<5x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<5x16xf32>
  %s = tile.rows ins(%h, %bias : tensor<5x16xf32>, tensor<16xf32>) outs(%i0 : tensor<5x16xf32>) {
  ^bb0(%r: index, %p: tensor<5x16xf32>, %q: tensor<16xf32>):
    %0 = tile.load %p[%r] : tensor<5x16xf32> -> vector<16xf32>
    %1 = tile.load %q[] : tensor<16xf32> -> vector<16xf32>
    %2 = arith.addf %0, %1 : vector<16xf32>
    tile.yield %2 : vector<16xf32>
  } -> tensor<5x16xf32>
  %y:2 = tile.rows ins(%s : tensor<5x16xf32>) outs(%i0, %i1 : tensor<5x16xf32>, tensor<5x16xbf16>) {
  ^bb0(%r: index, %p: tensor<5x16xf32>):
    %0 = tile.load %p[%r] : tensor<5x16xf32> -> vector<16xf32>
    %1 = math.exp %0 : vector<16xf32>
    %2 = arith.truncf %1 : vector<16xf32> to vector<16xbf16>
    tile.yield %1, %2 : vector<16xf32>, vector<16xbf16>
  } -> tensor<5x16xf32>, tensor<5x16xbf16>
  return %y#0, %y#1 : tensor<5x16xf32>, tensor<5x16xbf16>
}

// -----

// Of two products, one takes the body and reads the other's result.
// CHECK-LABEL: func @two_products
// CHECK: %[[UP:.*]] = tile.ragged_gemm
// CHECK: tile.ragged_gemm {{.*}} extras(%[[UP]] : tensor<5x16xf32>) {{.*}}extra_kinds = [#tile.extra<elem>]
// CHECK-NOT: tile.rows
func.func @two_products(%x: tensor<5x8xf32>, %w: tensor<8x16xf32>, %v: tensor<8x16xf32>, %i0: tensor<5x16xf32>) -> tensor<5x16xf32> {
  %h = tile.ragged_gemm lhs(%x : tensor<5x8xf32>) rhs(%w : tensor<8x16xf32>) outs(%i0 : tensor<5x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<5x16xf32>
  %k = tile.ragged_gemm lhs(%x : tensor<5x8xf32>) rhs(%v : tensor<8x16xf32>) outs(%i0 : tensor<5x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<5x16xf32>
  %y = tile.rows ins(%h, %k : tensor<5x16xf32>, tensor<5x16xf32>) outs(%i0 : tensor<5x16xf32>) {
  ^bb0(%r: index, %p: tensor<5x16xf32>, %q: tensor<5x16xf32>):
    %0 = tile.load %p[%r] : tensor<5x16xf32> -> vector<16xf32>
    %1 = tile.load %q[%r] : tensor<5x16xf32> -> vector<16xf32>
    %2 = arith.mulf %0, %1 : vector<16xf32>
    tile.yield %2 : vector<16xf32>
  } -> tensor<5x16xf32>
  return %y : tensor<5x16xf32>
}
