// RUN: moe-opt %s --allow-unregistered-dialect --moe-normalize-stablehlo --moe-raise-stablehlo | FileCheck %s

// CHECK-LABEL: func.func @softmax(
// CHECK-SAME: %[[X:.*]]: tensor<6x8xf32>
func.func @softmax(%x: tensor<6x8xf32>) -> tensor<6x8xf32> {
  %low = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  %max = "stablehlo.reduce"(%x, %low) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = "stablehlo.maximum"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%m) : (tensor<f32>) -> ()
  }) : (tensor<6x8xf32>, tensor<f32>) -> tensor<6xf32>
  %maxes = "stablehlo.broadcast_in_dim"(%max) <{broadcast_dimensions = array<i64: 0>}> : (tensor<6xf32>) -> tensor<6x8xf32>
  %shifted = "stablehlo.subtract"(%x, %maxes) : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  %exp = "stablehlo.exponential"(%shifted) : (tensor<6x8xf32>) -> tensor<6x8xf32>
  %sum = "stablehlo.reduce"(%exp, %zero) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<6x8xf32>, tensor<f32>) -> tensor<6xf32>
  %sums = "stablehlo.broadcast_in_dim"(%sum) <{broadcast_dimensions = array<i64: 0>}> : (tensor<6xf32>) -> tensor<6x8xf32>
  // CHECK-NEXT: %[[S:.*]] = moe.scores %[[X]] {nan = #moe.nan<propagate>} : tensor<6x8xf32>
  // CHECK-NEXT: return %[[S]]
  %0 = "stablehlo.divide"(%exp, %sums) : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  return %0 : tensor<6x8xf32>
}

// Of another sum it is no softmax.
// CHECK-LABEL: func.func @other_sum(
// CHECK-NOT: moe.
// CHECK: return
func.func @other_sum(%x: tensor<6x8xf32>, %y: tensor<6xf32>) -> tensor<6x8xf32> {
  %exp = "stablehlo.exponential"(%x) : (tensor<6x8xf32>) -> tensor<6x8xf32>
  %sums = "stablehlo.broadcast_in_dim"(%y) <{broadcast_dimensions = array<i64: 0>}> : (tensor<6xf32>) -> tensor<6x8xf32>
  %0 = "stablehlo.divide"(%exp, %sums) : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  return %0 : tensor<6x8xf32>
}

// Rows of higher rank are rows of their last dimension.
// CHECK-LABEL: func.func @top_k(
func.func @top_k(%x: tensor<2x3x8xf32>, %b: tensor<6x8xbf16>) -> (tensor<2x3x2xf32>, tensor<2x3x2xi32>, tensor<6x2xbf16>) {
  // CHECK: %[[R:.*]] = "stablehlo.reshape"(%{{.*}}) : (tensor<2x3x8xf32>) -> tensor<6x8xf32>
  // CHECK: %[[IDS:.*]], %[[V:.*]] = moe.select %[[R]] {k = 2 : i64, nan = #moe.nan<propagate>}
  %v, %i = "chlo.top_k"(%x) <{k = 2 : i64}> : (tensor<2x3x8xf32>) -> (tensor<2x3x2xf32>, tensor<2x3x2xi32>)
  // CHECK: %[[WIDE:.*]] = arith.extf
  // CHECK: %[[IDS2:.*]], %[[V2:.*]] = moe.select %[[WIDE]]
  // CHECK: arith.truncf %[[V2]]
  %w, %j = "stablehlo.composite"(%b) <{composite_attributes = {k = 2 : i64, is_stable = true}, decomposition = @impl, name = "chlo.top_k", version = 1 : i32}> : (tensor<6x8xbf16>) -> (tensor<6x2xbf16>, tensor<6x2xi32>)
  return %v, %i, %w : tensor<2x3x2xf32>, tensor<2x3x2xi32>, tensor<6x2xbf16>
}

// CHECK-LABEL: func.func @unknown_top_k(
// CHECK: "chlo.top_k"
func.func @unknown_top_k(%x: tensor<6x8xf32>) -> tensor<6x2xf32> {
  %v, %i = "chlo.top_k"(%x) <{k = 2 : i64, largest = false}> : (tensor<6x8xf32>) -> (tensor<6x2xf32>, tensor<6x2xi32>)
  return %v : tensor<6x2xf32>
}

