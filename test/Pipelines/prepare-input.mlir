// RUN: moe-opt %s --allow-unregistered-dialect --moe-prepare-input --split-input-file --verify-diagnostics | FileCheck %s

// Private functions that nobody reaches go, with whatever is in them.
// CHECK-LABEL: func.func @main
// CHECK: func.func private @called
// CHECK-NOT: @decomposition
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @called(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func private @called(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @decomposition(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = "stablehlo.negate"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @leftover(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{cannot be compiled: 'stablehlo.negate' is an op of an unknown dialect}}
  %y = "stablehlo.negate"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{cannot be compiled: 'stablehlo.sine' is an op of an unknown dialect}}
  %z = "stablehlo.sine"(%y) : (tensor<4xf32>) -> tensor<4xf32>
  return %z : tensor<4xf32>
}

// -----

func.func @indirect(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @callee(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func private @callee(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{cannot be compiled: 'stablehlo.negate' is an op of an unknown dialect}}
  %y = "stablehlo.negate"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// expected-error @below {{cannot be compiled: no public function with a body}}
module {
  func.func private @declared(tensor<4xf32>)
}

// -----

// expected-error @below {{cannot be compiled: 'tensor<4611686018427387904xf32>' may take more than 2^56 bytes}}
func.func @large(%x: tensor<4611686018427387904xf32>, %n: index) {
  // expected-error @below {{cannot be compiled: 'tensor<?x72057594037927936xi8>' may take more than 2^56 bytes}}
  %y = tensor.empty(%n) : tensor<?x72057594037927936xi8>
  return
}

// -----

// CHECK-LABEL: func.func @empty
func.func @empty(%x: tensor<4611686018427387904x0xf32>) {
  return
}
