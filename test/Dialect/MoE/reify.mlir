// RUN: moe-opt %s -resolve-ranked-shaped-type-result-dims -canonicalize -cse | FileCheck %s
// Every dimension of a result follows from the operands: none of the ops is needed for its shape.

#r8 = #moe.ragged<groups = 8>
#r8a = #moe.ragged<groups = 8, align = 4>

// CHECK-LABEL: func.func @router(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x64xf32>, %[[R:[^:]*]]: tensor<64x?xf32>, %[[S:[^:]*]]: tensor<?x8xf32>)
func.func @router(%x: tensor<?x64xf32>, %r: tensor<64x?xf32>, %s: tensor<?x8xf32>) -> (index, index, index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %l = moe.logits %x, %r : tensor<?x64xf32>, tensor<64x?xf32> -> tensor<?x?xf32>
  %p = moe.scores %l : tensor<?x?xf32>
  %n = moe.normalize %p : tensor<?x?xf32>
  %0 = tensor.dim %n, %c0 : tensor<?x?xf32>
  %1 = tensor.dim %n, %c1 : tensor<?x?xf32>
  %i:2 = moe.select %s {k = 2} : tensor<?x8xf32> -> tensor<?x?xi32>, tensor<?x2xf32>
  %2 = tensor.dim %i#0, %c0 : tensor<?x?xi32>
  %3 = tensor.dim %i#0, %c1 : tensor<?x?xi32>
  %4 = tensor.dim %i#1, %c0 : tensor<?x2xf32>
  // CHECK-NOT: moe.
  // CHECK-DAG: %[[C2:.*]] = arith.constant 2 : index
  // CHECK-DAG: %[[T:.*]] = tensor.dim %[[X]], %c0
  // CHECK-DAG: %[[E:.*]] = tensor.dim %[[R]], %c1
  // CHECK-DAG: %[[U:.*]] = tensor.dim %[[S]], %c0
  // CHECK: return %[[T]], %[[E]], %[[U]], %[[C2]], %[[U]]
  return %0, %1, %2, %3, %4 : index, index, index, index, index
}

// Rows of a plan: T * k.
// CHECK-LABEL: func.func @gather(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x?xf32>, %[[IDS:[^:]*]]: tensor<?x2xi32>)
func.func @gather(%x: tensor<?x?xf32>, %ids: tensor<?x2xi32>) -> (index, index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p = moe.plan %ids : tensor<?x2xi32> -> !moe.plan<groups = 8, topk = 2>
  %g = moe.gather %x, %p : tensor<?x?xf32>, !moe.plan<groups = 8, topk = 2> -> tensor<?x?xf32, #r8>
  %a = moe.gated_activation %g : tensor<?x?xf32, #r8> -> tensor<?x?xf32, #r8>
  %0 = tensor.dim %g, %c0 : tensor<?x?xf32, #r8>
  %1 = tensor.dim %g, %c1 : tensor<?x?xf32, #r8>
  %2 = tensor.dim %a, %c0 : tensor<?x?xf32, #r8>
  %3 = tensor.dim %a, %c1 : tensor<?x?xf32, #r8>
  // CHECK-NOT: moe.
  // CHECK-DAG: %[[T:.*]] = tensor.dim %[[IDS]], %c0
  // CHECK-DAG: %[[M:.*]] = arith.muli %[[T]], %c2
  // CHECK-DAG: %[[H:.*]] = tensor.dim %[[X]], %c1
  // CHECK-DAG: %[[F:.*]] = arith.divui %[[H]], %c2
  // CHECK: return %[[M]], %[[H]], %[[M]], %[[F]]
  return %0, %1, %2, %3 : index, index, index, index
}

