// RUN: moe-opt %s --convert-moe-to-tile | FileCheck %s

// CHECK-LABEL: func @logits
func.func @logits(%x: tensor<?x64xbf16>, %w: tensor<8x64xbf16>, %b: tensor<8xbf16>) -> tensor<?x8xf32> {
  // CHECK: %[[T:.*]] = tensor.dim %arg0
  // CHECK: %[[INIT:.*]] = tensor.empty(%[[T]]) : tensor<?x8xf32>
  // CHECK: tile.ragged_gemm lhs(%arg0 : tensor<?x64xbf16>) rhs(%arg1 : tensor<8x64xbf16>) extras(%arg2 : tensor<8xbf16>) outs(%[[INIT]]
  // CHECK-SAME: extra_kinds = [#tile.extra<group>], layout = #tile.rhs<nk>
  // CHECK: ^bb0(%[[ACC:.*]]: f32, %[[BIAS:.*]]: bf16):
  // CHECK: %[[F:.*]] = arith.extf %[[BIAS]]
  // CHECK: %[[SUM:.*]] = arith.addf %[[ACC]], %[[F]]
  // CHECK: tile.yield %[[SUM]] : f32
  %l = moe.logits %x, %w bias %b {layout = #moe.weights<nk>}
      : tensor<?x64xbf16>, tensor<8x64xbf16>, tensor<8xbf16> -> tensor<?x8xf32>
  return %l : tensor<?x8xf32>
}

// nan = propagate is plain arithmetic.
// CHECK-LABEL: func @softmax_propagate
func.func @softmax_propagate(%l: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK: tile.rows ins(%arg0
  // CHECK-NOT: arith.select
  // CHECK: %[[ROW:.*]] = tile.load
  // CHECK-NEXT: %[[MAX:.*]] = vector.reduction <maximumf>, %[[ROW]]
  // CHECK-NEXT: %[[B:.*]] = vector.broadcast %[[MAX]]
  // CHECK-NEXT: %[[D:.*]] = arith.subf %[[ROW]], %[[B]]
  // CHECK-NEXT: %[[E:.*]] = math.exp %[[D]]
  // CHECK-NEXT: %[[S:.*]] = vector.reduction <add>, %[[E]]
  // CHECK-NEXT: %[[SB:.*]] = vector.broadcast %[[S]]
  // CHECK-NEXT: %[[R:.*]] = arith.divf %[[E]], %[[SB]]
  // CHECK-NEXT: tile.yield %[[R]]
  %s = moe.scores %l {nan = #moe.nan<propagate>} : tensor<4x8xf32>
  return %s : tensor<4x8xf32>
}

// NaN takes no part (-inf), +inf is the largest finite value, and a NaN stays one.
// CHECK-LABEL: func @softmax_last
func.func @softmax_last(%l: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK-DAG: %[[ROW:.*]] = tile.load
  // CHECK-DAG: %[[INF:.*]] = arith.constant dense<0x7F800000> : vector<8xf32>
  // CHECK-DAG: %[[MAXF:.*]] = arith.constant dense<3.40282347E+38>
  // CHECK: %[[ISINF:.*]] = arith.cmpf oeq, %[[ROW]], %[[INF]]
  // CHECK: %[[FIN:.*]] = arith.select %[[ISINF]], %[[MAXF]], %[[ROW]]
  // CHECK-DAG: %[[NONUM:.*]] = arith.constant dense<0xFF800000>
  // CHECK-DAG: %[[ISNAN:.*]] = arith.cmpf uno, %[[FIN]], %[[FIN]]
  // CHECK: %[[IN:.*]] = arith.select %[[ISNAN]], %[[NONUM]], %[[FIN]]
  // CHECK: vector.reduction <maximumf>, %[[IN]]
  // CHECK: %[[SOFT:.*]] = arith.divf
  // CHECK: %[[OUT:.*]] = arith.select %{{.*}}, %{{.*}}, %[[SOFT]]
  // CHECK: tile.yield %[[OUT]]
  %s = moe.scores %l : tensor<4x8xf32>
  return %s : tensor<4x8xf32>
}

// CHECK-LABEL: func @sigmoid
func.func @sigmoid(%l: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK: %[[ROW:.*]] = tile.load
  // CHECK: %[[NEG:.*]] = arith.negf %[[ROW]]
  // CHECK: %[[E:.*]] = math.exp %[[NEG]]
  // CHECK: arith.addf
  // CHECK: arith.divf
  %s = moe.scores %l {function = #moe.score<sigmoid>, nan = #moe.nan<propagate>} : tensor<4x8xf32>
  return %s : tensor<4x8xf32>
}

// The bias chooses; the value is the score without it.
// CHECK-LABEL: func @select
func.func @select(%s: tensor<?x64xf32>, %b: tensor<64xf32>) -> (tensor<?x8xi32>, tensor<?x8xf32>) {
  // CHECK: tile.rows ins(%arg0, %arg1 : tensor<?x64xf32>, tensor<64xf32>) outs(%{{.*}}, %{{.*}} : tensor<?x8xi32>, tensor<?x8xf32>)
  // CHECK: ^bb0(%[[R:.*]]: index, %[[S:.*]]: tensor<?x64xf32>, %[[BIAS:.*]]: tensor<64xf32>):
  // CHECK: tile.load %[[S]][%[[R]]]
  // CHECK: %[[SCORE:.*]] = arith.select
  // CHECK: %[[B:.*]] = tile.load %[[BIAS]][] : tensor<64xf32> -> vector<64xf32>
  // CHECK: %[[SUM:.*]] = arith.addf %[[SCORE]], %[[B]]
  // CHECK: %[[NONE:.*]] = arith.cmpf oeq, %{{.*}}, %{{.*}} : f32
  // CHECK: %[[CHOOSE:.*]] = arith.select %[[NONE]], %{{.*}}, %[[SUM]]
  // CHECK: %[[IDS:.*]] = tile.select %[[CHOOSE]] {group_top = 2 : i64, groups = 8 : i64, keep_groups = 4 : i64}
  // CHECK: %[[V:.*]] = tile.lookup %[[SCORE]][%[[IDS]]]
  // CHECK: %[[VALUES:.*]] = arith.select %[[NONE]], %{{.*}}, %[[V]]
  // CHECK: tile.fault nan_router if %[[NONE]] row %[[R]]
  // CHECK: tile.yield %[[IDS]], %[[VALUES]]
  %ids, %v = moe.select %s bias %b {k = 8, groups = 8, keep_groups = 4, group_top = 2}
      : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x8xi32>, tensor<?x8xf32>
  return %ids, %v : tensor<?x8xi32>, tensor<?x8xf32>
}

// CHECK-LABEL: func @select_propagate
func.func @select_propagate(%s: tensor<4x8xf32>) -> (tensor<4x2xi32>, tensor<4x2xf32>) {
  // CHECK: %[[S:.*]] = tile.load
  // CHECK-NEXT: %[[IDS:.*]] = tile.select %[[S]] {nan = #tile.nan<first>}
  // CHECK-NEXT: %[[V:.*]] = tile.lookup %[[S]][%[[IDS]]]
  // CHECK-NEXT: tile.yield %[[IDS]], %[[V]]
  %ids, %v = moe.select %s {k = 2, nan = #moe.nan<propagate>} : tensor<4x8xf32> -> tensor<4x2xi32>, tensor<4x2xf32>
  return %ids, %v : tensor<4x2xi32>, tensor<4x2xf32>
}

// CHECK-LABEL: func @normalize
func.func @normalize(%v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK: %[[ROW:.*]] = arith.select
  // CHECK: %[[SUM:.*]] = vector.reduction <add>, %[[ROW]]
  // CHECK: %[[TINY:.*]] = arith.constant 9.99999968E-21 : f32
  // CHECK: %[[MAX:.*]] = arith.maximumf %[[SUM]], %[[TINY]]
  // CHECK: %[[B:.*]] = vector.broadcast %[[MAX]]
  // CHECK: %[[N:.*]] = arith.divf %[[ROW]], %[[B]]
  // CHECK: %[[SCALE:.*]] = arith.constant dense<2.500000e+00>
  // CHECK: arith.mulf %[[N]], %[[SCALE]]
  %w = moe.normalize %v {renormalize, scale = 2.5 : f32} : tensor<4x8xf32>
  return %w : tensor<4x8xf32>
}
