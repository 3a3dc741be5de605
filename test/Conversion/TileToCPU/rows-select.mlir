// RUN: moe-opt %s --convert-tile-to-cpu="lanes=16 registers=32" --canonicalize --cse | FileCheck %s

module @kernels {

// Scores become keys on the stack: order above, falling column below; NaN (0x80000001) ranks below -inf. Each choice is
// the largest key below the one before.
func.func @select(%x: memref<?x64xf32>, %i: memref<?x4xi32>, %v: memref<?x4xf32>) {
  tile.rows ins(%x : memref<?x64xf32>) outs(%i, %v : memref<?x4xi32>, memref<?x4xf32>) {
  ^bb0(%r: index, %xs: memref<?x64xf32>):
    %row = tile.load %xs[%r] : memref<?x64xf32> -> vector<64xf32>
    %id = tile.select %row : vector<64xf32> -> vector<4xi32>
    %value = tile.lookup %row[%id] : vector<64xf32>, vector<4xi32> -> vector<4xf32>
    tile.yield %id, %value : vector<4xi32>, vector<4xf32>
  }
  return
}
// CHECK-LABEL: func.func @select(
// CHECK-DAG: %[[KEYS:.*]] = memref.alloca() {alignment = 64 : i64} : memref<64xi64>
// CHECK-DAG: %[[IDS:.*]] = memref.alloca() {alignment = 64 : i64} : memref<4xi32>
// CHECK-DAG: arith.constant dense<-2147483647> : vector<64xi32>
// CHECK: scf.for
// CHECK: arith.cmpf uno
// CHECK: arith.extsi %{{.*}} : vector<64xi32> to vector<64xi64>
// CHECK: vector.store %{{.*}}, %[[KEYS]]
// CHECK: scf.for %[[J:.*]] = %c0 to %c4 step %c1 iter_args(%[[BOUND:.*]] = %c9223372036854775807_i64)
// CHECK: vector.load %[[KEYS]]
// CHECK: vector.broadcast %[[BOUND]]
// CHECK: arith.cmpi slt
// CHECK: %[[KEY:.*]] = vector.reduction <maxsi>
// CHECK: memref.store %{{.*}}, %[[IDS]][%[[J]]]
// CHECK: scf.yield %[[KEY]]
// The scores looked up are read from the row in memory; ids of a selection need no clamping.
// CHECK-NOT: arith.minui
// CHECK: vector.gather

// With groups, the keys of all but the best groups are overwritten first.
func.func @groups(%x: memref<?x64xf32>, %i: memref<?x4xi32>) {
  tile.rows ins(%x : memref<?x64xf32>) outs(%i : memref<?x4xi32>) {
  ^bb0(%r: index, %xs: memref<?x64xf32>):
    %row = tile.load %xs[%r] : memref<?x64xf32> -> vector<64xf32>
    %id = tile.select %row {groups = 8 : i64, keep_groups = 3 : i64, group_top = 2 : i64, nan = #tile.nan<first>} : vector<64xf32> -> vector<4xi32>
    tile.yield %id : vector<4xi32>
  }
  return
}
// CHECK-LABEL: func.func @groups(
// CHECK: %[[KEYS:.*]] = memref.alloca() {{.*}} : memref<64xi64>
// CHECK: %[[SUMS:.*]] = memref.alloca() {{.*}} : memref<8xf32>
// CHECK: %[[GROUPS:.*]] = memref.alloca() {{.*}} : memref<8xi64>
// CHECK: scf.for %[[G:.*]] = %c0 to %c8 step %c1 {
// CHECK: %[[SUM:.*]]:2 = scf.for {{.*}} to %c2 step
// CHECK: memref.store %[[SUM]]#1, %[[SUMS]][%[[G]]]
// CHECK: vector.store %{{.*}}, %[[GROUPS]]
// CHECK: %[[WORST:.*]] = scf.for {{.*}} to %c3 step
// CHECK: scf.for %[[H:.*]] = %c0 to %c8 step %c1 {
// CHECK: %[[KEY:.*]] = memref.load %[[GROUPS]][%[[H]]]
// CHECK: %[[OUT:.*]] = arith.cmpi slt, %[[KEY]], %[[WORST]]
// CHECK: scf.if %[[OUT]]
// CHECK: vector.store %{{.*}}, %[[KEYS]]
// CHECK: scf.for {{.*}} to %c4 step

// A computed row is stored once for the lookup, and foreign ids are kept within it.
func.func @lookup(%x: memref<?x64xf32>, %i: memref<?x4xi32>, %v: memref<?x4xf32>) {
  tile.rows ins(%x, %i : memref<?x64xf32>, memref<?x4xi32>) outs(%v : memref<?x4xf32>) {
  ^bb0(%r: index, %xs: memref<?x64xf32>, %is: memref<?x4xi32>):
    %row = tile.load %xs[%r] : memref<?x64xf32> -> vector<64xf32>
    %neg = arith.negf %row : vector<64xf32>
    %id = tile.load %is[%r] : memref<?x4xi32> -> vector<4xi32>
    %value = tile.lookup %neg[%id] : vector<64xf32>, vector<4xi32> -> vector<4xf32>
    tile.yield %value : vector<4xf32>
  }
  return
}
// CHECK-LABEL: func.func @lookup(
// CHECK: %[[NEG:.*]] = arith.negf
// CHECK: vector.store %[[NEG]], %[[ROW:[a-z0-9_]+]][%c0] : memref<64xf32>
// CHECK: %[[ID:.*]] = arith.minui %{{.*}}, %{{.*}} : vector<4xi32>
// CHECK: vector.gather %[[ROW]][%c0] [%[[ID]]]
}
