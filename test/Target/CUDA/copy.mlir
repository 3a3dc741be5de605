// A program without kernels has no cubin.
// REQUIRES: ptxas
// RUN: moe-compile --target=cuda %s -o %t.moe
// RUN: moe-objdump %t.moe | FileCheck %s
// CHECK: target: cuda sm_90a
// CHECK: object: 0 bytes
// CHECK: steps: 0 launches, 1 copies and fills

func.func @f(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  return %x : tensor<?x64xf32>
}
