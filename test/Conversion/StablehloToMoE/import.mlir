// RUN: moe-opt %s --allow-unregistered-dialect --convert-stablehlo-to-moe | FileCheck %s

// Mode 1: ragged rows. What JAX prints for jax.lax.ragged_dot.
// CHECK-LABEL: func @forward
"func.func"() <{function_type = (tensor<24x32xf32>, tensor<6x32x48xf32>, tensor<6xi32>) -> tensor<24x48xf32>, sym_name = "forward"}> ({
^bb0(%x: tensor<24x32xf32>, %w: tensor<6x32x48xf32>, %s: tensor<6xi32>):
  // CHECK: %[[P:.*]] = moe.plan_from_sizes %arg2 : tensor<6xi32> -> !moe.plan<groups = 6, rows = 24>
  // CHECK: %[[X:.*]] = tensor.cast %arg0 : tensor<24x32xf32> to tensor<24x32xf32, #moe.ragged<groups = 6, tail = undefined>>
  // CHECK: %[[Y:.*]] = moe.ragged_matmul %[[X]], %arg1 plan %[[P]] : {{.*}} -> tensor<24x48xf32, #moe.ragged<groups = 6>>
  // CHECK: %[[R:.*]] = tensor.cast %[[Y]] : {{.*}} to tensor<24x48xf32>
  // CHECK: return %[[R]]
  %0 = "chlo.ragged_dot"(%x, %w, %s) <{precision_config = [#chlo<precision HIGHEST>, #chlo<precision HIGHEST>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<24x32xf32>, tensor<6x32x48xf32>, tensor<6xi32>) -> tensor<24x48xf32>
  "func.return"(%0) : (tensor<24x48xf32>) -> ()
}) : () -> ()

// Its gradient by x contracts the weight's last dimension; lists that are there but empty change nothing.
// CHECK-LABEL: func @dgrad
"func.func"() <{function_type = (tensor<24x48xbf16>, tensor<6x32x48xbf16>, tensor<6xi64>) -> tensor<24x32xbf16>, sym_name = "dgrad"}> ({
^bb0(%x: tensor<24x48xbf16>, %w: tensor<6x32x48xbf16>, %s: tensor<6xi64>):
  // CHECK: moe.plan_from_sizes %arg2 : tensor<6xi64>
  // CHECK: moe.ragged_matmul {{.*}} {layout = #moe.weights<nk>} :
  %0 = "chlo.ragged_dot"(%x, %w, %s) <{precision_config = [#chlo<precision HIGHEST>, #chlo<precision HIGHEST>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<24x48xbf16>, tensor<6x32x48xbf16>, tensor<6xi64>) -> tensor<24x32xbf16>
  "func.return"(%0) : (tensor<24x32xbf16>) -> ()
}) : () -> ()

// Mode 2: ragged contraction.
// CHECK-LABEL: func @wgrad
"func.func"() <{function_type = (tensor<24x32xbf16>, tensor<24x48xbf16>, tensor<6xi32>) -> tensor<6x32x48xf32>, sym_name = "wgrad"}> ({
^bb0(%x: tensor<24x32xbf16>, %dy: tensor<24x48xbf16>, %s: tensor<6xi32>):
  // CHECK: %[[X:.*]] = tensor.cast %arg0
  // CHECK: %[[DY:.*]] = tensor.cast %arg1 : tensor<24x48xbf16> to tensor<24x48xbf16, #moe.ragged<groups = 6, tail = undefined>>
  // CHECK: %[[W:.*]] = moe.ragged_matmul %[[X]], %[[DY]] plan %{{.*}} {mode = #moe.mode<contraction>} : {{.*}} -> tensor<6x32x48xf32>
  // CHECK: return %[[W]]
  %0 = "chlo.ragged_dot"(%x, %dy, %s) <{precision_config = [#chlo<precision HIGHEST>, #chlo<precision HIGHEST>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [0]>}> : (tensor<24x32xbf16>, tensor<24x48xbf16>, tensor<6xi32>) -> tensor<6x32x48xf32>
  "func.return"(%0) : (tensor<6x32x48xf32>) -> ()
}) : () -> ()

// Mode 3: ragged batch; the sizes do not change the result. DEFAULT allows TF32 for f32 operands.
// CHECK-LABEL: func @batch
"func.func"() <{function_type = (tensor<4x8x16xf32>, tensor<4x16x5xf32>, tensor<4xi32>) -> tensor<4x8x5xf32>, sym_name = "batch"}> ({
^bb0(%x: tensor<4x8x16xf32>, %w: tensor<4x16x5xf32>, %s: tensor<4xi32>):
  // CHECK-NOT: plan
  // CHECK: %[[Y:.*]] = moe.ragged_matmul %arg0, %arg1 {mode = #moe.mode<batch>, precision = #moe.precision<tf32>}
  // CHECK: return %[[Y]]
  %0 = "chlo.ragged_dot"(%x, %w, %s) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision DEFAULT>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0]>}> : (tensor<4x8x16xf32>, tensor<4x16x5xf32>, tensor<4xi32>) -> tensor<4x8x5xf32>
  "func.return"(%0) : (tensor<4x8x5xf32>) -> ()
}) : () -> ()

// CHECK-LABEL: func @batch_nk
"func.func"() <{function_type = (tensor<4x8x16xbf16>, tensor<4x5x16xbf16>, tensor<4xi32>) -> tensor<4x8x5xbf16>, sym_name = "batch_nk"}> ({
^bb0(%x: tensor<4x8x16xbf16>, %w: tensor<4x5x16xbf16>, %s: tensor<4xi32>):
  // CHECK: moe.ragged_matmul %arg0, %arg1 {layout = #moe.weights<nk>, mode = #moe.mode<batch>} :
  %0 = "chlo.ragged_dot"(%x, %w, %s) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [0]>} : (tensor<4x8x16xbf16>, tensor<4x5x16xbf16>, tensor<4xi32>) -> tensor<4x8x5xbf16>
  "func.return"(%0) : (tensor<4x8x5xbf16>) -> ()
}) : () -> ()

// Any number of rows; no precision_config is DEFAULT, which is nothing to bf16; ops around stay as they are.
// CHECK-LABEL: func @dynamic
"func.func"() <{function_type = (tensor<?x16xbf16>, tensor<4x16x5xbf16>, tensor<4xi32>) -> tensor<?x5xf32>, sym_name = "dynamic"}> ({
^bb0(%x: tensor<?x16xbf16>, %w: tensor<4x16x5xbf16>, %s: tensor<4xi32>):
  // CHECK: %[[A:.*]] = "stablehlo.abs"(%arg0)
  // CHECK: %[[M:.*]] = tensor.dim %[[A]]
  // CHECK: moe.plan_from_sizes %arg2 rows %[[M]] : tensor<4xi32> -> !moe.plan<groups = 4>
  // CHECK: moe.ragged_matmul %{{.*}}, %arg1 plan %{{[^ ]*}} : {{.*}} -> tensor<?x5xf32, #moe.ragged<groups = 4>>
  %a = "stablehlo.abs"(%x) : (tensor<?x16xbf16>) -> tensor<?x16xbf16>
  %0 = "chlo.ragged_dot"(%a, %w, %s) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<?x16xbf16>, tensor<4x16x5xbf16>, tensor<4xi32>) -> tensor<?x5xf32>
  "func.return"(%0) : (tensor<?x5xf32>) -> ()
}) : () -> ()
