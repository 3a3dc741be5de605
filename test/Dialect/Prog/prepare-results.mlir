// RUN: moe-opt %s --prog-prepare-results --split-input-file --verify-diagnostics | FileCheck %s

module @kernels {
  func.func private @k(memref<?x64xf32, strided<[?, 1]>>)
}
// CHECK-LABEL: func.func @own(
// CHECK-SAME: -> memref<?x64xf32, strided<[?, 1]>>
func.func @own(%x: memref<?x64xf32, strided<[?, 1]>>) -> memref<?x64xf32> {
  %c0 = arith.constant 0 : index
  %m = memref.dim %x, %c0 : memref<?x64xf32, strided<[?, 1]>>
  // CHECK: %[[A:.*]] = memref.alloc(%{{.*}}) : memref<?x64xf32>
  // CHECK: %[[Y:.*]] = memref.cast %[[A]] : memref<?x64xf32> to memref<?x64xf32, strided<[?, 1]>>
  %y = memref.alloc(%m) : memref<?x64xf32>
  // CHECK: memref.copy %{{.*}}, %[[Y]] : memref<?x64xf32, strided<[?, 1]>> to memref<?x64xf32, strided<[?, 1]>>
  memref.copy %x, %y : memref<?x64xf32, strided<[?, 1]>> to memref<?x64xf32>
  // CHECK: return %[[Y]]
  return %y : memref<?x64xf32>
}

// -----

// Rank 1 needs no cast, and a cast of the result is looked through.
// CHECK-LABEL: func.func @vector() -> memref<4xf32> {
// CHECK-NEXT: %[[Y:.*]] = memref.alloc() : memref<4xf32>
// CHECK: return %[[Y]] : memref<4xf32>
func.func @vector() -> memref<?xf32> {
  %y = memref.alloc() : memref<4xf32>
  %d = memref.cast %y : memref<4xf32> to memref<?xf32>
  return %d : memref<?xf32>
}

// -----

// CHECK-LABEL: func.func @argument(
// CHECK-SAME: %[[X:.*]]: memref<?x64xf32, strided<[?, 1]>>) -> memref<?x64xf32, strided<[?, 1]>>
func.func @argument(%x: memref<?x64xf32, strided<[?, 1]>>) -> memref<?x64xf32, strided<[?, 1]>> {
  // CHECK: %[[M:.*]] = memref.dim %[[X]], %c0
  // CHECK: %[[A:.*]] = memref.alloc(%[[M]]) : memref<?x64xf32>
  // CHECK: %[[Y:.*]] = memref.cast %[[A]]
  // CHECK: memref.copy %[[X]], %[[Y]]
  // CHECK: return %[[Y]]
  return %x : memref<?x64xf32, strided<[?, 1]>>
}

// -----

// CHECK-LABEL: func.func @twice(
func.func @twice() -> (memref<4xf32>, memref<4xf32>) {
  // CHECK: %[[A:.*]] = memref.alloc()
  // CHECK: %[[B:.*]] = memref.alloc()
  // CHECK: memref.copy %[[A]], %[[B]]
  // CHECK: return %[[A]], %[[B]]
  %y = memref.alloc() : memref<4xf32>
  return %y, %y : memref<4xf32>, memref<4xf32>
}

// -----

// CHECK-LABEL: func.func @reshaped(
func.func @reshaped(%x: memref<2x2xf32>) -> memref<4x1xf32> {
  // CHECK: %[[A:.*]] = memref.alloc() : memref<4x1xf32>
  // CHECK: memref.collapse_shape %[[A]]
  // CHECK: %[[B:.*]] = memref.alloc() : memref<4x1xf32>
  // CHECK: %[[Y:.*]] = memref.cast %[[B]]
  // CHECK: memref.copy %[[A]], %[[Y]]
  // CHECK: return %[[Y]]
  %y = memref.alloc() : memref<4x1xf32>
  %flat = memref.collapse_shape %y [[0, 1]] : memref<4x1xf32> into memref<4xf32>
  return %y : memref<4x1xf32>
}

// -----

func.func @scalar() -> index {
  %c0 = arith.constant 0 : index
  // expected-error @below {{result 0 is 'index', expected a ranked memref}}
  return %c0 : index
}

// -----

// expected-error @below {{function 'blocks' has 2 blocks, expected straight-line code}}
func.func @blocks() {
  cf.br ^bb1
^bb1:
  return
}
