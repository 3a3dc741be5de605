// RUN: moe-opt %s --moe-bufferize --split-input-file --verify-diagnostics | FileCheck %s

// Arguments may have padded rows; those of rank 0 and 1 have none.
// CHECK-LABEL: func.func @arguments(
// CHECK-SAME: memref<f32>, %{{.*}}: memref<?xf32>, %{{.*}}: memref<?x64xf32, strided<[?, 1]>>, %{{.*}}: memref<2x3x4xbf16, strided<[?, ?, 1]>>)
func.func @arguments(%a: tensor<f32>, %b: tensor<?xf32>, %c: tensor<?x64xf32>, %d: tensor<2x3x4xbf16>) {
  return
}

// -----

// An argument is never written, even if nobody reads it again.
// CHECK-LABEL: func.func @read_only(
// CHECK-SAME: %[[X:.*]]: memref<4xf32>) -> memref<4xf32> {
// CHECK: %[[COPY:.*]] = memref.alloc() {{.*}}: memref<4xf32>
// CHECK: memref.copy %[[X]], %[[COPY]]
// CHECK: memref.store %{{.*}}, %[[COPY]]
// CHECK: return %[[COPY]]
func.func @read_only(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %y = tensor.insert %one into %x[%c0] : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// expected-error @below {{argument 1 of function 'scalar' is 'index', expected a ranked tensor}}
func.func @scalar(%x: tensor<4xf32>, %n: index) {
  return
}

// -----

// expected-error @below {{argument 0 of function 'unranked' is 'tensor<*xf32>', expected a ranked tensor}}
func.func @unranked(%x: tensor<*xf32>) {
  return
}
