// RUN: rm -rf %t && mkdir %t
// RUN: moe-compile %s -o %t/layer.moe --cpu=x86-64-v3
// RUN: moe-objdump %t/layer.moe | FileCheck %s
// RUN: moe-objdump %t/layer.moe --program | moe-opt | FileCheck %s --check-prefix=PROGRAM
// RUN: moe-objdump %t/layer.moe --disassemble router_0_ragged_gemm | FileCheck %s --check-prefix=CODE
// RUN: moe-compile %s --compile-to=object -o %t/expected.so --cpu=x86-64-v3
// RUN: moe-objdump %t/layer.moe --object %t/kernels.so
// RUN: cmp %t/kernels.so %t/expected.so

// CHECK: target: cpu x86-64-v3
// CHECK: producer: moe-mlir
// CHECK: object: {{[0-9]+}} bytes
// CHECK-LABEL: entry router
// CHECK-NEXT: input 0 x: f32[?, 64]
// CHECK-NEXT: input 1 in1: f32[64, 8]
// CHECK-NEXT: output 0 out0: f32[x[0], 8]
// CHECK-NEXT: output 1 table: i32[3]
// CHECK-NEXT: arena: ceil(x[0] / 64) * 2048 bytes
// CHECK-NEXT: steps: 2 launches, 1 copies and fills
// CHECK-NEXT: router_0_ragged_gemm: at most x[0] * 1024 flops, ((x[0] * 32 + 2048) + x[0] * 256) bytes
// CHECK-NEXT: router_1_rows: at most x[0] * {{[0-9]+}} flops, (x[0] * 32 + x[0] * 32) bytes
// CHECK-EMPTY:
// CHECK-LABEL: kernels
// CHECK-NEXT: router_0_ragged_gemm: 3 buffers, 0 scalars, {{[0-9]+}} bytes of code
// CHECK-NEXT: router_1_rows: 2 buffers, 0 scalars, {{[0-9]+}} bytes of code
// CHECK: prog.program @router(

// PROGRAM: func.func private @router_0_ragged_gemm(memref<?x64xf32, strided<[?, 1]>> {prog.access = "read"}
// PROGRAM: prog.program @router(%[[X:.*]]: memref<?x64xf32, strided<[?, 1]>>, %[[W:.*]]: memref<64x8xf32, strided<[?, 1]>>)
// PROGRAM-SAME: attributes {input_names = ["x", "in1"], output_names = ["out0", "table"]}
// PROGRAM: %[[M:.*]] = prog.dim %[[X]], 0
// PROGRAM-DAG: prog.constant dense<[7, -1, 5]> : tensor<3xi32> : memref<3xi32>
// PROGRAM-DAG: %[[L:.*]] = prog.buffer(%[[M]]) at %{{.*}} : memref<?x8xf32>
// PROGRAM: prog.launch @kernels::@router_0_ragged_gemm(%[[X]], %[[W]], %[[L]]) flops(%{{.*}}) bytes(%{{.*}}) :

// CODE: 0:
// CODE: vfmadd
// CODE: ret

func.func @router(%x: tensor<?x64xf32> {moe.name = "x"}, %w: tensor<64x8xf32>) -> (tensor<?x8xf32>, tensor<3xi32> {moe.name = "table"}) {
  %logits = moe.logits %x, %w : tensor<?x64xf32>, tensor<64x8xf32> -> tensor<?x8xf32>
  %scores = moe.scores %logits : tensor<?x8xf32>
  %table = arith.constant dense<[7, -1, 5]> : tensor<3xi32>
  return %scores, %table : tensor<?x8xf32>, tensor<3xi32>
}
