// RUN: moe-opt %s --sm90-choose-schedules | FileCheck %s
// RUN: moe-opt %s "--sm90-choose-schedules=schedule={#sm90.schedule<m = 128, n = 192, stages = 3>}" | FileCheck %s --check-prefix=FORCED

// CHECK-LABEL: func.func @chosen
// CHECK: sm90.schedule = #sm90.schedule<m = 128, n = 256, stages = 4>
// FORCED-LABEL: func.func @chosen
// FORCED: sm90.schedule = #sm90.schedule<m = 128, n = 192, stages = 3>
module @kernels {
  func.func @chosen(%x: memref<?x512xbf16>, %w: memref<8x512x768xbf16>, %b: memref<8x2xi64>, %y: memref<?x768xbf16>) {
    tile.ragged_gemm lhs(%x : memref<?x512xbf16>) rhs(%w : memref<8x512x768xbf16>) bounds(%b : memref<8x2xi64>) outs(%y : memref<?x768xbf16>) {
    ^bb0(%acc: f32):
      %0 = arith.truncf %acc : f32 to bf16
      tile.yield %0 : bf16
    }
    return
  }

  // An attribute on the op wins.
  // CHECK-LABEL: func.func @given
  // CHECK: sm90.schedule = #sm90.schedule<m = 128, n = 64, stages = 2>
  // FORCED-LABEL: func.func @given
  // FORCED: sm90.schedule = #sm90.schedule<m = 128, n = 64, stages = 2>
  func.func @given(%x: memref<?x512xbf16>, %w: memref<8x512x768xbf16>, %b: memref<8x2xi64>, %y: memref<?x768xbf16>) {
    tile.ragged_gemm lhs(%x : memref<?x512xbf16>) rhs(%w : memref<8x512x768xbf16>) bounds(%b : memref<8x2xi64>) outs(%y : memref<?x768xbf16>)
        attributes {sm90.schedule = #sm90.schedule<m = 128, n = 64, stages = 2>} {
    ^bb0(%acc: f32):
      %0 = arith.truncf %acc : f32 to bf16
      tile.yield %0 : bf16
    }
    return
  }

  // CHECK-LABEL: func.func @exact
  // CHECK-NOT: sm90.schedule
  // FORCED-LABEL: func.func @exact
  // FORCED-NOT: sm90.schedule
  func.func @exact(%x: memref<?x8xf32>, %w: memref<8x8x16xf32>, %b: memref<8x2xi64>, %y: memref<?x16xf32>) {
    tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<8x8x16xf32>) bounds(%b : memref<8x2xi64>) outs(%y : memref<?x16xf32>) {
    ^bb0(%acc: f32):
      tile.yield %acc : f32
    }
    return
  }
}
