// One-shot bufferization of the kernel ops: outs are written in place and not read, the body's tensors become memrefs.
// RUN: moe-opt %s -split-input-file --one-shot-bufferize="bufferize-function-boundaries=1 function-boundary-type-conversion=fully-dynamic-layout-map" --canonicalize | FileCheck %s

// CHECK-LABEL: func @rows
// CHECK-SAME: %[[X:.*]]: memref<?x64xbf16, strided<[?, ?], offset: ?>>, %[[W:.*]]: memref<?xf32, strided<[?], offset: ?>>
func.func @rows(%x: tensor<?x64xbf16>, %w: tensor<?xf32>) -> tensor<?x64xbf16> {
  %c0 = arith.constant 0 : index
  // CHECK: %[[M:.*]] = memref.dim %[[X]]
  %m = tensor.dim %x, %c0 : tensor<?x64xbf16>
  // CHECK: %[[OUT:.*]] = memref.alloc(%[[M]]) {{.*}}: memref<?x64xbf16>
  %init = tensor.empty(%m) : tensor<?x64xbf16>
  // CHECK-NEXT: tile.rows ins(%[[X]], %[[W]] : memref<?x64xbf16, strided<[?, ?], offset: ?>>, memref<?xf32, strided<[?], offset: ?>>) outs(%[[OUT]] : memref<?x64xbf16>) {
  // CHECK-NEXT: ^bb0(%[[R:.*]]: index, %[[XS:.*]]: memref<?x64xbf16, strided<[?, ?], offset: ?>>, %[[WS:.*]]: memref<?xf32, strided<[?], offset: ?>>):
  // CHECK-NEXT: tile.load %[[XS]][%[[R]]] : memref<?x64xbf16, strided<[?, ?], offset: ?>> -> vector<64xbf16>
  // CHECK: tile.load %[[WS]][%[[R]]] : memref<?xf32, strided<[?], offset: ?>> -> f32
  %o = tile.rows ins(%x, %w : tensor<?x64xbf16>, tensor<?xf32>) outs(%init : tensor<?x64xbf16>) {
  ^bb0(%r: index, %xs: tensor<?x64xbf16>, %ws: tensor<?xf32>):
    %row = tile.load %xs[%r] : tensor<?x64xbf16> -> vector<64xbf16>
    %f = arith.extf %row : vector<64xbf16> to vector<64xf32>
    %s = tile.load %ws[%r] : tensor<?xf32> -> f32
    %b = vector.broadcast %s : f32 to vector<64xf32>
    %p = arith.mulf %f, %b : vector<64xf32>
    %t = arith.truncf %p : vector<64xf32> to vector<64xbf16>
    tile.yield %t : vector<64xbf16>
  } -> tensor<?x64xbf16>
  // CHECK: return %{{.*}} : memref<?x64xbf16
  return %o : tensor<?x64xbf16>
}

// -----

