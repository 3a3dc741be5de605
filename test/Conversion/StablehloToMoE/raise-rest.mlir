// RUN: moe-opt %s --allow-unregistered-dialect --split-input-file --moe-normalize-stablehlo --moe-raise-stablehlo --moe-raise-rest | FileCheck %s

// CHECK-LABEL: func.func @broadcasts
// CHECK-NOT: stablehlo
// CHECK: tile.rows ins(%{{.*}} : tensor<4xf32>)
// CHECK: %[[S:.*]] = tile.load %{{.*}}[%{{.*}}] : tensor<4xf32> -> f32
// CHECK: vector.broadcast %[[S]] : f32 to vector<3xf32>
// CHECK: tile.rows ins(%{{.*}} : tensor<3xf32>)
// CHECK: tile.load %{{.*}}[] : tensor<3xf32> -> vector<3xf32>
func.func @broadcasts(%c: tensor<4xf32>, %r: tensor<3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
  %0 = "stablehlo.broadcast_in_dim"(%c) <{broadcast_dimensions = array<i64: 0>}> : (tensor<4xf32>) -> tensor<4x3xf32>
  %1 = "stablehlo.broadcast_in_dim"(%r) <{broadcast_dimensions = array<i64: 1>}> : (tensor<3xf32>) -> tensor<4x3xf32>
  return %0, %1 : tensor<4x3xf32>, tensor<4x3xf32>
}

// -----

// CHECK-LABEL: func.func @columns
// CHECK-NOT: stablehlo
// CHECK: vector.extract_strided_slice %{{.*}} {offsets = [1], sizes = [2], strides = [1]} : vector<6xbf16> to vector<2xbf16>
// CHECK: %[[A:.*]] = vector.insert_strided_slice %{{.*}}, %{{.*}} {offsets = [0], strides = [1]} : vector<2xbf16> into vector<8xbf16>
// CHECK: vector.insert_strided_slice %{{.*}}, %[[A]] {offsets = [2], strides = [1]} : vector<6xbf16> into vector<8xbf16>
func.func @columns(%x: tensor<4x6xbf16>) -> tensor<4x8xbf16> {
  %0 = "stablehlo.slice"(%x) <{limit_indices = array<i64: 4, 3>, start_indices = array<i64: 0, 1>, strides = array<i64: 1, 1>}> : (tensor<4x6xbf16>) -> tensor<4x2xbf16>
  %1 = "stablehlo.concatenate"(%0, %x) <{dimension = 1 : i64}> : (tensor<4x2xbf16>, tensor<4x6xbf16>) -> tensor<4x8xbf16>
  return %1 : tensor<4x8xbf16>
}

// -----

// CHECK-LABEL: func.func @reshapes
// CHECK-NOT: stablehlo
// CHECK: arith.divui
// CHECK: arith.remui
// CHECK: tile.load %{{.*}}[%{{.*}}, %{{.*}}] : tensor<4x3xf32> -> f32
// CHECK: vector.insert_strided_slice %{{.*}}, %{{.*}} {offsets = [1], strides = [1]} : vector<1xf32> into vector<2xf32>
func.func @reshapes(%x: tensor<4x3xf32>) -> (tensor<12xf32>, tensor<6x2xf32>) {
  %0 = "stablehlo.reshape"(%x) : (tensor<4x3xf32>) -> tensor<12xf32>
  %1 = "stablehlo.reshape"(%x) : (tensor<4x3xf32>) -> tensor<6x2xf32>
  return %0, %1 : tensor<12xf32>, tensor<6x2xf32>
}

// -----

