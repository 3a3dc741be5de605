// RUN: moe-opt %s -moe-fuse-weights -verify-diagnostics | FileCheck %s

#r = #moe.ragged<groups = 8>
!plan = !moe.plan<groups = 8, topk = 2>

// The weights come after the product: it moves down to its only use.
// CHECK-LABEL: func.func @fused(
// CHECK-SAME: %[[A:[^:]*]]: tensor<?x64xbf16, #moe.ragged<groups = 8>>, %[[W:[^:]*]]: tensor<8x64x32xbf16>, %{{[^:]*}}: tensor<?x2xi32>, %[[V:[^:]*]]: tensor<?x2xf32>, %[[B:[^:]*]]: tensor<8x32xbf16>)
func.func @fused(%a: tensor<?x64xbf16, #r>, %w: tensor<8x64x32xbf16>, %ids: tensor<?x2xi32>, %v: tensor<?x2xf32>, %b: tensor<8x32xbf16>)
    -> tensor<?x32xbf16> {
  // CHECK: %[[P:.*]] = moe.plan
  %p = moe.plan %ids : tensor<?x2xi32> -> !plan
  %y = moe.ragged_matmul %a, %w plan %p bias %b
      : tensor<?x64xbf16, #r>, tensor<8x64x32xbf16>, !plan, tensor<8x32xbf16> -> tensor<?x32xbf16, #r>
  // CHECK: %[[S:.*]] = moe.normalize %[[V]]
  %s = moe.normalize %v {renormalize} : tensor<?x2xf32>
  // CHECK: %[[Y:.*]] = moe.ragged_matmul %[[A]], %[[W]] plan %[[P]] bias %[[B]] weights %[[S]] :
  // CHECK: moe.combine %[[Y]], %[[P]] : tensor<?x32xbf16, #moe.ragged<groups = 8>>, !moe.plan<groups = 8, topk = 2> -> tensor<?x32xbf16>
  %o = moe.combine %y, %p weights %s : tensor<?x32xbf16, #r>, !plan, tensor<?x2xf32> -> tensor<?x32xbf16>
  return %o : tensor<?x32xbf16>
}

// Nothing to move, nothing to say.
// CHECK-LABEL: func.func @unweighted(
func.func @unweighted(%y: tensor<?x32xbf16, #r>, %ids: tensor<?x2xi32>) -> tensor<?x32xbf16> {
  %p = moe.plan %ids : tensor<?x2xi32> -> !plan
  // CHECK: moe.combine
  %o = moe.combine %y, %p : tensor<?x32xbf16, #r>, !plan -> tensor<?x32xbf16>
  return %o : tensor<?x32xbf16>
}

// CHECK-LABEL: func.func @no_product(
func.func @no_product(%y: tensor<?x32xbf16, #r>, %ids: tensor<?x2xi32>, %s: tensor<?x2xf32>) -> tensor<?x32xbf16> {
  %p = moe.plan %ids : tensor<?x2xi32> -> !plan
  // CHECK: moe.combine {{.*}} weights
  // expected-remark@+1 {{weights not fused because its rows do not come from moe.ragged_matmul}}
  %o = moe.combine %y, %p weights %s : tensor<?x32xbf16, #r>, !plan, tensor<?x2xf32> -> tensor<?x32xbf16>
  return %o : tensor<?x32xbf16>
}

// CHECK-LABEL: func.func @other_plan(
func.func @other_plan(%a: tensor<?x64xbf16, #r>, %w: tensor<8x64x32xbf16>, %ids: tensor<?x2xi32>, %jds: tensor<?x2xi32>, %s: tensor<?x2xf32>) -> tensor<?x32xbf16> {
  %p = moe.plan %ids : tensor<?x2xi32> -> !plan
  %q = moe.plan %jds : tensor<?x2xi32> -> !plan
  %y = moe.ragged_matmul %a, %w plan %p : tensor<?x64xbf16, #r>, tensor<8x64x32xbf16>, !plan -> tensor<?x32xbf16, #r>
  // CHECK: moe.combine {{.*}} weights
  // expected-remark@+1 {{weights not fused because the product has another plan}}
  %o = moe.combine %y, %q weights %s : tensor<?x32xbf16, #r>, !plan, tensor<?x2xf32> -> tensor<?x32xbf16>
  return %o : tensor<?x32xbf16>
}

// CHECK-LABEL: func.func @own_weights(
func.func @own_weights(%a: tensor<?x64xbf16, #r>, %w: tensor<8x64x32xbf16>, %ids: tensor<?x2xi32>, %s: tensor<?x2xf32>) -> tensor<?x32xbf16> {
  %p = moe.plan %ids : tensor<?x2xi32> -> !plan
  %y = moe.ragged_matmul %a, %w plan %p weights %s
      : tensor<?x64xbf16, #r>, tensor<8x64x32xbf16>, !plan, tensor<?x2xf32> -> tensor<?x32xbf16, #r>
  // CHECK: moe.combine {{.*}} weights
  // expected-remark@+1 {{weights not fused because the product has weights of its own}}
  %o = moe.combine %y, %p weights %s : tensor<?x32xbf16, #r>, !plan, tensor<?x2xf32> -> tensor<?x32xbf16>
  return %o : tensor<?x32xbf16>
}

// CHECK-LABEL: func.func @other_use(
func.func @other_use(%a: tensor<?x64xbf16, #r>, %w: tensor<8x64x32xbf16>, %ids: tensor<?x2xi32>, %s: tensor<?x2xf32>) -> (tensor<?x32xbf16>, tensor<8x32xf32>) {
  %p = moe.plan %ids : tensor<?x2xi32> -> !plan
  %y = moe.ragged_matmul %a, %w plan %p : tensor<?x64xbf16, #r>, tensor<8x64x32xbf16>, !plan -> tensor<?x32xbf16, #r>
  // CHECK: moe.combine {{.*}} weights
  // expected-remark@+1 {{weights not fused because the product has another use}}
  %o = moe.combine %y, %p weights %s : tensor<?x32xbf16, #r>, !plan, tensor<?x2xf32> -> tensor<?x32xbf16>
  %b = moe.group_sum %y, %p : tensor<?x32xbf16, #r>, !plan -> tensor<8x32xf32>
  return %o, %b : tensor<?x32xbf16>, tensor<8x32xf32>
}

// CHECK-LABEL: func.func @other_block(
func.func @other_block(%a: tensor<?x64xbf16, #r>, %w: tensor<8x64x32xbf16>, %ids: tensor<?x2xi32>, %s: tensor<?x2xf32>, %c: i1, %z: tensor<?x32xbf16>) -> tensor<?x32xbf16> {
  %p = moe.plan %ids : tensor<?x2xi32> -> !plan
  %y = moe.ragged_matmul %a, %w plan %p : tensor<?x64xbf16, #r>, tensor<8x64x32xbf16>, !plan -> tensor<?x32xbf16, #r>
  %0 = scf.if %c -> tensor<?x32xbf16> {
    // CHECK: moe.combine {{.*}} weights
    // expected-remark@+1 {{weights not fused because the product is in another block}}
    %o = moe.combine %y, %p weights %s : tensor<?x32xbf16, #r>, !plan, tensor<?x2xf32> -> tensor<?x32xbf16>
    scf.yield %o : tensor<?x32xbf16>
  } else {
    scf.yield %z : tensor<?x32xbf16>
  }
  return %0 : tensor<?x32xbf16>
}