// The input is read again after the op: its buffer must not become the out's.
// CHECK-LABEL: func @ins_kept
// CHECK-SAME: %[[X:.*]]: memref<4x8xf32,
func.func @ins_kept(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  // CHECK: %[[OUT:.*]] = memref.alloc()
  // CHECK-NOT: memref.copy
  // CHECK: tile.rows ins(%[[X]] : {{.*}}) outs(%[[OUT]] : memref<4x8xf32>)
  %o = tile.rows ins(%x : tensor<4x8xf32>) outs(%x : tensor<4x8xf32>) {
  ^bb0(%r: index, %xs: tensor<4x8xf32>):
    %row = tile.load %xs[%r] : tensor<4x8xf32> -> vector<8xf32>
    %n = arith.negf %row : vector<8xf32>
    tile.yield %n : vector<8xf32>
  } -> tensor<4x8xf32>
  return %o, %x : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// Accumulating reads the out: a buffer that is needed later is copied first.
// CHECK-LABEL: func @accumulate
// CHECK-SAME: %[[X:.*]]: memref<?x8xf16, {{.*}}>, %[[DY:.*]]: memref<?x16xf16, {{.*}}>, %[[B:.*]]: memref<4x2xi64, {{.*}}>, %[[DW:.*]]: memref<4x8x16xf32,
func.func @accumulate(%x: tensor<?x8xf16>, %dy: tensor<?x16xf16>, %b: tensor<4x2xi64>, %dw: tensor<4x8x16xf32>)
    -> (tensor<4x8x16xf32>, tensor<4x8x16xf32>) {
  // CHECK: %[[NEW:.*]] = memref.alloc()
  // CHECK: memref.copy %[[DW]], %[[NEW]]
  // CHECK: tile.ragged_gemm lhs(%[[X]] : {{.*}}) rhs(%[[DY]] : {{.*}}) bounds(%[[B]] : {{.*}}) outs(%[[NEW]] : memref<4x8x16xf32>)
  // CHECK-SAME: accumulate
  // CHECK: arith.addf
  %y = tile.ragged_gemm lhs(%x : tensor<?x8xf16>) rhs(%dy : tensor<?x16xf16>) bounds(%b : tensor<4x2xi64>)
      outs(%dw : tensor<4x8x16xf32>) attributes {mode = #tile.mode<contraction>, accumulate} {
  ^bb0(%acc: f32, %old: f32):
    %0 = arith.addf %acc, %old : f32
    tile.yield %0 : f32
  } -> tensor<4x8x16xf32>
  return %y, %dw : tensor<4x8x16xf32>, tensor<4x8x16xf32>
}

// -----

// Without accumulate the old contents are nobody's: no copy.
// CHECK-LABEL: func @overwrite
// CHECK-NOT: memref.copy
// CHECK: tile.ragged_gemm
func.func @overwrite(%x: tensor<?x8xf16>, %dy: tensor<?x16xf16>, %b: tensor<4x2xi64>, %dw: tensor<4x8x16xf32>)
    -> (tensor<4x8x16xf32>, tensor<4x8x16xf32>) {
  %y = tile.ragged_gemm lhs(%x : tensor<?x8xf16>) rhs(%dy : tensor<?x16xf16>) bounds(%b : tensor<4x2xi64>)
      outs(%dw : tensor<4x8x16xf32>) attributes {mode = #tile.mode<contraction>} {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<4x8x16xf32>
  return %y, %dw : tensor<4x8x16xf32>, tensor<4x8x16xf32>
}

// -----

// CHECK-LABEL: func @plan_and_offsets
func.func @plan_and_offsets(%ids: tensor<?x2xi32>, %s: tensor<8xi32>, %m: index)
    -> (tensor<8x2xi64>, tensor<8xi32>, tensor<8x2xi64>, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>, tensor<1xi64>) {
  %c0 = arith.constant 0 : index
  %t = tensor.dim %ids, %c0 : tensor<?x2xi32>
  %0 = tensor.empty() : tensor<8x2xi64>
  // CHECK: tile.offsets sizes(%{{.*}} : memref<8xi32, strided<[?], offset: ?>>) rows(%{{.*}}) outs(%{{.*}} : memref<8x2xi64>)
  %b = tile.offsets sizes(%s : tensor<8xi32>) rows(%m) outs(%0 : tensor<8x2xi64>) -> tensor<8x2xi64>
  %1 = tensor.empty() : tensor<8xi32>
  %2 = tensor.empty() : tensor<8x2xi64>
  %3 = tensor.empty(%m) : tensor<?xi32>
  %4 = tensor.empty(%m) : tensor<?xi32>
  %5 = tensor.empty(%t) : tensor<?x2xi32>
  %6 = tensor.empty() : tensor<1xi64>
  // CHECK: tile.plan ids(%{{.*}} : memref<?x2xi32, {{.*}}>) outs(%{{.*}} : memref<8xi32>, memref<8x2xi64>, memref<?xi32>, memref<?xi32>, memref<?x2xi32>, memref<1xi64>){{$}}
  %p:6 = tile.plan ids(%ids : tensor<?x2xi32>)
      outs(%1, %2, %3, %4, %5, %6 : tensor<8xi32>, tensor<8x2xi64>, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>, tensor<1xi64>)
      -> tensor<8xi32>, tensor<8x2xi64>, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>, tensor<1xi64>
  return %b, %p#0, %p#1, %p#2, %p#3, %p#4, %p#5
      : tensor<8x2xi64>, tensor<8xi32>, tensor<8x2xi64>, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>, tensor<1xi64>
}
