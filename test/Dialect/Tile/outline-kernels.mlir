// RUN: moe-opt %s -split-input-file --tile-outline-kernels --verify-diagnostics | FileCheck %s

// Memrefs come first and index scalars last, as i64; outs are written, or read too when accumulating.
// CHECK-LABEL: func @layer
// CHECK-SAME: (%[[S:.*]]: memref<4xi32>, %[[M:.*]]: index, %[[X:.*]]: memref<?x8xf32, strided<[?, 1]>>, %[[DY:.*]]: memref<?x16xf32>, %[[DW:.*]]: memref<4x8x16xf32>)
func.func @layer(%s: memref<4xi32>, %m: index, %x: memref<?x8xf32, strided<[?, 1]>>, %dy: memref<?x16xf32>, %dw: memref<4x8x16xf32>) {
  // CHECK-NEXT: %[[B:.*]] = memref.alloc()
  %b = memref.alloc() : memref<4x2xi64>
  // CHECK-NEXT: %[[M64:.*]] = arith.index_cast %[[M]] : index to i64
  // CHECK: prog.launch @kernels::@layer_0_offsets(%[[S]], %[[B]], %[[M64]]) flops(%{{.*}}) bytes(%{{.*}}) {bounds = 1 : i64} : memref<4xi32>, memref<4x2xi64>, i64
  tile.offsets sizes(%s : memref<4xi32>) rows(%m) outs(%b : memref<4x2xi64>)
  // CHECK: prog.launch @kernels::@layer_1_ragged_gemm(%[[X]], %[[DY]], %[[B]], %[[DW]])
  tile.ragged_gemm lhs(%x : memref<?x8xf32, strided<[?, 1]>>) rhs(%dy : memref<?x16xf32>) bounds(%b : memref<4x2xi64>)
      outs(%dw : memref<4x8x16xf32>) attributes {mode = #tile.mode<contraction>, accumulate} {
  ^bb0(%acc: f32, %old: f32):
    %0 = arith.addf %acc, %old : f32
    tile.yield %0 : f32
  }
  // A memref used twice becomes two arguments.
  // CHECK: prog.launch @kernels::@layer_2_rows(%[[DY]], %[[DY]], %[[DY]])
  tile.rows ins(%dy, %dy : memref<?x16xf32>, memref<?x16xf32>) outs(%dy : memref<?x16xf32>) {
  ^bb0(%r: index, %p: memref<?x16xf32>, %q: memref<?x16xf32>):
    %0 = tile.load %p[%r] : memref<?x16xf32> -> vector<16xf32>
    %1 = tile.load %q[%r] : memref<?x16xf32> -> vector<16xf32>
    %2 = arith.mulf %0, %1 : vector<16xf32>
    tile.yield %2 : vector<16xf32>
  }
  // CHECK-NEXT: return
  return
}

// CHECK: module @kernels
// CHECK: func.func @layer_0_offsets(%[[S:.*]]: memref<4xi32> {prog.access = "read"}, %[[B:.*]]: memref<4x2xi64> {prog.access = "write"}, %[[M:.*]]: index) {
// CHECK-NEXT: tile.offsets sizes(%[[S]] : memref<4xi32>) rows(%[[M]]) outs(%[[B]] : memref<4x2xi64>)
// CHECK-NEXT: return
// CHECK: func.func @layer_1_ragged_gemm(%{{.*}}: memref<?x8xf32, strided<[?, 1]>> {prog.access = "read"}, %{{.*}}: memref<?x16xf32> {prog.access = "read"}, %{{.*}}: memref<4x2xi64> {prog.access = "read"}, %{{.*}}: memref<4x8x16xf32> {prog.access = "readwrite"})
// CHECK: tile.ragged_gemm
// CHECK: func.func @layer_2_rows(%[[P:.*]]: memref<?x16xf32> {prog.access = "read"}, %[[Q:.*]]: memref<?x16xf32> {prog.access = "read"}, %[[O:.*]]: memref<?x16xf32> {prog.access = "write"})
// CHECK-NEXT: tile.rows ins(%[[P]], %[[Q]] : memref<?x16xf32>, memref<?x16xf32>) outs(%[[O]] : memref<?x16xf32>)

// -----

// Equal ops share one kernel, in one function and across functions; another type or body does not.
// CHECK-LABEL: func @a
func.func @a(%x: memref<?x8xf32>, %y: memref<?x8xf32>, %z: memref<?x8xf32, strided<[?, 1]>>) {
  // CHECK: prog.launch @kernels::@a_0_rows(
  tile.rows ins(%x : memref<?x8xf32>) outs(%y : memref<?x8xf32>) {
  ^bb0(%r: index, %p: memref<?x8xf32>):
    %0 = tile.load %p[%r] : memref<?x8xf32> -> vector<8xf32>
    %1 = arith.negf %0 : vector<8xf32>
    tile.yield %1 : vector<8xf32>
  }
  // CHECK: prog.launch @kernels::@a_1_rows(
  tile.rows ins(%x : memref<?x8xf32>) outs(%z : memref<?x8xf32, strided<[?, 1]>>) {
  ^bb0(%r: index, %p: memref<?x8xf32>):
    %0 = tile.load %p[%r] : memref<?x8xf32> -> vector<8xf32>
    %1 = arith.negf %0 : vector<8xf32>
    tile.yield %1 : vector<8xf32>
  }
  // CHECK: prog.launch @kernels::@a_2_rows(
  tile.rows ins(%x : memref<?x8xf32>) outs(%y : memref<?x8xf32>) {
  ^bb0(%r: index, %p: memref<?x8xf32>):
    %0 = tile.load %p[%r] : memref<?x8xf32> -> vector<8xf32>
    %1 = arith.addf %0, %0 : vector<8xf32>
    tile.yield %1 : vector<8xf32>
  }
  return
}
// CHECK-LABEL: func @b
func.func @b(%x: memref<?x8xf32>) {
  // CHECK: prog.launch @kernels::@a_0_rows(%[[X:.*]], %[[X]])
  tile.rows ins(%x : memref<?x8xf32>) outs(%x : memref<?x8xf32>) {
  ^bb0(%r: index, %p: memref<?x8xf32>):
    %0 = tile.load %p[%r] : memref<?x8xf32> -> vector<8xf32>
    %1 = arith.negf %0 : vector<8xf32>
    tile.yield %1 : vector<8xf32>
  }
  return
}
// CHECK: module @kernels
// CHECK: func.func @a_0_rows
// CHECK: func.func @a_1_rows
// CHECK: func.func @a_2_rows
// CHECK-NOT: func.func

// -----

// A function without kernels stays as it is, and no module is made.
// CHECK-LABEL: func @nothing
// CHECK-NOT: module @kernels
func.func @nothing(%x: memref<4xf32>) {
  return
}

// -----

func.func @tensors(%s: tensor<4xi32>, %m: index, %init: tensor<4x2xi64>) -> tensor<4x2xi64> {
  // expected-error @+1 {{'tile.offsets' op operand #0 is 'tensor<4xi32>', expected a memref: bufferize before outlining kernels}}
  %b = tile.offsets sizes(%s : tensor<4xi32>) rows(%m) outs(%init : tensor<4x2xi64>) -> tensor<4x2xi64>
  return %b : tensor<4x2xi64>
}

// -----

// expected-error @+1 {{'func.func' is called 'kernels', expected another name: the module of kernels has that one}}
func.func @kernels(%s: memref<4xi32>, %m: index, %out: memref<4x2xi64>) {
  tile.offsets sizes(%s : memref<4xi32>) rows(%m) outs(%out : memref<4x2xi64>)
  return
}
