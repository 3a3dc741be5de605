// RUN: moe-opt %s --pass-pipeline='builtin.module(func.func(moe-require-sizes),resolve-ranked-shaped-type-result-dims,canonicalize,cse,canonicalize)' --split-input-file | FileCheck %s

// Sizes that come from different arguments are compared; those that follow from one are not.
// CHECK-LABEL: func.func @layer(
// CHECK-SAME: %[[X:.*]]: tensor<?x64xf32>, %[[IDS:.*]]: tensor<?x2xi32>, %[[W:.*]]: tensor<8x64x32xf32>, %[[WEIGHTS:.*]]: tensor<?x2xf32>)
func.func @layer(%x: tensor<?x64xf32>, %ids: tensor<?x2xi32>, %w: tensor<8x64x32xf32>, %weights: tensor<?x2xf32>) -> tensor<?x32xf32> {
  // CHECK-DAG: %[[M:.*]] = tensor.dim %[[X]], %c0
  // CHECK-DAG: %[[T:.*]] = tensor.dim %[[IDS]], %c0
  // CHECK-DAG: %[[XT:.*]] = arith.cmpi eq, %[[M]], %[[T]] : index
  // CHECK: cf.assert %[[XT]], "the sizes of 'moe.gather' fit each other"
  // CHECK-NOT: cf.assert
  // CHECK: moe.ragged_matmul
  // CHECK: %[[WT:.*]] = tensor.dim %[[WEIGHTS]], %c0
  // CHECK: %[[EQUAL:.*]] = arith.cmpi eq, %[[WT]], %[[T]] : index
  // CHECK: cf.assert %[[EQUAL]], "the sizes of 'moe.combine' fit each other"
  // CHECK-NOT: cf.assert
  // CHECK: return
  %p = moe.plan %ids : tensor<?x2xi32> -> !moe.plan<groups = 8, topk = 2>
  %g = moe.gather %x, %p : tensor<?x64xf32>, !moe.plan<groups = 8, topk = 2> -> tensor<?x64xf32, #moe.ragged<groups = 8>>
  %y = moe.ragged_matmul %g, %w plan %p : tensor<?x64xf32, #moe.ragged<groups = 8>>, tensor<8x64x32xf32>,
      !moe.plan<groups = 8, topk = 2> -> tensor<?x32xf32, #moe.ragged<groups = 8>>
  %o = moe.combine %y, %p weights %weights : tensor<?x32xf32, #moe.ragged<groups = 8>>, !moe.plan<groups = 8, topk = 2>,
      tensor<?x2xf32> -> tensor<?x32xf32>
  return %o : tensor<?x32xf32>
}

// -----

// Nothing is left to ask when all follows from the tokens.
// CHECK-LABEL: func.func @follows(
// CHECK-NOT: cf.assert
func.func @follows(%x: tensor<?x64xf32>, %router: tensor<64x8xf32>) -> tensor<?x64xf32> {
  %l = moe.logits %x, %router : tensor<?x64xf32>, tensor<64x8xf32> -> tensor<?x8xf32>
  %s = moe.scores %l : tensor<?x8xf32>
  %ids, %v = moe.select %s {k = 2} : tensor<?x8xf32> -> tensor<?x2xi32>, tensor<?x2xf32>
  %p = moe.plan %ids : tensor<?x2xi32> -> !moe.plan<groups = 8, topk = 2>
  %g = moe.gather %x, %p : tensor<?x64xf32>, !moe.plan<groups = 8, topk = 2> -> tensor<?x64xf32, #moe.ragged<groups = 8>>
  %o = moe.combine %g, %p weights %v : tensor<?x64xf32, #moe.ragged<groups = 8>>, !moe.plan<groups = 8, topk = 2>,
      tensor<?x2xf32> -> tensor<?x64xf32>
  %r = arith.addf %o, %x : tensor<?x64xf32>
  return %r : tensor<?x64xf32>
}

// -----

// A plan of sizes has the rows that it is given.
// CHECK-LABEL: func.func @sizes(
// CHECK-SAME: %[[X:.*]]: tensor<?x64xf32, #moe.ragged<groups = 6>>, %[[DY:.*]]: tensor<?x32xf32, #moe.ragged<groups = 6>>
func.func @sizes(%x: tensor<?x64xf32, #moe.ragged<groups = 6>>, %dy: tensor<?x32xf32, #moe.ragged<groups = 6>>, %sizes: tensor<6xi32>) -> tensor<6x64x32xf32> {
  // CHECK-DAG: %[[M:.*]] = tensor.dim %[[X]], %c0
  // CHECK-DAG: %[[N:.*]] = tensor.dim %[[DY]], %c0
  // CHECK: %[[EQUAL:.*]] = arith.cmpi eq, %[[N]], %[[M]] : index
  // CHECK: cf.assert %[[EQUAL]], "the sizes of 'moe.ragged_matmul' fit each other"
  // CHECK-NOT: cf.assert
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x64xf32, #moe.ragged<groups = 6>>
  %p = moe.plan_from_sizes %sizes rows %m : tensor<6xi32> -> !moe.plan<groups = 6>
  %w = moe.ragged_matmul %x, %dy plan %p {mode = #moe.mode<contraction>} : tensor<?x64xf32, #moe.ragged<groups = 6>>,
      tensor<?x32xf32, #moe.ragged<groups = 6>>, !moe.plan<groups = 6> -> tensor<6x64x32xf32>
  return %w : tensor<6x64x32xf32>
}

// -----

// Upstream ops: elementwise on tensors, and linalg along its loops.
// CHECK-LABEL: func.func @upstream(
// CHECK-SAME: %[[A:.*]]: tensor<?x64xf32>, %[[B:.*]]: tensor<?x64xf32>, %[[C:.*]]: tensor<?xf32>)
func.func @upstream(%a: tensor<?x64xf32>, %b: tensor<?x64xf32>, %c: tensor<?xf32>) -> tensor<?x64xf32> {
  // CHECK-DAG: %[[DA:.*]] = tensor.dim %[[A]], %c0
  // CHECK-DAG: %[[DB:.*]] = tensor.dim %[[B]], %c0
  // CHECK-DAG: %[[BA:.*]] = arith.cmpi eq, %[[DB]], %[[DA]] : index
  // CHECK: cf.assert %[[BA]], "the sizes of 'arith.addf' fit each other"
  %0 = arith.addf %a, %b : tensor<?x64xf32>
  // CHECK: %[[DC:.*]] = tensor.dim %[[C]], %c0
  // CHECK: %[[CA:.*]] = arith.cmpi eq, %[[DC]], %[[DA]] : index
  // CHECK: cf.assert %[[CA]], "the sizes of 'linalg.generic' fit each other"
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%0, %c : tensor<?x64xf32>, tensor<?xf32>) outs(%a : tensor<?x64xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %s = arith.mulf %x, %y : f32
    linalg.yield %s : f32
  } -> tensor<?x64xf32>
  return %1 : tensor<?x64xf32>
}

// -----

// CHECK-LABEL: func.func @casts(
// CHECK-SAME: %[[A:.*]]: tensor<?x64xf32>)
func.func @casts(%a: tensor<?x64xf32>) -> tensor<8x64xf32> {
  // CHECK: %[[DA:.*]] = tensor.dim %[[A]], %c0
  // CHECK: %[[EIGHT:.*]] = arith.cmpi eq, %[[DA]], %c8 : index
  // CHECK: cf.assert %[[EIGHT]], "the sizes of 'tensor.cast' fit each other"
  %0 = tensor.cast %a : tensor<?x64xf32> to tensor<8x64xf32>
  return %0 : tensor<8x64xf32>
}