// T * k + G * (align - 1) = T * 2 + 24
// CHECK-LABEL: func.func @aligned(
// CHECK-SAME: %{{[^:]*}}: tensor<?x64xf32>, %[[IDS:[^:]*]]: tensor<?x2xi32>)
func.func @aligned(%x: tensor<?x64xf32>, %ids: tensor<?x2xi32>) -> index {
  %c0 = arith.constant 0 : index
  %p = moe.plan %ids : tensor<?x2xi32> -> !moe.plan<groups = 8, topk = 2, align = 4>
  %g = moe.gather %x, %p : tensor<?x64xf32>, !moe.plan<groups = 8, topk = 2, align = 4> -> tensor<?x64xf32, #r8a>
  %0 = tensor.dim %g, %c0 : tensor<?x64xf32, #r8a>
  // CHECK-DAG: %[[T:.*]] = tensor.dim %[[IDS]], %c0
  // CHECK-DAG: %[[C24:.*]] = arith.constant 24 : index
  // CHECK: %[[S:.*]] = arith.muli %[[T]], %c2
  // CHECK: %[[M:.*]] = arith.addi %[[S]], %[[C24]]
  // CHECK: return %[[M]]
  return %0 : index
}

// CHECK-LABEL: func.func @capacity(
func.func @capacity(%x: tensor<?x64xf32>, %ids: tensor<?x2xi32>) -> index {
  %c0 = arith.constant 0 : index
  %p = moe.plan %ids {capacity = 96} : tensor<?x2xi32> -> !moe.plan<groups = 8, topk = 2>
  %g = moe.gather %x, %p : tensor<?x64xf32>, !moe.plan<groups = 8, topk = 2> -> tensor<?x64xf32, #r8>
  %0 = tensor.dim %g, %c0 : tensor<?x64xf32, #r8>
  // CHECK: %[[M:.*]] = arith.constant 96 : index
  // CHECK: return %[[M]]
  return %0 : index
}

