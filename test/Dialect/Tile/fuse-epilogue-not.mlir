// What stays unfused says why.
// RUN: moe-opt %s -split-input-file --tile-fuse -verify-diagnostics | FileCheck %s

// -----

// CHECK-LABEL: func @other_uses
// CHECK: tile.ragged_gemm
// CHECK: tile.rows
func.func @other_uses(%x: tensor<5x8xf32>, %w: tensor<3x8x16xf32>, %b: tensor<3x2xi64>, %i: tensor<5x16xf32>) -> (tensor<5x16xf32>, tensor<5x16xf32>) {
  // expected-note @+1 {{because of this op}}
  %h = tile.ragged_gemm lhs(%x : tensor<5x8xf32>) rhs(%w : tensor<3x8x16xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<5x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<5x16xf32>
  // expected-remark @+1 {{not fused into the product's epilogue: the product has other uses}}
  %y = tile.rows ins(%h : tensor<5x16xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<5x16xf32>) {
  ^bb0(%r: index, %g: index, %p: tensor<5x16xf32>):
    %0 = tile.load %p[%r] : tensor<5x16xf32> -> vector<16xf32>
    %1 = arith.negf %0 : vector<16xf32>
    tile.yield %1 : vector<16xf32>
  } -> tensor<5x16xf32>
  return %y, %h : tensor<5x16xf32>, tensor<5x16xf32>
}

// -----

// CHECK-LABEL: func @missing_bounds
// CHECK: tile.ragged_gemm
// CHECK: tile.rows
func.func @missing_bounds(%x: tensor<5x8xf32>, %w: tensor<3x8x16xf32>, %b: tensor<3x2xi64>, %i: tensor<5x16xf32>) -> (tensor<5x16xf32>) {
  // expected-note @+1 {{because of this op}}
  %h = tile.ragged_gemm lhs(%x : tensor<5x8xf32>) rhs(%w : tensor<3x8x16xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<5x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<5x16xf32>
  // expected-remark @+1 {{not fused into the product's epilogue: the product has bounds and it has none}}
  %y = tile.rows ins(%h : tensor<5x16xf32>) outs(%i : tensor<5x16xf32>) {
  ^bb0(%r: index, %p: tensor<5x16xf32>):
    %0 = tile.load %p[%r] : tensor<5x16xf32> -> vector<16xf32>
    %1 = arith.negf %0 : vector<16xf32>
    tile.yield %1 : vector<16xf32>
  } -> tensor<5x16xf32>
  return %y : tensor<5x16xf32>
}

// -----

// CHECK-LABEL: func @other_bounds
// CHECK: tile.ragged_gemm
// CHECK: tile.rows
func.func @other_bounds(%x: tensor<5x8xf32>, %w: tensor<3x8x16xf32>, %b: tensor<3x2xi64>, %i: tensor<5x16xf32>, %c: tensor<3x2xi64>) -> (tensor<5x16xf32>) {
  // expected-note @+1 {{because of this op}}
  %h = tile.ragged_gemm lhs(%x : tensor<5x8xf32>) rhs(%w : tensor<3x8x16xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<5x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<5x16xf32>
  // expected-remark @+1 {{not fused into the product's epilogue: it has other bounds than the product}}
  %y = tile.rows ins(%h : tensor<5x16xf32>) bounds(%c : tensor<3x2xi64>) outs(%i : tensor<5x16xf32>) {
  ^bb0(%r: index, %g: index, %p: tensor<5x16xf32>):
    %0 = tile.load %p[%r] : tensor<5x16xf32> -> vector<16xf32>
    %1 = arith.negf %0 : vector<16xf32>
    tile.yield %1 : vector<16xf32>
  } -> tensor<5x16xf32>
  return %y : tensor<5x16xf32>
}

// -----

// CHECK-LABEL: func @added_bounds
// CHECK: tile.ragged_gemm
// CHECK: tile.rows
func.func @added_bounds(%x: tensor<5x8xf32>, %w: tensor<8x16xf32>, %b: tensor<3x2xi64>, %i: tensor<5x16xf32>) -> (tensor<5x16xf32>) {
  // expected-note @+1 {{because of this op}}
  %h = tile.ragged_gemm lhs(%x : tensor<5x8xf32>) rhs(%w : tensor<8x16xf32>) outs(%i : tensor<5x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<5x16xf32>
  // expected-remark @+1 {{not fused into the product's epilogue: it has bounds and the product has none}}
  %y = tile.rows ins(%h : tensor<5x16xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<5x16xf32>) {
  ^bb0(%r: index, %g: index, %p: tensor<5x16xf32>):
    %0 = tile.load %p[%r] : tensor<5x16xf32> -> vector<16xf32>
    %1 = arith.negf %0 : vector<16xf32>
    tile.yield %1 : vector<16xf32>
  } -> tensor<5x16xf32>
  return %y : tensor<5x16xf32>
}

// -----

// CHECK-LABEL: func @some_groups
// CHECK: tile.ragged_gemm
// CHECK: tile.rows
func.func @some_groups(%x: tensor<5x8xf32>, %w: tensor<2x8x16xf32>, %b: tensor<3x2xi64>, %i: tensor<5x16xf32>) -> (tensor<5x16xf32>) {
  // expected-note @+1 {{because of this op}}
  %h = tile.ragged_gemm lhs(%x : tensor<5x8xf32>) rhs(%w : tensor<2x8x16xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<5x16xf32>) attributes {group_offset = 1 : i64} {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<5x16xf32>
  // expected-remark @+1 {{not fused into the product's epilogue: the product covers only some of the groups}}
  %y = tile.rows ins(%h : tensor<5x16xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<5x16xf32>) {
  ^bb0(%r: index, %g: index, %p: tensor<5x16xf32>):
    %0 = tile.load %p[%r] : tensor<5x16xf32> -> vector<16xf32>
    %1 = arith.negf %0 : vector<16xf32>
    tile.yield %1 : vector<16xf32>
  } -> tensor<5x16xf32>
  return %y : tensor<5x16xf32>
}

// -----

// CHECK-LABEL: func @accumulates
// CHECK: tile.ragged_gemm
// CHECK: tile.rows
func.func @accumulates(%x: tensor<5x8xf32>, %w: tensor<3x8x16xf32>, %b: tensor<3x2xi64>, %i: tensor<5x16xf32>) -> (tensor<5x16xf32>) {
  // expected-note @+1 {{because of this op}}
  %h = tile.ragged_gemm lhs(%x : tensor<5x8xf32>) rhs(%w : tensor<3x8x16xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<5x16xf32>)
      attributes {accumulate} {
  ^bb0(%acc: f32, %old: f32):
    %0 = arith.addf %acc, %old : f32
    tile.yield %0 : f32
  } -> tensor<5x16xf32>
  // expected-remark @+1 {{not fused into the product's epilogue: the product accumulates}}
  %y = tile.rows ins(%h : tensor<5x16xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<5x16xf32>) {
  ^bb0(%r: index, %g: index, %p: tensor<5x16xf32>):
    %0 = tile.load %p[%r] : tensor<5x16xf32> -> vector<16xf32>
    %1 = arith.negf %0 : vector<16xf32>
    tile.yield %1 : vector<16xf32>
  } -> tensor<5x16xf32>
  return %y : tensor<5x16xf32>
}

// -----

// CHECK-LABEL: func @two_accumulators
// CHECK: tile.ragged_gemm
// CHECK: tile.rows
func.func @two_accumulators(%x: tensor<5x8xf32>, %w: tensor<3x8x32xf32>, %b: tensor<3x2xi64>, %i: tensor<5x16xf32>) -> (tensor<5x16xf32>) {
  // expected-note @+1 {{because of this op}}
  %h = tile.ragged_gemm lhs(%x : tensor<5x8xf32>) rhs(%w : tensor<3x8x32xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<5x16xf32>)
      attributes {accs = #tile.accs<interleaved>} {
  ^bb0(%even: f32, %odd: f32):
    %0 = arith.addf %even, %odd : f32
    tile.yield %0 : f32
  } -> tensor<5x16xf32>
  // expected-remark @+1 {{not fused into the product's epilogue: the product has two accumulators}}
  %y = tile.rows ins(%h : tensor<5x16xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<5x16xf32>) {
  ^bb0(%r: index, %g: index, %p: tensor<5x16xf32>):
    %0 = tile.load %p[%r] : tensor<5x16xf32> -> vector<16xf32>
    %1 = arith.negf %0 : vector<16xf32>
    tile.yield %1 : vector<16xf32>
  } -> tensor<5x16xf32>
  return %y : tensor<5x16xf32>
}

// -----

// CHECK-LABEL: func @contraction
// CHECK: tile.ragged_gemm
// CHECK: tile.rows
func.func @contraction(%x: tensor<5x8xf32>, %b: tensor<3x2xi64>, %i: tensor<3x8xf32>) -> (tensor<3x8xf32>) {
  // expected-note @+1 {{because of this op}}
  %h = tile.ragged_gemm rhs(%x : tensor<5x8xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<3x8xf32>)
      attributes {mode = #tile.mode<contraction>} {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<3x8xf32>
  // expected-remark @+1 {{not fused into the product's epilogue: the product contracts over the rows}}
  %y = tile.rows ins(%h : tensor<3x8xf32>) outs(%i : tensor<3x8xf32>) {
  ^bb0(%r: index, %p: tensor<3x8xf32>):
    %0 = tile.load %p[%r] : tensor<3x8xf32> -> vector<8xf32>
    %1 = arith.negf %0 : vector<8xf32>
    tile.yield %1 : vector<8xf32>
  } -> tensor<3x8xf32>
  return %y : tensor<3x8xf32>
}

// -----

// CHECK-LABEL: func @batch
// CHECK: tile.ragged_gemm
// CHECK: tile.rows
func.func @batch(%x: tensor<3x5x8xf32>, %w: tensor<3x8x16xf32>, %i: tensor<3x5x16xf32>, %o: tensor<5x16xf32>) -> (tensor<5x16xf32>) {
  // expected-note @+1 {{because of this op}}
  %h = tile.ragged_gemm lhs(%x : tensor<3x5x8xf32>) rhs(%w : tensor<3x8x16xf32>) outs(%i : tensor<3x5x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<3x5x16xf32>
  // expected-remark @+1 {{not fused into the product's epilogue: the product is a batch}}
  %y = tile.rows ins(%h : tensor<3x5x16xf32>) outs(%o : tensor<5x16xf32>) {
  ^bb0(%r: index, %p: tensor<3x5x16xf32>):
    %0 = tile.load %p[%r, %r] : tensor<3x5x16xf32> -> vector<16xf32>
    tile.yield %0 : vector<16xf32>
  } -> tensor<5x16xf32>
  return %y : tensor<5x16xf32>
}

// -----

// CHECK-LABEL: func @several_outs
// CHECK: tile.ragged_gemm
// CHECK: tile.rows
func.func @several_outs(%x: tensor<5x8xf32>, %w: tensor<3x8x16xf32>, %b: tensor<3x2xi64>, %i: tensor<5x16xf32>) -> (tensor<5x16xf32>) {
  // expected-note @+1 {{because of this op}}
  %h, %k = tile.ragged_gemm lhs(%x : tensor<5x8xf32>) rhs(%w : tensor<3x8x16xf32>) bounds(%b : tensor<3x2xi64>)
      outs(%i, %i : tensor<5x16xf32>, tensor<5x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc, %acc : f32, f32
  } -> tensor<5x16xf32>, tensor<5x16xf32>
  // expected-remark @+1 {{not fused into the product's epilogue: the product has several outs}}
  %y = tile.rows ins(%h : tensor<5x16xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<5x16xf32>) {
  ^bb0(%r: index, %g: index, %p: tensor<5x16xf32>):
    %0 = tile.load %p[%r] : tensor<5x16xf32> -> vector<16xf32>
    %1 = arith.negf %0 : vector<16xf32>
    tile.yield %1 : vector<16xf32>
  } -> tensor<5x16xf32>
  return %y : tensor<5x16xf32>
}

// -----

// CHECK-LABEL: func @value_a_row
// CHECK: tile.ragged_gemm
// CHECK: tile.rows
func.func @value_a_row(%x: tensor<5x8xf32>, %w: tensor<3x8x16xf32>, %b: tensor<3x2xi64>, %i: tensor<5x16xf32>, %o: tensor<5xf32>) -> (tensor<5xf32>) {
  // expected-note @+1 {{because of this op}}
  %h = tile.ragged_gemm lhs(%x : tensor<5x8xf32>) rhs(%w : tensor<3x8x16xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<5x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<5x16xf32>
  // expected-remark @+1 {{not fused into the product's epilogue: an out is one value a row}}
  %y = tile.rows ins(%h : tensor<5x16xf32>) bounds(%b : tensor<3x2xi64>) outs(%o : tensor<5xf32>) {
  ^bb0(%r: index, %g: index, %p: tensor<5x16xf32>):
    %0 = tile.load %p[%r] : tensor<5x16xf32> -> vector<16xf32>
    %1 = vector.reduction <add>, %0 : vector<16xf32> into f32
    tile.yield %1 : f32
  } -> tensor<5xf32>
  return %y : tensor<5xf32>
}

// -----

// CHECK-LABEL: func @number_of_rows
// CHECK: tile.ragged_gemm
// CHECK: tile.rows
func.func @number_of_rows(%x: tensor<5x8xf32>, %w: tensor<3x8x16xf32>, %b: tensor<3x2xi64>, %i: tensor<5x16xf32>, %o: tensor<4x16xf32>) -> (tensor<4x16xf32>) {
  // expected-note @+1 {{because of this op}}
  %h = tile.ragged_gemm lhs(%x : tensor<5x8xf32>) rhs(%w : tensor<3x8x16xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<5x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<5x16xf32>
  // expected-remark @+1 {{not fused into the product's epilogue: an out has another number of rows than the product}}
  %y = tile.rows ins(%h : tensor<5x16xf32>) bounds(%b : tensor<3x2xi64>) outs(%o : tensor<4x16xf32>) {
  ^bb0(%r: index, %g: index, %p: tensor<5x16xf32>):
    %0 = tile.load %p[%r] : tensor<5x16xf32> -> vector<16xf32>
    %1 = arith.negf %0 : vector<16xf32>
    tile.yield %1 : vector<16xf32>
  } -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func @reduction
// CHECK: tile.ragged_gemm
// CHECK: tile.rows
func.func @reduction(%x: tensor<5x8xf32>, %w: tensor<3x8x16xf32>, %b: tensor<3x2xi64>, %i: tensor<5x16xf32>) -> (tensor<5x16xf32>) {
  %h = tile.ragged_gemm lhs(%x : tensor<5x8xf32>) rhs(%w : tensor<3x8x16xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<5x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<5x16xf32>
  // expected-remark @+1 {{not fused into the product's epilogue: its body has a 'vector.reduction', which is not elementwise}}
  %y = tile.rows ins(%h : tensor<5x16xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<5x16xf32>) {
  ^bb0(%r: index, %g: index, %p: tensor<5x16xf32>):
    %0 = tile.load %p[%r] : tensor<5x16xf32> -> vector<16xf32>
    // expected-note @+1 {{because of this op}}
    %s = vector.reduction <add>, %0 : vector<16xf32> into f32
    %1 = vector.broadcast %s : f32 to vector<16xf32>
    tile.yield %1 : vector<16xf32>
  } -> tensor<5x16xf32>
  return %y : tensor<5x16xf32>
}

// -----

// CHECK-LABEL: func @other_row
// CHECK: tile.ragged_gemm
// CHECK: tile.rows
func.func @other_row(%x: tensor<5x8xf32>, %w: tensor<3x8x16xf32>, %b: tensor<3x2xi64>, %i: tensor<5x16xf32>) -> (tensor<5x16xf32>) {
  %h = tile.ragged_gemm lhs(%x : tensor<5x8xf32>) rhs(%w : tensor<3x8x16xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<5x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<5x16xf32>
  // expected-remark @+1 {{not fused into the product's epilogue: it reads the product at another place than its own row}}
  %y = tile.rows ins(%h : tensor<5x16xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<5x16xf32>) {
  ^bb0(%r: index, %g: index, %p: tensor<5x16xf32>):
    %0 = tile.load %p[%r] : tensor<5x16xf32> -> vector<16xf32>
    %c = arith.constant 2 : index
    // expected-note @+1 {{because of this op}}
    %2 = tile.load %p[%c] : tensor<5x16xf32> -> vector<16xf32>
    %1 = arith.addf %0, %2 : vector<16xf32>
    tile.yield %1 : vector<16xf32>
  } -> tensor<5x16xf32>
  return %y : tensor<5x16xf32>
}

// -----

// CHECK-LABEL: func @row_number
// CHECK: tile.ragged_gemm
// CHECK: tile.rows
func.func @row_number(%x: tensor<5x8xf32>, %w: tensor<3x8x16xf32>, %b: tensor<3x2xi64>, %i: tensor<5x16xf32>) -> (tensor<5x16xf32>) {
  %h = tile.ragged_gemm lhs(%x : tensor<5x8xf32>) rhs(%w : tensor<3x8x16xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<5x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<5x16xf32>
  // expected-remark @+1 {{not fused into the product's epilogue: it computes with the number of the row or group}}
  %y = tile.rows ins(%h : tensor<5x16xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<5x16xf32>) {
  ^bb0(%r: index, %g: index, %p: tensor<5x16xf32>):
    %0 = tile.load %p[%r] : tensor<5x16xf32> -> vector<16xf32>
    // expected-note @+1 {{because of this op}}
    %n = arith.index_cast %r : index to i32
    %f = arith.sitofp %n : i32 to f32
    %v = vector.broadcast %f : f32 to vector<16xf32>
    %1 = arith.addf %0, %v : vector<16xf32>
    tile.yield %1 : vector<16xf32>
  } -> tensor<5x16xf32>
  return %y : tensor<5x16xf32>
}

// -----

// CHECK-LABEL: func @integers
// CHECK: tile.ragged_gemm
// CHECK: tile.rows
func.func @integers(%x: tensor<5x8xf32>, %w: tensor<3x8x16xf32>, %b: tensor<3x2xi64>, %i: tensor<5x16xf32>, %n: tensor<5xi32>) -> (tensor<5x16xf32>) {
  %h = tile.ragged_gemm lhs(%x : tensor<5x8xf32>) rhs(%w : tensor<3x8x16xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<5x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<5x16xf32>
  // expected-remark @+1 {{not fused into the product's epilogue: it reads integers}}
  %y = tile.rows ins(%h, %n : tensor<5x16xf32>, tensor<5xi32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<5x16xf32>) {
  ^bb0(%r: index, %g: index, %p: tensor<5x16xf32>, %q: tensor<5xi32>):
    %0 = tile.load %p[%r] : tensor<5x16xf32> -> vector<16xf32>
    // expected-note @+1 {{because of this op}}
    %int = tile.load %q[%r] : tensor<5xi32> -> i32
    %f = arith.sitofp %int : i32 to f32
    %v = vector.broadcast %f : f32 to vector<16xf32>
    %1 = arith.addf %0, %v : vector<16xf32>
    tile.yield %1 : vector<16xf32>
  } -> tensor<5x16xf32>
  return %y : tensor<5x16xf32>
}

// -----

// CHECK-LABEL: func @unreadable_operand
// CHECK: tile.ragged_gemm
// CHECK: tile.rows
func.func @unreadable_operand(%x: tensor<5x8xf32>, %w: tensor<3x8x16xf32>, %b: tensor<3x2xi64>, %i: tensor<5x16xf32>, %n: tensor<16xf32>) -> (tensor<5x16xf32>) {
  %h = tile.ragged_gemm lhs(%x : tensor<5x8xf32>) rhs(%w : tensor<3x8x16xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<5x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<5x16xf32>
  // expected-remark @+1 {{not fused into the product's epilogue: it reads an operand that an epilogue cannot read}}
  %y = tile.rows ins(%h, %n : tensor<5x16xf32>, tensor<16xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<5x16xf32>) {
  ^bb0(%r: index, %g: index, %p: tensor<5x16xf32>, %q: tensor<16xf32>):
    %0 = tile.load %p[%r] : tensor<5x16xf32> -> vector<16xf32>
    // expected-note @+1 {{because of this op}}
    %v = tile.load %q[] : tensor<16xf32> -> vector<16xf32>
    %1 = arith.addf %0, %v : vector<16xf32>
    tile.yield %1 : vector<16xf32>
  } -> tensor<5x16xf32>
  return %y : tensor<5x16xf32>
}

// -----

// CHECK-LABEL: func @operand_of_other_length
// CHECK: tile.ragged_gemm
// CHECK: tile.rows
func.func @operand_of_other_length(%x: tensor<5x8xf32>, %w: tensor<3x8x16xf32>, %b: tensor<3x2xi64>, %i: tensor<5x16xf32>, %n: tensor<6x16xf32>) -> (tensor<5x16xf32>) {
  %h = tile.ragged_gemm lhs(%x : tensor<5x8xf32>) rhs(%w : tensor<3x8x16xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<5x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<5x16xf32>
  // expected-remark @+1 {{not fused into the product's epilogue: it reads an operand with another number of rows than the product}}
  %y = tile.rows ins(%h, %n : tensor<5x16xf32>, tensor<6x16xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<5x16xf32>) {
  ^bb0(%r: index, %g: index, %p: tensor<5x16xf32>, %q: tensor<6x16xf32>):
    %0 = tile.load %p[%r] : tensor<5x16xf32> -> vector<16xf32>
    // expected-note @+1 {{because of this op}}
    %v = tile.load %q[%r] : tensor<6x16xf32> -> vector<16xf32>
    %1 = arith.addf %0, %v : vector<16xf32>
    tile.yield %1 : vector<16xf32>
  } -> tensor<5x16xf32>
  return %y : tensor<5x16xf32>
}

// -----

// CHECK-LABEL: func @constant_by_column
// CHECK: tile.ragged_gemm
// CHECK: tile.rows
func.func @constant_by_column(%x: tensor<5x8xf32>, %w: tensor<3x8x16xf32>, %b: tensor<3x2xi64>, %i: tensor<5x16xf32>) -> (tensor<5x16xf32>) {
  %h = tile.ragged_gemm lhs(%x : tensor<5x8xf32>) rhs(%w : tensor<3x8x16xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<5x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<5x16xf32>
  // expected-remark @+1 {{not fused into the product's epilogue: it has a constant that differs by column}}
  %y = tile.rows ins(%h : tensor<5x16xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<5x16xf32>) {
  ^bb0(%r: index, %g: index, %p: tensor<5x16xf32>):
    %0 = tile.load %p[%r] : tensor<5x16xf32> -> vector<16xf32>
    // expected-note @+1 {{because of this op}}
    %v = arith.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0]> : vector<16xf32>
    %1 = arith.addf %0, %v : vector<16xf32>
    tile.yield %1 : vector<16xf32>
  } -> tensor<5x16xf32>
  return %y : tensor<5x16xf32>
}

// -----

// CHECK-LABEL: func @quarter
// CHECK: tile.ragged_gemm
// CHECK: tile.rows
func.func @quarter(%x: tensor<5x8xf32>, %w: tensor<3x8x16xf32>, %b: tensor<3x2xi64>, %i: tensor<5x16xf32>, %o: tensor<5x8xf32>) -> (tensor<5x8xf32>) {
  %h = tile.ragged_gemm lhs(%x : tensor<5x8xf32>) rhs(%w : tensor<3x8x16xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<5x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<5x16xf32>
  // expected-remark @+1 {{not fused into the product's epilogue: it takes a slice that is not one half of the product's columns}}
  %y = tile.rows ins(%h : tensor<5x16xf32>) bounds(%b : tensor<3x2xi64>) outs(%o : tensor<5x8xf32>) {
  ^bb0(%r: index, %g: index, %p: tensor<5x16xf32>):
    %0 = tile.load %p[%r] : tensor<5x16xf32> -> vector<16xf32>
    // expected-note @+1 {{because of this op}}
    %1 = vector.extract_strided_slice %0 {offsets = [4], sizes = [8], strides = [1]} : vector<16xf32> to vector<8xf32>
    tile.yield %1 : vector<8xf32>
  } -> tensor<5x8xf32>
  return %y : tensor<5x8xf32>
}

// -----

// CHECK-LABEL: func @halves_and_pairs
// CHECK: tile.ragged_gemm
// CHECK: tile.rows
func.func @halves_and_pairs(%x: tensor<5x8xf32>, %w: tensor<3x8x16xf32>, %b: tensor<3x2xi64>, %i: tensor<5x16xf32>, %o: tensor<5x8xf32>) -> (tensor<5x8xf32>) {
  %h = tile.ragged_gemm lhs(%x : tensor<5x8xf32>) rhs(%w : tensor<3x8x16xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<5x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<5x16xf32>
  // expected-remark @+1 {{not fused into the product's epilogue: it reads the product's columns both as halves and as pairs}}
  %y = tile.rows ins(%h : tensor<5x16xf32>) bounds(%b : tensor<3x2xi64>) outs(%o : tensor<5x8xf32>) {
  ^bb0(%r: index, %g: index, %p: tensor<5x16xf32>):
    %0 = tile.load %p[%r] : tensor<5x16xf32> -> vector<16xf32>
    %1 = vector.extract_strided_slice %0 {offsets = [0], sizes = [8], strides = [1]} : vector<16xf32> to vector<8xf32>
    // expected-note @+1 {{because of this op}}
    %2, %3 = vector.deinterleave %0 : vector<16xf32> -> vector<8xf32>
    %4 = arith.addf %1, %2 : vector<8xf32>
    tile.yield %4 : vector<8xf32>
  } -> tensor<5x8xf32>
  return %y : tensor<5x8xf32>
}

// -----

// CHECK-LABEL: func @odd_columns
// CHECK: tile.ragged_gemm
// CHECK: tile.rows
func.func @odd_columns(%x: tensor<5x8xf32>, %w: tensor<3x8x15xf32>, %b: tensor<3x2xi64>, %i: tensor<5x15xf32>, %o: tensor<5x7xf32>) -> (tensor<5x7xf32>) {
  %h = tile.ragged_gemm lhs(%x : tensor<5x8xf32>) rhs(%w : tensor<3x8x15xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<5x15xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<5x15xf32>
  // expected-note @+2 {{because of this op}}
  // expected-remark @+1 {{not fused into the product's epilogue: the product has an odd number of columns}}
  %y = tile.rows ins(%h : tensor<5x15xf32>) bounds(%b : tensor<3x2xi64>) outs(%o : tensor<5x7xf32>) {
  ^bb0(%r: index, %g: index, %p: tensor<5x15xf32>):
    %0 = tile.load %p[%r] : tensor<5x15xf32> -> vector<15xf32>
    %1 = vector.extract_strided_slice %0 {offsets = [0], sizes = [7], strides = [1]} : vector<15xf32> to vector<7xf32>
    tile.yield %1 : vector<7xf32>
  } -> tensor<5x7xf32>
  return %y : tensor<5x7xf32>
}

// -----

// CHECK-LABEL: func @wide_out
// CHECK: tile.ragged_gemm
// CHECK: tile.rows
func.func @wide_out(%x: tensor<5x8xf32>, %w: tensor<3x8x16xf32>, %b: tensor<3x2xi64>, %i: tensor<5x16xf32>) -> (tensor<5x16xf32>) {
  %h = tile.ragged_gemm lhs(%x : tensor<5x8xf32>) rhs(%w : tensor<3x8x16xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<5x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<5x16xf32>
  // expected-note @+2 {{because of this op}}
  // expected-remark @+1 {{not fused into the product's epilogue: an out is not as wide as the product's result columns}}
  %y = tile.rows ins(%h : tensor<5x16xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<5x16xf32>) {
  ^bb0(%r: index, %g: index, %p: tensor<5x16xf32>):
    %0 = tile.load %p[%r] : tensor<5x16xf32> -> vector<16xf32>
    %1, %2 = vector.deinterleave %0 : vector<16xf32> -> vector<8xf32>
    tile.yield %0 : vector<16xf32>
  } -> tensor<5x16xf32>
  return %y : tensor<5x16xf32>
}

// -----

// CHECK-LABEL: func @row_of_other_width
// CHECK: tile.ragged_gemm
// CHECK: tile.rows
func.func @row_of_other_width(%x: tensor<5x8xf32>, %w: tensor<3x8x16xf32>, %b: tensor<3x2xi64>, %i: tensor<5x16xf32>, %n: tensor<5x4xf32>) -> (tensor<5x16xf32>) {
  %h = tile.ragged_gemm lhs(%x : tensor<5x8xf32>) rhs(%w : tensor<3x8x16xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<5x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<5x16xf32>
  // expected-remark @+1 {{not fused into the product's epilogue: it has a row that is as wide as neither the product nor the result}}
  %y = tile.rows ins(%h, %n : tensor<5x16xf32>, tensor<5x4xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<5x16xf32>) {
  ^bb0(%r: index, %g: index, %p: tensor<5x16xf32>, %q: tensor<5x4xf32>):
    %0 = tile.load %p[%r] : tensor<5x16xf32> -> vector<16xf32>
    // expected-note @+1 {{because of this op}}
    %v = tile.load %q[%r] : tensor<5x4xf32> -> vector<4xf32>
    tile.yield %0 : vector<16xf32>
  } -> tensor<5x16xf32>
  return %y : tensor<5x16xf32>
}

// -----

// CHECK-LABEL: func @wide_operand_of_the_product
// CHECK: tile.ragged_gemm
// CHECK: tile.rows
func.func @wide_operand_of_the_product(%x: tensor<5x8xf32>, %w: tensor<3x8x16xf32>, %b: tensor<3x2xi64>, %i: tensor<5x16xf32>, %e: tensor<5x16xf32>, %o: tensor<5x8xf32>) -> (tensor<5x8xf32>) {
  // expected-note @+1 {{because of this op}}
  %h = tile.ragged_gemm lhs(%x : tensor<5x8xf32>) rhs(%w : tensor<3x8x16xf32>) bounds(%b : tensor<3x2xi64>) extras(%e : tensor<5x16xf32>)
      outs(%i : tensor<5x16xf32>) attributes {extra_kinds = [#tile.extra<elem>]} {
  ^bb0(%acc: f32, %e0: f32):
    %0 = arith.addf %acc, %e0 : f32
    tile.yield %0 : f32
  } -> tensor<5x16xf32>
  // expected-remark @+1 {{not fused into the product's epilogue: the product's epilogue reads an operand of its whole width}}
  %y = tile.rows ins(%h : tensor<5x16xf32>) bounds(%b : tensor<3x2xi64>) outs(%o : tensor<5x8xf32>) {
  ^bb0(%r: index, %g: index, %p: tensor<5x16xf32>):
    %0 = tile.load %p[%r] : tensor<5x16xf32> -> vector<16xf32>
    %1, %2 = vector.deinterleave %0 : vector<16xf32> -> vector<8xf32>
    tile.yield %1 : vector<8xf32>
  } -> tensor<5x8xf32>
  return %y : tensor<5x8xf32>
}

// Reading other rows of a product only, as a combine does, has nothing to do with its epilogue: no remark.
// CHECK-LABEL: func @combine
// CHECK: tile.ragged_gemm
// CHECK: tile.rows
func.func @combine(%x: tensor<5x8xf32>, %w: tensor<3x8x16xf32>, %b: tensor<3x2xi64>, %inv: tensor<4xi32>, %i: tensor<5x16xf32>, %o: tensor<4x16xf32>)
    -> tensor<4x16xf32> {
  %h = tile.ragged_gemm lhs(%x : tensor<5x8xf32>) rhs(%w : tensor<3x8x16xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<5x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<5x16xf32>
  %y = tile.rows ins(%h, %inv : tensor<5x16xf32>, tensor<4xi32>) outs(%o : tensor<4x16xf32>) {
  ^bb0(%r: index, %p: tensor<5x16xf32>, %q: tensor<4xi32>):
    %0 = tile.load %q[%r] : tensor<4xi32> -> i32
    %1 = arith.index_cast %0 : i32 to index
    %2 = tile.load %p[%1] : tensor<5x16xf32> -> vector<16xf32>
    tile.yield %2 : vector<16xf32>
  } -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// -----

// CHECK-LABEL: func @ordered
// CHECK: tile.ragged_gemm
// CHECK: tile.rows
func.func @ordered(%x: tensor<5x8xf32>, %w: tensor<8x16xf32>, %o: tensor<5xi32>, %i: tensor<5x16xf32>) -> (tensor<5x16xf32>) {
  // expected-note @+1 {{because of this op}}
  %h = tile.ragged_gemm lhs(%x : tensor<5x8xf32>) rhs(%w : tensor<8x16xf32>) outs(%i : tensor<5x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<5x16xf32>
  // expected-remark @+1 {{not fused into the product's epilogue: it has an order}}
  %y = tile.rows ins(%h : tensor<5x16xf32>) order(%o : tensor<5xi32>) outs(%i : tensor<5x16xf32>) {
  ^bb0(%r: index, %p: tensor<5x16xf32>):
    %0 = tile.load %p[%r] : tensor<5x16xf32> -> vector<16xf32>
    %1 = arith.negf %0 : vector<16xf32>
    tile.yield %1 : vector<16xf32>
  } -> tensor<5x16xf32>
  return %y : tensor<5x16xf32>
}
