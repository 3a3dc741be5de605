// What ptxas finds wrong with a kernel is an error that names it: here a budget of registers that is too small for the accumulators.
// REQUIRES: ptxas
// RUN: not moe-compile --target=cuda '--schedule=#sm90.schedule<m = 128, n = 256, stages = 4, consumer_registers = 128>' %s -o %t 2>&1 | FileCheck %s
// CHECK: error: kernel 'main_1_ragged_gemm': ptxas says: (C7507)
// CHECK-NOT: main_1_ragged_gemm_simple

#groups = #moe.ragged<groups = 4>

func.func @main(%x: tensor<?x64xbf16, #groups>, %w: tensor<4x64x64xbf16>, %sizes: tensor<4xi32>) -> tensor<?x64xbf16, #groups> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x64xbf16, #groups>
  %p = moe.plan_from_sizes %sizes rows %m : tensor<4xi32> -> !moe.plan<groups = 4>
  %y = moe.ragged_matmul %x, %w plan %p : tensor<?x64xbf16, #groups>, tensor<4x64x64xbf16>, !moe.plan<groups = 4> -> tensor<?x64xbf16, #groups>
  return %y : tensor<?x64xbf16, #groups>
}
