// RUN: rm -rf %t && mkdir %t
// RUN: moe-compile %s -o %t/ranks.moe
// RUN: moe-objdump %t/ranks.moe | FileCheck %s
// RUN: moe-objdump %t/ranks.moe --program | moe-opt | FileCheck %s --check-prefix=PROGRAM

// CHECK: steps: {{[0-9]+}} launches, 2 copies and fills, 2 exchanges over 2 ranks of axis 'ep'

// PROGRAM: prog.all_to_all %{{.*}} into %{{.*}} {axis = "ep", ranks = 2 : i64} : memref<2xi32>, memref<2xi32>
// PROGRAM: prog.all_to_all %{{.*}} send %{{.*}} receive %{{.*}} into %{{.*}} {axis = "ep", ranks = 2 : i64} : memref<?x8xf32>, memref<2x2xi64>, memref<2x2xi64>, memref<9x8xf32>
func.func @exchange(%x: tensor<?x8xf32>, %ids: tensor<?x1xi32>) -> (tensor<9x8xf32, #moe.ragged<groups = 2>>, tensor<2xi32>) {
  %p = moe.plan %ids : tensor<?x1xi32> -> !moe.plan<groups = 2, topk = 1>
  %g = moe.gather %x, %p : tensor<?x8xf32>, !moe.plan<groups = 2, topk = 1> -> tensor<?x8xf32, #moe.ragged<groups = 2>>
  %s = moe.plan_get %p {field = #moe.field<sizes>} : !moe.plan<groups = 2, topk = 1> -> tensor<2xi32>
  %a = moe.all_to_all %s {axis = "ep", ranks = 2} : tensor<2xi32> -> tensor<2xi32>
  %q = moe.plan_from_sizes %a : tensor<2xi32> -> !moe.plan<groups = 2, rows = 9>
  %y = moe.all_to_all %g from %p to %q {axis = "ep", ranks = 2} : tensor<?x8xf32, #moe.ragged<groups = 2>>, !moe.plan<groups = 2, topk = 1>, !moe.plan<groups = 2, rows = 9> -> tensor<9x8xf32, #moe.ragged<groups = 2>>
  return %y, %a : tensor<9x8xf32, #moe.ragged<groups = 2>>, tensor<2xi32>
}
