// RUN: moe-opt %s --convert-moe-to-tile | FileCheck %s

// Encodings are gone, in the signature too.
// CHECK-LABEL: func @rows(
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<?x64xbf16>, %[[W:[a-z0-9]*]]: tensor<8x64x32xbf16>, %{{[a-z0-9]*}}: tensor<8xi32>) -> tensor<?x32xbf16>
func.func @rows(%x: tensor<?x64xbf16, #moe.ragged<groups = 8>>, %w: tensor<8x64x32xbf16>, %s: tensor<8xi32>)
    -> tensor<?x32xbf16, #moe.ragged<groups = 8>> {
  // CHECK: %[[M:.*]] = tensor.dim %[[X]]
  // CHECK: %[[B:.*]] = tile.offsets {{.*}} rows(%[[M]])
  // CHECK: %[[INIT:.*]] = tensor.empty(%{{.*}}) : tensor<?x32xbf16>
  // CHECK: %[[Y:.*]] = tile.ragged_gemm lhs(%[[X]] : tensor<?x64xbf16>) rhs(%[[W]] : tensor<8x64x32xbf16>) bounds(%[[B]] : tensor<8x2xi64>) outs(%[[INIT]]
  // CHECK: ^bb0(%[[ACC:.*]]: f32):
  // CHECK: %[[R:.*]] = arith.truncf %[[ACC]] : f32 to bf16
  // CHECK: tile.yield %[[R]]
  // CHECK: return %[[Y]] : tensor<?x32xbf16>
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x64xbf16, #moe.ragged<groups = 8>>
  %p = moe.plan_from_sizes %s rows %m : tensor<8xi32> -> !moe.plan<groups = 8>
  %y = moe.ragged_matmul %x, %w plan %p
      : tensor<?x64xbf16, #moe.ragged<groups = 8>>, tensor<8x64x32xbf16>, !moe.plan<groups = 8>
      -> tensor<?x32xbf16, #moe.ragged<groups = 8>>
  return %y : tensor<?x32xbf16, #moe.ragged<groups = 8>>
}

// The bias comes before the weight, and a row of weight 0 is zero.
// CHECK-LABEL: func @bias_weights
func.func @bias_weights(%x: tensor<8x16xf32, #moe.ragged<groups = 4>>, %w: tensor<2x8x16xf32>, %b: tensor<2x8xf32>,
                        %ids: tensor<4x2xi32>, %g: tensor<4x2xf32>) -> tensor<8x8xf32, #moe.ragged<groups = 4>> {
  // CHECK: %[[P:.*]]:6 = tile.plan
  // CHECK: tile.ragged_gemm lhs(%arg0 : tensor<8x16xf32>) rhs(%arg1 : tensor<2x8x16xf32>) bounds(%[[P]]#1 : tensor<4x2xi64>)
  // CHECK-SAME: slots(%[[P]]#2 : tensor<8xi32>) extras(%arg2, %arg4 : tensor<2x8xf32>, tensor<4x2xf32>)
  // CHECK-SAME: extra_kinds = [#tile.extra<group>, #tile.extra<slot>], group_offset = 2 : i64, layout = #tile.rhs<nk>, precision = #tile.precision<tf32>
  // CHECK: ^bb0(%[[ACC:.*]]: f32, %[[BIAS:.*]]: f32, %[[WEIGHT:.*]]: f32):
  // CHECK: %[[SUM:.*]] = arith.addf %[[ACC]], %[[BIAS]]
  // CHECK: %[[MUL:.*]] = arith.mulf %[[WEIGHT]], %[[SUM]]
  // CHECK: %[[ZERO:.*]] = arith.constant 0.0
  // CHECK: %[[IS:.*]] = arith.cmpf oeq, %[[WEIGHT]], %[[ZERO]]
  // CHECK: %[[R:.*]] = arith.select %[[IS]], %[[ZERO]], %[[MUL]]
  // CHECK: tile.yield %[[R]]
  %p = moe.plan %ids : tensor<4x2xi32> -> !moe.plan<groups = 4, rows = 8, tokens = 4, topk = 2>
  %y = moe.ragged_matmul %x, %w plan %p bias %b weights %g
      {layout = #moe.weights<nk>, group_offset = 2, precision = #moe.precision<tf32>}
      : tensor<8x16xf32, #moe.ragged<groups = 4>>, tensor<2x8x16xf32>,
        !moe.plan<groups = 4, rows = 8, tokens = 4, topk = 2>, tensor<2x8xf32>, tensor<4x2xf32>
      -> tensor<8x8xf32, #moe.ragged<groups = 4>>
  return %y : tensor<8x8xf32, #moe.ragged<groups = 4>>
}

