// RUN: moe-opt %s --convert-tile-to-cpu --canonicalize --cse | FileCheck %s

module @kernels {

// One task. A size is compared unsigned with the rows left, reported, and clamped before it is added.
func.func @offsets(%s: memref<6xi32>, %b: memref<6x2xi64>, %m: index) {
  tile.offsets sizes(%s : memref<6xi32>) rows(%m) outs(%b : memref<6x2xi64>)
  return
}
// CHECK-LABEL: func.func @offsets.tasks(
// CHECK: return %c1 : index
// CHECK-LABEL: func.func @offsets(
// CHECK-SAME: %[[CONTEXT:.*]]: !llvm.ptr, %[[S:.*]]: memref<6xi32>, %[[B:.*]]: memref<6x2xi64>, %[[M:.*]]: index, %{{.*}}: index, %{{.*}}: index) {
// CHECK-DAG: %[[CAST:.*]] = arith.index_cast %[[M]] : index to i64
// CHECK: %[[ROWS:.*]] = arith.maxsi %[[CAST]], %c0_i64
// CHECK: scf.for %[[G:.*]] = %c0 to %c6 step %c1 iter_args(%[[START:.*]] = %c0_i64)
// CHECK: %[[NARROW:.*]] = memref.load %[[S]][%[[G]]]
// CHECK: %[[SIZE:.*]] = arith.extsi %[[NARROW]] : i32 to i64
// CHECK: %[[LEFT:.*]] = arith.subi %[[ROWS]], %[[START]]
// CHECK: %[[BAD:.*]] = arith.cmpi ugt, %[[SIZE]], %[[LEFT]]
// CHECK: scf.if %[[BAD]] {
// CHECK: llvm.call %{{.*}}(%[[CONTEXT]], %{{.*}}, %{{.*}}, %[[SIZE]], %[[LEFT]])
// CHECK: %[[POSITIVE:.*]] = arith.maxsi %[[SIZE]], %c0_i64
// CHECK: %[[KEPT:.*]] = arith.minsi %[[POSITIVE]], %[[LEFT]]
// CHECK: %[[END:.*]] = arith.addi %[[START]], %[[KEPT]]
// CHECK: memref.store %[[START]], %[[B]][%[[G]], %c0]
// CHECK: memref.store %[[END]], %[[B]][%[[G]], %c1]
// CHECK: scf.yield %[[END]] : i64

// The next group starts at a multiple of align, or at the last row.
func.func @aligned(%s: memref<6xi64>, %b: memref<6x2xi64>, %m: index) {
  tile.offsets sizes(%s : memref<6xi64>) rows(%m) outs(%b : memref<6x2xi64>) {align = 8 : i64}
  return
}
// CHECK-LABEL: func.func @aligned(
// CHECK: %[[OVER:.*]] = arith.remui %{{.*}}, %c8_i64
// CHECK: %[[NONE:.*]] = arith.cmpi eq, %[[OVER]], %c0_i64
// CHECK: %[[MISSING:.*]] = arith.subi %c8_i64, %[[OVER]]
// CHECK: %[[PAD:.*]] = arith.select %[[NONE]], %c0_i64, %[[MISSING]]
// CHECK: %[[LEFT:.*]] = arith.subi %{{.*}}, %[[END:.*]] : i64
// CHECK: %[[CUT:.*]] = arith.minsi %[[PAD]], %[[LEFT]]
// CHECK: %[[NEXT:.*]] = arith.addi %[[END]], %[[CUT]]
// CHECK: scf.yield %[[NEXT]]
}
