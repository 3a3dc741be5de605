// RUN: moe-opt %s --sm90-choose-schedules --split-input-file --verify-diagnostics
// RUN: not moe-opt %s --split-input-file "--sm90-choose-schedules=schedule=#tile.rhs<nk>" 2>&1 | FileCheck %s
// CHECK: schedule is '#tile.rhs<nk>', expected an attribute #sm90.schedule<...>

module @kernels {
  func.func @unsuited(%x: memref<?x8xf32>, %w: memref<8x8x16xf32>, %b: memref<8x2xi64>, %y: memref<?x16xf32>) {
    // expected-remark @+1 {{runs on ordinary loads: operands are f32, exactly}}
    tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<8x8x16xf32>) bounds(%b : memref<8x2xi64>) outs(%y : memref<?x16xf32>) {
    ^bb0(%acc: f32):
      tile.yield %acc : f32
    }
    return
  }
}

// -----

module @kernels {
  func.func @unsuited(%x: memref<?x8xf32>, %w: memref<8x8x16xf32>, %b: memref<8x2xi64>, %y: memref<?x16xf32>) {
    // expected-error @+1 {{has sm90.schedule = #sm90.schedule<m = 128, n = 128, stages = 5>, but operands are f32, exactly}}
    tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<8x8x16xf32>) bounds(%b : memref<8x2xi64>) outs(%y : memref<?x16xf32>)
        attributes {sm90.schedule = #sm90.schedule<m = 128, n = 128, stages = 5>} {
    ^bb0(%acc: f32):
      tile.yield %acc : f32
    }
    return
  }
}

// -----

module @kernels {
  func.func @none(%x: memref<?x512xbf16>, %w: memref<8x512x768xbf16>, %b: memref<8x2xi64>, %y: memref<?x768xbf16>) {
    // expected-error @+1 {{has sm90.schedule = 1 : i64, but that is no schedule}}
    tile.ragged_gemm lhs(%x : memref<?x512xbf16>) rhs(%w : memref<8x512x768xbf16>) bounds(%b : memref<8x2xi64>) outs(%y : memref<?x768xbf16>)
        attributes {sm90.schedule = 1} {
    ^bb0(%acc: f32):
      %0 = arith.truncf %acc : f32 to bf16
      tile.yield %0 : bf16
    }
    return
  }
}

// -----

module @kernels {
  func.func @transposed(%x: memref<?x8xf32>, %w: memref<8x8x16xf32>, %b: memref<8x2xi64>, %y: memref<?x16xf32>) {
    // expected-remark @+1 {{runs on ordinary loads: tf32 is taken along k only, which needs mode rows and layout nk}}
    tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<8x8x16xf32>) bounds(%b : memref<8x2xi64>) outs(%y : memref<?x16xf32>)
        attributes {precision = #tile.precision<tf32>} {
    ^bb0(%acc: f32):
      tile.yield %acc : f32
    }
    return
  }
}

// -----

module @kernels {
  func.func @gathered(%x: memref<?x8xf32>, %g: memref<?xi32>, %w: memref<8x16x8xf32>, %b: memref<8x2xi64>, %y: memref<?x16xf32>) {
    // expected-remark @+1 {{runs on ordinary loads: lhs is gathered, and only TMA rounds to tf32}}
    tile.ragged_gemm lhs(%x : memref<?x8xf32>) gather(%g : memref<?xi32>) rhs(%w : memref<8x16x8xf32>) bounds(%b : memref<8x2xi64>) outs(%y : memref<?x16xf32>)
        attributes {layout = #tile.rhs<nk>, precision = #tile.precision<tf32>} {
    ^bb0(%acc: f32):
      tile.yield %acc : f32
    }
    return
  }
}