// CHECK-LABEL: func @contraction
func.func @contraction(%x: tensor<8x16xbf16, #moe.ragged<groups = 4>>, %dy: tensor<8x32xbf16, #moe.ragged<groups = 4>>,
                       %s: tensor<4xi32>, %acc: tensor<4x16x32xf32>) -> (tensor<4x16x32xbf16>, tensor<4x16x32xf32>) {
  // CHECK: %[[INIT:.*]] = tensor.empty() : tensor<4x16x32xbf16>
  // CHECK: tile.ragged_gemm lhs(%arg0 : tensor<8x16xbf16>) rhs(%arg1 : tensor<8x32xbf16>) bounds({{.*}}) outs(%[[INIT]]
  // CHECK-SAME: mode = #tile.mode<contraction>
  // CHECK: tile.ragged_gemm {{.*}} outs(%arg3 : tensor<4x16x32xf32>) attributes {accumulate
  // CHECK: ^bb0(%[[NEW:.*]]: f32, %[[OLD:.*]]: f32):
  // CHECK: %[[SUM:.*]] = arith.addf %[[OLD]], %[[NEW]]
  // CHECK: tile.yield %[[SUM]]
  %p = moe.plan_from_sizes %s : tensor<4xi32> -> !moe.plan<groups = 4, rows = 8>
  %a = moe.ragged_matmul %x, %dy plan %p {mode = #moe.mode<contraction>}
      : tensor<8x16xbf16, #moe.ragged<groups = 4>>, tensor<8x32xbf16, #moe.ragged<groups = 4>>,
        !moe.plan<groups = 4, rows = 8> -> tensor<4x16x32xbf16>
  %b = moe.ragged_matmul %x, %dy plan %p acc %acc {mode = #moe.mode<contraction>}
      : tensor<8x16xbf16, #moe.ragged<groups = 4>>, tensor<8x32xbf16, #moe.ragged<groups = 4>>,
        !moe.plan<groups = 4, rows = 8>, tensor<4x16x32xf32> -> tensor<4x16x32xf32>
  return %a, %b : tensor<4x16x32xbf16>, tensor<4x16x32xf32>
}

// CHECK-LABEL: func @batch
func.func @batch(%x: tensor<4x?x16xf32>, %w: tensor<4x16x8xf32>) -> tensor<4x?x8xf32> {
  // CHECK: %[[M:.*]] = tensor.dim %arg0, %c1
  // CHECK: %[[INIT:.*]] = tensor.empty(%[[M]]) : tensor<4x?x8xf32>
  // CHECK: tile.ragged_gemm lhs(%arg0 : tensor<4x?x16xf32>) rhs(%arg1 : tensor<4x16x8xf32>) outs(%[[INIT]] : tensor<4x?x8xf32>)
  %y = moe.ragged_matmul %x, %w {mode = #moe.mode<batch>} : tensor<4x?x16xf32>, tensor<4x16x8xf32> -> tensor<4x?x8xf32>
  return %y : tensor<4x?x8xf32>
}

// CHECK-LABEL: func @group_sum
func.func @group_sum(%x: tensor<8x16xbf16, #moe.ragged<groups = 4>>, %s: tensor<4xi32>) -> tensor<4x16xf32> {
  // CHECK: %[[INIT:.*]] = tensor.empty() : tensor<4x16xf32>
  // CHECK: tile.ragged_gemm rhs(%arg0 : tensor<8x16xbf16>) bounds({{.*}}) outs(%[[INIT]] : tensor<4x16xf32>)
  // CHECK-SAME: mode = #tile.mode<contraction>
  %p = moe.plan_from_sizes %s : tensor<4xi32> -> !moe.plan<groups = 4, rows = 8>
  %y = moe.group_sum %x, %p
      : tensor<8x16xbf16, #moe.ragged<groups = 4>>, !moe.plan<groups = 4, rows = 8> -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}
