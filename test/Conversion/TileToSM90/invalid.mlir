// RUN: moe-opt %s --convert-tile-to-sm90 --split-input-file --verify-diagnostics

module {
  module @kernels {
    // expected-error @+1 {{kernel 'k' must hold one tile op and a return without values}}
    func.func @k(%s: memref<8xi32>) {
      return
    }
  }
}

// -----

module {
  module @kernels {
    func.func @k(%x: memref<?x64xf32>, %y: memref<?x64xf32>) {
      // expected-error @+1 {{'tile.rows' op has no kernel for target sm_90a}}
      tile.rows ins(%x : memref<?x64xf32>) outs(%y : memref<?x64xf32>) {
      ^bb0(%r: index, %xs: memref<?x64xf32>):
        %row = tile.load %xs[%r] : memref<?x64xf32> -> vector<64xf32>
        tile.yield %row : vector<64xf32>
      }
      return
    }
  }
}

// -----

module {
  module @kernels {
    func.func @k(%x: memref<?x8xf32>, %w: memref<8x8x16xf32>, %b: memref<8x2xi64>, %y: memref<?x16xf32>) {
      // expected-error @+1 {{has a schedule of wgmma, but operands are not bf16 or f16}}
      tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<8x8x16xf32>) bounds(%b : memref<8x2xi64>)
          outs(%y : memref<?x16xf32>) attributes {sm90.schedule = #sm90.schedule<m = 128, n = 128, stages = 5>} {
      ^bb0(%acc: f32):
        tile.yield %acc : f32
      }
      return
    }
  }
}

// -----

module {
  module @kernels {
    func.func @k(%x: memref<?x512xbf16>, %w: memref<8x512x768xbf16>, %b: memref<8x2xi64>, %y: memref<?x384xbf16>) {
      // expected-error @+1 {{expected n to be a multiple of 128 for 2 accumulators}}
      tile.ragged_gemm lhs(%x : memref<?x512xbf16>) rhs(%w : memref<8x512x768xbf16>) bounds(%b : memref<8x2xi64>) outs(%y : memref<?x384xbf16>)
          attributes {accs = #tile.accs<concatenated>, sm90.schedule = #sm90.schedule<roles = pingpong, m = 64, n = 192, stages = 5>} {
      ^bb0(%gate: f32, %up: f32):
        %0 = arith.mulf %gate, %up : f32
        %1 = arith.truncf %0 : f32 to bf16
        tile.yield %1 : bf16
      }
      return
    }
  }
}

// -----

module {
  module @kernels {
    func.func @k(%x: memref<?x512xbf16>, %dy: memref<?x768xbf16>, %b: memref<8x2xi64>, %dw: memref<8x512x768xf32>) {
      // expected-error @+1 {{expected m to be a multiple of 128 in a cluster of mode contraction}}
      tile.ragged_gemm lhs(%x : memref<?x512xbf16>) rhs(%dy : memref<?x768xbf16>) bounds(%b : memref<8x2xi64>) outs(%dw : memref<8x512x768xf32>)
          attributes {mode = #tile.mode<contraction>, sm90.schedule = #sm90.schedule<roles = pingpong, m = 64, n = 256, stages = 4, cluster = 2>} {
      ^bb0(%acc: f32):
        tile.yield %acc : f32
      }
      return
    }
  }
}
