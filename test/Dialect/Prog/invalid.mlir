// RUN: moe-opt %s --split-input-file --verify-diagnostics

// ProgramOp (C1)
prog.program @body(%x: memref<4xf32>) {
  %c0 = arith.constant 0 : i64
  // expected-error @below {{'arith.divsi' op is not allowed in a prog.program, expected prog ops and arith.addi, subi, muli, ceildivsi, maxsi, minsi, constant}}
  %d = arith.divsi %c0, %c0 : i64
  prog.return
}

// -----

prog.program @index(%x: memref<4xf32>) {
  // expected-error @below {{'arith.constant' op in a prog.program has type 'index', expected i64}}
  %c0 = arith.constant 0 : index
  prog.return
}

// -----

prog.program @no_return(%x: memref<4xf32>) {
  // expected-error @below {{block with no terminator}}
  prog.wait
}

// -----

// ProgramOp (C2)
// expected-note @below {{outputs are numbered 0, 1, ... without gap}}
prog.program @gap() {
  // expected-error @below {{'prog.output' op has number 1, expected 0}}
  %y = prog.output 1 () : memref<4xf32>
  prog.return
}

// -----

// ProgramOp (C3)
// expected-error @below {{'prog.program' op has 1 names of inputs, expected 2}}
prog.program @names(%x: memref<4xf32>, %y: memref<4xf32>) attributes {input_names = ["x"]} {
  prog.return
}

// -----

// expected-error @below {{'prog.program' op has the name 'x' of inputs twice}}
prog.program @names(%x: memref<4xf32>, %y: memref<4xf32>) attributes {input_names = ["x", "x"]} {
  prog.return
}

// -----

// expected-error @below {{'prog.program' op has the name '' of outputs, expected one that is not empty}}
prog.program @names() attributes {output_names = [""]} {
  %y = prog.output 0 () : memref<4xf32>
  prog.return
}

// -----

// ProgramOp (C4)
// expected-error @below {{'prog.program' op input 0 has type 'memref<4x4xf32>', expected 'memref<4x4xf32, strided<[?, 1]>>'}}
prog.program @layout(%x: memref<4x4xf32>) {
  prog.return
}

// -----

// expected-error @below {{'prog.program' op input 1 has type 'i64', expected a ranked memref}}
prog.program @layout(%x: memref<4xf32>, %n: i64) {
  prog.return
}

// -----

// expected-error @below {{'prog.program' op input 0 has element type 'f64', expected one of f32, bf16, f16, i64, i32, i8, ui8, i1}}
prog.program @element(%x: memref<4xf64>) {
  prog.return
}

// -----

// expected-error @below {{'prog.program' op input 0 has rank 9, expected at most 8}}
prog.program @rank(%x: memref<1x1x1x1x1x1x1x1x1xf32>) {
  prog.return
}

// -----

// DimOp (C1)
prog.program @dim(%x: memref<4xf32>) {
  // expected-error @below {{'prog.dim' op dim is 1, expected 0 <= dim < 1, the rank of source}}
  %m = prog.dim %x, 1 : memref<4xf32>
  prog.return
}

// -----

prog.program @dim() {
  %t = prog.buffer () : memref<4xf32>
  // expected-error @below {{'prog.dim' op source is not an input of the program}}
  %m = prog.dim %t, 0 : memref<4xf32>
  prog.return
}

// -----

// RequireOp (C1)
prog.program @require() {
  %c1 = arith.constant 1 : i64
  // expected-error @below {{'prog.require' op size is not the result of prog.dim}}
  prog.require %c1 = %c1
  prog.return
}

// -----

// OutputOp (C1)
prog.program @sizes() {
  // expected-error @below {{'prog.output' op has 0 sizes, expected 1, one for each dynamic dimension of 'memref<?xf32>'}}
  %y = prog.output 0 () : memref<?xf32>
  prog.return
}

// -----

// OutputOp (C2)
prog.program @layout() {
  // expected-error @below {{'prog.output' op buffer has type 'memref<4x4xf32, strided<[4, 1]>>', expected 'memref<4x4xf32, strided<[?, 1]>>'}}
  %y = prog.output 0 () : memref<4x4xf32, strided<[4, 1]>>
  prog.return
}

// -----

// BufferOp (C1)
prog.program @sizes() {
  %c1 = arith.constant 1 : i64
  // expected-error @below {{'prog.buffer' op has 1 sizes, expected 0, one for each dynamic dimension of 'memref<4xf32>'}}
  %y = prog.buffer (%c1) : memref<4xf32>
  prog.return
}

// -----

// BufferOp (C2)
prog.program @layout() {
  // expected-error @below {{'prog.buffer' op buffer has layout strided<[8, 1]>, expected the identity}}
  %y = prog.buffer () : memref<4x4xf32, strided<[8, 1]>>
  prog.return
}

// -----

// ConstantOp (C1)
prog.program @constant() {
  // expected-error @below {{'prog.constant' op value has type 'tensor<2xf32>', expected the shape and element type of 'memref<4xf32>'}}
  %y = prog.constant dense<1.0> : tensor<2xf32> : memref<4xf32>
  prog.return
}

// -----