// CHECK-LABEL: func.func @matmul(
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x?xf32, #moe.ragged<groups = 8>>, %[[Y:[^:]*]]: tensor<?x?xf32, #moe.ragged<groups = 8>>,
// CHECK-SAME: %[[KN:[^:]*]]: tensor<?x?x?xf32>, %{{[^:]*}}: tensor<8xi32>, %{{[^:]*}}: index)
func.func @matmul(%x: tensor<?x?xf32, #r8>, %y: tensor<?x?xf32, #r8>, %w: tensor<?x?x?xf32>, %s: tensor<8xi32>, %m: index)
    -> (index, index, index, index, index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %p = moe.plan_from_sizes %s rows %m : tensor<8xi32> -> !moe.plan<groups = 8>
  %kn = moe.ragged_matmul %x, %w plan %p : tensor<?x?xf32, #r8>, tensor<?x?x?xf32>, !moe.plan<groups = 8> -> tensor<?x?xf32, #r8>
  %nk = moe.ragged_matmul %x, %w plan %p {layout = #moe.weights<nk>}
      : tensor<?x?xf32, #r8>, tensor<?x?x?xf32>, !moe.plan<groups = 8> -> tensor<?x?xf32, #r8>
  %dw = moe.ragged_matmul %x, %y plan %p {mode = #moe.mode<contraction>}
      : tensor<?x?xf32, #r8>, tensor<?x?xf32, #r8>, !moe.plan<groups = 8> -> tensor<?x?x?xf32>
  %db = moe.group_sum %y, %p : tensor<?x?xf32, #r8>, !moe.plan<groups = 8> -> tensor<?x?xf32>
  %0 = tensor.dim %kn, %c0 : tensor<?x?xf32, #r8>
  %1 = tensor.dim %kn, %c1 : tensor<?x?xf32, #r8>
  %2 = tensor.dim %nk, %c1 : tensor<?x?xf32, #r8>
  %3 = tensor.dim %dw, %c0 : tensor<?x?x?xf32>
  %4 = tensor.dim %dw, %c1 : tensor<?x?x?xf32>
  %5 = tensor.dim %dw, %c2 : tensor<?x?x?xf32>
  %6 = tensor.dim %db, %c1 : tensor<?x?xf32>
  // CHECK-NOT: moe.
  // CHECK-DAG: %[[C8:.*]] = arith.constant 8 : index
  // CHECK-DAG: %[[M:.*]] = tensor.dim %[[X]], %c0
  // CHECK-DAG: %[[N1:.*]] = tensor.dim %[[KN]], %c2
  // CHECK-DAG: %[[N2:.*]] = tensor.dim %[[KN]], %c1
  // CHECK-DAG: %[[K:.*]] = tensor.dim %[[X]], %c1
  // CHECK-DAG: %[[N3:.*]] = tensor.dim %[[Y]], %c1
  // CHECK: return %[[M]], %[[N1]], %[[N2]], %[[C8]], %[[K]], %[[N3]], %[[N3]]
  return %0, %1, %2, %3, %4, %5, %6 : index, index, index, index, index, index, index
}

// CHECK-LABEL: func.func @combine(
// CHECK-SAME: %{{[^:]*}}: tensor<?x64xf32, #moe.ragged<groups = 8>>, %[[IDS:[^:]*]]: tensor<?x2xi32>, %[[W:[^:]*]]: tensor<?x2xf32>)
func.func @combine(%y: tensor<?x64xf32, #r8>, %ids: tensor<?x2xi32>, %w: tensor<?x2xf32>) -> (index, index) {
  %c0 = arith.constant 0 : index
  %p = moe.plan %ids : tensor<?x2xi32> -> !moe.plan<groups = 8, topk = 2>
  %a = moe.combine %y, %p : tensor<?x64xf32, #r8>, !moe.plan<groups = 8, topk = 2> -> tensor<?x64xf32>
  %b = moe.combine %y, %p weights %w : tensor<?x64xf32, #r8>, !moe.plan<groups = 8, topk = 2>, tensor<?x2xf32> -> tensor<?x64xf32>
  %0 = tensor.dim %a, %c0 : tensor<?x64xf32>
  %1 = tensor.dim %b, %c0 : tensor<?x64xf32>
  // CHECK-NOT: moe.
  // CHECK-DAG: %[[T:.*]] = tensor.dim %[[IDS]], %c0
  // CHECK-DAG: %[[U:.*]] = tensor.dim %[[W]], %c0
  // CHECK: return %[[T]], %[[U]]
  return %0, %1 : index, index
}

// CHECK-LABEL: func.func @plan_get(
// CHECK-SAME: %[[IDS:[^:]*]]: tensor<?x2xi32>, %{{[^:]*}}: tensor<8xi32>, %[[M:[^:]*]]: index)
func.func @plan_get(%ids: tensor<?x2xi32>, %s: tensor<8xi32>, %m: index) -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %p = moe.plan %ids : tensor<?x2xi32> -> !moe.plan<groups = 8, topk = 2>
  %a = moe.plan_get %p {field = #moe.field<token>} : !moe.plan<groups = 8, topk = 2> -> tensor<?xi32>
  %b = moe.plan_get %p {field = #moe.field<inverse>} : !moe.plan<groups = 8, topk = 2> -> tensor<?x2xi32>
  %q = moe.plan_from_sizes %s rows %m : tensor<8xi32> -> !moe.plan<groups = 8>
  %c = moe.plan_get %q {field = #moe.field<sizes>} : !moe.plan<groups = 8> -> tensor<?xi32>
  %0 = tensor.dim %a, %c0 : tensor<?xi32>
  %1 = tensor.dim %b, %c0 : tensor<?x2xi32>
  %2 = tensor.dim %c, %c0 : tensor<?xi32>
  // CHECK-NOT: moe.
  // CHECK-DAG: %[[C8:.*]] = arith.constant 8 : index
  // CHECK-DAG: %[[T:.*]] = tensor.dim %[[IDS]], %c0
  // CHECK-DAG: %[[R:.*]] = arith.muli %[[T]], %c2
  // CHECK: return %[[R]], %[[T]], %[[C8]]
  return %0, %1, %2 : index, index, index
}

// A plan that is a block argument says nothing about its rows: the dim stays.
// CHECK-LABEL: func.func @unknown_plan(
func.func @unknown_plan(%x: tensor<?x64xf32>, %p: !moe.plan<groups = 8, topk = 2>) -> index {
  %c0 = arith.constant 0 : index
  // CHECK: %[[G:.*]] = moe.gather
  %g = moe.gather %x, %p : tensor<?x64xf32>, !moe.plan<groups = 8, topk = 2> -> tensor<?x64xf32, #r8>
  // CHECK: tensor.dim %[[G]]
  %0 = tensor.dim %g, %c0 : tensor<?x64xf32, #r8>
  return %0 : index
}
