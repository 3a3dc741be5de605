// RUN: moe-opt %s --allow-unregistered-dialect --moe-outline-islands --verify-diagnostics | FileCheck %s

// What stays is as it was, between two islands; each of them is a function.
// CHECK-LABEL: func.func @two(
// CHECK-SAME: %[[X:.*]]: tensor<12x8xf32>, %[[W:.*]]: tensor<4x8x8xf32>, %[[S:.*]]: tensor<4xi32>
func.func @two(%x: tensor<12x8xf32>, %w: tensor<4x8x8xf32>, %s: tensor<4xi32>) -> (tensor<12x8xf32>, tensor<12x8xf32>) {
  // CHECK: %[[A:.*]] = call @two.island0(%[[X]], %[[W]], %[[S]])
  %0 = "chlo.ragged_dot"(%x, %w, %s) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<12x8xf32>, tensor<4x8x8xf32>, tensor<4xi32>) -> tensor<12x8xf32>
  // CHECK: %[[C:.*]] = "stablehlo.cosine"(%[[A]]) {mine}
  // expected-remark @below {{an island begins after 'stablehlo.cosine', which is no part of an idiom that is known}}
  %1 = "stablehlo.cosine"(%0) {mine} : (tensor<12x8xf32>) -> tensor<12x8xf32>
  %2 = "chlo.ragged_dot"(%1, %w, %s) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<12x8xf32>, tensor<4x8x8xf32>, tensor<4xi32>) -> tensor<12x8xf32>
  // Not normalised: it is no part of an island. A call comes before its first user.
  // CHECK: %[[D:.*]] = "stablehlo.add"(%[[X]], %[[X]])
  // CHECK: %[[B:.*]] = call @two.island1(%[[C]], %[[W]], %[[S]])
  %3 = "stablehlo.add"(%x, %x) : (tensor<12x8xf32>, tensor<12x8xf32>) -> tensor<12x8xf32>
  // CHECK: return %[[B]], %[[D]]
  return %2, %3 : tensor<12x8xf32>, tensor<12x8xf32>
}

// A call of what has an island is inlined; other calls stay, and so does their function.
// CHECK-LABEL: func.func @calls(
// CHECK-NEXT: call @calls.island0
// CHECK-NEXT: call @other
// CHECK-NEXT: return
func.func @calls(%x: tensor<12x8xf32>, %w: tensor<4x8x8xf32>, %s: tensor<4xi32>) -> tensor<12x8xf32> {
  %0 = call @inner(%x, %w, %s) : (tensor<12x8xf32>, tensor<4x8x8xf32>, tensor<4xi32>) -> tensor<12x8xf32>
  // expected-remark @below {{an island ends before 'func.call', which is no part of an idiom that is known}}
  %1 = call @other(%0) : (tensor<12x8xf32>) -> tensor<12x8xf32>
  return %1 : tensor<12x8xf32>
}
// CHECK-NOT: func.func private @inner
func.func private @inner(%x: tensor<12x8xf32>, %w: tensor<4x8x8xf32>, %s: tensor<4xi32>) -> tensor<12x8xf32> {
  %0 = "chlo.ragged_dot"(%x, %w, %s) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<12x8xf32>, tensor<4x8x8xf32>, tensor<4xi32>) -> tensor<12x8xf32>
  return %0 : tensor<12x8xf32>
}
// CHECK: func.func private @other
func.func private @other(%x: tensor<12x8xf32>) -> tensor<12x8xf32> {
  %0 = "stablehlo.cosine"(%x) : (tensor<12x8xf32>) -> tensor<12x8xf32>
  return %0 : tensor<12x8xf32>
}

// Without a ragged dot nothing is touched.
// CHECK-LABEL: func.func @none(
// CHECK-NEXT: "stablehlo.add"
func.func @none(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func private @two.island0(
// CHECK-SAME: attributes {moe.island}
// CHECK: moe.plan_from_sizes
// CHECK: moe.ragged_matmul