// ConstantOp (C2)
prog.program @constant() {
  // expected-error @below {{'prog.constant' op buffer has element type 'f64', expected one of f32, bf16, f16, i64, i32, i8, ui8, i1}}
  %y = prog.constant dense<1.0> : tensor<2xf64> : memref<2xf64>
  prog.return
}

// -----

// ConstantOp (C3)
prog.program @constant() {
  // expected-note @below {{defined here}}
  %y = prog.constant dense<1.0> : tensor<2xf32> : memref<2xf32>
  // expected-error @below {{'prog.memset' op buffer is a constant, expected an output or a buffer of the arena}}
  prog.memset %y, 0 : memref<2xf32>
  prog.return
}

// -----

// LaunchOp (C1)
prog.program @launch(%x: memref<4xf32>) {
  // expected-error @below {{'prog.launch' op kernel @kernels::@k is not a function}}
  prog.launch @kernels::@k(%x) : memref<4xf32>
  prog.return
}

// -----

module @kernels {
  func.func private @k(memref<4xf32>, index)
}
prog.program @launch(%x: memref<4xf32>) {
  // expected-error @below {{'prog.launch' op has 1 operands, expected 2 for kernel @kernels::@k}}
  prog.launch @kernels::@k(%x) : memref<4xf32>
  prog.return
}

// -----

module @kernels {
  func.func private @k(memref<4xf32> {prog.access = "read"}, f32)
}
prog.program @launch(%x: memref<4xf32>) {
  %c1 = arith.constant 1 : i64
  // expected-error @below {{'prog.launch' op operand 1 has type 'i64', expected 'f32' for kernel @kernels::@k}}
  prog.launch @kernels::@k(%x, %c1) : memref<4xf32>, i64
  prog.return
}

// -----

module @kernels {
  func.func private @k(memref<?x8xf32, strided<[8, 1]>>)
}
prog.program @launch(%x: memref<4x8xf32, strided<[?, 1]>>) {
  // expected-error @below {{'prog.launch' op operand 0 has type 'memref<4x8xf32, strided<[?, 1]>>', expected 'memref<?x8xf32, strided<[8, 1]>>' for kernel @kernels::@k}}
  prog.launch @kernels::@k(%x) : memref<4x8xf32, strided<[?, 1]>>
  prog.return
}

// -----

// LaunchOp (C2)
prog.program @launch(%x: memref<4xf32>) {
  %c1 = arith.constant 1 : i64
  // expected-error @below {{'prog.launch' op operand 1 is a buffer after a scalar, expected buffers first}}
  prog.launch @kernels::@k(%c1, %x) : i64, memref<4xf32>
  prog.return
}

// -----

// LaunchOp (C4)
module @kernels {
  func.func private @k(memref<3x2xi32>, memref<3xi64>, index)
}
prog.program @launch(%x: memref<3x2xi32, strided<[?, 1]>>) {
  %c1 = arith.constant 1 : i64
  %a = prog.buffer () : memref<3x2xi32>
  %b = prog.buffer () : memref<3xi64>
  // expected-error @below {{'prog.launch' op bounds is 3, expected the number of one of 3 operands}}
  prog.launch @kernels::@k(%a, %b, %c1) {bounds = 3 : i64} : memref<3x2xi32>, memref<3xi64>, i64
  prog.return
}

// -----

prog.program @launch(%a: memref<3x2xi32, strided<[?, 1]>>) {
  // expected-error @below {{'prog.launch' op bounds is operand 0 of type 'memref<3x2xi32, strided<[?, 1]>>', expected [G, 2] of i64}}
  prog.launch @kernels::@k(%a) {bounds = 0 : i64} : memref<3x2xi32, strided<[?, 1]>>
  prog.return
}

// -----

// LaunchOp (C3)
module @kernels {
  func.func private @k(memref<4xf32> {prog.access = "write"})
}
// expected-note @below {{defined here}}
prog.program @launch(%x: memref<4xf32>) {
  // expected-error @below {{'prog.launch' op operand 0, which the kernel writes, is an input, expected an output or a buffer of the arena}}
  prog.launch @kernels::@k(%x) : memref<4xf32>
  prog.return
}

// -----

// CopyOp (C1)
prog.program @copy(%x: memref<4xf32>) {
  %t = prog.buffer () : memref<5xf32>
  // expected-error @below {{'prog.copy' op target has type 'memref<5xf32>', expected the shape and element type of 'memref<4xf32>'}}
  prog.copy %x, %t : memref<4xf32>, memref<5xf32>
  prog.return
}

// -----

// CopyOp (C2)
// expected-note @below {{defined here}}
prog.program @copy(%x: memref<4xf32>) {
  // expected-error @below {{'prog.copy' op target is an input, expected an output or a buffer of the arena}}
  prog.copy %x, %x : memref<4xf32>, memref<4xf32>
  prog.return
}

// -----

// An attribute that is misspelt.
prog.program @fill(%x: memref<4xf32>) {
  %y = prog.output 0 () : memref<4xf32>
  // expected-error @below {{'prog.copy' op has the unknown attribute 'async', expected none}}
  prog.copy %x, %y {async} : memref<4xf32>, memref<4xf32>
  prog.return
}
