// RUN: moe-opt %s | moe-opt | FileCheck %s
// RUN: moe-opt %s --mlir-print-op-generic | moe-opt | FileCheck %s

module @kernels {
  func.func private @double(memref<?x64xf32, strided<[?, 1]>> {prog.access = "read"}, memref<?x64xf32> {prog.access = "write"})
  func.func private @scale(memref<4xf32> {prog.access = "read"}, memref<?x64xf32, strided<[?, 1]>> {prog.access = "readwrite"}, index)
  func.func private @bounds(memref<5x2xi64> {prog.access = "write"})
}

// CHECK-LABEL: prog.program @layer(%{{.*}}: memref<?x64xf32, strided<[?, 1]>>)
// CHECK-SAME:  attributes {input_names = ["x"], output_names = ["y"]} {
prog.program @layer(%x: memref<?x64xf32, strided<[?, 1]>>) attributes {input_names = ["x"], output_names = ["y"]} {
  // CHECK-DAG: %[[C2:.*]] = arith.constant 2 : i64
  %c2 = arith.constant 2 : i64
  %c0 = arith.constant 0 : i64
  // CHECK: %[[M:.*]] = prog.dim %{{.*}}, 0 : memref<?x64xf32, strided<[?, 1]>>
  %m = prog.dim %x, 0 : memref<?x64xf32, strided<[?, 1]>>
  // CHECK: prog.require %[[M]] = %[[C2]]
  prog.require %m = %c2
  // CHECK: %[[M2:.*]] = arith.muli %[[M]], %[[C2]] : i64
  %m2 = arith.muli %m, %c2 : i64
  %c256 = arith.constant 256 : i64
  %bytes = arith.muli %m2, %c256 : i64
  // CHECK: prog.output 0(%[[M2]]) : memref<?x64xf32, strided<[?, 1]>>
  %y = prog.output 0 (%m2) : memref<?x64xf32, strided<[?, 1]>>
  // CHECK: prog.buffer(%[[M2]]) at %{{.*}} : memref<?x64xf32>
  %t = prog.buffer (%m2) at %c0 : memref<?x64xf32>
  // CHECK: prog.buffer() : memref<4xf32>
  %u = prog.buffer () : memref<4xf32>
  // CHECK: prog.constant dense<{{.*}}> : tensor<4xf32> : memref<4xf32>
  %c = prog.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32> : memref<4xf32>
  // CHECK: prog.memset %{{.*}}, 0 : memref<?x64xf32>
  prog.memset %t, 0 : memref<?x64xf32>
  // CHECK: prog.launch @kernels::@double(%{{.*}}, %{{.*}}) : memref<?x64xf32, strided<[?, 1]>>, memref<?x64xf32>
  prog.launch @kernels::@double(%x, %t) : memref<?x64xf32, strided<[?, 1]>>, memref<?x64xf32>
  // CHECK: prog.copy %{{.*}}, %{{.*}} : memref<?x64xf32>, memref<?x64xf32, strided<[?, 1]>>
  prog.copy %t, %y : memref<?x64xf32>, memref<?x64xf32, strided<[?, 1]>>
  // CHECK: prog.wait
  prog.wait
  // CHECK: prog.launch @kernels::@scale(%{{.*}}, %{{.*}}, %[[M]]) : memref<4xf32>, memref<?x64xf32, strided<[?, 1]>>, i64
  prog.launch @kernels::@scale(%c, %y, %m) : memref<4xf32>, memref<?x64xf32, strided<[?, 1]>>, i64
  // CHECK: prog.launch @kernels::@scale(%{{.*}}, %{{.*}}, %[[M]]) flops(%[[M2]]) bytes(%{{.*}}) : memref<4xf32>
  prog.launch @kernels::@scale(%c, %y, %m) flops(%m2) bytes(%bytes) : memref<4xf32>, memref<?x64xf32, strided<[?, 1]>>, i64
  // CHECK: prog.launch @kernels::@bounds(%{{.*}}) bytes(%{{.*}}) {bounds = 0 : i64} : memref<5x2xi64>
  %b = prog.buffer () : memref<5x2xi64>
  prog.launch @kernels::@bounds(%b) bytes(%bytes) {bounds = 0 : i64} : memref<5x2xi64>
  // CHECK: prog.return arena(%{{.*}})
  prog.return arena(%bytes)
}

// CHECK-LABEL: prog.program @nothing() {
// CHECK-NEXT:    prog.return
prog.program @nothing() {
  prog.return
}
