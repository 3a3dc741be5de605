// RUN: moe-opt %s --convert-tile-to-cpu --verify-diagnostics

module @kernels {
  func.func @constant(%x: memref<?x4xf32>) {
    tile.rows outs(%x : memref<?x4xf32>) {
    ^bb0(%r: index):
      // expected-error @below {{'arith.constant' op holds dense_resource<numbers> : vector<4xf32>, expected dense elements on the cpu target}}
      %c = arith.constant dense_resource<numbers> : vector<4xf32>
      tile.yield %c : vector<4xf32>
    }
    return
  }
}

{-#
  dialect_resources: {
    builtin: {
      numbers: "0x040000000000803F000000400000404000008040"
    }
  }
#-}
