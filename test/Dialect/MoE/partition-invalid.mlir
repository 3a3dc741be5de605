// RUN: moe-opt %s --split-input-file --verify-diagnostics --moe-partition="axis=ep size=2"
// RUN: not moe-opt %s --split-input-file --moe-partition="size=2" 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not moe-opt %s --split-input-file --moe-partition="axis=ep size=2 owners=0,1" 2>&1 | FileCheck %s --check-prefix=OWNERS
// RUN: not moe-opt %s --split-input-file --moe-partition="axis=ep size=2 owners=0,2,1" 2>&1 | FileCheck %s --check-prefix=RANK
// RUN: not moe-opt %s --split-input-file --moe-partition="axis=ep size=1 max-tokens=3" 2>&1 | FileCheck %s --check-prefix=TOKENS
// RUN: not moe-opt %s --split-input-file --moe-partition="axis=ep size=1 transport=pigeon" 2>&1 | FileCheck %s --check-prefix=TRANSPORT
// RUN: not moe-opt %s --split-input-file --moe-partition="axis=ep size=1 transport=exact pair-capacity=3" 2>&1 | FileCheck %s --check-prefix=EXACT
// RUN: not moe-opt %s --split-input-file --moe-partition="axis=ep size=1 mesh=string" 2>&1 | FileCheck %s --check-prefix=MESH
// RUN: not moe-opt %s --split-input-file --moe-partition="axis=ep size=1 pair-capacity=-3" 2>&1 | FileCheck %s --check-prefix=PAIR
// AXIS: cannot be partitioned: axis is '' and size is 2, expected the name of a mesh axis and a number of ranks of at least 1
// OWNERS: cannot be partitioned: there are 2 owners, expected 3, one for each expert
// RANK: cannot be partitioned: an owner is 2, expected a rank, 0 to 1
// TRANSPORT: cannot be partitioned: transport is 'pigeon', expected exact, capacity or peer
// MESH: cannot be partitioned: mesh is 'string', expected nvlink or network
// EXACT: cannot be partitioned: pair-capacity is 3, expected none with transport exact
// PAIR: cannot be partitioned: pair-capacity is -3, expected at least 1
// TOKENS: cannot be partitioned: it has 4 tokens, expected at most max-tokens, 3

func.func @uneven(%ids: tensor<4x2xi32>) {
  // expected-error @+1 {{cannot be partitioned: it has 3 experts, expected a multiple of 2 ranks, or owners that say which rank owns each expert}}
  %p = moe.plan %ids : tensor<4x2xi32> -> !moe.plan<groups = 3, topk = 2>
  return
}

// -----
func.func @dynamic(%ids: tensor<?x2xi32>) {
  // expected-error @+1 {{cannot be partitioned: the number of tokens is dynamic, expected max-tokens to say the most that a rank may have}}
  %p = moe.plan %ids : tensor<?x2xi32> -> !moe.plan<groups = 4, topk = 2>
  return
}

// -----
// expected-error @+1 {{cannot be partitioned: there is no moe.plan of expert ids}}
module {
func.func @sizes(%s: tensor<4xi32>) {
  %p = moe.plan_from_sizes %s : tensor<4xi32> -> !moe.plan<groups = 4, rows = 8>
  return
}
}

