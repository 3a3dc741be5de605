// RUN: moe-opt %s --allow-unregistered-dialect --moe-normalize-stablehlo --moe-raise-stablehlo | FileCheck %s

// CHECK-LABEL: func.func @swiglu(
// CHECK-SAME: %[[H:.*]]: tensor<4x8xbf16>
// CHECK-NEXT: %[[A:.*]] = moe.gated_activation %[[H]] : tensor<4x8xbf16> -> tensor<4x4xbf16>
// CHECK-NEXT: return %[[A]]
func.func @swiglu(%h: tensor<4x8xbf16>) -> tensor<4x4xbf16> {
  %gate = "stablehlo.slice"(%h) <{limit_indices = array<i64: 4, 4>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<4x8xbf16>) -> tensor<4x4xbf16>
  %up = "stablehlo.slice"(%h) <{limit_indices = array<i64: 4, 8>, start_indices = array<i64: 0, 4>, strides = array<i64: 1, 1>}> : (tensor<4x8xbf16>) -> tensor<4x4xbf16>
  %s = "stablehlo.logistic"(%gate) : (tensor<4x4xbf16>) -> tensor<4x4xbf16>
  %silu = "stablehlo.multiply"(%gate, %s) : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
  %r = "stablehlo.multiply"(%silu, %up) : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xbf16>
  return %r : tensor<4x4xbf16>
}

