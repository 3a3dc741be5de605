// RUN: moe-opt %s -split-input-file -verify-diagnostics

//===--- ragged_matmul ---===//

!p = !moe.plan<groups = 2, rows = 8>
#r = #moe.ragged<groups = 2>

// C1: element types
func.func @f(%x: tensor<8x4xf32, #r>, %w: tensor<2x4x6xbf16>, %p: !p) {
  // expected-error@+1 {{'moe.ragged_matmul' op element type of rhs is 'bf16', expected 'f32' (that of lhs)}}
  %0 = moe.ragged_matmul %x, %w plan %p : tensor<8x4xf32, #r>, tensor<2x4x6xbf16>, !p -> tensor<8x6xf32, #r>
  return
}

// -----

!p = !moe.plan<groups = 2, rows = 8>
#r = #moe.ragged<groups = 2>

// C1: rank
func.func @f(%x: tensor<8x4xf32, #r>, %w: tensor<4x6xf32>, %p: !p) {
  // expected-error@+1 {{'moe.ragged_matmul' op rank of rhs is 2, expected 3 (mode is rows)}}
  %0 = moe.ragged_matmul %x, %w plan %p : tensor<8x4xf32, #r>, tensor<4x6xf32>, !p -> tensor<8x6xf32, #r>
  return
}

// -----

!p = !moe.plan<groups = 2, rows = 8>
#r = #moe.ragged<groups = 2>

// C1: contraction
func.func @f(%x: tensor<8x4xf32, #r>, %w: tensor<2x5x6xf32>, %p: !p) {
  // expected-error@+1 {{'moe.ragged_matmul' op dimension 1 of rhs is 5, expected 4 (columns of lhs)}}
  %0 = moe.ragged_matmul %x, %w plan %p : tensor<8x4xf32, #r>, tensor<2x5x6xf32>, !p -> tensor<8x6xf32, #r>
  return
}

// -----

!p = !moe.plan<groups = 2, rows = 8>
#r = #moe.ragged<groups = 2>

