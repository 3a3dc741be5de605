// RUN: moe-opt %s --convert-to-prog --split-input-file --verify-diagnostics

// expected-error @below {{argument 0 of function 'layout' is 'memref<4x4xf32>', expected 'memref<4x4xf32, strided<[?, 1]>>'}}
func.func @layout(%x: memref<4x4xf32>) {
  return
}

// -----

// expected-error @below {{argument 1 of function 'scalar' is 'f32', expected a tensor before bufferization and a ranked memref after it}}
func.func @scalar(%x: memref<4xf32>, %s: f32) {
  return
}

// -----

// expected-error @below {{function 'blocks' has 2 blocks, expected straight-line code}}
func.func @blocks() {
  cf.br ^bb1
^bb1:
  return
}

// -----

func.func @result(%x: memref<4xf32>) -> memref<4xf32> {
  // expected-error @below {{result 0 is not an allocation of its own; run prog-prepare-results first}}
  return %x : memref<4xf32>
}

// -----

func.func @twice() -> (memref<4xf32>, memref<4xf32>) {
  %x = memref.alloc() : memref<4xf32>
  // expected-error @below {{result 1 is not an allocation of its own; run prog-prepare-results first}}
  return %x, %x : memref<4xf32>, memref<4xf32>
}

// -----

func.func @reads_device(%x: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{'memref.load' op cannot run on the host}}
  %v = memref.load %x[%c0] : memref<4xf32>
  return
}

// -----

func.func @arith(%x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %m = memref.dim %x, %c0 : memref<?xf32>
  // expected-error @below {{'arith.remui' op cannot run on the host}}
  %r = arith.remui %m, %c2 : index
  %y = memref.alloc(%r) : memref<?xf32>
  return
}

// -----

func.func @narrow(%x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %m = memref.dim %x, %c0 : memref<?xf32>
  // expected-error @below {{'arith.index_cast' op cannot run on the host}}
  %r = arith.index_cast %m : index to i32
  return
}

// -----

func.func @reshape(%x: memref<4xf32>) {
  // expected-error @below {{'memref.expand_shape' op cannot run on the host}}
  %y = memref.expand_shape %x [[0, 1]] output_shape [2, 2] : memref<4xf32> into memref<2x2xf32>
  return
}

// -----

func.func @cast(%x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %m = memref.dim %x, %c0 : memref<?xf32>
  %m2 = arith.muli %m, %c2 : index
  %y = memref.alloc(%m2) : memref<?xf32>
  // expected-error @below {{'memref.cast' op says that dimension 0 is 4, which a host program can check of an input only}}
  %z = memref.cast %y : memref<?xf32> to memref<4xf32>
  return
}

// -----

func.func @fill() {
  %y = memref.alloc() : memref<4xf32>
  %one = arith.constant 1.0 : f32
  // expected-error @below {{'linalg.fill' op fills with 1.000000e+00 : f32, expected a value whose bytes are all the same}}
  linalg.fill ins(%one : f32) outs(%y : memref<4xf32>)
  return
}

// -----

func.func @map(%x: memref<4xf32>) {
  %y = memref.alloc() : memref<4xf32>
  // expected-error @below {{'linalg.map' op with inputs cannot run on the host}}
  linalg.map { arith.negf } ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
  return
}

// -----

memref.global "private" @state : memref<4xf32>
func.func @global() {
  // expected-error @below {{'memref.get_global' op reads global 'state', which has no initial value}}
  %y = memref.get_global @state : memref<4xf32>
  return
}

// -----

func.func @dim(%x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %m = memref.dim %x, %c0 : memref<?xf32>
  // expected-error @below {{'memref.dim' op index is not a constant within the rank of the source}}
  %n = memref.dim %x, %m : memref<?xf32>
  return
}

// -----

func.func @alloc() {
  // expected-error @below {{'memref.alloc' op has type 'memref<4xf32, 1>', expected the identity layout and no memory space}}
  %y = memref.alloc() : memref<4xf32, 1>
  return
}

// -----

func.func @assert(%x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %m = memref.dim %x, %c0 : memref<?xf32>
  %less = arith.cmpi slt, %m, %c4 : index
  // expected-error @below {{'cf.assert' op does not compare two sizes for equality, all that a host program can check: small}}
  cf.assert %less, "small"
  return
}

// -----

func.func @assert() {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %equal = arith.cmpi eq, %c0, %c4 : index
  // expected-error @below {{cannot hold: zero is four}}
  cf.assert %equal, "zero is four"
  return
}

// -----

func.func @assert(%x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %m = memref.dim %x, %c0 : memref<?xf32>
  %m4 = arith.muli %m, %c4 : index
  %equal = arith.cmpi eq, %m4, %c4 : index
  // expected-error @below {{'cf.assert' op compares two sizes of which none is that of an input: four times}}
  cf.assert %equal, "four times"
  return
}

// -----

func.func @assert() {
  %false = arith.constant false
  // expected-error @below {{cannot hold: zero is four}}
  cf.assert %false, "zero is four"
  return
}

// -----

func.func @two(%x: memref<?xf32>) {
  // expected-error @below {{'memref.cast' op says that dimension 0 is 4, but it is 5}}
  %y = memref.cast %x : memref<?xf32> to memref<4xf32>
  %z = memref.cast %x : memref<?xf32> to memref<5xf32>
  return
}
