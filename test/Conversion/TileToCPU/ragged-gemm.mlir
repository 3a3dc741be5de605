// RUN: moe-opt %s --convert-tile-to-cpu="lanes=16 registers=32" --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,V4
// RUN: moe-opt %s --convert-tile-to-cpu="lanes=8 registers=16" --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,V3

module @kernels {

// The kernel keeps the name and gets a context and a range of tasks; another function counts the tasks.
// Panels of A are 14 rows (AVX-512) or 6 rows (AVX2) high and take whole vectors; panels of B are two vectors wide.
func.func @rows(%x: memref<?x64xf32, strided<[?, 1]>>, %w: memref<8x64x48xf32>, %b: memref<8x2xi64>, %y: memref<?x48xf32, strided<[?, 1]>>) {
  tile.ragged_gemm lhs(%x : memref<?x64xf32, strided<[?, 1]>>) rhs(%w : memref<8x64x48xf32>) bounds(%b : memref<8x2xi64>)
      outs(%y : memref<?x48xf32, strided<[?, 1]>>) {
  ^bb0(%a: f32):
    tile.yield %a : f32
  }
  return
}
// CHECK-LABEL: func.func @rows.tasks(
// CHECK-SAME: %[[X:.*]]: memref<?x64xf32, strided<[?, 1]>>, %{{.*}}: memref<8x64x48xf32>, %[[B:.*]]: memref<8x2xi64>, %[[Y:.*]]: memref<?x48xf32, strided<[?, 1]>>) -> index {
// CHECK: memref.dim %[[Y]], %c0
// CHECK: scf.for %[[G:.*]] = %c0 to %c8 step %c1
// CHECK: memref.load %[[B]][%[[G]], %c0]
// CHECK: memref.load %[[B]][%[[G]], %c1]

// CHECK-LABEL: func.func @rows(
// CHECK-SAME: %{{.*}}: !llvm.ptr, %[[X:.*]]: memref<?x64xf32, strided<[?, 1]>>, %[[W:.*]]: memref<8x64x48xf32>, %[[B:.*]]: memref<8x2xi64>, %[[Y:.*]]: memref<?x48xf32, strided<[?, 1]>>, %{{.*}}: index, %{{.*}}: index) {
// V4: memref.alloca() {alignment = 64 : i64} : memref<18x64x16xf32>
// V4: memref.alloca() {alignment = 64 : i64} : memref<2x64x32xf32>
// V4: memref.alloca() {alignment = 64 : i64} : memref<252x64xf32>
// V3: memref.alloca() {alignment = 64 : i64} : memref<42x64x8xf32>
// V3: memref.alloca() {alignment = 64 : i64} : memref<3x64x16xf32>
// V3: memref.alloca() {alignment = 64 : i64} : memref<252x48xf32>
// Rows between groups become zero; lhs is not read for them.
// CHECK: scf.for %[[GROUP:.*]] = %c0 to %c8 step %c1
// CHECK-NOT: vector.load %[[X]]
// CHECK: vector.store %cst{{.*}}, %[[Y]]
// CHECK: vector.load %[[X]]
// CHECK: vector.load %[[W]][%[[GROUP]],
// One fused multiply-add for each row and vector of a panel, and nothing else between them in the loop.
// V4-COUNT-28: vector.fma {{.*}} : vector<16xf32>
// V3-COUNT-12: vector.fma {{.*}} : vector<8xf32>
// CHECK-NOT: vector.fma
// CHECK: scf.yield
// A width of whole vectors needs no masks.
// CHECK-NOT: maskedstore
// CHECK: vector.store %{{.*}}, %[[Y]]
// CHECK: return

// Gathered rows, bf16 operands widened on their way into panels, transposed weights, a masked last vector.
func.func @gather(%x: memref<?x64xbf16>, %i: memref<?xi32>, %w: memref<4x20x64xbf16>, %b: memref<8x2xi64>, %y: memref<?x20xbf16>) {
  tile.ragged_gemm lhs(%x : memref<?x64xbf16>) gather(%i : memref<?xi32>) rhs(%w : memref<4x20x64xbf16>) bounds(%b : memref<8x2xi64>)
      outs(%y : memref<?x20xbf16>) attributes {layout = #tile.rhs<nk>, group_offset = 3 : i64} {
  ^bb0(%a: f32):
    %t = arith.truncf %a : f32 to bf16
    tile.yield %t : bf16
  }
  return
}
// CHECK-LABEL: func.func @gather.tasks(
// CHECK: scf.for %[[G:.*]] = %c0 to %c4
// CHECK: %[[ENTRY:.*]] = arith.addi %[[G]], %c3
// CHECK: memref.load %{{.*}}[%[[ENTRY]], %c0] : memref<8x2xi64>
// CHECK-LABEL: func.func @gather(
// CHECK-SAME: !llvm.ptr, %[[X:.*]]: memref<?x64xbf16>, %[[I:.*]]: memref<?xi32>, %[[W:.*]]: memref<4x20x64xbf16>, %{{.*}}: memref<8x2xi64>, %[[Y:.*]]: memref<?x20xbf16>,
// CHECK: %[[INDEX:.*]] = memref.load %[[I]]
// CHECK: %[[ROW:.*]] = arith.index_cast %[[INDEX]] : i32 to index
// CHECK: arith.cmpi slt, %[[ROW]], %c0
// CHECK: %[[V:.*]] = vector.load %[[X]][%[[ROW]],
// CHECK: arith.extf %[[V]]
// CHECK: vector.shuffle
// CHECK: %[[V:.*]] = vector.load %[[W]]
// CHECK: arith.extf %[[V]]
// CHECK: vector.shuffle
// CHECK: vector.store %{{.*}}, %[[Y]]
// CHECK: %[[MASK:.*]] = vector.create_mask
// CHECK: vector.maskedstore %[[Y]][{{.*}}], %[[MASK]], %{{.*}}

// Gate and up columns lie side by side in the packed block; the epilogue runs on vectors, extras are read once a row
// (row, slot), by group and column, or by element.
func.func @epilogue(%x: memref<?x16xf32>, %w: memref<4x16x64xf32>, %b: memref<4x2xi64>, %s: memref<?xi32>, %r: memref<?xf32>, %p: memref<?x2xf32>,
                    %bias: memref<4x64xf32>, %e: memref<?x32xf32>, %y: memref<?x32xf32>) {
  tile.ragged_gemm lhs(%x : memref<?x16xf32>) rhs(%w : memref<4x16x64xf32>) bounds(%b : memref<4x2xi64>) slots(%s : memref<?xi32>)
      extras(%r, %p, %bias, %e : memref<?xf32>, memref<?x2xf32>, memref<4x64xf32>, memref<?x32xf32>) outs(%y : memref<?x32xf32>)
      attributes {accs = #tile.accs<concatenated>, accumulate,
                  extra_kinds = [#tile.extra<row>, #tile.extra<slot>, #tile.extra<group>, #tile.extra<elem>]} {
  ^bb0(%gate: f32, %up: f32, %row: f32, %slot: f32, %b0: f32, %b1: f32, %elem: f32, %old: f32):
    %0 = arith.addf %gate, %b0 : f32
    %1 = arith.addf %up, %b1 : f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.mulf %2, %row : f32
    %4 = arith.mulf %3, %slot : f32
    %5 = arith.addf %4, %elem : f32
    %6 = arith.addf %5, %old : f32
    tile.yield %6 : f32
  }
  return
}
// CHECK-LABEL: func.func @epilogue(
// CHECK-SAME: %[[S:[^:]*]]: memref<?xi32>, %[[R:[^:]*]]: memref<?xf32>, %[[P:[^:]*]]: memref<?x2xf32>, %[[BIAS:[^:]*]]: memref<4x64xf32>, %[[E:[^:]*]]: memref<?x32xf32>, %[[Y:[^:]*]]: memref<?x32xf32>
// CHECK: memref.load %[[R]]
// CHECK: memref.load %[[S]]
// CHECK: memref.load %[[P]]
// CHECK: vector.load %[[BIAS]][%{{.*}}, %[[COLUMN:.*]]]
// CHECK: %[[UP:.*]] = arith.addi %[[COLUMN]], %c32
// CHECK: vector.load %[[BIAS]][%{{.*}}, %[[UP]]]
// CHECK: vector.load %[[E]]
// CHECK: vector.load %[[Y]]
// V4-COUNT-3: arith.mulf {{.*}} : vector<16xf32>
// V3-COUNT-3: arith.mulf {{.*}} : vector<8xf32>
// CHECK: vector.store %{{.*}}, %[[Y]]

// Ragged contraction: tasks do not depend on the rows, and an empty group still stores.
func.func @contraction(%x: memref<?x32xf32>, %w: memref<?x64xf32>, %b: memref<5x2xi64>, %y: memref<5x32x64xf32>) {
  tile.ragged_gemm lhs(%x : memref<?x32xf32>) rhs(%w : memref<?x64xf32>) bounds(%b : memref<5x2xi64>) outs(%y : memref<5x32x64xf32>)
      attributes {mode = #tile.mode<contraction>} {
  ^bb0(%a: f32):
    tile.yield %a : f32
  }
  return
}
// CHECK-LABEL: func.func @contraction.tasks(
// CHECK: return %c5 : index

// A sum of rows is a product with a column of ones: panels of A are one row high.
func.func @sum(%w: memref<?x64xf32>, %b: memref<5x2xi64>, %y: memref<5x64xf32>) {
  tile.ragged_gemm rhs(%w : memref<?x64xf32>) bounds(%b : memref<5x2xi64>) outs(%y : memref<5x64xf32>) attributes {mode = #tile.mode<contraction>} {
  ^bb0(%a: f32):
    tile.yield %a : f32
  }
  return
}
// CHECK-LABEL: func.func @sum(
// CHECK: memref.store %cst{{.*}}, %{{.*}} : memref<1x256x{{16|8}}xf32>
// V4-COUNT-2: vector.fma {{.*}} : vector<16xf32>
// V3-COUNT-2: vector.fma {{.*}} : vector<8xf32>
// CHECK-NOT: vector.fma
// CHECK: vector.store %{{.*}}, %{{.*}} : memref<5x64xf32>

// One task for each group and block of rows of a batch.
func.func @batch(%x: memref<3x?x16xf32>, %w: memref<3x16x32xf32>, %y: memref<3x?x32xf32>) {
  tile.ragged_gemm lhs(%x : memref<3x?x16xf32>) rhs(%w : memref<3x16x32xf32>) outs(%y : memref<3x?x32xf32>) {
  ^bb0(%a: f32):
    tile.yield %a : f32
  }
  return
}
// CHECK-LABEL: func.func @batch.tasks(
// CHECK: memref.dim %{{.*}}, %c1
// CHECK: scf.for {{.*}} = %c0 to %c3
}
