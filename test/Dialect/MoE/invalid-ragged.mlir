// RUN: moe-opt %s -split-input-file -verify-diagnostics

//===--- gather ---===//

// C1: no slots
func.func @f(%x: tensor<5x4xf32>, %p: !moe.plan<groups = 2, rows = 8>) {
  // expected-error@+1 {{'moe.gather' op topk of the plan is 0, expected at least 1 (a plan made from sizes knows no slots)}}
  %0 = moe.gather %x, %p : tensor<5x4xf32>, !moe.plan<groups = 2, rows = 8> -> tensor<8x4xf32, #moe.ragged<groups = 2>>
  return
}

// -----

// C1: tokens
func.func @f(%x: tensor<5x4xf32>, %p: !moe.plan<groups = 2, tokens = 4, topk = 2>) {
  // expected-error@+1 {{'moe.gather' op number of rows of x is 5, expected 4 (tokens of the plan)}}
  %0 = moe.gather %x, %p : tensor<5x4xf32>, !moe.plan<groups = 2, tokens = 4, topk = 2> -> tensor<8x4xf32, #moe.ragged<groups = 2>>
  return
}

// -----

// C2: rows
func.func @f(%x: tensor<?x4xf32>, %p: !moe.plan<groups = 2, rows = 8, topk = 2>) {
  // expected-error@+1 {{'moe.gather' op number of rows of result is 9, expected 8 (rows of the plan)}}
  %0 = moe.gather %x, %p : tensor<?x4xf32>, !moe.plan<groups = 2, rows = 8, topk = 2> -> tensor<9x4xf32, #moe.ragged<groups = 2>>
  return
}

// -----

// C2: columns
func.func @f(%x: tensor<?x4xf32>, %p: !moe.plan<groups = 2, topk = 2>) {
  // expected-error@+1 {{'moe.gather' op dimension 1 of result is 5, expected 4 (columns of x)}}
  %0 = moe.gather %x, %p : tensor<?x4xf32>, !moe.plan<groups = 2, topk = 2> -> tensor<?x5xf32, #moe.ragged<groups = 2>>
  return
}

// -----

// C2: element type
func.func @f(%x: tensor<?x4xf32>, %p: !moe.plan<groups = 2, topk = 2>) {
  // expected-error@+1 {{'moe.gather' op element type of result is 'bf16', expected 'f32' (that of x)}}
  %0 = moe.gather %x, %p : tensor<?x4xf32>, !moe.plan<groups = 2, topk = 2> -> tensor<?x4xbf16, #moe.ragged<groups = 2>>
  return
}

// -----

// C2: no encoding
func.func @f(%x: tensor<?x4xf32>, %p: !moe.plan<groups = 2, topk = 2>) {
  // expected-error@+1 {{'moe.gather' op result #0 must be ragged rank-2 tensor of f32, bf16 or f16 values, but got 'tensor<?x4xf32>'}}
  %0 = moe.gather %x, %p : tensor<?x4xf32>, !moe.plan<groups = 2, topk = 2> -> tensor<?x4xf32>
  return
}

// -----

// C2: groups
func.func @f(%x: tensor<?x4xf32>, %p: !moe.plan<groups = 2, topk = 2>) {
  // expected-error@+1 {{'moe.gather' op groups of result is 3, expected 2 (groups of the plan)}}
  %0 = moe.gather %x, %p : tensor<?x4xf32>, !moe.plan<groups = 2, topk = 2> -> tensor<?x4xf32, #moe.ragged<groups = 3>>
  return
}

// -----

// C2: align
func.func @f(%x: tensor<?x4xf32>, %p: !moe.plan<groups = 2, topk = 2>) {
  // expected-error@+1 {{'moe.gather' op align of result is 8, expected 1 (align of the plan)}}
  %0 = moe.gather %x, %p : tensor<?x4xf32>, !moe.plan<groups = 2, topk = 2> -> tensor<?x4xf32, #moe.ragged<groups = 2, align = 8>>
  return
}

// -----

!p = !moe.plan<groups = 2, rows = 4, tokens = 4, topk = 1>
!q = !moe.plan<groups = 2, rows = 8>

// C3: no slots
func.func @f(%x: tensor<5x4xf32>, %p: !p, %q: !q) {
  // expected-error@+1 {{'moe.gather' op topk of through is 0, expected at least 1}}
  %0 = moe.gather %x, %p through %q : tensor<5x4xf32>, !p, !q -> tensor<4x4xf32, #moe.ragged<groups = 2>>
  return
}

// -----