// A router with a bias for the choice, renormalised with an epsilon, and scaled.
// CHECK-LABEL: func.func @biased(
// CHECK-SAME: %[[X:.*]]: tensor<6x4xf32>, %[[ROUTER:.*]]: tensor<4x8xf32>, %[[BIAS:.*]]: tensor<8xf32>
func.func @biased(%x: tensor<6x4xf32>, %router: tensor<4x8xf32>, %bias: tensor<8xf32>) -> (tensor<6x2xi32>, tensor<6x2xf32>) {
  // CHECK: %[[LOGITS:.*]] = moe.logits %[[X]], %[[ROUTER]] {precision = #moe.precision<tf32>}
  %logits = "stablehlo.dot_general"(%x, %router) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<6x4xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
  // CHECK: %[[SCORES:.*]] = moe.scores %[[LOGITS]] {function = #moe.score<sigmoid>, nan = #moe.nan<propagate>}
  %scores = "stablehlo.logistic"(%logits) : (tensor<6x8xf32>) -> tensor<6x8xf32>
  %rows = "stablehlo.broadcast_in_dim"(%bias) <{broadcast_dimensions = array<i64: 1>}> : (tensor<8xf32>) -> tensor<6x8xf32>
  %biased = "stablehlo.add"(%scores, %rows) : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  // CHECK: %[[IDS:.*]], %[[VALUES:.*]] = moe.select %[[SCORES]] bias %[[BIAS]] {k = 2 : i64, nan = #moe.nan<propagate>}
  %v, %ids = "chlo.top_k"(%biased) <{k = 2 : i64}> : (tensor<6x8xf32>) -> (tensor<6x2xf32>, tensor<6x2xi32>)
  %indices = "stablehlo.reshape"(%ids) : (tensor<6x2xi32>) -> tensor<6x2x1xi32>
  %taken = "stablehlo.gather"(%scores, %indices) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<6x8xf32>, tensor<6x2x1xi32>) -> tensor<6x2xf32>
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  %sum = "stablehlo.reduce"(%taken, %zero) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<6x2xf32>, tensor<f32>) -> tensor<6xf32>
  %epsilon = "stablehlo.constant"() <{value = dense<0.5> : tensor<6xf32>}> : () -> tensor<6xf32>
  %more = "stablehlo.add"(%sum, %epsilon) : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
  %sums = "stablehlo.broadcast_in_dim"(%more) <{broadcast_dimensions = array<i64: 0>}> : (tensor<6xf32>) -> tensor<6x2xf32>
  %scale = "stablehlo.constant"() <{value = dense<2.5> : tensor<6x2xf32>}> : () -> tensor<6x2xf32>
  %scaled = "stablehlo.multiply"(%scale, %taken) : (tensor<6x2xf32>, tensor<6x2xf32>) -> tensor<6x2xf32>
  // CHECK: %[[W:.*]] = moe.normalize %[[VALUES]] {epsilon = 5.000000e-01 : f32, floor = 0xFF800000 : f32, nan = #moe.nan<propagate>, renormalize, scale = 2.500000e+00 : f32}
  // CHECK: return %[[IDS]], %[[W]]
  %weights = "stablehlo.divide"(%scaled, %sums) : (tensor<6x2xf32>, tensor<6x2xf32>) -> tensor<6x2xf32>
  return %ids, %weights : tensor<6x2xi32>, tensor<6x2xf32>
}

// The same of one token, whose bias is reshaped, and whose values are columns of the only row.
// CHECK-LABEL: func.func @one_token(
// CHECK-SAME: %[[SCORES:.*]]: tensor<1x8xf32>, %[[BIAS:.*]]: tensor<8xf32>
func.func @one_token(%scores: tensor<1x8xf32>, %bias: tensor<8xf32>) -> (tensor<1x2xi32>, tensor<1x2xf32>) {
  %row = "stablehlo.reshape"(%bias) : (tensor<8xf32>) -> tensor<1x8xf32>
  %biased = "stablehlo.add"(%scores, %row) : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
  // CHECK: %[[IDS:.*]], %[[VALUES:.*]] = moe.select %[[SCORES]] bias %[[BIAS]] {k = 2 : i64, nan = #moe.nan<propagate>}
  %v, %ids = "chlo.top_k"(%biased) <{k = 2 : i64}> : (tensor<1x8xf32>) -> (tensor<1x2xf32>, tensor<1x2xi32>)
  %indices = "stablehlo.reshape"(%ids) : (tensor<1x2xi32>) -> tensor<2x1xi32>
  %taken = "stablehlo.gather"(%scores, %indices) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<1x8xf32>, tensor<2x1xi32>) -> tensor<1x2xf32>
  // CHECK: return %[[IDS]], %[[VALUES]]
  return %ids, %taken : tensor<1x2xi32>, tensor<1x2xf32>
}

