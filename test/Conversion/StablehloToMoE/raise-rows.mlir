// RUN: moe-opt %s --allow-unregistered-dialect --moe-normalize-stablehlo --convert-stablehlo-to-moe --moe-raise-stablehlo | FileCheck %s

// The plan: an argsort of expert ids, how many there are of each, the token of each row, and where each slot went.
// CHECK-LABEL: func.func @plan(
func.func @plan(%x: tensor<6x8xf32>) -> (tensor<12xi32>, tensor<8xi32>, tensor<12xi32>, tensor<12xi32>, tensor<12xi32>, tensor<12xi64>) {
  // CHECK: %[[IDS:.*]], %{{.*}} = moe.select
  // CHECK: %[[P:.*]] = moe.plan %[[IDS]] : tensor<6x2xi32> -> !moe.plan<groups = 8, rows = 12, tokens = 6, topk = 2>
  %v, %ids = "chlo.top_k"(%x) <{k = 2 : i64}> : (tensor<6x8xf32>) -> (tensor<6x2xf32>, tensor<6x2xi32>)
  %flat = "stablehlo.reshape"(%ids) : (tensor<6x2xi32>) -> tensor<12xi32>
  %iota = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<12xi32>
  // CHECK: %[[ORDER:.*]] = moe.plan_get %[[P]] {field = #moe.field<permutation>}
  %sorted, %order = "stablehlo.sort"(%flat, %iota) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
    %less = "stablehlo.compare"(%a, %b) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%less) : (tensor<i1>) -> ()
  }) : (tensor<12xi32>, tensor<12xi32>) -> (tensor<12xi32>, tensor<12xi32>)
  // CHECK: %[[SIZES:.*]] = moe.plan_get %[[P]] {field = #moe.field<sizes>}
  %zeros = "stablehlo.constant"() <{value = dense<0> : tensor<8xi32>}> : () -> tensor<8xi32>
  %ones = "stablehlo.constant"() <{value = dense<1> : tensor<12xi32>}> : () -> tensor<12xi32>
  %column = "stablehlo.reshape"(%flat) : (tensor<12xi32>) -> tensor<12x1xi32>
  %sizes = "stablehlo.scatter"(%zeros, %column, %ones) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    "stablehlo.return"(%s) : (tensor<i32>) -> ()
  }) : (tensor<8xi32>, tensor<12x1xi32>, tensor<12xi32>) -> tensor<8xi32>
  // CHECK: %[[TOKEN:.*]] = moe.plan_get %[[P]] {field = #moe.field<token>}
  %two = "stablehlo.constant"() <{value = dense<2> : tensor<12xi32>}> : () -> tensor<12xi32>
  %token = "stablehlo.divide"(%order, %two) : (tensor<12xi32>, tensor<12xi32>) -> tensor<12xi32>
  // CHECK: %[[INVERSE:.*]] = moe.plan_get %[[P]] {field = #moe.field<inverse>}
  // CHECK: %[[BACK:.*]] = "stablehlo.reshape"(%[[INVERSE]]) : (tensor<6x2xi32>) -> tensor<12xi32>
  %s2, %back = "stablehlo.sort"(%order, %iota) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
    %less = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%less) : (tensor<i1>) -> ()
  }) : (tensor<12xi32>, tensor<12xi32>) -> (tensor<12xi32>, tensor<12xi32>)
  // zeros.at[order].set(iota)
  %orders = "stablehlo.reshape"(%order) : (tensor<12xi32>) -> tensor<12x1xi32>
  %none = "stablehlo.constant"() <{value = dense<0> : tensor<12xi32>}> : () -> tensor<12xi32>
  %back2 = "stablehlo.scatter"(%none, %orders, %iota) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    "stablehlo.return"(%b) : (tensor<i32>) -> ()
  }) : (tensor<12xi32>, tensor<12x1xi32>, tensor<12xi32>) -> tensor<12xi32>
  // 64-bit numbers.
  // CHECK: arith.extsi %[[ORDER]] : tensor<12xi32> to tensor<12xi64>
  %iota64 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<12xi64>
  %s64, %order64 = "stablehlo.sort"(%flat, %iota64) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i64>, %d: tensor<i64>):
    %less = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%less) : (tensor<i1>) -> ()
  }) : (tensor<12xi32>, tensor<12xi64>) -> (tensor<12xi32>, tensor<12xi64>)
  // CHECK: return %[[ORDER]], %[[SIZES]], %[[TOKEN]], %[[BACK]]
  return %order, %sizes, %token, %back, %back2, %order64 : tensor<12xi32>, tensor<8xi32>, tensor<12xi32>, tensor<12xi32>, tensor<12xi32>, tensor<12xi64>
}

