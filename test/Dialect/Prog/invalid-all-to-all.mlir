// RUN: moe-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: memref<8x4xf32>, %y: tensor<8x4xf32>) {
  // expected-error @+1 {{mixes tensors and memrefs, expected one of them}}
  prog.all_to_all %x into %y {axis = "ep", ranks = 2} : memref<8x4xf32>, tensor<8x4xf32>
  return
}

// -----
func.func @f(%x: tensor<8x4xf32>) {
  // expected-error @+1 {{has no result, expected one of the target's type}}
  prog.all_to_all %x into %x {axis = "ep", ranks = 2} : tensor<8x4xf32>, tensor<8x4xf32>
  return
}

// -----
func.func @f(%x: memref<8x4xf32>) {
  // expected-error @+1 {{has result, expected none (the target is a memref)}}
  %y = prog.all_to_all %x into %x {axis = "ep", ranks = 2} : memref<8x4xf32>, memref<8x4xf32> -> tensor<8x4xf32>
  return
}

// -----
func.func @f(%x: memref<8x4xf32>, %y: memref<8x3xf32>) {
  // expected-error @+1 {{expected rows of one shape and element type}}
  prog.all_to_all %x into %y {axis = "ep", ranks = 2} : memref<8x4xf32>, memref<8x3xf32>
  return
}

// -----
func.func @f(%x: memref<8x4xf32, strided<[?, 1]>>, %y: memref<8x4xf32>) {
  // expected-error @+1 {{exchanges rows of 'memref<8x4xf32, strided<[?, 1]>>', expected the identity layout}}
  prog.all_to_all %x into %y {axis = "ep", ranks = 2} : memref<8x4xf32, strided<[?, 1]>>, memref<8x4xf32>
  return
}

// -----
func.func @f(%x: memref<8x4xf32>, %y: memref<8x4xf32>) {
  // expected-error @+1 {{ranks is 0, expected at least 1}}
  prog.all_to_all %x into %y {axis = "ep", ranks = 0} : memref<8x4xf32>, memref<8x4xf32>
  return
}

// -----
func.func @f(%x: memref<8x4xf32>, %y: memref<8x4xf32>) {
  // expected-error @+1 {{axis is empty, expected the name of a mesh axis}}
  prog.all_to_all %x into %y {axis = "", ranks = 2} : memref<8x4xf32>, memref<8x4xf32>
  return
}

// -----
func.func @f(%x: memref<8x4xf32>, %y: memref<8x4xf32>, %b: memref<2x2xi64>) {
  // expected-error @+1 {{has only bounds of the rows it sends, expected both}}
  prog.all_to_all %x send %b into %y {axis = "ep", ranks = 2} : memref<8x4xf32>, memref<2x2xi64>, memref<8x4xf32>
  return
}

// -----
func.func @f(%x: memref<8x4xf32>, %y: memref<8x4xf32>, %b: memref<3x2xi64>) {
  // expected-error @+1 {{has bounds of type 'memref<3x2xi64>', expected 2x2 i64}}
  prog.all_to_all %x send %b receive %b into %y {axis = "ep", ranks = 2} : memref<8x4xf32>, memref<3x2xi64>, memref<3x2xi64>, memref<8x4xf32>
  return
}

// -----
func.func @f(%x: memref<8x4xf32>, %y: memref<6x4xf32>) {
  // expected-error @+1 {{exchanges blocks of 8 and 6 rows, expected equal numbers, divisible by 2 ranks}}
  prog.all_to_all %x into %y {axis = "ep", ranks = 2} : memref<8x4xf32>, memref<6x4xf32>
  return
}

// -----
prog.program @f(%x: memref<8xf32>) {
  // expected-note @above {{defined here}}
  // expected-error @+1 {{target is an input, expected an output or a buffer of the arena}}
  prog.all_to_all %x into %x {axis = "ep", ranks = 2} : memref<8xf32>, memref<8xf32>
  prog.return
}

// -----
prog.program @f(%x: memref<8xf32>) {
  %y = prog.output 0 () : memref<8xf32>
  // expected-note @+1 {{which is here}}
  prog.all_to_all %x into %y {axis = "ep", ranks = 2} : memref<8xf32>, memref<8xf32>
  // expected-error @+1 {{is over 4 ranks of axis 'ep', expected 2 ranks of axis 'ep', as in the exchange before it}}
  prog.all_to_all %x into %y {axis = "ep", ranks = 4} : memref<8xf32>, memref<8xf32>
  prog.return
}

// -----
func.func @k(%x: memref<8x4xf32>, %y: memref<8x4xf32>) {
  // expected-error @+1 {{has a kernel for transport 'exact', expected one for 'peer' only}}
  prog.all_to_all %x into %y {axis = "ep", ranks = 2, kernel = @k} : memref<8x4xf32>, memref<8x4xf32>
  return
}

// -----
prog.program @f(%x: memref<8xf32>) {
  %y = prog.output 0 () : memref<8xf32>
  // expected-error @+1 {{target is an output, expected a buffer of the arena for transport 'peer'}}
  prog.all_to_all %x into %y {axis = "ep", ranks = 2, transport = #prog.transport<peer>} : memref<8xf32>, memref<8xf32>
  prog.return
}

// -----
func.func @f(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @+1 {{kernel @k is not a function}}
  prog.all_to_all %x into %y {axis = "ep", ranks = 2, transport = #prog.transport<peer>, kernel = @k} : memref<8xf32>, memref<8xf32>
  return
}

// -----
func.func private @k(memref<8xf32>, memref<6xf32>)
func.func @f(%x: memref<8xf32>, %y: memref<8xf32>) {
  // expected-error @+1 {{kernel @k takes '(memref<8xf32>, memref<6xf32>) -> ()', expected the operands' types}}
  prog.all_to_all %x into %y {axis = "ep", ranks = 2, transport = #prog.transport<peer>, kernel = @k} : memref<8xf32>, memref<8xf32>
  return
}