// jax.nn.gelu(approximate=True).
// CHECK-LABEL: func.func @geglu(
// CHECK-SAME: %[[H:.*]]: tensor<4x8xf32>
// CHECK-NEXT: %[[A:.*]] = moe.gated_activation %[[H]] {function = #moe.gate<gelu_tanh>} : tensor<4x8xf32> -> tensor<4x4xf32>
// CHECK-NEXT: return %[[A]]
func.func @geglu(%h: tensor<4x8xf32>) -> tensor<4x4xf32> {
  %gate = "stablehlo.slice"(%h) <{limit_indices = array<i64: 4, 4>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %up = "stablehlo.slice"(%h) <{limit_indices = array<i64: 4, 8>, start_indices = array<i64: 0, 4>, strides = array<i64: 1, 1>}> : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %square = "stablehlo.multiply"(%gate, %gate) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %cube = "stablehlo.multiply"(%square, %gate) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %a = "stablehlo.constant"() <{value = dense<0.044715> : tensor<4x4xf32>}> : () -> tensor<4x4xf32>
  %term = "stablehlo.multiply"(%a, %cube) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %inner = "stablehlo.add"(%gate, %term) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = "stablehlo.constant"() <{value = dense<0.7978845608> : tensor<4x4xf32>}> : () -> tensor<4x4xf32>
  %scaled = "stablehlo.multiply"(%b, %inner) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %tanh = "stablehlo.tanh"(%scaled) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %one = "stablehlo.constant"() <{value = dense<1.0> : tensor<4x4xf32>}> : () -> tensor<4x4xf32>
  %sum = "stablehlo.add"(%one, %tanh) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %half = "stablehlo.constant"() <{value = dense<0.5> : tensor<4x4xf32>}> : () -> tensor<4x4xf32>
  %cdf = "stablehlo.multiply"(%half, %sum) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %act = "stablehlo.multiply"(%gate, %cdf) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = "stablehlo.multiply"(%up, %act) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @reglu(
// CHECK-SAME: %[[H:.*]]: tensor<4x8xf32>
// CHECK-NEXT: %[[A:.*]] = moe.gated_activation %[[H]] {function = #moe.gate<relu>} : tensor<4x8xf32> -> tensor<4x4xf32>
// CHECK-NEXT: return %[[A]]
func.func @reglu(%h: tensor<4x8xf32>) -> tensor<4x4xf32> {
  %gate = "stablehlo.slice"(%h) <{limit_indices = array<i64: 4, 4>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %up = "stablehlo.slice"(%h) <{limit_indices = array<i64: 4, 8>, start_indices = array<i64: 0, 4>, strides = array<i64: 1, 1>}> : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<4x4xf32>}> : () -> tensor<4x4xf32>
  %act = "stablehlo.maximum"(%gate, %zero) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = "stablehlo.multiply"(%act, %up) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// CHECK-LABEL: func.func @glu(
// CHECK-SAME: %[[H:.*]]: tensor<4x8xf32>
// CHECK-NEXT: %[[A:.*]] = moe.gated_activation %[[H]] {function = #moe.gate<sigmoid>} : tensor<4x8xf32> -> tensor<4x4xf32>
// CHECK-NEXT: return %[[A]]
func.func @glu(%h: tensor<4x8xf32>) -> tensor<4x4xf32> {
  %gate = "stablehlo.slice"(%h) <{limit_indices = array<i64: 4, 4>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %up = "stablehlo.slice"(%h) <{limit_indices = array<i64: 4, 8>, start_indices = array<i64: 0, 4>, strides = array<i64: 1, 1>}> : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %act = "stablehlo.logistic"(%gate) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = "stablehlo.multiply"(%act, %up) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// gpt-oss: interleaved, clamped, up + 1.
// CHECK-LABEL: func.func @gpt_oss(
// CHECK-SAME: %[[H:.*]]: tensor<4x8xf32>
// CHECK-NEXT: %[[A:.*]] = moe.gated_activation %[[H]] {alpha = 1.702{{.*}} : f32, layout = #moe.halves<interleaved>, limit = 7.0{{.*}} : f32, up_offset = 1.0{{.*}} : f32} : tensor<4x8xf32> -> tensor<4x4xf32>
// CHECK-NEXT: return %[[A]]
func.func @gpt_oss(%h: tensor<4x8xf32>) -> tensor<4x4xf32> {
  %gate = "stablehlo.slice"(%h) <{limit_indices = array<i64: 4, 8>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 2>}> : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %up = "stablehlo.slice"(%h) <{limit_indices = array<i64: 4, 8>, start_indices = array<i64: 0, 1>, strides = array<i64: 1, 2>}> : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %limit = "stablehlo.constant"() <{value = dense<7.0> : tensor<4x4xf32>}> : () -> tensor<4x4xf32>
  %low = "stablehlo.constant"() <{value = dense<-7.0> : tensor<4x4xf32>}> : () -> tensor<4x4xf32>
  %g = "stablehlo.minimum"(%gate, %limit) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %raised = "stablehlo.maximum"(%low, %up) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %u = "stablehlo.minimum"(%limit, %raised) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %one = "stablehlo.constant"() <{value = dense<1.0> : tensor<4x4xf32>}> : () -> tensor<4x4xf32>
  %v = "stablehlo.add"(%u, %one) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %alpha = "stablehlo.constant"() <{value = dense<1.702> : tensor<4x4xf32>}> : () -> tensor<4x4xf32>
  %scaled = "stablehlo.multiply"(%g, %alpha) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %s = "stablehlo.logistic"(%scaled) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %act = "stablehlo.multiply"(%g, %s) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = "stablehlo.multiply"(%v, %act) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// Gate must come first.
// CHECK-LABEL: func.func @swapped(
// CHECK-SAME: %[[H:.*]]: tensor<4x8xf32>
// CHECK-NOT: moe.
// CHECK: return
func.func @swapped(%h: tensor<4x8xf32>) -> tensor<4x4xf32> {
  %gate = "stablehlo.slice"(%h) <{limit_indices = array<i64: 4, 4>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %up = "stablehlo.slice"(%h) <{limit_indices = array<i64: 4, 8>, start_indices = array<i64: 0, 4>, strides = array<i64: 1, 1>}> : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %s = "stablehlo.logistic"(%up) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %act = "stablehlo.multiply"(%up, %s) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = "stablehlo.multiply"(%act, %gate) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// Limits that differ are none of the op's.
// CHECK-LABEL: func.func @other_limits(
// CHECK-SAME: %[[H:.*]]: tensor<4x8xf32>
// CHECK-NOT: moe.
// CHECK: return
func.func @other_limits(%h: tensor<4x8xf32>) -> tensor<4x4xf32> {
  %gate = "stablehlo.slice"(%h) <{limit_indices = array<i64: 4, 4>, start_indices = array<i64: 0, 0>, strides = array<i64: 1, 1>}> : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %up = "stablehlo.slice"(%h) <{limit_indices = array<i64: 4, 8>, start_indices = array<i64: 0, 4>, strides = array<i64: 1, 1>}> : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %limit = "stablehlo.constant"() <{value = dense<7.0> : tensor<4x4xf32>}> : () -> tensor<4x4xf32>
  %low = "stablehlo.constant"() <{value = dense<-6.0> : tensor<4x4xf32>}> : () -> tensor<4x4xf32>
  %g = "stablehlo.minimum"(%gate, %limit) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %raised = "stablehlo.maximum"(%low, %up) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %u = "stablehlo.minimum"(%limit, %raised) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %s = "stablehlo.logistic"(%g) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %act = "stablehlo.multiply"(%g, %s) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %r = "stablehlo.multiply"(%u, %act) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}
