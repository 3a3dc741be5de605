// RUN: moe-opt %s --allow-unregistered-dialect --moe-outline-islands 2>/dev/null | FileCheck %s

// Row-wise work beside a product is in its island if a whole result is; the sum of everything stays.
// CHECK-LABEL: func.func @slice_and_loss
// CHECK: call @slice_and_loss.island0
// CHECK-NOT: stablehlo.slice
// CHECK: stablehlo.reduce
// CHECK: func.func private @slice_and_loss.island0
// CHECK: moe.ragged_matmul
// CHECK: tile.rows
func.func @slice_and_loss(%x: tensor<12x16xf32>, %w: tensor<4x16x8xf32>, %s: tensor<4xi32>) -> (tensor<12x3xf32>, tensor<f32>) {
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>
  %y = "chlo.ragged_dot"(%x, %w, %s) <{precision_config = [#chlo<precision HIGHEST>, #chlo<precision HIGHEST>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<12x16xf32>, tensor<4x16x8xf32>, tensor<4xi32>) -> tensor<12x8xf32>
  %part = "stablehlo.slice"(%y) <{limit_indices = array<i64: 12, 5>, start_indices = array<i64: 0, 2>, strides = array<i64: 1, 1>}> : (tensor<12x8xf32>) -> tensor<12x3xf32>
  %loss = "stablehlo.reduce"(%y, %zero) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %sum = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%sum) : (tensor<f32>) -> ()
  }) : (tensor<12x8xf32>, tensor<f32>) -> tensor<f32>
  return %part, %loss : tensor<12x3xf32>, tensor<f32>
}