// bf16 logits are rounded where the program rounds them: that may choose another expert. An f32 bias is added in f32.
// CHECK-LABEL: func.func @logits(
func.func @logits(%x: tensor<6x4xbf16>, %router: tensor<8x4xbf16>, %y: tensor<6x4xf32>, %r: tensor<4x8xf32>, %b: tensor<8xf32>)
    -> (tensor<6x2xi32>, tensor<6x2xi32>) {
  // CHECK: %[[L:.*]] = moe.logits %{{.*}}, %{{.*}} {layout = #moe.weights<nk>}
  // CHECK: %[[N:.*]] = arith.truncf %[[L]]
  // CHECK: %[[W:.*]] = arith.extf %[[N]]
  // CHECK: moe.select %[[W]]
  %l = "stablehlo.dot_general"(%x, %router) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>}> : (tensor<6x4xbf16>, tensor<8x4xbf16>) -> tensor<6x8xbf16>
  %f = "stablehlo.convert"(%l) : (tensor<6x8xbf16>) -> tensor<6x8xf32>
  %v, %i = "chlo.top_k"(%f) <{k = 2 : i64}> : (tensor<6x8xf32>) -> (tensor<6x2xf32>, tensor<6x2xi32>)
  // CHECK: %[[M:.*]] = moe.logits %{{.*}}, %{{.*}} bias %{{.*}} : tensor<6x4xf32>
  // CHECK: moe.select %[[M]]
  %m = "stablehlo.dot_general"(%y, %r) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]}> : (tensor<6x4xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
  %rows = "stablehlo.broadcast_in_dim"(%b) <{broadcast_dimensions = array<i64: 1>}> : (tensor<8xf32>) -> tensor<6x8xf32>
  %n = "stablehlo.add"(%m, %rows) : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x8xf32>
  %w, %j = "chlo.top_k"(%n) <{k = 2 : i64}> : (tensor<6x8xf32>) -> (tensor<6x2xf32>, tensor<6x2xi32>)
  return %i, %j : tensor<6x2xi32>, tensor<6x2xi32>
}

// CHECK-LABEL: func.func @group_limit(
// CHECK-SAME: %[[X:.*]]: tensor<6x8xf32>
func.func @group_limit(%x: tensor<6x8xf32>) -> tensor<6x2xi32> {
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  %grouped = "stablehlo.reshape"(%x) : (tensor<6x8xf32>) -> tensor<6x4x2xf32>
  %best, %bi = "chlo.top_k"(%grouped) <{k = 2 : i64}> : (tensor<6x4x2xf32>) -> (tensor<6x4x2xf32>, tensor<6x4x2xi32>)
  %score = "stablehlo.reduce"(%best, %zero) <{dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<6x4x2xf32>, tensor<f32>) -> tensor<6x4xf32>
  %gv, %gi = "chlo.top_k"(%score) <{k = 3 : i64}> : (tensor<6x4xf32>) -> (tensor<6x3xf32>, tensor<6x3xi32>)
  %ids = "stablehlo.broadcast_in_dim"(%gi) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<6x3xi32>) -> tensor<6x3x4xi32>
  %iota = "stablehlo.iota"() <{iota_dimension = 2 : i64}> : () -> tensor<1x1x4xi32>
  %numbers = "stablehlo.broadcast_in_dim"(%iota) <{broadcast_dimensions = array<i64: 0, 1, 2>}> : (tensor<1x1x4xi32>) -> tensor<6x3x4xi32>
  %equal = "stablehlo.compare"(%ids, %numbers) <{comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<6x3x4xi32>, tensor<6x3x4xi32>) -> tensor<6x3x4xi1>
  %hot = "stablehlo.convert"(%equal) : (tensor<6x3x4xi1>) -> tensor<6x3x4xf32>
  %count = "stablehlo.reduce"(%hot, %zero) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<6x3x4xf32>, tensor<f32>) -> tensor<6x4xf32>
  %zeros = "stablehlo.constant"() <{value = dense<0.0> : tensor<6x4xf32>}> : () -> tensor<6x4xf32>
  %kept = "stablehlo.compare"(%count, %zeros) <{comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x4xi1>
  %keep = "stablehlo.broadcast_in_dim"(%kept) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<6x4xi1>) -> tensor<6x4x2xi1>
  %low = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<6x4x2xf32>}> : () -> tensor<6x4x2xf32>
  %masked = "stablehlo.select"(%keep, %grouped, %low) : (tensor<6x4x2xi1>, tensor<6x4x2xf32>, tensor<6x4x2xf32>) -> tensor<6x4x2xf32>
  %flat = "stablehlo.reshape"(%masked) : (tensor<6x4x2xf32>) -> tensor<6x8xf32>
  // CHECK-NEXT: %[[IDS:.*]], %{{.*}} = moe.select %[[X]] {group_top = 2 : i64, groups = 4 : i64, k = 2 : i64, keep_groups = 3 : i64, nan = #moe.nan<propagate>}
  // CHECK-NEXT: return %[[IDS]]
  %v, %i = "chlo.top_k"(%flat) <{k = 2 : i64}> : (tensor<6x8xf32>) -> (tensor<6x2xf32>, tensor<6x2xi32>)
  return %i : tensor<6x2xi32>
}

func.func private @impl(%x: tensor<6x8xbf16>) -> (tensor<6x2xbf16>, tensor<6x2xi32>)
