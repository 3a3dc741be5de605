// RUN: moe-opt %s --convert-kernels-to-llvm --split-input-file --verify-diagnostics

module @kernels {
  // expected-error @below {{kernel 'k' has type '(!llvm.ptr, memref<4xf32>) -> ()', expected (context, ..., begin, end) or (...) -> index}}
  func.func @k(%context: !llvm.ptr, %x: memref<4xf32>) {
    return
  }
}

// -----

module @kernels {
  // expected-error @below {{kernel 'k.tasks' has an argument of type 'f32', expected a memref or an index}}
  func.func @k.tasks(%x: f32) -> index {
    %c0 = arith.constant 0 : index
    return %c0 : index
  }
}
