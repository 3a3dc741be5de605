// RUN: moe-opt %s --convert-tile-to-cpu --canonicalize --cse | FileCheck %s

module @kernels {

// Group g begins at 3 g, and what comes after the row 3 (g + 1) is dropped.
func.func @blocks(%i: memref<?x2xi32>, %s: memref<8xi32>, %b: memref<8x2xi64>, %p: memref<24xi32>, %t: memref<24xi32>,
                  %v: memref<?x2xi32>, %d: memref<1xi64>) {
  tile.plan ids(%i : memref<?x2xi32>)
      outs(%s, %b, %p, %t, %v, %d : memref<8xi32>, memref<8x2xi64>, memref<24xi32>, memref<24xi32>, memref<?x2xi32>, memref<1xi64>)
      {equal_blocks}
  return
}
// CHECK-LABEL: func.func @blocks(
// CHECK: scf.for %[[G:.*]] = %c0 to %c8 step %c1 iter_args(%[[START:.*]] = %c0_i64,
// CHECK: %[[NUMBER:.*]] = arith.index_cast %[[G]] : index to i64
// CHECK: %[[NEXT:.*]] = arith.addi %[[NUMBER]], %c1_i64
// CHECK: %[[LIMIT:.*]] = arith.muli %[[NEXT]], %c3_i64
// CHECK: arith.subi %[[LIMIT]], %[[START]]
// CHECK: scf.yield %[[LIMIT]],
// CHECK: %[[LIMIT:.*]] = arith.muli %{{.*}}, %c3_i64
// CHECK: arith.cmpi slt, %{{.*}}, %[[LIMIT]]

// A counting sort whose counters are the bounds: no memory besides the outputs.
func.func @plan(%i: memref<?x2xi32>, %s: memref<8xi32>, %b: memref<8x2xi64>, %p: memref<?xi32>, %t: memref<?xi32>,
                %v: memref<?x2xi32>, %d: memref<1xi64>) {
  tile.plan ids(%i : memref<?x2xi32>)
      outs(%s, %b, %p, %t, %v, %d : memref<8xi32>, memref<8x2xi64>, memref<?xi32>, memref<?xi32>, memref<?x2xi32>, memref<1xi64>)
  return
}
// CHECK-LABEL: func.func @plan.tasks(
// CHECK: return %c1 : index
// CHECK-LABEL: func.func @plan(
// CHECK-SAME: %{{.*}}: !llvm.ptr, %[[I:.*]]: memref<?x2xi32>, %[[S:.*]]: memref<8xi32>, %[[B:.*]]: memref<8x2xi64>, %[[P:.*]]: memref<?xi32>, %[[T:.*]]: memref<?xi32>, %[[V:.*]]: memref<?x2xi32>, %[[D:.*]]: memref<1xi64>,
// CHECK-NOT: memref.alloca
// Count.
// CHECK: %[[ID:.*]] = arith.extsi %{{.*}} : i32 to i64
// CHECK: %[[GOOD:.*]] = arith.cmpi ult, %[[ID]], %c8_i64
// CHECK: scf.if %[[GOOD]]
// CHECK: memref.store %{{.*}}, %[[B]]
// CHECK: } else {
// CHECK: arith.cmpi ne, %[[ID]], %c-1_i64
// CHECK: llvm.call
// Scan: rows of no group are -1 in both outputs that have rows.
// CHECK: scf.for %[[G:.*]] = %c0 to %c8 step %c1 iter_args
// CHECK: memref.store %{{.*}}, %[[S]][%[[G]]]
// CHECK: scf.for
// CHECK: memref.store %c-1_i32, %[[P]]
// CHECK: memref.store %c-1_i32, %[[T]]
// CHECK: scf.for
// CHECK: memref.store %c-1_i32, %[[P]]
// CHECK: memref.store %c-1_i32, %[[T]]
// CHECK: memref.store %{{.*}}, %[[D]]
// Place: while the row is below the capacity.
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %[[ROW:.*]] = memref.load %[[B]]
// CHECK: %[[FITS:.*]] = arith.cmpi slt, %[[ROW]]
// CHECK: scf.if %[[FITS]]
// CHECK: memref.store %{{.*}}, %[[P]]
// CHECK: memref.store %{{.*}}, %[[T]]
// CHECK: memref.store %{{.*}}, %[[V]]
// CHECK: memref.store %{{.*}}, %[[B]]
// CHECK: } else {
// CHECK: memref.store %c-1_i32, %[[V]]
// CHECK: llvm.call
// CHECK: return
}
