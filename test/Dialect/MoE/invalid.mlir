// RUN: moe-opt %s -split-input-file -verify-diagnostics

//===--- types and encodings ---===//

// expected-error@+1 {{groups is -1, expected at least 0}}
func.func private @f(tensor<?x4xf32, #moe.ragged<groups = -1>>)

// -----

// expected-error@+1 {{align is 0, expected at least 1}}
func.func private @f(tensor<?x4xf32, #moe.ragged<groups = 2, align = 0>>)

// -----

// expected-error@+1 {{a tensor with a ragged encoding has rank 0, expected at least 1 (dimension 0 are the rows)}}
func.func private @f(tensor<f32, #moe.ragged<groups = 2>>)

// -----

// expected-error@+1 {{unknown key 'experts' of a plan, expected one of groups, rows, tokens, topk, align}}
func.func private @f(!moe.plan<groups = 8, experts = 8>)

// -----

// expected-error@+1 {{key 'rows' of a plan is given twice}}
func.func private @f(!moe.plan<groups = 8, rows = 4, rows = ?>)

// -----

// expected-error@+1 {{a plan needs the key 'groups'}}
func.func private @f(!moe.plan<rows = 8>)

// -----

// expected-error@+1 {{expected integer value}}
func.func private @f(!moe.plan<groups = ?>)

// -----

// expected-error@+1 {{groups is -8, expected at least 0}}
func.func private @f(!moe.plan<groups = -8>)

// -----

// expected-error@+1 {{rows is -1, expected at least 0}}
func.func private @f(!moe.plan<groups = 8, rows = -1>)

// -----

// expected-error@+1 {{tokens is -2, expected at least 0}}
func.func private @f(!moe.plan<groups = 8, tokens = -2, topk = 1>)

// -----

// expected-error@+1 {{topk is -1, expected at least 0}}
func.func private @f(!moe.plan<groups = 8, topk = -1>)

// -----

// expected-error@+1 {{align is 0, expected at least 1}}
func.func private @f(!moe.plan<groups = 8, align = 0>)

// -----

// expected-error@+1 {{tokens is 48, expected ? (a plan with topk = 0 knows no tokens)}}
func.func private @f(!moe.plan<groups = 8, tokens = 48>)

// -----

//===--- logits ---===//

// C1: inner dimension
func.func @f(%x: tensor<?x64xf32>, %r: tensor<63x8xf32>) {
  // expected-error@+1 {{'moe.logits' op dimension 0 of router is 63, expected 64 (columns of x)}}
  %0 = moe.logits %x, %r : tensor<?x64xf32>, tensor<63x8xf32> -> tensor<?x8xf32>
  return
}

// -----

// C1: inner dimension of the other layout
func.func @f(%x: tensor<?x64xf32>, %r: tensor<64x8xf32>) {
  // expected-error@+1 {{'moe.logits' op dimension 1 of router is 8, expected 64 (columns of x)}}
  %0 = moe.logits %x, %r {layout = #moe.weights<nk>} : tensor<?x64xf32>, tensor<64x8xf32> -> tensor<?x64xf32>
  return
}

// -----

// C1: element type
func.func @f(%x: tensor<?x64xf32>, %r: tensor<64x8xbf16>) {
  // expected-error@+1 {{'moe.logits' op element type of router is 'bf16', expected 'f32' (that of x)}}
  %0 = moe.logits %x, %r : tensor<?x64xf32>, tensor<64x8xbf16> -> tensor<?x8xf32>
  return
}

// -----

// C2
func.func @f(%x: tensor<5x64xf32>, %r: tensor<64x8xf32>) {
  // expected-error@+1 {{'moe.logits' op dimension 1 of result is 9, expected 8 (experts of router)}}
  %0 = moe.logits %x, %r : tensor<5x64xf32>, tensor<64x8xf32> -> tensor<5x9xf32>
  return
}

// -----

// C2
func.func @f(%x: tensor<5x64xf32>, %r: tensor<64x8xf32>) {
  // expected-error@+1 {{'moe.logits' op result #0 must be plain rank-2 tensor of 32-bit float values}}
  %0 = moe.logits %x, %r : tensor<5x64xf32>, tensor<64x8xf32> -> tensor<5x8xbf16>
  return
}

// -----

// C3
func.func @f(%x: tensor<?x64xf32>, %r: tensor<64x8xf32>, %b: tensor<7xf32>) {
  // expected-error@+1 {{'moe.logits' op length of bias is 7, expected 8 (experts of router)}}
  %0 = moe.logits %x, %r bias %b : tensor<?x64xf32>, tensor<64x8xf32>, tensor<7xf32> -> tensor<?x8xf32>
  return
}

// -----

// a ragged tensor is no operand of the router
func.func @f(%x: tensor<?x64xf32, #moe.ragged<groups = 2>>, %r: tensor<64x8xf32>) {
  // expected-error@+1 {{'moe.logits' op operand #0 must be plain rank-2 tensor of f32, bf16 or f16 values}}
  %0 = moe.logits %x, %r : tensor<?x64xf32, #moe.ragged<groups = 2>>, tensor<64x8xf32> -> tensor<?x8xf32>
  return
}

// -----

//===--- select ---===//

// C1: dynamic experts
func.func @f(%s: tensor<?x?xf32>) {
  // expected-error@+1 {{'moe.select' op dimension 1 of scores is dynamic, expected a static number of experts}}
  %0:2 = moe.select %s {k = 2} : tensor<?x?xf32> -> tensor<?x2xi32>, tensor<?x2xf32>
  return
}

// -----

// C1: k
func.func @f(%s: tensor<?x8xf32>) {
  // expected-error@+1 {{'moe.select' op k is 9, expected 1 to 8 (experts in scores)}}
  %0:2 = moe.select %s {k = 9} : tensor<?x8xf32> -> tensor<?x9xi32>, tensor<?x9xf32>
  return
}

// -----

// C1: k of no experts
func.func @f(%s: tensor<?x0xf32>) {
  // expected-error@+1 {{'moe.select' op k is 1, expected 1 to 0 (experts in scores)}}
  %0:2 = moe.select %s {k = 1} : tensor<?x0xf32> -> tensor<?x1xi32>, tensor<?x1xf32>
  return
}

// -----

// C2
func.func @f(%s: tensor<?x8xf32>) {
  // expected-error@+1 {{'moe.select' op groups is 3, expected a divisor of 8 (experts in scores)}}
  %0:2 = moe.select %s {k = 1, groups = 3} : tensor<?x8xf32> -> tensor<?x1xi32>, tensor<?x1xf32>
  return
}

// -----

// C2
func.func @f(%s: tensor<?x8xf32>) {
  // expected-error@+1 {{'moe.select' op groups is 0, expected 1 to 8 (experts in scores)}}
  %0:2 = moe.select %s {k = 1, groups = 0} : tensor<?x8xf32> -> tensor<?x1xi32>, tensor<?x1xf32>
  return
}

// -----

// C3
func.func @f(%s: tensor<?x8xf32>) {
  // expected-error@+1 {{'moe.select' op keep_groups is 5, expected 1 to 4 (groups)}}
  %0:2 = moe.select %s {k = 1, groups = 4, keep_groups = 5} : tensor<?x8xf32> -> tensor<?x1xi32>, tensor<?x1xf32>
  return
}

// -----

// C3
func.func @f(%s: tensor<?x8xf32>) {
  // expected-error@+1 {{'moe.select' op k is 3, expected at most 2 (experts in 1 kept groups of 2)}}
  %0:2 = moe.select %s {k = 3, groups = 4} : tensor<?x8xf32> -> tensor<?x3xi32>, tensor<?x3xf32>
  return
}

// -----

// C4
func.func @f(%s: tensor<?x8xf32>) {
  // expected-error@+1 {{'moe.select' op group_top is 3, expected 1 to 2 (experts in a group)}}
  %0:2 = moe.select %s {k = 2, groups = 4, group_top = 3} : tensor<?x8xf32> -> tensor<?x2xi32>, tensor<?x2xf32>
  return
}

// -----

// C5
func.func @f(%s: tensor<?x8xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{'moe.select' op length of bias is 4, expected 8 (experts in scores)}}
  %0:2 = moe.select %s bias %b {k = 2} : tensor<?x8xf32>, tensor<4xf32> -> tensor<?x2xi32>, tensor<?x2xf32>
  return
}

// -----

// C6: ids
func.func @f(%s: tensor<5x8xf32>) {
  // expected-error@+1 {{'moe.select' op dimension 0 of ids is 4, expected 5 (rows of scores)}}
  %0:2 = moe.select %s {k = 2} : tensor<5x8xf32> -> tensor<4x2xi32>, tensor<5x2xf32>
  return
}

// -----

// C6: values
func.func @f(%s: tensor<5x8xf32>) {
  // expected-error@+1 {{'moe.select' op dimension 1 of values is 3, expected 2 (k)}}
  %0:2 = moe.select %s {k = 2} : tensor<5x8xf32> -> tensor<5x2xi32>, tensor<5x3xf32>
  return
}

// -----

//===--- scores, normalize ---===//

func.func @f(%l: tensor<5x8xbf16>) {
  // expected-error@+1 {{'moe.scores' op operand #0 must be plain rank-2 tensor of 32-bit float values}}
  %0 = moe.scores %l : tensor<5x8xbf16>
  return
}

// -----

func.func @f(%l: tensor<5x8xf32>) {
  // expected-error@+1 {{op requires the same type for all operands and results}}
  %0 = "moe.normalize"(%l) : (tensor<5x8xf32>) -> tensor<5x7xf32>
  return
}

// -----

//===--- plan ---===//

// C1: dynamic k
func.func @f(%ids: tensor<?x?xi32>) {
  // expected-error@+1 {{'moe.plan' op type of ids is 'tensor<?x?xi32>', expected a static number of slots, at least 1, in dimension 1}}
  %p = moe.plan %ids : tensor<?x?xi32> -> !moe.plan<groups = 8, topk = 2>
  return
}

// -----

// C1: no slot
func.func @f(%ids: tensor<?x0xi32>) {
  // expected-error@+1 {{'moe.plan' op type of ids is 'tensor<?x0xi32>', expected a static number of slots, at least 1, in dimension 1}}
  %p = moe.plan %ids : tensor<?x0xi32> -> !moe.plan<groups = 8>
  return
}

// -----

// C1: topk
func.func @f(%ids: tensor<?x2xi32>) {
  // expected-error@+1 {{'moe.plan' op topk of the plan is 3, expected 2 (dimension 1 of ids)}}
  %p = moe.plan %ids : tensor<?x2xi32> -> !moe.plan<groups = 8, topk = 3>
  return
}

// -----

// C1: tokens
func.func @f(%ids: tensor<48x2xi32>) {
  // expected-error@+1 {{'moe.plan' op tokens of the plan is 47, expected 48 (dimension 0 of ids)}}
  %p = moe.plan %ids : tensor<48x2xi32> -> !moe.plan<groups = 8, tokens = 47, topk = 2>
  return
}

// -----

// C2: capacity
func.func @f(%ids: tensor<48x2xi32>) {
  // expected-error@+1 {{'moe.plan' op rows of the plan is 96, expected 95 (capacity)}}
  %p = moe.plan %ids {capacity = 95} : tensor<48x2xi32> -> !moe.plan<groups = 8, rows = 96, tokens = 48, topk = 2>
  return
}

// -----

// C2: all slots, 48 * 2 + 8 * 3
func.func @f(%ids: tensor<48x2xi32>) {
  // expected-error@+1 {{'moe.plan' op rows of the plan is 96, expected 120 (tokens * topk + groups * (align - 1))}}
  %p = moe.plan %ids : tensor<48x2xi32> -> !moe.plan<groups = 8, rows = 96, tokens = 48, topk = 2, align = 4>
  return
}

// -----

// C2: 64 bits, tokens * topk
func.func @f(%ids: tensor<4611686018427387904x4xi32>) {
  // expected-error@+1 {{'moe.plan' op rows of the plan do not fit in 64 bits (tokens = 4611686018427387904, topk = 4, groups = 8, align = 1)}}
  %p = moe.plan %ids : tensor<4611686018427387904x4xi32> -> !moe.plan<groups = 8, topk = 4>
  return
}

// -----

// C2: 64 bits, the padding
func.func @f(%ids: tensor<?x2xi32>) {
  // expected-error@+1 {{'moe.plan' op rows of the plan do not fit in 64 bits}}
  %p = moe.plan %ids : tensor<?x2xi32> -> !moe.plan<groups = 9223372036854775807, topk = 2, align = 9223372036854775807>
  return
}

// -----

// C3
func.func @f(%ids: tensor<48x2xi32>) {
  // expected-error@+1 {{'moe.plan' op capacity is -1, expected at least 0}}
  %p = moe.plan %ids {capacity = -1} : tensor<48x2xi32> -> !moe.plan<groups = 8, topk = 2>
  return
}

// -----

//===--- plan_from_sizes ---===//

// C1
func.func @f(%s: tensor<4xi32>) {
  // expected-error@+1 {{'moe.plan_from_sizes' op length of sizes is 4, expected 3 (groups of the plan)}}
  %p = moe.plan_from_sizes %s : tensor<4xi32> -> !moe.plan<groups = 3, rows = 8>
  return
}

// -----

// C1: rank and element type
func.func @f(%s: tensor<3x1xi32>) {
  // expected-error@+1 {{'moe.plan_from_sizes' op operand #0 must be plain rank-1 tensor of 32-bit signless integer or 64-bit signless integer values, but got 'tensor<3x1xi32>'}}
  %p = moe.plan_from_sizes %s : tensor<3x1xi32> -> !moe.plan<groups = 3, rows = 8>
  return
}

// -----

func.func @f(%s: tensor<3xi16>) {
  // expected-error@+1 {{'moe.plan_from_sizes' op operand #0 must be plain rank-1 tensor of 32-bit signless integer or 64-bit signless integer values, but got 'tensor<3xi16>'}}
  %p = moe.plan_from_sizes %s : tensor<3xi16> -> !moe.plan<groups = 3, rows = 8>
  return
}

// -----

// C2
func.func @f(%s: tensor<3xi32>) {
  // expected-error@+1 {{'moe.plan_from_sizes' op topk of the plan is 1, expected 0 (sizes know no slots)}}
  %p = moe.plan_from_sizes %s : tensor<3xi32> -> !moe.plan<groups = 3, rows = 8, topk = 1>
  return
}

// -----

// C3: missing
func.func @f(%s: tensor<3xi32>) {
  // expected-error@+1 {{'moe.plan_from_sizes' op rows of the plan are dynamic and the operand rows is missing, expected it to be given}}
  %p = moe.plan_from_sizes %s : tensor<3xi32> -> !moe.plan<groups = 3>
  return
}

// -----

// C3: one too many
func.func @f(%s: tensor<3xi32>, %m: index) {
  // expected-error@+1 {{'moe.plan_from_sizes' op operand rows is given, expected none (the plan's type says rows = 8)}}
  %p = moe.plan_from_sizes %s rows %m : tensor<3xi32> -> !moe.plan<groups = 3, rows = 8>
  return
}

// -----

// C3: negative
func.func @f(%s: tensor<3xi32>) {
  %m = arith.constant -5 : index
  // expected-error@+1 {{'moe.plan_from_sizes' op rows is -5, expected at least 0}}
  %p = moe.plan_from_sizes %s rows %m : tensor<3xi32> -> !moe.plan<groups = 3>
  return
}

// -----

// C4: negative size
func.func @f() {
  // expected-note@+1 {{sizes is a constant here}}
  %s = arith.constant dense<[3, -2, 1]> : tensor<3xi32>
  // expected-error@+1 {{'moe.plan_from_sizes' op sizes[1] is -2, expected at least 0}}
  %p = moe.plan_from_sizes %s : tensor<3xi32> -> !moe.plan<groups = 3, rows = 8>
  return
}

// -----

// C4: sum past the rows
func.func @f() {
  // expected-note@+1 {{sizes is a constant here}}
  %s = arith.constant dense<[3, 2, 4]> : tensor<3xi64>
  // expected-error@+1 {{'moe.plan_from_sizes' op sizes[2] is 4, and group 2 begins at row 5, expected it to end within 8 rows}}
  %p = moe.plan_from_sizes %s : tensor<3xi64> -> !moe.plan<groups = 3, rows = 8>
  return
}

// -----

// C4: aligned sum past the rows, given as an operand
func.func @f() {
  // expected-note@+1 {{sizes is a constant here}}
  %s = arith.constant dense<[3, 2, 1]> : tensor<3xi32>
  %m = arith.constant 8 : index
  // expected-error@+1 {{'moe.plan_from_sizes' op sizes[2] is 1, and group 2 begins at row 8, expected it to end within 8 rows}}
  %p = moe.plan_from_sizes %s rows %m : tensor<3xi32> -> !moe.plan<groups = 3, align = 4>
  return
}

// -----

// C4: past 64 bits
func.func @f(%m: index) {
  // expected-note@+1 {{sizes is a constant here}}
  %s = arith.constant dense<9223372036854775807> : tensor<2xi64>
  // expected-error@+1 {{'moe.plan_from_sizes' op sizes[1] is 9223372036854775807, and group 1 begins at row 9223372036854775807}}
  %p = moe.plan_from_sizes %s rows %m : tensor<2xi64> -> !moe.plan<groups = 2>
  return
}

// -----

//===--- plan_get ---===//

// C1
func.func @f(%p: !moe.plan<groups = 3, rows = 8>) {
  // expected-error@+1 {{'moe.plan_get' op field is token, expected sizes or bounds (topk of the plan is 0, it knows no slots)}}
  %0 = moe.plan_get %p {field = #moe.field<token>} : !moe.plan<groups = 3, rows = 8> -> tensor<8xi32>
  return
}

// -----

// C2: element type
func.func @f(%p: !moe.plan<groups = 3, rows = 8>) {
  // expected-error@+1 {{'moe.plan_get' op element type of result is 'i64', expected 'i32' (field sizes)}}
  %0 = moe.plan_get %p {field = #moe.field<sizes>} : !moe.plan<groups = 3, rows = 8> -> tensor<3xi64>
  return
}

// -----

// C2: rank
func.func @f(%p: !moe.plan<groups = 3, rows = 8>) {
  // expected-error@+1 {{'moe.plan_get' op rank of result is 1, expected 2}}
  %0 = moe.plan_get %p {field = #moe.field<bounds>} : !moe.plan<groups = 3, rows = 8> -> tensor<3xi64>
  return
}

// -----

// C2: shape
func.func @f(%p: !moe.plan<groups = 3, tokens = 5, topk = 2>) {
  // expected-error@+1 {{'moe.plan_get' op dimension 0 of result is 4, expected 5 (tokens of the plan)}}
  %0 = moe.plan_get %p {field = #moe.field<inverse>} : !moe.plan<groups = 3, tokens = 5, topk = 2> -> tensor<4x2xi32>
  return
}

// -----

//===--- attributes ---===//

// A misspelt option would silently do nothing; one of another dialect is its own affair.
func.func @f(%v: tensor<?x2xf32>) {
  %0 = moe.normalize %v {renormalize, vendor.hint = 1} : tensor<?x2xf32>
  // expected-error@+1 {{'moe.normalize' op has the unknown attribute 'renormalise', expected epsilon, floor, nan, renormalize, scale}}
  %1 = moe.normalize %v {renormalise} : tensor<?x2xf32>
  return
}
