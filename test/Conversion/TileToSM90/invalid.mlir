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
    func.func @k(%x: memref<?x4xf32>, %y: memref<?x4xf32>) {
      tile.rows ins(%x : memref<?x4xf32>) outs(%y : memref<?x4xf32>) {
      ^bb0(%r: index, %xs: memref<?x4xf32>):
        // expected-error @+1 {{expected dense elements on target sm_90a}}
        %c = arith.constant dense_resource<numbers> : vector<4xf32>
        tile.yield %c : vector<4xf32>
      }
      return
    }
  }
}

{-#
  dialect_resources: {
    builtin: {
      numbers: "0x040000000000803F000000400000404000008040"
    }
  }
#-}

// -----

module {
  module @kernels {
    func.func @k(%ids: memref<?x2xi32>, %s: memref<30000xi32>, %b: memref<30000x2xi64>, %p: memref<?xi32>, %t: memref<?xi32>, %i: memref<?x2xi32>,
                 %d: memref<1xi64>) {
      // expected-error @+1 {{has 30000 groups, expected at most 24576 on target sm_90a}}
      tile.plan ids(%ids : memref<?x2xi32>)
          outs(%s, %b, %p, %t, %i, %d : memref<30000xi32>, memref<30000x2xi64>, memref<?xi32>, memref<?xi32>, memref<?x2xi32>, memref<1xi64>)
      return
    }
  }
}

// -----

module {
  module @kernels {
    func.func @k(%x: memref<?x8xf32>, %w: memref<8x8x16xf32>, %b: memref<8x2xi64>, %y: memref<?x16xf32>) {
      // expected-error @+1 {{has a schedule of wgmma, but operands are f32, exactly}}
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
