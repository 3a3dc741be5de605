// RUN: moe-opt %s --convert-kernels-to-llvm | FileCheck %s

// The C functions of runtime/CPU/KernelABI.h: args[i] points to a descriptor or to a scalar.
module @kernels {
  func.func @k.tasks(%x: memref<?x4xf32, strided<[?, 1]>>, %n: index) -> index {
    return %n : index
  }
  func.func @k(%context: !llvm.ptr, %x: memref<?x4xf32, strided<[?, 1]>>, %n: index, %begin: index, %end: index) {
    return
  }
}
// CHECK: llvm.func internal @body.k.tasks(
// CHECK: llvm.func internal @_mlir_ciface_body.k(

// CHECK-LABEL: llvm.func @k.tasks(
// CHECK-SAME: %[[ARGS:.*]]: !llvm.ptr) -> i64 {
// CHECK: %[[P0:.*]] = llvm.getelementptr %[[ARGS]][0] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
// CHECK: %[[X:.*]] = llvm.load %[[P0]] : !llvm.ptr -> !llvm.ptr
// CHECK: %[[P1:.*]] = llvm.getelementptr %[[ARGS]][1]
// CHECK: %[[PN:.*]] = llvm.load %[[P1]] : !llvm.ptr -> !llvm.ptr
// CHECK: %[[N:.*]] = llvm.load %[[PN]] : !llvm.ptr -> i64
// CHECK: %[[R:.*]] = llvm.call @_mlir_ciface_body.k.tasks(%[[X]], %[[N]])
// CHECK: llvm.return %[[R]]

// CHECK-LABEL: llvm.func @k(
// CHECK-SAME: %[[C:.*]]: !llvm.ptr, %{{.*}}: !llvm.ptr, %[[B:.*]]: i64, %[[E:.*]]: i64) {
// CHECK: llvm.call @_mlir_ciface_body.k(%[[C]], %{{.*}}, %{{.*}}, %[[B]], %[[E]])