// Narrow floats are added in f32.
// CHECK-LABEL: func.func @reductions
// CHECK-NOT: "stablehlo.reduce"
// CHECK: %[[F:.*]] = arith.extf %{{.*}} : vector<3xbf16> to vector<3xf32>
// CHECK: %[[S:.*]] = vector.reduction <add>, %[[F]] : vector<3xf32> into f32
// CHECK: arith.truncf %[[S]] : f32 to bf16
// CHECK: vector.reduction <maximumf>, %{{.*}} : vector<3xf32> into f32
func.func @reductions(%x: tensor<4x3xbf16>, %y: tensor<4x3xf32>) -> (tensor<4xbf16>, tensor<4xf32>) {
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<bf16>}> : () -> tensor<bf16>
  %low = "stablehlo.constant"() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
  %0 = "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %s = "stablehlo.add"(%a, %b) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    "stablehlo.return"(%s) : (tensor<bf16>) -> ()
  }) : (tensor<4x3xbf16>, tensor<bf16>) -> tensor<4xbf16>
  %1 = "stablehlo.reduce"(%y, %low) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.maximum"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4x3xf32>, tensor<f32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xbf16>, tensor<4xf32>
}

// -----

// Elements of slots by the order of rows, and back; values at the columns of ids; gradients of a router.
// CHECK-LABEL: func.func @slots
// CHECK-NOT: stablehlo
// CHECK: %[[P:.*]] = moe.plan
// CHECK: %[[I:.*]] = moe.plan_get %[[P]] {field = #moe.field<inverse>}
// CHECK: %[[ROUTER:.*]] = moe.ragged_matmul %{{.*}} plan %{{.*}} {mode = #moe.mode<contraction>} : tensor<3x5xf32, #moe.ragged<groups = 1, tail = undefined>>, tensor<3x4xf32, #moe.ragged<groups = 1, tail = undefined>>, {{.*}} -> tensor<1x5x4xf32>
// CHECK: moe.logits %{{.*}}, %{{.*}} {layout = #moe.weights<nk>} : tensor<3x4xf32>, tensor<5x4xf32> -> tensor<3x5xf32>
func.func @slots(%scores: tensor<3x4xf32>, %w: tensor<3x2xf32>, %x: tensor<3x5xf32>, %router: tensor<5x4xf32>) -> (tensor<6xf32>, tensor<6xf32>, tensor<3x4xf32>, tensor<5x4xf32>, tensor<3x5xf32>) {
  %zero6 = "stablehlo.constant"() <{value = dense<0.0> : tensor<6xf32>}> : () -> tensor<6xf32>
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<3x4xf32>}> : () -> tensor<3x4xf32>
  %values, %ids = "chlo.top_k"(%scores) <{k = 2 : i64}> : (tensor<3x4xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>)
  %flat = "stablehlo.reshape"(%ids) : (tensor<3x2xi32>) -> tensor<6xi32>
  %iota = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<6xi32>
  %sorted:2 = "stablehlo.sort"(%flat, %iota) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
    %less = "stablehlo.compare"(%a, %b) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%less) : (tensor<i1>) -> ()
  }) : (tensor<6xi32>, tensor<6xi32>) -> (tensor<6xi32>, tensor<6xi32>)
  %order = "stablehlo.reshape"(%sorted#1) : (tensor<6xi32>) -> tensor<6x1xi32>
  %flatw = "stablehlo.reshape"(%w) : (tensor<3x2xf32>) -> tensor<6xf32>
  %taken = "stablehlo.gather"(%flatw, %order) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<6xf32>, tensor<6x1xi32>) -> tensor<6xf32>
  %back = "stablehlo.scatter"(%zero6, %order, %taken) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<6xf32>, tensor<6x1xi32>, tensor<6xf32>) -> tensor<6xf32>
  %columns = "stablehlo.reshape"(%ids) : (tensor<3x2xi32>) -> tensor<3x2x1xi32>
  %spread = "stablehlo.scatter"(%zero, %columns, %w) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<3x4xf32>, tensor<3x2x1xi32>, tensor<3x2xf32>) -> tensor<3x4xf32>
  %dot = "stablehlo.dot_general"(%spread, %x) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]}> : (tensor<3x4xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
  %drouter = "stablehlo.transpose"(%dot) <{permutation = array<i64: 1, 0>}> : (tensor<4x5xf32>) -> tensor<5x4xf32>
  %dx = "stablehlo.dot_general"(%spread, %router) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]}> : (tensor<3x4xf32>, tensor<5x4xf32>) -> tensor<3x5xf32>
  return %taken, %back, %spread, %drouter, %dx : tensor<6xf32>, tensor<6xf32>, tensor<3x4xf32>, tensor<5x4xf32>, tensor<3x5xf32>
}