// -----
func.func @get(%ids: tensor<4x2xi32>) -> tensor<4xi32> {
  %p = moe.plan %ids : tensor<4x2xi32> -> !moe.plan<groups = 4, topk = 2>
  // expected-error @+1 {{cannot be partitioned: it uses a plan of experts, expected moe.gather, moe.ragged_matmul or moe.combine}}
  %s = moe.plan_get %p {field = #moe.field<sizes>} : !moe.plan<groups = 4, topk = 2> -> tensor<4xi32>
  return %s : tensor<4xi32>
}

// -----
!plan = !moe.plan<groups = 4, topk = 2>
!rows = tensor<?x8xf32, #moe.ragged<groups = 4>>
func.func @contraction(%x: tensor<4x8xf32>, %ids: tensor<4x2xi32>) -> tensor<4x8x8xf32> {
  %p = moe.plan %ids : tensor<4x2xi32> -> !plan
  %g = moe.gather %x, %p : tensor<4x8xf32>, !plan -> !rows
  // expected-error @+1 {{cannot be partitioned: expected mode rows, without group_offset and scales}}
  %w = moe.ragged_matmul %g, %g plan %p {mode = #moe.mode<contraction>} : !rows, !rows, !plan -> tensor<4x8x8xf32>
  return %w : tensor<4x8x8xf32>
}

// -----
!plan = !moe.plan<groups = 4, topk = 2>
!rows = tensor<?x8xf32, #moe.ragged<groups = 4>>
func.func @constant(%x: tensor<4x8xf32>, %ids: tensor<4x2xi32>) -> tensor<4x8xf32> {
  %w = arith.constant dense<1.0> : tensor<4x8x8xf32>
  %p = moe.plan %ids : tensor<4x2xi32> -> !plan
  %g = moe.gather %x, %p : tensor<4x8xf32>, !plan -> !rows
  // expected-error @+1 {{cannot be partitioned: rhs is not an argument of the function, expected one, of which each rank is given its experts' part}}
  %y = moe.ragged_matmul %g, %w plan %p : !rows, tensor<4x8x8xf32>, !plan -> !rows
  %o = moe.combine %y, %p : !rows, !plan -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// -----
!plan = !moe.plan<groups = 4, topk = 2>
!rows = tensor<?x8xf32, #moe.ragged<groups = 4>>
func.func @shared(%x: tensor<4x8xf32>, %ids: tensor<4x2xi32>, %w: tensor<4x8x8xf32>) -> (tensor<4x8xf32>, tensor<4x8x8xf32>) {
  %p = moe.plan %ids : tensor<4x2xi32> -> !plan
  %g = moe.gather %x, %p : tensor<4x8xf32>, !plan -> !rows
  // expected-error @+1 {{cannot be partitioned: rhs is used by an op that needs the part of all experts}}
  %y = moe.ragged_matmul %g, %w plan %p : !rows, tensor<4x8x8xf32>, !plan -> !rows
  %o = moe.combine %y, %p : !rows, !plan -> tensor<4x8xf32>
  // expected-note @+1 {{which is here}}
  return %o, %w : tensor<4x8xf32>, tensor<4x8x8xf32>
}

// -----
!plan = !moe.plan<groups = 4, topk = 2>
!rows = tensor<?x8xf32, #moe.ragged<groups = 4>>
func.func @returned(%x: tensor<4x8xf32>, %ids: tensor<4x2xi32>) -> !rows {
  %p = moe.plan %ids : tensor<4x2xi32> -> !plan
  %g = moe.gather %x, %p : tensor<4x8xf32>, !plan -> !rows
  // expected-error @+1 {{cannot be partitioned: it uses rows of a plan of experts, expected an op that works row by row}}
  return %g : !rows
}

// -----
func.func @through(%x: tensor<4x8xf32>, %ids: tensor<4x2xi32>, %more: tensor<8x1xi32>) -> tensor<8x8xf32> {
  %p = moe.plan %ids : tensor<4x2xi32> -> !moe.plan<groups = 4, rows = 8, tokens = 4, topk = 2>
  %q = moe.plan %more : tensor<8x1xi32> -> !moe.plan<groups = 4, rows = 8, tokens = 8, topk = 1>
  // expected-error @+1 {{cannot be partitioned: it reads through a second plan}}
  %g = moe.gather %x, %q through %p : tensor<4x8xf32>, !moe.plan<groups = 4, rows = 8, tokens = 8, topk = 1>, !moe.plan<groups = 4, rows = 8, tokens = 4, topk = 2> -> tensor<8x8xf32, #moe.ragged<groups = 4>>
  %o = moe.combine %g, %q : tensor<8x8xf32, #moe.ragged<groups = 4>>, !moe.plan<groups = 4, rows = 8, tokens = 8, topk = 1> -> tensor<8x8xf32>
  return %o : tensor<8x8xf32>
}

// -----
!plan = !moe.plan<groups = 4, topk = 2>
!rows = tensor<?x8xf32, #moe.ragged<groups = 4>>
func.func @propagate(%x: tensor<4x8xf32>, %w: tensor<4x8x8xf32>, %ids: tensor<4x2xi32>, %v: tensor<4x2xf32>) -> tensor<4x8xf32> {
  %p = moe.plan %ids : tensor<4x2xi32> -> !plan
  %g = moe.gather %x, %p : tensor<4x8xf32>, !plan -> !rows
  %y = moe.ragged_matmul %g, %w plan %p : !rows, tensor<4x8x8xf32>, !plan -> !rows
  // expected-error @+1 {{cannot be partitioned: it has nan = propagate, expected last}}
  %o = moe.combine %y, %p weights %v {nan = #moe.nan<propagate>} : !rows, !plan, tensor<4x2xf32> -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}
