// RUN: moe-opt %s --allow-unregistered-dialect --convert-stablehlo-to-moe | FileCheck %s

// The form a portable artifact carries. The decomposition goes when nothing else uses it.
// CHECK-LABEL: func @main
"func.func"() <{function_type = (tensor<24x32xf32>, tensor<6x32x48xf32>, tensor<6xi32>) -> tensor<24x48xf32>, sym_name = "main"}> ({
^bb0(%x: tensor<24x32xf32>, %w: tensor<6x32x48xf32>, %s: tensor<6xi32>):
  // CHECK: moe.ragged_matmul %{{.*}}, %arg1 plan %{{[^ ]*}} :
  // CHECK: moe.ragged_matmul {{.*}} {precision = #moe.precision<tf32>}
  %0 = "stablehlo.composite"(%x, %w, %s) <{composite_attributes = {precision_config = ["HIGHEST", "HIGHEST"], ragged_dot_dimension_numbers = [dense<> : tensor<0xi64>, dense<> : tensor<0xi64>, dense<1> : tensor<1xi64>, dense<1> : tensor<1xi64>, dense<0> : tensor<1xi64>, dense<0> : tensor<1xi64>]}, decomposition = @chlo.ragged_dot.impl, name = "chlo.ragged_dot", version = 1 : i32}> : (tensor<24x32xf32>, tensor<6x32x48xf32>, tensor<6xi32>) -> tensor<24x48xf32>
  %1 = "stablehlo.composite"(%x, %w, %s) <{composite_attributes = {precision_config = ["DEFAULT", "DEFAULT"], ragged_dot_dimension_numbers = [dense<> : tensor<0xi64>, dense<> : tensor<0xi64>, dense<1> : tensor<1xi64>, dense<1> : tensor<1xi64>, dense<0> : tensor<1xi64>, dense<0> : tensor<1xi64>]}, decomposition = @used, name = "chlo.ragged_dot", version = 1 : i32}> : (tensor<24x32xf32>, tensor<6x32x48xf32>, tensor<6xi32>) -> tensor<24x48xf32>
  %2 = "stablehlo.composite"(%x, %w, %s) <{composite_attributes = {ragged_dot_dimension_numbers = [dense<> : tensor<0xi64>, dense<> : tensor<0xi64>, dense<1> : tensor<1xi64>, dense<1> : tensor<1xi64>, dense<0> : tensor<1xi64>, dense<0> : tensor<1xi64>]}, decomposition = @public, name = "chlo.ragged_dot", version = 1 : i32}> : (tensor<24x32xf32>, tensor<6x32x48xf32>, tensor<6xi32>) -> tensor<24x48xf32>
  // CHECK: "stablehlo.composite"{{.*}}decomposition = @chlo.top_k.impl
  %3:2 = "stablehlo.composite"(%x) <{composite_attributes = {is_stable = true, k = 2 : i64}, decomposition = @chlo.top_k.impl, name = "chlo.top_k", version = 1 : i32}> : (tensor<24x32xf32>) -> (tensor<24x2xf32>, tensor<24x2xi32>)
  // CHECK: "test.region"
  "test.region"() ({
    "test.use"() <{callee = @used}> : () -> ()
  }) : () -> ()
  "func.return"(%0) : (tensor<24x48xf32>) -> ()
}) : () -> ()

// CHECK-NOT: @chlo.ragged_dot.impl
// CHECK: func private @used
// CHECK: func @public
// CHECK: func private @chlo.top_k.impl
func.func private @chlo.ragged_dot.impl(tensor<24x32xf32>, tensor<6x32x48xf32>, tensor<6xi32>) -> tensor<24x48xf32>
func.func private @used(tensor<24x32xf32>, tensor<6x32x48xf32>, tensor<6xi32>) -> tensor<24x48xf32>
func.func @public(%x: tensor<24x32xf32>, %w: tensor<6x32x48xf32>, %s: tensor<6xi32>) -> tensor<24x48xf32> {
  %0 = tensor.empty() : tensor<24x48xf32>
  return %0 : tensor<24x48xf32>
}
func.func private @chlo.top_k.impl(tensor<24x32xf32>) -> (tensor<24x2xf32>, tensor<24x2xi32>)