!p = !moe.plan<groups = 2, rows = 4, tokens = 4, topk = 1>
!q = !moe.plan<groups = 2, rows = 10, tokens = 5, topk = 2>

// C3: rows of through
func.func @f(%x: tensor<5x4xf32>, %p: !p, %q: !q) {
  // expected-error@+1 {{'moe.gather' op number of tokens of the plan is 4, expected 10 (rows of through)}}
  %0 = moe.gather %x, %p through %q : tensor<5x4xf32>, !p, !q -> tensor<4x4xf32, #moe.ragged<groups = 2>>
  return
}

// -----

!p = !moe.plan<groups = 2, rows = 10, tokens = 10, topk = 1>
!q = !moe.plan<groups = 2, rows = 10, tokens = 5, topk = 2>

// C3: rows of x
func.func @f(%x: tensor<10x4xf32>, %p: !p, %q: !q) {
  // expected-error@+1 {{'moe.gather' op number of rows of x is 10, expected 5 (tokens of through)}}
  %0 = moe.gather %x, %p through %q : tensor<10x4xf32>, !p, !q -> tensor<10x4xf32, #moe.ragged<groups = 2>>
  return
}

// -----

//===--- group_sum ---===//

// C1
func.func @f(%x: tensor<8x4xf32, #moe.ragged<groups = 3>>, %p: !moe.plan<groups = 2>) {
  // expected-error@+1 {{'moe.group_sum' op groups of x is 3, expected 2 (groups of the plan)}}
  %0 = moe.group_sum %x, %p : tensor<8x4xf32, #moe.ragged<groups = 3>>, !moe.plan<groups = 2> -> tensor<2x4xf32>
  return
}

// -----

// C2: shape
func.func @f(%x: tensor<8x4xf32, #moe.ragged<groups = 2>>, %p: !moe.plan<groups = 2>) {
  // expected-error@+1 {{'moe.group_sum' op dimension 0 of result is 3, expected 2 (groups of the plan)}}
  %0 = moe.group_sum %x, %p : tensor<8x4xf32, #moe.ragged<groups = 2>>, !moe.plan<groups = 2> -> tensor<3x4xf32>
  return
}

// -----

// C2: element type
func.func @f(%x: tensor<8x4xbf16, #moe.ragged<groups = 2>>, %p: !moe.plan<groups = 2>) {
  // expected-error@+1 {{'moe.group_sum' op element type of result is 'f16', expected 'bf16' or f32 (that of x)}}
  %0 = moe.group_sum %x, %p : tensor<8x4xbf16, #moe.ragged<groups = 2>>, !moe.plan<groups = 2> -> tensor<2x4xf16>
  return
}

// -----

//===--- gated_activation ---===//

// C1: odd
func.func @f(%x: tensor<?x7xf32>) {
  // expected-error@+1 {{'moe.gated_activation' op dimension 1 of x is 7, expected an even number (gate and up)}}
  %0 = moe.gated_activation %x : tensor<?x7xf32> -> tensor<?x3xf32>
  return
}

// -----

// C1: half
func.func @f(%x: tensor<?x8xf32>) {
  // expected-error@+1 {{'moe.gated_activation' op dimension 1 of result is 8, expected 4 (half the columns of x)}}
  %0 = moe.gated_activation %x : tensor<?x8xf32> -> tensor<?x8xf32>
  return
}

// -----

// C1: rows
func.func @f(%x: tensor<5x8xf32>) {
  // expected-error@+1 {{'moe.gated_activation' op dimension 0 of result is 6, expected 5 (rows of x)}}
  %0 = moe.gated_activation %x : tensor<5x8xf32> -> tensor<6x4xf32>
  return
}

// -----

// C1: element type
func.func @f(%x: tensor<5x8xbf16>) {
  // expected-error@+1 {{'moe.gated_activation' op element type of result is 'f32', expected 'bf16' (that of x)}}
  %0 = moe.gated_activation %x : tensor<5x8xbf16> -> tensor<5x4xf32>
  return
}

// -----

// C1: encoding
func.func @f(%x: tensor<5x8xf32, #moe.ragged<groups = 2>>) {
  // expected-error@+1 {{'moe.gated_activation' op encoding of result is none, expected #moe.ragged<groups = 2> (that of x)}}
  %0 = moe.gated_activation %x : tensor<5x8xf32, #moe.ragged<groups = 2>> -> tensor<5x4xf32>
  return
}

// -----

// C2
func.func @f(%x: tensor<5x8xf32>) {
  // expected-error@+1 {{'moe.gated_activation' op limit is 0.000000e+00 : f32, expected greater than 0}}
  %0 = moe.gated_activation %x {limit = 0.0 : f32} : tensor<5x8xf32> -> tensor<5x4xf32>
  return
}