// Ids that a caller gives may be out of range, which a plan would drop.
// CHECK-LABEL: func.func @any_ids(
// CHECK: "stablehlo.sort"
func.func @any_ids(%ids: tensor<12xi32>) -> tensor<12xi32> {
  %iota = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<12xi32>
  %sorted, %order = "stablehlo.sort"(%ids, %iota) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
    %less = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%less) : (tensor<i1>) -> ()
  }) : (tensor<12xi32>, tensor<12xi32>) -> (tensor<12xi32>, tensor<12xi32>)
  return %order : tensor<12xi32>
}

// Descending, rows are in another order than a plan's.
// CHECK-LABEL: func.func @descending(
// CHECK: "stablehlo.sort"
func.func @descending(%x: tensor<6x8xf32>) -> tensor<6xi32> {
  %v, %ids = "chlo.top_k"(%x) <{k = 1 : i64}> : (tensor<6x8xf32>) -> (tensor<6x1xf32>, tensor<6x1xi32>)
  %flat = "stablehlo.reshape"(%ids) : (tensor<6x1xi32>) -> tensor<6xi32>
  %iota = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<6xi32>
  %sorted, %order = "stablehlo.sort"(%flat, %iota) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
    %more = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%more) : (tensor<i1>) -> ()
  }) : (tensor<6xi32>, tensor<6xi32>) -> (tensor<6xi32>, tensor<6xi32>)
  return %order : tensor<6xi32>
}