// -----

// The rows of slots: a gradient that was repeated, weighted and brought to the experts; its product with rows, summed; and
// rows by slot, whose sum over each token is a combine.
// CHECK-LABEL: func.func @rows_of_slots(
// CHECK-SAME: %[[SCORES:.*]]: tensor<3x4xf32>, %[[W:.*]]: tensor<3x2xbf16>, %[[CT:.*]]: tensor<3x5xbf16>, %[[Y:.*]]: tensor<6x5xbf16>
// CHECK-NOT: stablehlo
// CHECK: %[[PLAN:.*]] = moe.plan
// CHECK: moe.gather %[[CT]], %[[PLAN]]
// CHECK: vector.reduction <add>
// CHECK: moe.combine %{{.*}}, %[[PLAN]] {nan = #moe.nan<propagate>}
// CHECK-NOT: stablehlo
func.func @rows_of_slots(%scores: tensor<3x4xf32>, %w: tensor<3x2xbf16>, %ct: tensor<3x5xbf16>, %y: tensor<6x5xbf16>) -> (tensor<6x5xbf16>, tensor<3x2xbf16>, tensor<3x5xbf16>) {
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<bf16>}> : () -> tensor<bf16>
  %zeros = "stablehlo.constant"() <{value = dense<0.0> : tensor<6x5xbf16>}> : () -> tensor<6x5xbf16>
  %values, %ids = "chlo.top_k"(%scores) <{k = 2 : i64}> : (tensor<3x4xf32>) -> (tensor<3x2xf32>, tensor<3x2xi32>)
  %flat = "stablehlo.reshape"(%ids) : (tensor<3x2xi32>) -> tensor<6xi32>
  %iota = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<6xi32>
  %sorted:2 = "stablehlo.sort"(%flat, %iota) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
    %less = "stablehlo.compare"(%a, %b) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%less) : (tensor<i1>) -> ()
  }) : (tensor<6xi32>, tensor<6xi32>) -> (tensor<6xi32>, tensor<6xi32>)
  %inverted:2 = "stablehlo.sort"(%sorted#1, %iota) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
    %less = "stablehlo.compare"(%a, %b) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%less) : (tensor<i1>) -> ()
  }) : (tensor<6xi32>, tensor<6xi32>) -> (tensor<6xi32>, tensor<6xi32>)
  %order = "stablehlo.reshape"(%sorted#1) : (tensor<6xi32>) -> tensor<6x1xi32>
  %inverse = "stablehlo.reshape"(%inverted#1) : (tensor<6xi32>) -> tensor<6x1xi32>
  %wide = "stablehlo.convert"(%ct) : (tensor<3x5xbf16>) -> tensor<3x5xf32>
  %repeated = "stablehlo.broadcast_in_dim"(%wide) <{broadcast_dimensions = array<i64: 0, 2>}> : (tensor<3x5xf32>) -> tensor<3x2x5xf32>
  %narrow = "stablehlo.convert"(%repeated) : (tensor<3x2x5xf32>) -> tensor<3x2x5xbf16>
  %factors = "stablehlo.broadcast_in_dim"(%w) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<3x2xbf16>) -> tensor<3x2x5xbf16>
  %weighted = "stablehlo.multiply"(%narrow, %factors) : (tensor<3x2x5xbf16>, tensor<3x2x5xbf16>) -> tensor<3x2x5xbf16>
  %slots = "stablehlo.reshape"(%weighted) : (tensor<3x2x5xbf16>) -> tensor<6x5xbf16>
  %dy = "stablehlo.scatter"(%zeros, %inverse, %slots) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %s = "stablehlo.add"(%a, %b) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    "stablehlo.return"(%s) : (tensor<bf16>) -> ()
  }) : (tensor<6x5xbf16>, tensor<6x1xi32>, tensor<6x5xbf16>) -> tensor<6x5xbf16>
  %by_slot = "stablehlo.gather"(%y, %inverse) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 5>}> : (tensor<6x5xbf16>, tensor<6x1xi32>) -> tensor<6x5xbf16>
  %of_tokens = "stablehlo.reshape"(%by_slot) : (tensor<6x5xbf16>) -> tensor<3x2x5xbf16>
  %product = "stablehlo.multiply"(%of_tokens, %narrow) : (tensor<3x2x5xbf16>, tensor<3x2x5xbf16>) -> tensor<3x2x5xbf16>
  %sums = "stablehlo.reduce"(%product, %zero) <{dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %s = "stablehlo.add"(%a, %b) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    "stablehlo.return"(%s) : (tensor<bf16>) -> ()
  }) : (tensor<3x2x5xbf16>, tensor<bf16>) -> tensor<3x2xbf16>
  %column = "stablehlo.reshape"(%sums) : (tensor<3x2xbf16>) -> tensor<3x2x1xbf16>
  %dw = "stablehlo.reduce"(%column, %zero) <{dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %s = "stablehlo.add"(%a, %b) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    "stablehlo.return"(%s) : (tensor<bf16>) -> ()
  }) : (tensor<3x2x1xbf16>, tensor<bf16>) -> tensor<3x2xbf16>
  %back = "stablehlo.scatter"(%zeros, %order, %y) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %s = "stablehlo.add"(%a, %b) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    "stablehlo.return"(%s) : (tensor<bf16>) -> ()
  }) : (tensor<6x5xbf16>, tensor<6x1xi32>, tensor<6x5xbf16>) -> tensor<6x5xbf16>
  %of_slots = "stablehlo.reshape"(%back) : (tensor<6x5xbf16>) -> tensor<3x2x5xbf16>
  %dx = "stablehlo.reduce"(%of_slots, %zero) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %s = "stablehlo.add"(%a, %b) : (tensor<bf16>, tensor<bf16>) -> tensor<bf16>
    "stablehlo.return"(%s) : (tensor<bf16>) -> ()
  }) : (tensor<3x2x5xbf16>, tensor<bf16>) -> tensor<3x5xbf16>
  return %dy, %dw, %dx : tensor<6x5xbf16>, tensor<3x2xbf16>, tensor<3x5xbf16>
}

