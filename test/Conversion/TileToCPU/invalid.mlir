// RUN: moe-opt %s --convert-tile-to-cpu --split-input-file --verify-diagnostics

module @kernels {
  // expected-error @below {{kernel 'two' must hold one tile op and a return without values}}
  func.func @two(%s: memref<4xi32>, %b: memref<4x2xi64>, %m: index) {
    tile.offsets sizes(%s : memref<4xi32>) rows(%m) outs(%b : memref<4x2xi64>)
    tile.offsets sizes(%s : memref<4xi32>) rows(%m) outs(%b : memref<4x2xi64>)
    return
  }
}

// -----

module @kernels {
  // expected-error @below {{kernel 'none' must hold one tile op and a return without values}}
  func.func @none(%s: memref<4xi32>) {
    %m = arith.constant 4 : index
    return
  }
}

// -----

module @kernels {
  // expected-error @below {{argument 0 of kernel 'columns' is 'memref<?x4xf32, strided<[1, ?]>>', expected an innermost stride of 1}}
  func.func @columns(%x: memref<?x4xf32, strided<[1, ?]>>, %w: memref<4x4xf32>, %y: memref<?x4xf32>) {
    tile.ragged_gemm lhs(%x : memref<?x4xf32, strided<[1, ?]>>) rhs(%w : memref<4x4xf32>) outs(%y : memref<?x4xf32>) {
    ^bb0(%a: f32):
      tile.yield %a : f32
    }
    return
  }
}

// -----

module @kernels {
  // expected-error @below {{argument 0 of kernel 'tensor' is 'tensor<4xi32>', expected a memref or an index}}
  func.func @tensor(%s: tensor<4xi32>, %b: tensor<4x2xi64>, %m: index) {
    %0 = tile.offsets sizes(%s : tensor<4xi32>) rows(%m) outs(%b : tensor<4x2xi64>) -> tensor<4x2xi64>
    return
  }
}
