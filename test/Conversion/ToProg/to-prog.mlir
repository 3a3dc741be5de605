// RUN: moe-opt %s --convert-to-prog --split-input-file | FileCheck %s

module @kernels {
  func.func @double(%x: memref<?x64xf32, strided<[?, 1]>> {prog.access = "read"}, %y: memref<?x64xf32> {prog.access = "write"}) { return }
  func.func @scale(%w: memref<4xf32> {prog.access = "read"}, %x: memref<?x64xf32> {prog.access = "read"},
                   %y: memref<?x64xf32, strided<[?, 1]>> {prog.access = "write"}, %n: index) { return }
}
memref.global "private" constant @weights : memref<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]>

// CHECK-NOT: memref.global
// CHECK-LABEL: prog.program @layer(
// CHECK-SAME: %[[X:.*]]: memref<?x64xf32, strided<[?, 1]>>) attributes {input_names = ["x"], output_names = ["y"]} {
func.func @layer(%x: memref<?x64xf32, strided<[?, 1]>> {moe.name = "x"}) -> (memref<?x64xf32, strided<[?, 1]>> {moe.name = "y"}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  // CHECK: %[[M:.*]] = prog.dim %[[X]], 0 :
  %m = memref.dim %x, %c0 : memref<?x64xf32, strided<[?, 1]>>
  %m64 = arith.index_cast %m : index to i64
  // CHECK: %[[T:.*]] = prog.buffer(%[[M]]) : memref<?x64xf32>
  %t = memref.alloc(%m) {alignment = 64 : i64} : memref<?x64xf32>
  // CHECK: %[[Y:.*]] = prog.output 0(%[[M]]) : memref<?x64xf32, strided<[?, 1]>>
  %y0 = memref.alloc(%m) : memref<?x64xf32>
  %y = memref.cast %y0 : memref<?x64xf32> to memref<?x64xf32, strided<[?, 1]>>
  // CHECK: %[[W:.*]] = prog.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32> : memref<4xf32>
  %w = memref.get_global @weights : memref<4xf32>
  // CHECK: prog.memset %[[Y]], 0 :
  linalg.fill ins(%zero : f32) outs(%y : memref<?x64xf32, strided<[?, 1]>>)
  // CHECK: prog.launch @kernels::@double(%[[X]], %[[T]])
  prog.launch @kernels::@double(%x, %t) : memref<?x64xf32, strided<[?, 1]>>, memref<?x64xf32>
  // CHECK: prog.launch @kernels::@scale(%[[W]], %[[T]], %[[Y]], %[[M]]) : memref<4xf32>, memref<?x64xf32>, memref<?x64xf32, strided<[?, 1]>>, i64
  prog.launch @kernels::@scale(%w, %t, %y, %m64) : memref<4xf32>, memref<?x64xf32>, memref<?x64xf32, strided<[?, 1]>>, i64
  memref.dealloc %t : memref<?x64xf32>
  // CHECK: prog.return
  return %y : memref<?x64xf32, strided<[?, 1]>>
}

// -----

// Other names stay numbered; buffers are copied and filled.
// CHECK-LABEL: prog.program @copies(
// CHECK-SAME: %[[A:.*]]: memref<4xi32>, %[[B:.*]]: memref<4xi32>) attributes {input_names = ["in0", "ids"]} {
func.func @copies(%a: memref<4xi32>, %b: memref<4xi32> {moe.name = "ids"}) -> (memref<4xi32>, memref<4xbf16>) {
  // CHECK-DAG: %[[Y0:.*]] = prog.output 0() : memref<4xi32>
  // CHECK-DAG: %[[Y1:.*]] = prog.output 1() : memref<4xbf16>
  %y1 = memref.alloc() : memref<4xbf16>
  %y0 = memref.alloc() : memref<4xi32>
  // CHECK: prog.copy %[[A]], %[[Y0]] : memref<4xi32>, memref<4xi32>
  memref.copy %a, %y0 : memref<4xi32> to memref<4xi32>
  %minus = arith.constant -1 : i32
  // CHECK: prog.memset %[[Y0]], -1 : memref<4xi32>
  linalg.fill ins(%minus : i32) outs(%y0 : memref<4xi32>)
  %nan = arith.constant 0xFFFF : bf16
  // CHECK: prog.memset %[[Y1]], -1 : memref<4xbf16>
  linalg.map outs(%y1 : memref<4xbf16>) (%old: bf16) {
    linalg.yield %nan : bf16
  }
  return %y0, %y1 : memref<4xi32>, memref<4xbf16>
}

// -----