// -----

// What does not work row by row, and numbers that may be out of range.
// CHECK-LABEL: func.func @stays
// CHECK-NOT: tile.rows
// CHECK: "stablehlo.reduce"
// CHECK: "stablehlo.slice"
// CHECK: "stablehlo.concatenate"
// CHECK: "stablehlo.gather"
// CHECK: "stablehlo.dot_general"
// CHECK: "stablehlo.transpose"
func.func @stays(%x: tensor<4x6xf32>, %i: tensor<3x1xi32>, %v: tensor<6xf32>) -> (tensor<6xf32>, tensor<4x2xf32>, tensor<8x6xf32>, tensor<3xf32>, tensor<6x6xf32>) {
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  %0 = "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<6xf32>
  %1 = "stablehlo.slice"(%x) <{limit_indices = array<i64: 4, 4>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 2>}> : (tensor<4x6xf32>) -> tensor<4x2xf32>
  %2 = "stablehlo.concatenate"(%x, %x) <{dimension = 0 : i64}> : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %3 = "stablehlo.gather"(%v, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<6xf32>, tensor<3x1xi32>) -> tensor<3xf32>
  %4 = "stablehlo.dot_general"(%x, %x) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>}> : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<6x6xf32>
  %5 = "stablehlo.transpose"(%4) <{permutation = array<i64: 1, 0>}> : (tensor<6x6xf32>) -> tensor<6x6xf32>
  return %0, %1, %2, %3, %5 : tensor<6xf32>, tensor<4x2xf32>, tensor<8x6xf32>, tensor<3xf32>, tensor<6x6xf32>
}
