// REQUIRES: cpu-target
// RUN: moe-compile %s --islands | FileCheck %s
// RUN: moe-compile %s --islands --remarks 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: not moe-compile %s --islands --compile-to=moe 2>&1 | FileCheck %s --check-prefix=PHASE

// REMARK: moe-compile-islands.mlir:[[@LINE+19]]:8: remark: an island ends before 'stablehlo.cosine', which is no part of an idiom that is known
// PHASE: error: --islands is for whole programs, without --dump-dir

// The custom call of runtime/include/moert/xla.h: the program as text, a workspace as the last result.
// CHECK-LABEL: "builtin.module"
// CHECK: ^bb0(%[[X:.*]]: tensor<12x8xf32>, %[[W:.*]]: tensor<4x8x8xf32>, %[[S:.*]]: tensor<4xi32>):
// CHECK-NEXT: %[[R:.*]]:2 = "stablehlo.custom_call"(%[[X]], %[[W]], %[[S]])
// CHECK-SAME: api_version = 4 : i32
// CHECK-SAME: backend_config = {program = "{{.*}}func.func @main({{.*}}moe.ragged_matmul{{.*}}", version = "{{.*}}"}
// CHECK-SAME: call_target_name = "moe_execute"
// CHECK-SAME: has_side_effect = false
// CHECK-SAME: operand_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[2, 1, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>]
// CHECK-SAME: result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<0> : tensor<1xindex>]
// CHECK-SAME: (tensor<12x8xf32>, tensor<4x8x8xf32>, tensor<4xi32>) -> (tensor<12x8xf32>, tensor<{{[0-9]+}}xui8>)
// CHECK-NEXT: %[[C:.*]] = "stablehlo.cosine"(%[[R]]#0)
// CHECK-NEXT: "func.return"(%[[C]])
// CHECK-NOT: moe.island
func.func @f(%x: tensor<12x8xf32>, %w: tensor<4x8x8xf32>, %s: tensor<4xi32>) -> tensor<12x8xf32> {
  %0 = "chlo.ragged_dot"(%x, %w, %s) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<12x8xf32>, tensor<4x8x8xf32>, tensor<4xi32>) -> tensor<12x8xf32>
  %1 = "stablehlo.cosine"(%0) : (tensor<12x8xf32>) -> tensor<12x8xf32>
  return %1 : tensor<12x8xf32>
}
