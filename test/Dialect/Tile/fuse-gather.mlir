// RUN: moe-opt %s -split-input-file --tile-fuse -verify-diagnostics | FileCheck %s
// RUN: moe-opt %s -split-input-file --tile-fuse="disable=gather" | FileCheck %s --check-prefix=OFF

// CHECK-LABEL: func @fused
// CHECK-SAME: %[[X:.*]]: tensor<?x64xbf16>, %[[TOK:.*]]: tensor<?xi32>
// CHECK-NOT: tile.rows
// CHECK: tile.ragged_gemm lhs(%[[X]] : tensor<?x64xbf16>) gather(%[[TOK]] : tensor<?xi32>) rhs(
// OFF-LABEL: func @fused
// OFF: %[[ROWS:.*]] = tile.rows
// OFF: tile.ragged_gemm lhs(%[[ROWS]] :
func.func @fused(%x: tensor<?x64xbf16>, %tok: tensor<?xi32>, %w: tensor<8x64x32xbf16>, %b: tensor<8x2xi64>, %i0: tensor<?x64xbf16>,
                 %i1: tensor<?x32xf32>) -> tensor<?x32xf32> {
  %xs = tile.rows ins(%x, %tok : tensor<?x64xbf16>, tensor<?xi32>) outs(%i0 : tensor<?x64xbf16>) {
  ^bb0(%r: index, %p: tensor<?x64xbf16>, %q: tensor<?xi32>):
    %t = tile.load %q[%r] : tensor<?xi32> -> i32
    %i = arith.index_cast %t : i32 to index
    %v = tile.load %p[%i] : tensor<?x64xbf16> -> vector<64xbf16>
    tile.yield %v : vector<64xbf16>
  } -> tensor<?x64xbf16>
  %y = tile.ragged_gemm lhs(%xs : tensor<?x64xbf16>) rhs(%w : tensor<8x64x32xbf16>) bounds(%b : tensor<8x2xi64>) outs(%i1 : tensor<?x32xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

// Two products of the same rows both gather.
// CHECK-LABEL: func @two_products
// CHECK-SAME: %[[X:.*]]: tensor<9x4xf32>, %[[TOK:.*]]: tensor<7xi32>
// CHECK-NOT: tile.rows
// CHECK-COUNT-2: tile.ragged_gemm lhs(%[[X]] : tensor<9x4xf32>) gather(%[[TOK]] : tensor<7xi32>)
func.func @two_products(%x: tensor<9x4xf32>, %tok: tensor<7xi32>, %w: tensor<4x8xf32>, %i0: tensor<7x4xf32>, %i1: tensor<7x8xf32>)
    -> (tensor<7x8xf32>, tensor<7x8xf32>) {
  %xs = tile.rows ins(%x, %tok : tensor<9x4xf32>, tensor<7xi32>) outs(%i0 : tensor<7x4xf32>) {
  ^bb0(%r: index, %p: tensor<9x4xf32>, %q: tensor<7xi32>):
    %t = tile.load %q[%r] : tensor<7xi32> -> i32
    %i = arith.index_cast %t : i32 to index
    %v = tile.load %p[%i] : tensor<9x4xf32> -> vector<4xf32>
    tile.yield %v : vector<4xf32>
  } -> tensor<7x4xf32>
  %y = tile.ragged_gemm lhs(%xs : tensor<7x4xf32>) rhs(%w : tensor<4x8xf32>) outs(%i1 : tensor<7x8xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<7x8xf32>
  %z = tile.ragged_gemm lhs(%xs : tensor<7x4xf32>) rhs(%w : tensor<4x8xf32>) outs(%i1 : tensor<7x8xf32>) {
  ^bb0(%acc: f32):
    %0 = arith.negf %acc : f32
    tile.yield %0 : f32
  } -> tensor<7x8xf32>
  return %y, %z : tensor<7x8xf32>, tensor<7x8xf32>
}

// -----

// Other uses keep the rows, and then the product reads them too.
// CHECK-LABEL: func @other_use
// CHECK: %[[ROWS:.*]] = tile.rows
// CHECK: tile.ragged_gemm lhs(%[[ROWS]] :
func.func @other_use(%x: tensor<9x4xf32>, %tok: tensor<7xi32>, %w: tensor<4x8xf32>, %i0: tensor<7x4xf32>, %i1: tensor<7x8xf32>)
    -> (tensor<7x8xf32>, tensor<7x4xf32>) {
  // expected-remark @+1 {{not fused as a gather: the rows are used by something else than the left side of a product}}
  %xs = tile.rows ins(%x, %tok : tensor<9x4xf32>, tensor<7xi32>) outs(%i0 : tensor<7x4xf32>) {
  ^bb0(%r: index, %p: tensor<9x4xf32>, %q: tensor<7xi32>):
    %t = tile.load %q[%r] : tensor<7xi32> -> i32
    %i = arith.index_cast %t : i32 to index
    %v = tile.load %p[%i] : tensor<9x4xf32> -> vector<4xf32>
    tile.yield %v : vector<4xf32>
  } -> tensor<7x4xf32>
  %y = tile.ragged_gemm lhs(%xs : tensor<7x4xf32>) rhs(%w : tensor<4x8xf32>) outs(%i1 : tensor<7x8xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<7x8xf32>
  // expected-note @+1 {{used here}}
  return %y, %xs : tensor<7x8xf32>, tensor<7x4xf32>
}

// -----

// CHECK-LABEL: func @contraction
// CHECK: tile.rows
func.func @contraction(%x: tensor<9x4xf32>, %tok: tensor<7xi32>, %dy: tensor<7x8xf32>, %b: tensor<2x2xi64>, %i0: tensor<7x4xf32>,
                       %i1: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  // expected-remark @+1 {{not fused as a gather: the product contracts over the rows}}
  %xs = tile.rows ins(%x, %tok : tensor<9x4xf32>, tensor<7xi32>) outs(%i0 : tensor<7x4xf32>) {
  ^bb0(%r: index, %p: tensor<9x4xf32>, %q: tensor<7xi32>):
    %t = tile.load %q[%r] : tensor<7xi32> -> i32
    %i = arith.index_cast %t : i32 to index
    %v = tile.load %p[%i] : tensor<9x4xf32> -> vector<4xf32>
    tile.yield %v : vector<4xf32>
  } -> tensor<7x4xf32>
  // expected-note @+1 {{used here}}
  %y = tile.ragged_gemm lhs(%xs : tensor<7x4xf32>) rhs(%dy : tensor<7x8xf32>) bounds(%b : tensor<2x2xi64>) outs(%i1 : tensor<2x4x8xf32>)
      attributes {mode = #tile.mode<contraction>} {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<2x4x8xf32>
  return %y : tensor<2x4x8xf32>
}

// -----

// CHECK-LABEL: func @gathers_already
// CHECK: tile.rows
func.func @gathers_already(%x: tensor<9x4xf32>, %tok: tensor<7xi32>, %w: tensor<4x8xf32>, %i0: tensor<7x4xf32>, %i1: tensor<7x8xf32>)
    -> tensor<7x8xf32> {
  // expected-remark @+1 {{not fused as a gather: the product gathers already}}
  %xs = tile.rows ins(%x, %tok : tensor<9x4xf32>, tensor<7xi32>) outs(%i0 : tensor<7x4xf32>) {
  ^bb0(%r: index, %p: tensor<9x4xf32>, %q: tensor<7xi32>):
    %t = tile.load %q[%r] : tensor<7xi32> -> i32
    %i = arith.index_cast %t : i32 to index
    %v = tile.load %p[%i] : tensor<9x4xf32> -> vector<4xf32>
    tile.yield %v : vector<4xf32>
  } -> tensor<7x4xf32>
  // expected-note @+1 {{used here}}
  %y = tile.ragged_gemm lhs(%xs : tensor<7x4xf32>) gather(%tok : tensor<7xi32>) rhs(%w : tensor<4x8xf32>) outs(%i1 : tensor<7x8xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<7x8xf32>
  return %y : tensor<7x8xf32>
}

// -----

// CHECK-LABEL: func @other_bounds
// CHECK: tile.rows
func.func @other_bounds(%x: tensor<9x4xf32>, %tok: tensor<7xi32>, %w: tensor<4x8xf32>, %b: tensor<2x2xi64>, %i0: tensor<7x4xf32>,
                        %i1: tensor<7x8xf32>) -> tensor<7x8xf32> {
  // expected-remark @+1 {{not fused as a gather: the rows have other bounds than the product}}
  %xs = tile.rows ins(%x, %tok : tensor<9x4xf32>, tensor<7xi32>) bounds(%b : tensor<2x2xi64>) outs(%i0 : tensor<7x4xf32>) {
  ^bb0(%r: index, %g: index, %p: tensor<9x4xf32>, %q: tensor<7xi32>):
    %t = tile.load %q[%r] : tensor<7xi32> -> i32
    %i = arith.index_cast %t : i32 to index
    %v = tile.load %p[%i] : tensor<9x4xf32> -> vector<4xf32>
    tile.yield %v : vector<4xf32>
  } -> tensor<7x4xf32>
  // expected-note @+1 {{used here}}
  %y = tile.ragged_gemm lhs(%xs : tensor<7x4xf32>) rhs(%w : tensor<4x8xf32>) outs(%i1 : tensor<7x8xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<7x8xf32>
  return %y : tensor<7x8xf32>
}

// -----

// CHECK-LABEL: func @index_of_other_length
// CHECK: tile.rows
func.func @index_of_other_length(%x: tensor<9x4xf32>, %tok: tensor<8xi32>, %w: tensor<4x8xf32>, %i0: tensor<7x4xf32>,
                                 %i1: tensor<7x8xf32>) -> tensor<7x8xf32> {
  // expected-remark @+1 {{not fused as a gather: the index and the rows differ in length}}
  %xs = tile.rows ins(%x, %tok : tensor<9x4xf32>, tensor<8xi32>) outs(%i0 : tensor<7x4xf32>) {
  ^bb0(%r: index, %p: tensor<9x4xf32>, %q: tensor<8xi32>):
    %t = tile.load %q[%r] : tensor<8xi32> -> i32
    %i = arith.index_cast %t : i32 to index
    %v = tile.load %p[%i] : tensor<9x4xf32> -> vector<4xf32>
    tile.yield %v : vector<4xf32>
  } -> tensor<7x4xf32>
  %y = tile.ragged_gemm lhs(%xs : tensor<7x4xf32>) rhs(%w : tensor<4x8xf32>) outs(%i1 : tensor<7x8xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<7x8xf32>
  return %y : tensor<7x8xf32>
}

// -----

// CHECK-LABEL: func @ordered
// CHECK: tile.rows
func.func @ordered(%x: tensor<9x4xf32>, %tok: tensor<7xi32>, %o: tensor<7xi32>, %w: tensor<4x8xf32>, %i0: tensor<7x4xf32>, %i1: tensor<7x8xf32>)
    -> tensor<7x8xf32> {
  // expected-remark @+1 {{not fused as a gather: the rows have an order}}
  %xs = tile.rows ins(%x, %tok : tensor<9x4xf32>, tensor<7xi32>) order(%o : tensor<7xi32>) outs(%i0 : tensor<7x4xf32>) {
  ^bb0(%r: index, %p: tensor<9x4xf32>, %q: tensor<7xi32>):
    %t = tile.load %q[%r] : tensor<7xi32> -> i32
    %i = arith.index_cast %t : i32 to index
    %v = tile.load %p[%i] : tensor<9x4xf32> -> vector<4xf32>
    tile.yield %v : vector<4xf32>
  } -> tensor<7x4xf32>
  // expected-note @+1 {{used here}}
  %y = tile.ragged_gemm lhs(%xs : tensor<7x4xf32>) rhs(%w : tensor<4x8xf32>) outs(%i1 : tensor<7x8xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<7x8xf32>
  return %y : tensor<7x8xf32>
}