// C1: contraction in the other layout
func.func @f(%x: tensor<8x4xf32, #r>, %w: tensor<2x4x6xf32>, %p: !p) {
  // expected-error@+1 {{'moe.ragged_matmul' op dimension 2 of rhs is 6, expected 4 (columns of lhs)}}
  %0 = moe.ragged_matmul %x, %w plan %p {layout = #moe.weights<nk>}
      : tensor<8x4xf32, #r>, tensor<2x4x6xf32>, !p -> tensor<8x6xf32, #r>
  return
}

// -----

!p = !moe.plan<groups = 2, rows = 8>
#r = #moe.ragged<groups = 2>

// C1: columns of the result
func.func @f(%x: tensor<8x4xf32, #r>, %w: tensor<2x4x6xf32>, %p: !p) {
  // expected-error@+1 {{'moe.ragged_matmul' op dimension 1 of result is 7, expected 6 (columns of rhs)}}
  %0 = moe.ragged_matmul %x, %w plan %p : tensor<8x4xf32, #r>, tensor<2x4x6xf32>, !p -> tensor<8x7xf32, #r>
  return
}

// -----

!p = !moe.plan<groups = 2>
#r = #moe.ragged<groups = 2>

// C1: rows of both sides
func.func @f(%x: tensor<8x4xf32, #r>, %y: tensor<9x6xf32, #r>, %p: !p) {
  // expected-error@+1 {{'moe.ragged_matmul' op number of rows of rhs is 9, expected 8 (rows of lhs)}}
  %0 = moe.ragged_matmul %x, %y plan %p {mode = #moe.mode<contraction>}
      : tensor<8x4xf32, #r>, tensor<9x6xf32, #r>, !p -> tensor<2x4x6xf32>
  return
}

// -----

!p = !moe.plan<groups = 2>
#r = #moe.ragged<groups = 2>

// C1: result of a contraction
func.func @f(%x: tensor<8x4xf32, #r>, %y: tensor<8x6xf32, #r>, %p: !p) {
  // expected-error@+1 {{'moe.ragged_matmul' op dimension 1 of result is 5, expected 4 (columns of lhs)}}
  %0 = moe.ragged_matmul %x, %y plan %p {mode = #moe.mode<contraction>}
      : tensor<8x4xf32, #r>, tensor<8x6xf32, #r>, !p -> tensor<2x5x6xf32>
  return
}

// -----

!p = !moe.plan<groups = 2>
#r = #moe.ragged<groups = 2>

// C1: result of a contraction
func.func @f(%x: tensor<8x4xf32, #r>, %y: tensor<8x6xf32, #r>, %p: !p) {
  // expected-error@+1 {{'moe.ragged_matmul' op dimension 2 of result is 5, expected 6 (columns of rhs)}}
  %0 = moe.ragged_matmul %x, %y plan %p {mode = #moe.mode<contraction>}
      : tensor<8x4xf32, #r>, tensor<8x6xf32, #r>, !p -> tensor<2x4x5xf32>
  return
}

// -----

!p = !moe.plan<groups = 2>
#r = #moe.ragged<groups = 2>

// C1: layout of a contraction
func.func @f(%x: tensor<8x4xf32, #r>, %y: tensor<8x6xf32, #r>, %p: !p) {
  // expected-error@+1 {{'moe.ragged_matmul' op layout is nk, expected kn (mode is contraction, rhs is not a weight)}}
  %0 = moe.ragged_matmul %x, %y plan %p {mode = #moe.mode<contraction>, layout = #moe.weights<nk>}
      : tensor<8x4xf32, #r>, tensor<8x6xf32, #r>, !p -> tensor<2x6x4xf32>
  return
}

// -----

// C1: batches
func.func @f(%x: tensor<3x8x4xf32>, %w: tensor<2x4x6xf32>) {
  // expected-error@+1 {{'moe.ragged_matmul' op dimension 0 of rhs is 2, expected 3 (batches of lhs)}}
  %0 = moe.ragged_matmul %x, %w {mode = #moe.mode<batch>} : tensor<3x8x4xf32>, tensor<2x4x6xf32> -> tensor<3x8x6xf32>
  return
}

// -----

// C1: result of a batch
func.func @f(%x: tensor<3x8x4xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error@+1 {{'moe.ragged_matmul' op dimension 1 of result is 7, expected 8 (rows of lhs)}}
  %0 = moe.ragged_matmul %x, %w {mode = #moe.mode<batch>} : tensor<3x8x4xf32>, tensor<3x4x6xf32> -> tensor<3x7x6xf32>
  return
}

// -----

#r = #moe.ragged<groups = 2>

// C2: missing
func.func @f(%x: tensor<8x4xf32, #r>, %w: tensor<2x4x6xf32>) {
  // expected-error@+1 {{'moe.ragged_matmul' op plan is missing, expected one (mode is rows)}}
  %0 = moe.ragged_matmul %x, %w : tensor<8x4xf32, #r>, tensor<2x4x6xf32> -> tensor<8x6xf32, #r>
  return
}

// -----

!p = !moe.plan<groups = 2, rows = 8>

// C2: one too many
func.func @f(%x: tensor<3x8x4xf32>, %w: tensor<3x4x6xf32>, %p: !p) {
  // expected-error@+1 {{'moe.ragged_matmul' op plan is given, expected none (mode is batch)}}
  %0 = moe.ragged_matmul %x, %w plan %p {mode = #moe.mode<batch>} : tensor<3x8x4xf32>, tensor<3x4x6xf32>, !p -> tensor<3x8x6xf32>
  return
}

// -----

!p = !moe.plan<groups = 2, rows = 8>
#r = #moe.ragged<groups = 2>

// C3: no encoding
func.func @f(%x: tensor<8x4xf32>, %w: tensor<2x4x6xf32>, %p: !p) {
  // expected-error@+1 {{'moe.ragged_matmul' op lhs is 'tensor<8x4xf32>', expected a ragged encoding with groups = 2, align = 1 (those of the plan)}}
  %0 = moe.ragged_matmul %x, %w plan %p : tensor<8x4xf32>, tensor<2x4x6xf32>, !p -> tensor<8x6xf32, #r>
  return
}

// -----

!p = !moe.plan<groups = 2, rows = 8>
#r = #moe.ragged<groups = 2>

// C3: rows
func.func @f(%x: tensor<7x4xf32, #r>, %w: tensor<2x4x6xf32>, %p: !p) {
  // expected-error@+1 {{'moe.ragged_matmul' op number of rows of lhs is 7, expected 8 (rows of the plan)}}
  %0 = moe.ragged_matmul %x, %w plan %p : tensor<7x4xf32, #r>, tensor<2x4x6xf32>, !p -> tensor<8x6xf32, #r>
  return
}

// -----

!p = !moe.plan<groups = 2, rows = 8>
#r = #moe.ragged<groups = 2>

// C3: the result
func.func @f(%x: tensor<8x4xf32, #r>, %w: tensor<2x4x6xf32>, %p: !p) {
  // expected-error@+1 {{'moe.ragged_matmul' op groups of result is 3, expected 2 (groups of the plan)}}
  %0 = moe.ragged_matmul %x, %w plan %p : tensor<8x4xf32, #r>, tensor<2x4x6xf32>, !p -> tensor<8x6xf32, #moe.ragged<groups = 3>>
  return
}

// -----

!p = !moe.plan<groups = 2, rows = 8>
#r = #moe.ragged<groups = 2>

// C3: a weight is not ragged
func.func @f(%x: tensor<8x4xf32, #r>, %w: tensor<2x4x6xf32, #r>, %p: !p) {
  // expected-error@+1 {{'moe.ragged_matmul' op encoding of rhs is #moe.ragged<groups = 2>, expected none (mode is rows)}}
  %0 = moe.ragged_matmul %x, %w plan %p : tensor<8x4xf32, #r>, tensor<2x4x6xf32, #r>, !p -> tensor<8x6xf32, #r>
  return
}

// -----

!p = !moe.plan<groups = 2, rows = 8>
#r = #moe.ragged<groups = 2>

// C4: all groups
func.func @f(%x: tensor<8x4xf32, #r>, %w: tensor<3x4x6xf32>, %p: !p) {
  // expected-error@+1 {{'moe.ragged_matmul' op dimension 0 of rhs is 3, expected 2 (groups of the plan)}}
  %0 = moe.ragged_matmul %x, %w plan %p : tensor<8x4xf32, #r>, tensor<3x4x6xf32>, !p -> tensor<8x6xf32, #r>
  return
}

// -----

!p = !moe.plan<groups = 2, rows = 8>
#r = #moe.ragged<groups = 2>

// C4: some groups
func.func @f(%x: tensor<8x4xf32, #r>, %w: tensor<2x4x6xf32>, %p: !p) {
  // expected-error@+1 {{'moe.ragged_matmul' op group_offset is 1 with 2 groups in rhs, expected them within 0 to 2 (groups of the plan)}}
  %0 = moe.ragged_matmul %x, %w plan %p {group_offset = 1} : tensor<8x4xf32, #r>, tensor<2x4x6xf32>, !p -> tensor<8x6xf32, #r>
  return
}

// -----

!p = !moe.plan<groups = 2, rows = 8>
#r = #moe.ragged<groups = 2>

// C4: negative
func.func @f(%x: tensor<8x4xf32, #r>, %w: tensor<1x4x6xf32>, %p: !p) {
  // expected-error@+1 {{'moe.ragged_matmul' op group_offset is -1 with 1 groups in rhs, expected them within 0 to 2 (groups of the plan)}}
  %0 = moe.ragged_matmul %x, %w plan %p {group_offset = -1} : tensor<8x4xf32, #r>, tensor<1x4x6xf32>, !p -> tensor<8x6xf32, #r>
  return
}

// -----

!p = !moe.plan<groups = 2, rows = 8>
#r = #moe.ragged<groups = 2>

// C4: dynamic
func.func @f(%x: tensor<8x4xf32, #r>, %w: tensor<?x4x6xf32>, %p: !p) {
  // expected-error@+1 {{'moe.ragged_matmul' op dimension 0 of rhs is dynamic, expected a static number of groups beside group_offset}}
  %0 = moe.ragged_matmul %x, %w plan %p {group_offset = 1} : tensor<8x4xf32, #r>, tensor<?x4x6xf32>, !p -> tensor<8x6xf32, #r>
  return
}

// -----

!p = !moe.plan<groups = 2, rows = 8>
#r = #moe.ragged<groups = 2>

// C4: groups of a contraction
func.func @f(%x: tensor<8x4xf32, #r>, %y: tensor<8x6xf32, #r>, %p: !p) {
  // expected-error@+1 {{'moe.ragged_matmul' op group_offset is 9223372036854775807 with 1 groups in result, expected them within 0 to 2 (groups of the plan)}}
  %0 = moe.ragged_matmul %x, %y plan %p {group_offset = 9223372036854775807, mode = #moe.mode<contraction>}
      : tensor<8x4xf32, #r>, tensor<8x6xf32, #r>, !p -> tensor<1x4x6xf32>
  return
}

// -----

// C4: no groups
func.func @f(%x: tensor<3x8x4xf32>, %w: tensor<3x4x6xf32>) {
  // expected-error@+1 {{'moe.ragged_matmul' op group_offset is given in mode batch, expected none}}
  %0 = moe.ragged_matmul %x, %w {group_offset = 0, mode = #moe.mode<batch>} : tensor<3x8x4xf32>, tensor<3x4x6xf32> -> tensor<3x8x6xf32>
  return
}

// -----

!p = !moe.plan<groups = 2, rows = 8>
#r = #moe.ragged<groups = 2>

// C5: groups
func.func @f(%x: tensor<8x4xf32, #r>, %w: tensor<2x4x6xf32>, %p: !p, %b: tensor<1x6xf32>) {
  // expected-error@+1 {{'moe.ragged_matmul' op dimension 0 of bias is 1, expected 2 (groups of rhs)}}
  %0 = moe.ragged_matmul %x, %w plan %p bias %b : tensor<8x4xf32, #r>, tensor<2x4x6xf32>, !p, tensor<1x6xf32> -> tensor<8x6xf32, #r>
  return
}

// -----

!p = !moe.plan<groups = 2, rows = 8>
#r = #moe.ragged<groups = 2>

// C5: columns
func.func @f(%x: tensor<8x4xf32, #r>, %w: tensor<2x4x6xf32>, %p: !p, %b: tensor<2x4xf32>) {
  // expected-error@+1 {{'moe.ragged_matmul' op dimension 1 of bias is 4, expected 6 (columns of rhs)}}
  %0 = moe.ragged_matmul %x, %w plan %p bias %b : tensor<8x4xf32, #r>, tensor<2x4x6xf32>, !p, tensor<2x4xf32> -> tensor<8x6xf32, #r>
  return
}

// -----

!p = !moe.plan<groups = 2, rows = 8>
#r = #moe.ragged<groups = 2>

// C5: mode
func.func @f(%x: tensor<8x4xf32, #r>, %y: tensor<8x6xf32, #r>, %p: !p, %b: tensor<2x6xf32>) {
  // expected-error@+1 {{'moe.ragged_matmul' op bias is given in mode contraction, expected mode rows}}
  %0 = moe.ragged_matmul %x, %y plan %p bias %b {mode = #moe.mode<contraction>}
      : tensor<8x4xf32, #r>, tensor<8x6xf32, #r>, !p, tensor<2x6xf32> -> tensor<2x4x6xf32>
  return
}

// -----

!p = !moe.plan<groups = 2, tokens = 4, topk = 2>
#r = #moe.ragged<groups = 2>

// C6: tokens
func.func @f(%x: tensor<8x4xf32, #r>, %w: tensor<2x4x6xf32>, %p: !p, %s: tensor<5x2xf32>) {
  // expected-error@+1 {{'moe.ragged_matmul' op dimension 0 of weights is 5, expected 4 (tokens of the plan)}}
  %0 = moe.ragged_matmul %x, %w plan %p weights %s : tensor<8x4xf32, #r>, tensor<2x4x6xf32>, !p, tensor<5x2xf32> -> tensor<8x6xf32, #r>
  return
}

// -----

!p = !moe.plan<groups = 2, tokens = 4, topk = 2>
#r = #moe.ragged<groups = 2>

// C6: slots
func.func @f(%x: tensor<8x4xf32, #r>, %w: tensor<2x4x6xf32>, %p: !p, %s: tensor<4x3xf32>) {
  // expected-error@+1 {{'moe.ragged_matmul' op dimension 1 of weights is 3, expected 2 (topk of the plan)}}
  %0 = moe.ragged_matmul %x, %w plan %p weights %s : tensor<8x4xf32, #r>, tensor<2x4x6xf32>, !p, tensor<4x3xf32> -> tensor<8x6xf32, #r>
  return
}

// -----

!p = !moe.plan<groups = 2, rows = 8>
#r = #moe.ragged<groups = 2>

// C6: a plan without slots
func.func @f(%x: tensor<8x4xf32, #r>, %w: tensor<2x4x6xf32>, %p: !p, %s: tensor<4x2xf32>) {
  // expected-error@+1 {{'moe.ragged_matmul' op topk of the plan is 0, expected at least 1}}
  %0 = moe.ragged_matmul %x, %w plan %p weights %s : tensor<8x4xf32, #r>, tensor<2x4x6xf32>, !p, tensor<4x2xf32> -> tensor<8x6xf32, #r>
  return
}

// -----

!p = !moe.plan<groups = 2, tokens = 4, topk = 2>
#r = #moe.ragged<groups = 2>

// C6: mode
func.func @f(%x: tensor<8x4xf32, #r>, %y: tensor<8x6xf32, #r>, %p: !p, %s: tensor<4x2xf32>) {
  // expected-error@+1 {{'moe.ragged_matmul' op weights is given in mode contraction, expected mode rows}}
  %0 = moe.ragged_matmul %x, %y plan %p weights %s {mode = #moe.mode<contraction>}
      : tensor<8x4xf32, #r>, tensor<8x6xf32, #r>, !p, tensor<4x2xf32> -> tensor<2x4x6xf32>
  return
}

// -----

!p = !moe.plan<groups = 2, rows = 8>
#r = #moe.ragged<groups = 2>

// C7: type
func.func @f(%x: tensor<8x4xbf16, #r>, %y: tensor<8x6xbf16, #r>, %p: !p, %acc: tensor<2x4x6xf32>) {
  // expected-error@+1 {{'moe.ragged_matmul' op type of acc is 'tensor<2x4x6xf32>' and of result 'tensor<2x4x6xbf16>', expected one type, of f32}}
  %0 = moe.ragged_matmul %x, %y plan %p acc %acc {mode = #moe.mode<contraction>}
      : tensor<8x4xbf16, #r>, tensor<8x6xbf16, #r>, !p, tensor<2x4x6xf32> -> tensor<2x4x6xbf16>
  return
}

// -----

!p = !moe.plan<groups = 2, rows = 8>
#r = #moe.ragged<groups = 2>

// C7: mode
func.func @f(%x: tensor<8x4xf32, #r>, %w: tensor<2x4x6xf32>, %p: !p, %acc: tensor<8x6xf32>) {
  // expected-error@+1 {{'moe.ragged_matmul' op acc is given in mode rows, expected mode contraction}}
  %0 = moe.ragged_matmul %x, %w plan %p acc %acc : tensor<8x4xf32, #r>, tensor<2x4x6xf32>, !p, tensor<8x6xf32> -> tensor<8x6xf32, #r>
  return
}

// -----

!p = !moe.plan<groups = 2, rows = 8>
#r = #moe.ragged<groups = 2>

// C8: scale without block
func.func @f(%x: tensor<8x4xf32, #r>, %w: tensor<2x4x6xf32>, %p: !p, %s: tensor<8x1xf32>) {
  // expected-error@+1 {{'moe.ragged_matmul' op scale_block is missing, expected it beside lhs_scale or rhs_scale}}
  %0 = moe.ragged_matmul %x, %w plan %p lhs_scale %s : tensor<8x4xf32, #r>, tensor<2x4x6xf32>, !p, tensor<8x1xf32> -> tensor<8x6xf32, #r>
  return
}

// -----

!p = !moe.plan<groups = 2, rows = 8>
#r = #moe.ragged<groups = 2>

// C8: block without scale
func.func @f(%x: tensor<8x4xf32, #r>, %w: tensor<2x4x6xf32>, %p: !p) {
  // expected-error@+1 {{'moe.ragged_matmul' op scale_block is 128 without lhs_scale or rhs_scale, expected none}}
  %0 = moe.ragged_matmul %x, %w plan %p {scale_block = 128} : tensor<8x4xf32, #r>, tensor<2x4x6xf32>, !p -> tensor<8x6xf32, #r>
  return
}

// -----

!p = !moe.plan<groups = 2, rows = 8>
#r = #moe.ragged<groups = 2>

// C8: 192 columns in blocks of 128 are 2 blocks
func.func @f(%x: tensor<8x192xf32, #r>, %w: tensor<2x192x6xf32>, %p: !p, %s: tensor<8x1xf32>) {
  // expected-error@+1 {{'moe.ragged_matmul' op dimension 1 of lhs_scale is 1, expected 2 (scale_block is 128)}}
  %0 = moe.ragged_matmul %x, %w plan %p lhs_scale %s {scale_block = 128}
      : tensor<8x192xf32, #r>, tensor<2x192x6xf32>, !p, tensor<8x1xf32> -> tensor<8x6xf32, #r>
  return
}

// -----

!p = !moe.plan<groups = 2, rows = 8>
#r = #moe.ragged<groups = 2>

// C8: right-hand scales in the order of the weight
func.func @f(%x: tensor<8x192xf32, #r>, %w: tensor<2x6x192xf32>, %p: !p, %s: tensor<2x2x6xf32>) {
  // expected-error@+1 {{'moe.ragged_matmul' op dimension 1 of rhs_scale is 2, expected 6 (scale_block is 128)}}
  %0 = moe.ragged_matmul %x, %w plan %p rhs_scale %s {scale_block = 128, layout = #moe.weights<nk>}
      : tensor<8x192xf32, #r>, tensor<2x6x192xf32>, !p, tensor<2x2x6xf32> -> tensor<8x6xf32, #r>
  return
}

// -----

!p = !moe.plan<groups = 2, rows = 8>
#r = #moe.ragged<groups = 2>

// C8: one factor a row
func.func @f(%x: tensor<8x192xf32, #r>, %w: tensor<2x192x6xf32>, %p: !p, %s: tensor<8x1xf32>) {
  // expected-error@+1 {{'moe.ragged_matmul' op rank of lhs_scale is 2, expected 1 (scale_block is 0)}}
  %0 = moe.ragged_matmul %x, %w plan %p lhs_scale %s {scale_block = 0}
      : tensor<8x192xf32, #r>, tensor<2x192x6xf32>, !p, tensor<8x1xf32> -> tensor<8x6xf32, #r>
  return
}

// -----

!p = !moe.plan<groups = 2, rows = 8>
#r = #moe.ragged<groups = 2>

// C8: one factor a column of each group
func.func @f(%x: tensor<8x4xf32, #r>, %y: tensor<8x6xf32, #r>, %p: !p, %s: tensor<3x4xf32>) {
  // expected-error@+1 {{'moe.ragged_matmul' op dimension 0 of lhs_scale is 3, expected 2 (scale_block is 0)}}
  %0 = moe.ragged_matmul %x, %y plan %p lhs_scale %s {scale_block = 0, mode = #moe.mode<contraction>}
      : tensor<8x4xf32, #r>, tensor<8x6xf32, #r>, !p, tensor<3x4xf32> -> tensor<2x4x6xf32>
  return
}

// -----

!p = !moe.plan<groups = 2, rows = 8>
#r = #moe.ragged<groups = 2>

// C9: negative
func.func @f(%x: tensor<8x4xf32, #r>, %w: tensor<2x4x6xf32>, %p: !p, %s: tensor<8x1xf32>) {
  // expected-error@+1 {{'moe.ragged_matmul' op scale_block is -4, expected at least 0}}
  %0 = moe.ragged_matmul %x, %w plan %p lhs_scale %s {scale_block = -4}
      : tensor<8x4xf32, #r>, tensor<2x4x6xf32>, !p, tensor<8x1xf32> -> tensor<8x6xf32, #r>
  return
}

// -----

!p = !moe.plan<groups = 2, rows = 8, align = 4>
#r = #moe.ragged<groups = 2, align = 4>

// C9: a block of rows must not cross groups
func.func @f(%x: tensor<8x4xf32, #r>, %y: tensor<8x6xf32, #r>, %p: !p, %s: tensor<2x4xf32>) {
  // expected-error@+1 {{'moe.ragged_matmul' op scale_block is 3, expected 0 or a divisor of 4 (align of the plan)}}
  %0 = moe.ragged_matmul %x, %y plan %p lhs_scale %s {scale_block = 3, mode = #moe.mode<contraction>}
      : tensor<8x4xf32, #r>, tensor<8x6xf32, #r>, !p, tensor<2x4xf32> -> tensor<2x4x6xf32>
  return
}

// -----

!p = !moe.plan<groups = 2, rows = 8>
#r = #moe.ragged<groups = 2>

// C10
func.func @f(%x: tensor<8x4xbf16, #r>, %w: tensor<2x4x6xbf16>, %p: !p) {
  // expected-error@+1 {{'moe.ragged_matmul' op element type of result is 'f16', expected 'bf16' or f32 (that of lhs)}}
  %0 = moe.ragged_matmul %x, %w plan %p : tensor<8x4xbf16, #r>, tensor<2x4x6xbf16>, !p -> tensor<8x6xf16, #r>
  return
}