// Rows of tokens, a product with the bias of each row's expert, and the weighted sum: as zeros.at[token].add(...).
// CHECK-LABEL: func.func @scattered(
// CHECK-SAME: %[[X:.*]]: tensor<6x8xf32>, %[[W:.*]]: tensor<8x8x4xf32>, %[[B:.*]]: tensor<8x4xf32>
func.func @scattered(%x: tensor<6x8xf32>, %w: tensor<8x8x4xf32>, %b: tensor<8x4xf32>) -> tensor<6x4xf32> {
  // CHECK: %[[IDS:.*]], %[[V:.*]] = moe.select %[[X]]
  // CHECK: %[[P:.*]] = moe.plan %[[IDS]]
  %v, %ids = "chlo.top_k"(%x) <{k = 2 : i64}> : (tensor<6x8xf32>) -> (tensor<6x2xf32>, tensor<6x2xi32>)
  %flat = "stablehlo.reshape"(%ids) : (tensor<6x2xi32>) -> tensor<12xi32>
  %iota = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<12xi32>
  %sorted, %order = "stablehlo.sort"(%flat, %iota) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>, %e: tensor<i32>):
    %less = "stablehlo.compare"(%a, %c) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%less) : (tensor<i1>) -> ()
  }) : (tensor<12xi32>, tensor<12xi32>) -> (tensor<12xi32>, tensor<12xi32>)
  %zeros = "stablehlo.constant"() <{value = dense<0> : tensor<8xi32>}> : () -> tensor<8xi32>
  %ones = "stablehlo.constant"() <{value = dense<1> : tensor<12xi32>}> : () -> tensor<12xi32>
  %column = "stablehlo.reshape"(%flat) : (tensor<12xi32>) -> tensor<12x1xi32>
  %sizes = "stablehlo.scatter"(%zeros, %column, %ones) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%a: tensor<i32>, %c: tensor<i32>):
    %s = "stablehlo.add"(%a, %c) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    "stablehlo.return"(%s) : (tensor<i32>) -> ()
  }) : (tensor<8xi32>, tensor<12x1xi32>, tensor<12xi32>) -> tensor<8xi32>
  %two = "stablehlo.constant"() <{value = dense<2> : tensor<12xi32>}> : () -> tensor<12xi32>
  %token = "stablehlo.divide"(%order, %two) : (tensor<12xi32>, tensor<12xi32>) -> tensor<12xi32>
  %tokens = "stablehlo.reshape"(%token) : (tensor<12xi32>) -> tensor<12x1xi32>
  // CHECK: %[[ROWS:.*]] = moe.gather %[[X]], %[[P]]
  %rows = "stablehlo.gather"(%x, %tokens) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 8>}> : (tensor<6x8xf32>, tensor<12x1xi32>) -> tensor<12x8xf32>
  // CHECK: %[[Y:.*]] = moe.ragged_matmul %[[ROWS]], %[[W]] plan %[[P]] bias %[[B]]
  %product = "chlo.ragged_dot"(%rows, %w, %sizes) <{precision_config = [#chlo<precision HIGHEST>, #chlo<precision HIGHEST>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<12x8xf32>, tensor<8x8x4xf32>, tensor<8xi32>) -> tensor<12x4xf32>
  %sorteds = "stablehlo.reshape"(%sorted) : (tensor<12xi32>) -> tensor<12x1xi32>
  %biases = "stablehlo.gather"(%b, %sorteds) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<8x4xf32>, tensor<12x1xi32>) -> tensor<12x4xf32>
  %y = "stablehlo.add"(%product, %biases) : (tensor<12x4xf32>, tensor<12x4xf32>) -> tensor<12x4xf32>
  %weights = "stablehlo.reshape"(%v) : (tensor<6x2xf32>) -> tensor<12xf32>
  %orders = "stablehlo.reshape"(%order) : (tensor<12xi32>) -> tensor<12x1xi32>
  %weight = "stablehlo.gather"(%weights, %orders) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}> : (tensor<12xf32>, tensor<12x1xi32>) -> tensor<12xf32>
  %factors = "stablehlo.broadcast_in_dim"(%weight) <{broadcast_dimensions = array<i64: 0>}> : (tensor<12xf32>) -> tensor<12x4xf32>
  %weighted = "stablehlo.multiply"(%y, %factors) : (tensor<12x4xf32>, tensor<12x4xf32>) -> tensor<12x4xf32>
  %nothing = "stablehlo.constant"() <{value = dense<0.0> : tensor<6x4xf32>}> : () -> tensor<6x4xf32>
  // CHECK: %[[OUT:.*]] = moe.combine %[[Y]], %[[P]] weights %[[V]] {nan = #moe.nan<propagate>}
  // CHECK: return %[[OUT]]
  %out = "stablehlo.scatter"(%nothing, %tokens, %weighted) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %c: tensor<f32>):
    %s = "stablehlo.add"(%a, %c) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<6x4xf32>, tensor<12x1xi32>, tensor<12x4xf32>) -> tensor<6x4xf32>
  return %out : tensor<6x4xf32>
}

