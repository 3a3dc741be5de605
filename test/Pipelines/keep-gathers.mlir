// For cuda, rows that a product would gather are copied first where that is expected to be faster, unless told not to.
// RUN: moe-compile %s --target=cuda --compile-to=tile -o - | FileCheck %s
// RUN: moe-compile %s --target=cuda --compile-to=tile --rows=65536 -o - | FileCheck %s
// RUN: moe-compile %s --target=cuda --compile-to=tile --keep-gathers -o - | FileCheck %s --check-prefix=KEPT
// RUN: moe-compile %s --target=cuda --compile-to=tile --schedule="#sm90.schedule<m = 128, n = 256, stages = 4>" -o - | FileCheck %s --check-prefix=KEPT
// RUN: moe-compile %s --target=cpu --compile-to=tile -o - | FileCheck %s --check-prefix=KEPT
// RUN: not moe-compile %s --compile-to=tile --keep-gathers -o - 2>&1 | FileCheck %s --check-prefix=CPU

// CHECK: tile.plan
// CHECK: %[[COPY:.*]] = tile.rows
// CHECK-NOT: gather(
// CHECK: tile.ragged_gemm lhs(%[[COPY]] : tensor<?x4096xbf16>)
// CHECK-NOT: gather(
// KEPT: tile.ragged_gemm lhs(%{{.*}}) gather(
// CPU: --keep-gathers is for --target=cuda only
func.func @main(%x: tensor<?x4096xbf16>, %ids: tensor<?x2xi32>, %w: tensor<8x28672x4096xbf16>) -> tensor<?x28672xbf16, #moe.ragged<groups = 8>> {
  %p = moe.plan %ids : tensor<?x2xi32> -> !moe.plan<groups = 8, topk = 2>
  %g = moe.gather %x, %p : tensor<?x4096xbf16>, !moe.plan<groups = 8, topk = 2> -> tensor<?x4096xbf16, #moe.ragged<groups = 8>>
  %y = moe.ragged_matmul %g, %w plan %p {layout = #moe.weights<nk>} : tensor<?x4096xbf16, #moe.ragged<groups = 8>>, tensor<8x28672x4096xbf16>, !moe.plan<groups = 8, topk = 2> -> tensor<?x28672xbf16, #moe.ragged<groups = 8>>
  return %y : tensor<?x28672xbf16, #moe.ragged<groups = 8>>
}
