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
