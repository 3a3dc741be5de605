// RUN: moe-opt %s -canonicalize="test-convergence=true" -split-input-file -allow-unregistered-dialect | FileCheck %s

#r = #moe.ragged<groups = 2>
!p = !moe.plan<groups = 2, rows = 8>

// No row belongs to a group: zeros, whatever lies in the operands. Ragged rows are left to the kernel: on a constant the
// exponential would be folded to 1 in rows that must be zero.
// CHECK-LABEL: func.func @zero_sizes(
// CHECK-SAME: %[[ACC:[^:]*]]: tensor<2x4x6xf32>)
func.func @zero_sizes(%x: tensor<8x4xf32, #r>, %y: tensor<8x6xf32, #r>, %w: tensor<2x4x6xf32>, %acc: tensor<2x4x6xf32>)
    -> (tensor<8x6xf32, #r>, tensor<2x4x6xf32>, tensor<2x4x6xf32>, tensor<2x6xf32>) {
  // CHECK-DAG: %[[Z1:.*]] = arith.constant dense<0.000000e+00> : tensor<2x4x6xf32>
  // CHECK-DAG: %[[Z2:.*]] = arith.constant dense<0.000000e+00> : tensor<2x6xf32>
  %s = arith.constant dense<0> : tensor<2xi32>
  %p = moe.plan_from_sizes %s : tensor<2xi32> -> !p
  %0 = moe.ragged_matmul %x, %w plan %p : tensor<8x4xf32, #r>, tensor<2x4x6xf32>, !p -> tensor<8x6xf32, #r>
  %1 = moe.ragged_matmul %x, %y plan %p {mode = #moe.mode<contraction>}
      : tensor<8x4xf32, #r>, tensor<8x6xf32, #r>, !p -> tensor<2x4x6xf32>
  %2 = moe.ragged_matmul %x, %y plan %p acc %acc {mode = #moe.mode<contraction>}
      : tensor<8x4xf32, #r>, tensor<8x6xf32, #r>, !p, tensor<2x4x6xf32> -> tensor<2x4x6xf32>
  %3 = moe.group_sum %y, %p : tensor<8x6xf32, #r>, !p -> tensor<2x6xf32>
  // CHECK: %[[Y:.*]] = moe.ragged_matmul
  // CHECK: %[[E:.*]] = math.exp %[[Y]]
  %e = math.exp %0 : tensor<8x6xf32, #r>
  // CHECK-NOT: moe.ragged_matmul
  // CHECK: return %[[E]], %[[Z1]], %[[ACC]], %[[Z2]]
  return %e, %1, %2, %3 : tensor<8x6xf32, #r>, tensor<2x4x6xf32>, tensor<2x4x6xf32>, tensor<2x6xf32>
}

// One group has a row; a dynamic result cannot be a constant.
// CHECK-LABEL: func.func @some_rows(
func.func @some_rows(%x: tensor<8x4xf32, #r>, %d: tensor<?x4xf32, #r>, %w: tensor<2x4x6xf32>, %m: index)
    -> (tensor<8x6xf32, #r>, tensor<?x6xf32, #r>) {
  %s = arith.constant dense<[0, 1]> : tensor<2xi32>
  %p = moe.plan_from_sizes %s : tensor<2xi32> -> !p
  // CHECK: moe.ragged_matmul
  %0 = moe.ragged_matmul %x, %w plan %p : tensor<8x4xf32, #r>, tensor<2x4x6xf32>, !p -> tensor<8x6xf32, #r>
  %z = arith.constant dense<0> : tensor<2xi32>
  %q = moe.plan_from_sizes %z rows %m : tensor<2xi32> -> !moe.plan<groups = 2>
  // CHECK: moe.ragged_matmul
  %1 = moe.ragged_matmul %d, %w plan %q : tensor<?x4xf32, #r>, tensor<2x4x6xf32>, !moe.plan<groups = 2> -> tensor<?x6xf32, #r>
  return %0, %1 : tensor<8x6xf32, #r>, tensor<?x6xf32, #r>
}

// -----

#r0 = #moe.ragged<groups = 0>
#r2 = #moe.ragged<groups = 2>

// No groups, no rows, no tokens. Six rows in no group stay rows of a plan, as above.
// CHECK-LABEL: func.func @no_groups
func.func @no_groups(%x: tensor<3x4xf32>, %ids: tensor<3x2xi32>, %none: tensor<0x4xf32>, %noids: tensor<0x2xi32>)
    -> (tensor<6x4xf32, #r0>, tensor<3x4xf32>, tensor<0x4xf32, #r2>, tensor<0x4xf32>) {
  %p = moe.plan %ids : tensor<3x2xi32> -> !moe.plan<groups = 0, rows = 6, tokens = 3, topk = 2>
  %g = moe.gather %x, %p : tensor<3x4xf32>, !moe.plan<groups = 0, rows = 6, tokens = 3, topk = 2> -> tensor<6x4xf32, #r0>
  %c = moe.combine %g, %p : tensor<6x4xf32, #r0>, !moe.plan<groups = 0, rows = 6, tokens = 3, topk = 2> -> tensor<3x4xf32>
  %q = moe.plan %noids : tensor<0x2xi32> -> !moe.plan<groups = 2, rows = 0, tokens = 0, topk = 2>
  %h = moe.gather %none, %q : tensor<0x4xf32>, !moe.plan<groups = 2, rows = 0, tokens = 0, topk = 2> -> tensor<0x4xf32, #r2>
  %d = moe.combine %h, %q : tensor<0x4xf32, #r2>, !moe.plan<groups = 2, rows = 0, tokens = 0, topk = 2> -> tensor<0x4xf32>
  // CHECK: moe.gather
  // CHECK-NOT: moe.gather
  // CHECK-NOT: moe.combine
  // CHECK: return
  return %g, %c, %h, %d : tensor<6x4xf32, #r0>, tensor<3x4xf32>, tensor<0x4xf32, #r2>, tensor<0x4xf32>
}

// -----

!p = !moe.plan<groups = 2, topk = 2>

// CHECK-LABEL: func.func @plan_get(
// CHECK-SAME: %[[S32:[^:]*]]: tensor<2xi32>, %[[S64:[^:]*]]: tensor<2xi64>, %[[IDS:[^:]*]]: tensor<?x2xi32>)
func.func @plan_get(%s32: tensor<2xi32>, %s64: tensor<2xi64>, %ids: tensor<?x2xi32>)
    -> (tensor<2xi32>, tensor<2xi32>, tensor<2x2xi64>, tensor<1xi64>, tensor<1xi64>) {
  // CHECK: %[[Z:.*]] = arith.constant dense<0> : tensor<1xi64>
  // Sizes come back as they were given; bounds and sizes of another width do not.
  %a = moe.plan_from_sizes %s32 : tensor<2xi32> -> !moe.plan<groups = 2, rows = 8, align = 4>
  %0 = moe.plan_get %a {field = #moe.field<sizes>} : !moe.plan<groups = 2, rows = 8, align = 4> -> tensor<2xi32>
  %b = moe.plan_from_sizes %s64 : tensor<2xi64> -> !moe.plan<groups = 2, rows = 8>
  // CHECK: %[[W:.*]] = moe.plan_get %{{.*}} {field = #moe.field<sizes>} : !moe.plan<groups = 2, rows = 8> -> tensor<2xi32>
  %1 = moe.plan_get %b {field = #moe.field<sizes>} : !moe.plan<groups = 2, rows = 8> -> tensor<2xi32>
  // CHECK: %[[B:.*]] = moe.plan_get %{{.*}} {field = #moe.field<bounds>}
  %2 = moe.plan_get %a {field = #moe.field<bounds>} : !moe.plan<groups = 2, rows = 8, align = 4> -> tensor<2x2xi64>
  // Nothing is dropped without a capacity.
  %c = moe.plan %ids : tensor<?x2xi32> -> !p
  %3 = moe.plan_get %c {field = #moe.field<dropped>} : !p -> tensor<1xi64>
  %d = moe.plan %ids {capacity = 8} : tensor<?x2xi32> -> !p
  // CHECK: %[[D:.*]] = moe.plan_get %{{.*}} {field = #moe.field<dropped>}
  %4 = moe.plan_get %d {field = #moe.field<dropped>} : !p -> tensor<1xi64>
  // CHECK: return %[[S32]], %[[W]], %[[B]], %[[Z]], %[[D]]
  return %0, %1, %2, %3, %4 : tensor<2xi32>, tensor<2xi32>, tensor<2x2xi64>, tensor<1xi64>, tensor<1xi64>
}

// -----

// CHECK-LABEL: func.func @normalize(
// CHECK-SAME: %[[V:[^:]*]]: tensor<?x2xf32>)
func.func @normalize(%v: tensor<?x2xf32>) -> (tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x2xf32>) {
  %0 = moe.normalize %v {nan = #moe.nan<propagate>} : tensor<?x2xf32>
  // NaN becomes 0
  // CHECK: %[[A:.*]] = moe.normalize %[[V]] : tensor<?x2xf32>
  %1 = moe.normalize %v : tensor<?x2xf32>
  // CHECK: %[[B:.*]] = moe.normalize %[[V]] {nan = #moe.nan<propagate>, renormalize}
  %2 = moe.normalize %v {nan = #moe.nan<propagate>, renormalize} : tensor<?x2xf32>
  // CHECK: %[[C:.*]] = moe.normalize %[[V]] {nan = #moe.nan<propagate>, scale = 2.000000e+00 : f32}
  %3 = moe.normalize %v {nan = #moe.nan<propagate>, scale = 2.0 : f32} : tensor<?x2xf32>
  // CHECK: return %[[V]], %[[A]], %[[B]], %[[C]]
  return %0, %1, %2, %3 : tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x2xf32>
}

// -----

#r = #moe.ragged<groups = 2>
!p = !moe.plan<groups = 2, rows = 6, tokens = 3, topk = 2>

// CHECK-LABEL: func.func @weights(
// CHECK-SAME: %[[Y:[^:]*]]: tensor<6x4xf32, #moe.ragged<groups = 2>>
func.func @weights(%y: tensor<6x4xf32, #r>, %w: tensor<2x4x5xf32>, %ids: tensor<3x2xi32>)
    -> (tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<6x5xf32, #r>) {
  %p = moe.plan %ids : tensor<3x2xi32> -> !p
  %one = arith.constant dense<1.0> : tensor<3x2xf32>
  %two = arith.constant dense<2.0> : tensor<3x2xf32>
  // A slot of weight 0 contributes nothing, even NaN.
  %none = arith.constant dense<0.0> : tensor<3x2xf32>
  // CHECK: %[[Z:.*]] = arith.constant dense<0.000000e+00> : tensor<3x4xf32>
  // CHECK: %[[A:.*]] = moe.combine %[[Y]], %{{.*}} : tensor<6x4xf32, #moe.ragged<groups = 2>>, !moe.plan<groups = 2, rows = 6, tokens = 3, topk = 2> -> tensor<3x4xf32>
  %0 = moe.combine %y, %p weights %one : tensor<6x4xf32, #r>, !p, tensor<3x2xf32> -> tensor<3x4xf32>
  // CHECK: %[[B:.*]] = moe.combine %[[Y]], %{{.*}} weights
  %1 = moe.combine %y, %p weights %two : tensor<6x4xf32, #r>, !p, tensor<3x2xf32> -> tensor<3x4xf32>
  %2 = moe.combine %y, %p weights %none : tensor<6x4xf32, #r>, !p, tensor<3x2xf32> -> tensor<3x4xf32>
  // CHECK: moe.ragged_matmul %[[Y]], %{{.*}} plan %{{.*}} : tensor<6x4xf32, #moe.ragged<groups = 2>>, tensor<2x4x5xf32>, !moe.plan<{{[^>]*}}> -> tensor<6x5xf32, #moe.ragged<groups = 2>>
  %3 = moe.ragged_matmul %y, %w plan %p weights %one
      : tensor<6x4xf32, #r>, tensor<2x4x5xf32>, !p, tensor<3x2xf32> -> tensor<6x5xf32, #r>
  // CHECK: return %[[A]], %[[B]], %[[Z]]
  return %0, %1, %2, %3 : tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<6x5xf32, #r>
}

// -----

#r = #moe.ragged<groups = 2>
!p = !moe.plan<groups = 2, topk = 1>

// With one slot a token, a gather by the plan of an unweighted combine gives the rows back.
// CHECK-LABEL: func.func @one_slot(
func.func @one_slot(%x: tensor<?x4xf32>, %w: tensor<2x4x4xf32>, %ids: tensor<?x1xi32>) -> tensor<?x4xf32, #r> {
  %p = moe.plan %ids : tensor<?x1xi32> -> !p
  %g = moe.gather %x, %p : tensor<?x4xf32>, !p -> tensor<?x4xf32, #r>
  // CHECK: %[[Y:.*]] = moe.ragged_matmul
  %y = moe.ragged_matmul %g, %w plan %p : tensor<?x4xf32, #r>, tensor<2x4x4xf32>, !p -> tensor<?x4xf32, #r>
  %c = moe.combine %y, %p : tensor<?x4xf32, #r>, !p -> tensor<?x4xf32>
  %h = moe.gather %c, %p : tensor<?x4xf32>, !p -> tensor<?x4xf32, #r>
  // CHECK-NEXT: return %[[Y]]
  return %h : tensor<?x4xf32, #r>
}

// Weighted, by another plan, or of rows that may not be zero outside the groups: it stays.
// CHECK-LABEL: func.func @one_slot_not(
func.func @one_slot_not(%y: tensor<?x4xf32, #r>, %ids: tensor<?x1xi32>, %other: tensor<?x1xi32>, %x: tensor<?x4xf32>, %w: tensor<?x1xf32>)
    -> (tensor<?x4xf32, #r>, tensor<?x4xf32, #r>, tensor<?x4xf32, #r>) {
  %p = moe.plan %ids : tensor<?x1xi32> -> !p
  %q = moe.plan %other : tensor<?x1xi32> -> !p
  %g = moe.gather %x, %p : tensor<?x4xf32>, !p -> tensor<?x4xf32, #r>
  %c = moe.combine %y, %p : tensor<?x4xf32, #r>, !p -> tensor<?x4xf32>
  %d = moe.combine %g, %p : tensor<?x4xf32, #r>, !p -> tensor<?x4xf32>
  %e = moe.combine %g, %p weights %w : tensor<?x4xf32, #r>, !p, tensor<?x1xf32> -> tensor<?x4xf32>
  // CHECK: %[[A:.*]] = moe.gather
  // CHECK: %[[B:.*]] = moe.gather
  // CHECK: %[[C:.*]] = moe.gather
  // CHECK: %[[D:.*]] = moe.gather
  %0 = moe.gather %c, %p : tensor<?x4xf32>, !p -> tensor<?x4xf32, #r>
  %1 = moe.gather %d, %q : tensor<?x4xf32>, !p -> tensor<?x4xf32, #r>
  %2 = moe.gather %e, %p : tensor<?x4xf32>, !p -> tensor<?x4xf32, #r>
  // CHECK: return %[[B]], %[[C]], %[[D]]
  return %0, %1, %2 : tensor<?x4xf32, #r>, tensor<?x4xf32, #r>, tensor<?x4xf32, #r>
}

// -----

#r = #moe.ragged<groups = 8>
!p = !moe.plan<groups = 8, topk = 2>

// Static shapes run through a layer: 5 tokens, 2 slots each.
// CHECK-LABEL: func.func @static_shapes(
func.func @static_shapes(%x: tensor<5x16xf32>, %router: tensor<16x8xf32>, %gu: tensor<8x16x64xf32>, %down: tensor<8x32x16xf32>)
    -> tensor<?x16xf32> {
  %d = tensor.cast %x : tensor<5x16xf32> to tensor<?x16xf32>
  // CHECK: moe.logits {{.*}} -> tensor<5x8xf32>
  %l = moe.logits %d, %router : tensor<?x16xf32>, tensor<16x8xf32> -> tensor<?x8xf32>
  // CHECK: moe.scores %{{.*}} : tensor<5x8xf32>
  %s = moe.scores %l : tensor<?x8xf32>
  // CHECK: moe.select {{.*}} : tensor<5x8xf32> -> tensor<5x2xi32>, tensor<5x2xf32>
  %i:2 = moe.select %s {k = 2} : tensor<?x8xf32> -> tensor<?x2xi32>, tensor<?x2xf32>
  // CHECK: moe.normalize {{.*}} : tensor<5x2xf32>
  %w = moe.normalize %i#1 {renormalize} : tensor<?x2xf32>
  // CHECK: moe.plan %{{.*}} -> !moe.plan<groups = 8, rows = 10, tokens = 5, topk = 2>
  %p = moe.plan %i#0 : tensor<?x2xi32> -> !p
  // CHECK: moe.gather {{.*}} -> tensor<10x16xf32, #moe.ragged<groups = 8>>
  %g = moe.gather %d, %p : tensor<?x16xf32>, !p -> tensor<?x16xf32, #r>
  // CHECK: moe.ragged_matmul {{.*}} -> tensor<10x64xf32, #moe.ragged<groups = 8>>
  %h = moe.ragged_matmul %g, %gu plan %p : tensor<?x16xf32, #r>, tensor<8x16x64xf32>, !p -> tensor<?x64xf32, #r>
  // CHECK: moe.gated_activation {{.*}} -> tensor<10x32xf32, #moe.ragged<groups = 8>>
  %a = moe.gated_activation %h : tensor<?x64xf32, #r> -> tensor<?x32xf32, #r>
  // CHECK: moe.ragged_matmul {{.*}} -> tensor<10x16xf32, #moe.ragged<groups = 8>>
  %y = moe.ragged_matmul %a, %down plan %p : tensor<?x32xf32, #r>, tensor<8x32x16xf32>, !p -> tensor<?x16xf32, #r>
  // CHECK: %[[O:.*]] = moe.combine {{.*}} -> tensor<5x16xf32>
  %o = moe.combine %y, %p weights %w : tensor<?x16xf32, #r>, !p, tensor<?x2xf32> -> tensor<?x16xf32>
  // CHECK: %[[C:.*]] = tensor.cast %[[O]] : tensor<5x16xf32> to tensor<?x16xf32>
  // CHECK: return %[[C]]
  return %o : tensor<?x16xf32>
}

// -----

#r = #moe.ragged<groups = 2>

// A constant number of rows becomes part of the plan's type; padding counts, and so does a capacity.
// CHECK-LABEL: func.func @static_plans(
func.func @static_plans(%s: tensor<2xi32>, %ids: tensor<5x2xi32>, %x: tensor<5x4xf32>, %m: index) -> (tensor<?x4xf32, #r>, tensor<?xi32>, tensor<2x2xi64>) {
  %c8 = arith.constant 8 : index
  // CHECK: moe.plan_from_sizes %{{.*}} : tensor<2xi32> -> !moe.plan<groups = 2, rows = 8>
  %a = moe.plan_from_sizes %s rows %c8 : tensor<2xi32> -> !moe.plan<groups = 2>
  // CHECK: moe.plan_get
  %0 = moe.plan_get %a {field = #moe.field<bounds>} : !moe.plan<groups = 2> -> tensor<2x2xi64>
  // CHECK: moe.plan %{{.*}} {capacity = 7 : i64} : tensor<5x2xi32> -> !moe.plan<groups = 2, rows = 7, tokens = 5, topk = 2>
  %b = moe.plan %ids {capacity = 7} : tensor<5x2xi32> -> !moe.plan<groups = 2, topk = 2>
  // CHECK: moe.gather {{.*}} -> tensor<7x4xf32, #moe.ragged<groups = 2>>
  %1 = moe.gather %x, %b : tensor<5x4xf32>, !moe.plan<groups = 2, topk = 2> -> tensor<?x4xf32, #r>
  // CHECK: moe.plan %{{.*}} : tensor<5x2xi32> -> !moe.plan<groups = 2, rows = 16, tokens = 5, topk = 2, align = 4>
  %c = moe.plan %ids : tensor<5x2xi32> -> !moe.plan<groups = 2, topk = 2, align = 4>
  // CHECK: moe.plan_get {{.*}} -> tensor<16xi32>
  %2 = moe.plan_get %c {field = #moe.field<token>} : !moe.plan<groups = 2, topk = 2, align = 4> -> tensor<?xi32>
  return %1, %2, %0 : tensor<?x4xf32, #r>, tensor<?xi32>, tensor<2x2xi64>
}

// The type of a plan that another dialect sees, and an encoding, are left alone; so is a cast to a type that says more.
// CHECK-LABEL: func.func @not_sharpened(
func.func @not_sharpened(%s: tensor<2xi32>, %x: tensor<8x4xf32>, %acc: tensor<?x4x4xf32>) -> (tensor<2x4x4xf32>) {
  %c8 = arith.constant 8 : index
  // CHECK: moe.plan_from_sizes %{{.*}} rows %{{.*}} : tensor<2xi32> -> !moe.plan<groups = 2>
  %a = moe.plan_from_sizes %s rows %c8 : tensor<2xi32> -> !moe.plan<groups = 2>
  %u = builtin.unrealized_conversion_cast %a : !moe.plan<groups = 2> to i32
  "test.use"(%u) : (i32) -> ()
  // CHECK: %[[R:.*]] = tensor.cast %{{.*}} : tensor<8x4xf32> to tensor<?x4xf32, #moe.ragged<groups = 2>>
  %r = tensor.cast %x : tensor<8x4xf32> to tensor<?x4xf32, #r>
  // CHECK: %[[ACC:.*]] = tensor.cast %{{.*}} : tensor<?x4x4xf32> to tensor<2x4x4xf32>
  %c = tensor.cast %acc : tensor<?x4x4xf32> to tensor<2x4x4xf32>
  // CHECK: moe.ragged_matmul %[[R]], %[[R]] plan %{{.*}} acc %[[ACC]] {{.*}} -> tensor<2x4x4xf32>
  %0 = moe.ragged_matmul %r, %r plan %a acc %c {mode = #moe.mode<contraction>}
      : tensor<?x4xf32, #r>, tensor<?x4xf32, #r>, !moe.plan<groups = 2>, tensor<2x4x4xf32> -> tensor<2x4x4xf32>
  return %0 : tensor<2x4x4xf32>
}

// acc and the result keep one type.
// CHECK-LABEL: func.func @accumulate(
func.func @accumulate(%x: tensor<?x4xf32, #r>, %s: tensor<2xi32>, %acc: tensor<2x4x4xf32>, %m: index) -> tensor<2x4x?xf32> {
  %p = moe.plan_from_sizes %s rows %m : tensor<2xi32> -> !moe.plan<groups = 2>
  %c = tensor.cast %acc : tensor<2x4x4xf32> to tensor<2x4x?xf32>
  // CHECK: moe.ragged_matmul {{.*}}, tensor<2x4x4xf32> -> tensor<2x4x4xf32>
  %0 = moe.ragged_matmul %x, %x plan %p acc %c {mode = #moe.mode<contraction>}
      : tensor<?x4xf32, #r>, tensor<?x4xf32, #r>, !moe.plan<groups = 2>, tensor<2x4x?xf32> -> tensor<2x4x?xf32>
  // CHECK: tensor.cast %{{.*}} : tensor<2x4x4xf32> to tensor<2x4x?xf32>
  return %0 : tensor<2x4x?xf32>
}

// -----

#r = #moe.ragged<groups = 2>
#e = #moe.ragged<groups = 8>
!p = !moe.plan<groups = 2, topk = 2>
!q = !moe.plan<groups = 8, topk = 1>

// First by rank, then by expert: the rows are copied once.
// CHECK-LABEL: func.func @gather_of_gather(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x4xf32>, %[[RANKS:[^:]*]]: tensor<?x2xi32>, %[[EXPERTS:[^:]*]]: tensor<?x1xi32>)
func.func @gather_of_gather(%x: tensor<?x4xf32>, %ranks: tensor<?x2xi32>, %experts: tensor<?x1xi32>) -> tensor<?x4xf32, #e> {
  // CHECK: %[[P:.*]] = moe.plan %[[RANKS]]
  %p = moe.plan %ranks : tensor<?x2xi32> -> !p
  %g = moe.gather %x, %p : tensor<?x4xf32>, !p -> tensor<?x4xf32, #r>
  %c = tensor.cast %g : tensor<?x4xf32, #r> to tensor<?x4xf32>
  // CHECK: %[[Q:.*]] = moe.plan %[[EXPERTS]]
  %q = moe.plan %experts : tensor<?x1xi32> -> !q
  // CHECK-NEXT: %[[H:.*]] = moe.gather %[[X]], %[[Q]] through %[[P]] :
  %h = moe.gather %c, %q : tensor<?x4xf32>, !q -> tensor<?x4xf32, #e>
  // CHECK-NEXT: return %[[H]]
  return %h : tensor<?x4xf32, #e>
}

// A third one stays: a gather reads through one plan.
// CHECK-LABEL: func.func @three_gathers(
func.func @three_gathers(%x: tensor<?x4xf32>, %a: tensor<?x1xi32>, %b: tensor<?x1xi32>, %c: tensor<?x1xi32>) -> tensor<?x4xf32, #e> {
  %p = moe.plan %a : tensor<?x1xi32> -> !q
  %q = moe.plan %b : tensor<?x1xi32> -> !q
  %s = moe.plan %c : tensor<?x1xi32> -> !q
  %0 = moe.gather %x, %p : tensor<?x4xf32>, !q -> tensor<?x4xf32, #e>
  %1 = tensor.cast %0 : tensor<?x4xf32, #e> to tensor<?x4xf32>
  // CHECK: %[[G:.*]] = moe.gather %{{.*}}, %{{.*}} through
  %2 = moe.gather %1, %q : tensor<?x4xf32>, !q -> tensor<?x4xf32, #e>
  // CHECK: %[[C:.*]] = tensor.cast %[[G]]
  %3 = tensor.cast %2 : tensor<?x4xf32, #e> to tensor<?x4xf32>
  // CHECK: moe.gather %[[C]], %{{[^ ]*}} :
  %4 = moe.gather %3, %s : tensor<?x4xf32>, !q -> tensor<?x4xf32, #e>
  return %4 : tensor<?x4xf32, #e>
}