// Every kind of size.
// CHECK-LABEL: prog.program @sizes(
// CHECK-SAME: %[[A:.*]]: memref<?xf32>, %[[B:.*]]: memref<?xf32>)
func.func @sizes(%a: memref<?xf32>, %b: memref<?xf32>) -> memref<?x?x?x?x?x?xf32, strided<[?, ?, ?, ?, ?, 1]>> {
  %c0 = arith.constant 0 : index
  // CHECK-DAG: %[[M:.*]] = prog.dim %[[A]], 0
  // CHECK-DAG: %[[N:.*]] = prog.dim %[[B]], 0
  %m = memref.dim %a, %c0 : memref<?xf32>
  %n = memref.dim %b, %c0 : memref<?xf32>
  // CHECK-DAG: %[[ADD:.*]] = arith.addi %[[M]], %[[N]] : i64
  %add = arith.addi %m, %n : index
  // CHECK-DAG: %[[SUB:.*]] = arith.subi %[[M]], %[[N]] : i64
  %sub = arith.subi %m, %n : index
  // CHECK-DAG: %[[CEIL:.*]] = arith.ceildivsi %[[M]], %[[N]] : i64
  %ceil = arith.ceildivui %m, %n : index
  // CHECK-DAG: %[[ONE:.*]] = arith.constant 1 : i64
  // CHECK-DAG: %[[SUB1:.*]] = arith.addi %[[SUB2:.*]], %[[ONE]] : i64
  // CHECK-DAG: %[[FLOOR:.*]] = arith.ceildivsi %[[SUB1]], %[[N]] : i64
  %floor = arith.divui %m, %n : index
  // CHECK-DAG: %[[MAX:.*]] = arith.maxsi %[[M]], %[[N]] : i64
  %max = arith.maxsi %m, %n : index
  // CHECK-DAG: %[[MIN:.*]] = arith.minsi %[[M]], %[[N]] : i64
  %min = arith.minsi %m, %n : index
  // CHECK: prog.output 0(%[[ADD]], %[[SUB]], %[[CEIL]], %[[FLOOR]], %[[MAX]], %[[MIN]])
  %y = memref.alloc(%add, %sub, %ceil, %floor, %max, %min) : memref<?x?x?x?x?x?xf32>
  %s = memref.cast %y : memref<?x?x?x?x?x?xf32> to memref<?x?x?x?x?x?xf32, strided<[?, ?, ?, ?, ?, 1]>>
  return %s : memref<?x?x?x?x?x?xf32, strided<[?, ?, ?, ?, ?, 1]>>
}

// -----

// An assertion that two sizes are equal is checked by the runtime.
// CHECK-LABEL: prog.program @require(
// CHECK-SAME: %[[A:.*]]: memref<?xf32>, %[[B:.*]]: memref<?xf32>)
func.func @require(%a: memref<?xf32>, %b: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  // CHECK-DAG: %[[M:.*]] = prog.dim %[[A]], 0
  // CHECK-DAG: %[[N:.*]] = prog.dim %[[B]], 0
  %m = memref.dim %a, %c0 : memref<?xf32>
  %n = memref.dim %b, %c0 : memref<?xf32>
  // CHECK: %[[M2:.*]] = arith.muli %[[M]]
  %m2 = arith.muli %m, %c2 : index
  %equal = arith.cmpi eq, %m2, %n : index
  // CHECK: prog.require %[[N]] = %[[M2]]
  cf.assert %equal, "rows of b"
  return
}

// -----

// A cast that says less of a type passes the same buffer.
// CHECK-LABEL: prog.program @less(
module @kernels {
  func.func @fill(%y: memref<?xf32> {prog.access = "write"}) { return }
}
func.func @less() -> memref<4xf32> {
  // CHECK: %[[Y:.*]] = prog.output 0() : memref<4xf32>
  %y = memref.alloc() : memref<4xf32>
  %d = memref.cast %y : memref<4xf32> to memref<?xf32>
  // CHECK: prog.launch @kernels::@fill(%[[Y]]) : memref<4xf32>
  prog.launch @kernels::@fill(%d) : memref<?xf32>
  return %y : memref<4xf32>
}

// -----

// One that says more of an input makes the program ask for it; an assertion of the same is then no news.
// CHECK-LABEL: prog.program @more(
// CHECK-SAME: %[[X:.*]]: memref<4xf32>)
// CHECK-NOT: prog.require
module @kernels {
  func.func @read(%y: memref<4xf32> {prog.access = "read"}) { return }
}
func.func @more(%x: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %m = memref.dim %x, %c0 : memref<?xf32>
  %equal = arith.cmpi eq, %m, %c4 : index
  cf.assert %equal, "x has four elements"
  %s = memref.cast %x : memref<?xf32> to memref<4xf32>
  // CHECK: prog.launch @kernels::@read(%[[X]]) : memref<4xf32>
  prog.launch @kernels::@read(%s) : memref<4xf32>
  return
}
