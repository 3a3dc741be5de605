// From moe ops to a host program: a caller's strides at the edges, row-major pieces of the arena between.
// RUN: moe-opt %s --moe-to-bufferized-pipeline | FileCheck %s --check-prefix=BUFFER
// RUN: moe-opt %s --moe-to-prog-pipeline | FileCheck %s

// BUFFER-LABEL: func.func @router(
// BUFFER-SAME: %[[X:.*]]: memref<?x64xf32, strided<[?, 1]>>{{.*}}, %[[W:.*]]: memref<64x8xf32, strided<[?, 1]>>
// BUFFER-SAME: -> (memref<?x8xf32, strided<[?, 1]>>
// BUFFER: %[[Y:.*]] = memref.cast %{{.*}} : memref<?x8xf32> to memref<?x8xf32, strided<[?, 1]>>
// BUFFER: tile.ragged_gemm lhs(%[[X]]
// BUFFER: tile.rows
// BUFFER-SAME: outs(%[[Y]] : memref<?x8xf32, strided<[?, 1]>>)

// CHECK-LABEL: prog.program @router(
// CHECK-SAME: %[[X:.*]]: memref<?x64xf32, strided<[?, 1]>>, %[[W:.*]]: memref<64x8xf32, strided<[?, 1]>>)
// CHECK-SAME: attributes {input_names = ["x", "in1"], output_names = ["scores"]}
// CHECK: %[[M:.*]] = prog.dim %[[X]], 0
// CHECK-DAG: %[[Y:.*]] = prog.output 0(%[[M]]) : memref<?x8xf32, strided<[?, 1]>>
// CHECK-DAG: %[[L:.*]] = prog.buffer(%[[M]]) at %{{.*}} : memref<?x8xf32>
// CHECK: prog.launch @kernels::@router_0_ragged_gemm(%[[X]], %[[W]], %[[L]])
// CHECK: prog.launch @kernels::@router_1_rows(%[[L]], %[[Y]])
// CHECK: prog.return arena(
// CHECK: module @kernels
// CHECK: func.func @router_0_ragged_gemm
// CHECK: func.func @router_1_rows
func.func @router(%x: tensor<?x64xf32> {moe.name = "x"}, %w: tensor<64x8xf32>) -> (tensor<?x8xf32> {moe.name = "scores"}) {
  %logits = moe.logits %x, %w : tensor<?x64xf32>, tensor<64x8xf32> -> tensor<?x8xf32>
  %scores = moe.scores %logits : tensor<?x8xf32>
  return %scores : tensor<?x8xf32>
}