// -----

// C2: NaN
func.func @f(%x: tensor<5x8xf32>) {
  // expected-error@+1 {{'moe.gated_activation' op limit is 0x7FC00000 : f32, expected greater than 0}}
  %0 = moe.gated_activation %x {limit = 0x7FC00000 : f32} : tensor<5x8xf32> -> tensor<5x4xf32>
  return
}

// -----

// C3
func.func @f(%x: tensor<5x8xf32>) {
  // expected-error@+1 {{'moe.gated_activation' op alpha is 2.000000e+00 : f32, expected 1 (function is relu, only silu has alpha)}}
  %0 = moe.gated_activation %x {function = #moe.gate<relu>, alpha = 2.0 : f32} : tensor<5x8xf32> -> tensor<5x4xf32>
  return
}

// -----

//===--- combine ---===//

// C1: slots
func.func @f(%y: tensor<8x4xf32, #moe.ragged<groups = 2>>, %p: !moe.plan<groups = 2>) {
  // expected-error@+1 {{'moe.combine' op topk of the plan is 0, expected at least 1}}
  %0 = moe.combine %y, %p : tensor<8x4xf32, #moe.ragged<groups = 2>>, !moe.plan<groups = 2> -> tensor<?x4xf32>
  return
}

// -----

// C1: rows
func.func @f(%y: tensor<8x4xf32, #moe.ragged<groups = 2>>, %p: !moe.plan<groups = 2, rows = 9, topk = 1>) {
  // expected-error@+1 {{'moe.combine' op number of rows of y is 8, expected 9 (rows of the plan)}}
  %0 = moe.combine %y, %p : tensor<8x4xf32, #moe.ragged<groups = 2>>, !moe.plan<groups = 2, rows = 9, topk = 1> -> tensor<?x4xf32>
  return
}

// -----

// C1: encoding
func.func @f(%y: tensor<8x4xf32, "rows">, %p: !moe.plan<groups = 2, topk = 1>) {
  // expected-error@+1 {{'moe.combine' op operand #0 must be ragged rank-2 tensor of f32, bf16 or f16 values}}
  %0 = moe.combine %y, %p : tensor<8x4xf32, "rows">, !moe.plan<groups = 2, topk = 1> -> tensor<?x4xf32>
  return
}

// -----

// C2
func.func @f(%y: tensor<8x4xf32, #moe.ragged<groups = 2>>, %p: !moe.plan<groups = 2, topk = 1>, %w: tensor<8x2xf32>) {
  // expected-error@+1 {{'moe.combine' op dimension 1 of weights is 2, expected 1 (topk of the plan)}}
  %0 = moe.combine %y, %p weights %w : tensor<8x4xf32, #moe.ragged<groups = 2>>, !moe.plan<groups = 2, topk = 1>, tensor<8x2xf32> -> tensor<8x4xf32>
  return
}

// -----

// C3: tokens
func.func @f(%y: tensor<8x4xf32, #moe.ragged<groups = 2>>, %p: !moe.plan<groups = 2, tokens = 8, topk = 1>) {
  // expected-error@+1 {{'moe.combine' op dimension 0 of result is 7, expected 8 (tokens of the plan)}}
  %0 = moe.combine %y, %p : tensor<8x4xf32, #moe.ragged<groups = 2>>, !moe.plan<groups = 2, tokens = 8, topk = 1> -> tensor<7x4xf32>
  return
}

// -----

// C3: columns
func.func @f(%y: tensor<8x4xf32, #moe.ragged<groups = 2>>, %p: !moe.plan<groups = 2, topk = 1>) {
  // expected-error@+1 {{'moe.combine' op dimension 1 of result is 5, expected 4 (columns of y)}}
  %0 = moe.combine %y, %p : tensor<8x4xf32, #moe.ragged<groups = 2>>, !moe.plan<groups = 2, topk = 1> -> tensor<?x5xf32>
  return
}

// -----

// C3: element type
func.func @f(%y: tensor<8x4xf16, #moe.ragged<groups = 2>>, %p: !moe.plan<groups = 2, topk = 1>) {
  // expected-error@+1 {{'moe.combine' op element type of result is 'bf16', expected 'f16' or f32 (that of y)}}
  %0 = moe.combine %y, %p : tensor<8x4xf16, #moe.ragged<groups = 2>>, !moe.plan<groups = 2, topk = 1> -> tensor<?x4xbf16>
  return
}
