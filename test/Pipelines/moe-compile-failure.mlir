// A failed compile says why and where, leaves an old output as it was and no new one, and a reproducer where dumps go.
// RUN: rm -rf %t && mkdir %t && echo old > %t/old.moe
// RUN: not moe-compile %s -o %t/old.moe --dump-dir=%t/dump 2>&1 | FileCheck %s
// RUN: not moe-compile %s -o %t/new.moe
// RUN: cat %t/old.moe | FileCheck %s --check-prefix=OLD
// RUN: ls %t | FileCheck %s --check-prefix=LEFT
// RUN: not moe-opt --run-reproducer --allow-unregistered-dialect %t/dump/reproducer.mlir 2>&1 | FileCheck %s --check-prefix=AGAIN

// CHECK: moe-compile-failure.mlir:[[@LINE+14]]:8: error: cannot be compiled: 'stablehlo.sine' is an op of an unknown dialect
// OLD: old
// LEFT:      dump
// LEFT-NEXT: old.moe
// LEFT-NOT:  {{.}}
// AGAIN: error: cannot be compiled: 'stablehlo.sine' is an op of an unknown dialect

// An error of the parser ends the same way.
// RUN: echo "func.func @f(" > %t/broken.mlir
// RUN: not moe-compile %t/broken.mlir -o %t/new.moe 2>&1 | FileCheck %s --check-prefix=BROKEN
// RUN: not ls %t/new.moe
// BROKEN: broken.mlir:{{.*}}: error:

func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = "stablehlo.sine"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
