// Schedules are measured on a GPU; without one that is an error, and no table is written.
// REQUIRES: ptxas
// UNSUPPORTED: gpu
// RUN: rm -f %t.txt
// RUN: not moe-compile --target=cuda --tune=%t.txt %s -o %t.moe 2>&1 | FileCheck %s
// RUN: not ls %t.txt
// RUN: echo "nonsense" > %t.bad.txt
// RUN: not moe-compile --target=cuda --tune=%t.bad.txt %s -o %t.moe 2>&1 | FileCheck %s --check-prefix=BAD

// CHECK: error: cannot measure: {{.+}}
// BAD: error: {{.*}}.bad.txt:1: line is 'nonsense', expected a chip, a product, rows a group, microseconds and a schedule

#groups = #moe.ragged<groups = 4>

func.func @main(%x: tensor<?x64xbf16, #groups>, %w: tensor<4x64x64xbf16>, %sizes: tensor<4xi32>) -> tensor<?x64xbf16, #groups> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x64xbf16, #groups>
  %p = moe.plan_from_sizes %sizes rows %m : tensor<4xi32> -> !moe.plan<groups = 4>
  %y = moe.ragged_matmul %x, %w plan %p : tensor<?x64xbf16, #groups>, tensor<4x64x64xbf16>, !moe.plan<groups = 4> -> tensor<?x64xbf16, #groups>
  return %y : tensor<?x64xbf16, #groups>
}