// The same with repeated rows, and slots put back in order: summed, weighted and summed, or an einsum. Sums are made in f32.
// CHECK-LABEL: func.func @unsorted(
// CHECK-SAME: %[[X:.*]]: tensor<6x8xbf16>, %[[Y:.*]]: tensor<12x4xbf16>
func.func @unsorted(%x: tensor<6x8xbf16>, %y: tensor<12x4xbf16>) -> (tensor<12x8xbf16>, tensor<6x4xbf16>, tensor<6x4xbf16>, tensor<6x4xf32>) {
  // CHECK: %[[IDS:.*]], %[[V:.*]] = moe.select
  // CHECK: %[[P:.*]] = moe.plan %[[IDS]]
  %v, %ids = "chlo.top_k"(%x) <{k = 2 : i64}> : (tensor<6x8xbf16>) -> (tensor<6x2xbf16>, tensor<6x2xi32>)
  %flat = "stablehlo.reshape"(%ids) : (tensor<6x2xi32>) -> tensor<12xi32>
  %iota = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<12xi32>
  %sorted, %order = "stablehlo.sort"(%flat, %iota) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>, %e: tensor<i32>):
    %less = "stablehlo.compare"(%a, %c) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%less) : (tensor<i1>) -> ()
  }) : (tensor<12xi32>, tensor<12xi32>) -> (tensor<12xi32>, tensor<12xi32>)
  %repeated = "stablehlo.broadcast_in_dim"(%x) <{broadcast_dimensions = array<i64: 0, 2>}> : (tensor<6x8xbf16>) -> tensor<6x2x8xbf16>
  %slots = "stablehlo.reshape"(%repeated) : (tensor<6x2x8xbf16>) -> tensor<12x8xbf16>
  %orders = "stablehlo.reshape"(%order) : (tensor<12xi32>) -> tensor<12x1xi32>
  // CHECK: moe.gather %[[X]], %[[P]]
  %rows = "stablehlo.gather"(%slots, %orders) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 8>}> : (tensor<12x8xbf16>, tensor<12x1xi32>) -> tensor<12x8xbf16>
  %s2, %back = "stablehlo.sort"(%order, %iota) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>, %e: tensor<i32>):
    %less = "stablehlo.compare"(%a, %c) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%less) : (tensor<i1>) -> ()
  }) : (tensor<12xi32>, tensor<12xi32>) -> (tensor<12xi32>, tensor<12xi32>)
  %backs = "stablehlo.reshape"(%back) : (tensor<12xi32>) -> tensor<12x1xi32>
  %taken = "stablehlo.gather"(%y, %backs) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<12x4xbf16>, tensor<12x1xi32>) -> tensor<12x4xbf16>
  %of_slots = "stablehlo.reshape"(%taken) : (tensor<12x4xbf16>) -> tensor<6x2x4xbf16>
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<bf16>}> : () -> tensor<bf16>
  // CHECK: %[[YR:.*]] = tensor.cast %[[Y]]
  // CHECK: %[[SUM:.*]] = moe.combine %[[YR]], %[[P]] {nan = #moe.nan<propagate>}
  %sum = "stablehlo.reduce"(%of_slots, %zero) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<bf16>, %c: tensor<bf16>):
    %s = "stablehlo.add"(%a, %c) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    "stablehlo.return"(%s) : (tensor<bf16>) -> ()
  }) : (tensor<6x2x4xbf16>, tensor<bf16>) -> tensor<6x4xbf16>
  // CHECK: %[[WEIGHTED:.*]] = moe.combine %[[YR]], %[[P]] weights %[[W:.*]] {nan = #moe.nan<propagate>}
  %factors = "stablehlo.broadcast_in_dim"(%v) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<6x2xbf16>) -> tensor<6x2x4xbf16>
  %product = "stablehlo.multiply"(%of_slots, %factors) : (tensor<6x2x4xbf16>, tensor<6x2x4xbf16>) -> tensor<6x2x4xbf16>
  %weighted = "stablehlo.reduce"(%product, %zero) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<bf16>, %c: tensor<bf16>):
    %s = "stablehlo.add"(%a, %c) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    "stablehlo.return"(%s) : (tensor<bf16>) -> ()
  }) : (tensor<6x2x4xbf16>, tensor<bf16>) -> tensor<6x4xbf16>
  // CHECK: %[[EINSUM:.*]] = moe.combine %[[YR]], %[[P]] weights %[[W]] {nan = #moe.nan<propagate>}{{.*}} -> tensor<6x4xf32>
  %einsum = "stablehlo.dot_general"(%of_slots, %v) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>}> : (tensor<6x2x4xbf16>, tensor<6x2xbf16>) -> tensor<6x4xf32>
  // CHECK: return %{{.*}}, %[[SUM]], %[[WEIGHTED]], %[[EINSUM]]
  return %rows, %sum, %weighted, %einsum : tensor<12x8xbf16>, tensor<6x4xbf16>, tensor<6x4xbf16>, tensor<6x4xf32>
}
