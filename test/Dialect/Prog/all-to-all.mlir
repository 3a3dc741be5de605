// RUN: moe-opt %s --split-input-file | moe-opt --split-input-file | FileCheck %s
// RUN: moe-opt %s --split-input-file --moe-bufferize --prog-prepare-results --convert-to-prog --prog-plan-arena | FileCheck %s --check-prefix=PROG

// CHECK-LABEL: prog.program @exchange
prog.program @exchange(%x: memref<8xi32>) {
  %c0 = arith.constant 0 : i64
  %c64 = arith.constant 64 : i64
  %y = prog.output 0 () : memref<8xi32>
  %a = prog.buffer () at %c0 : memref<8x4xf32>
  %b = prog.buffer () at %c64 : memref<6x4xf32>
  %s = prog.buffer () at %c0 : memref<2x2xi64>
  %r = prog.buffer () at %c64 : memref<2x2xi64>
  // CHECK: prog.all_to_all %{{.*}} into %{{.*}} {axis = "ep", ranks = 2 : i64} : memref<8xi32>, memref<8xi32>
  prog.all_to_all %x into %y {axis = "ep", ranks = 2} : memref<8xi32>, memref<8xi32>
  // CHECK: prog.all_to_all %{{.*}} send %{{.*}} receive %{{.*}} into %{{.*}} {axis = "ep", ranks = 2 : i64} : memref<8x4xf32>, memref<2x2xi64>, memref<2x2xi64>, memref<6x4xf32>
  prog.all_to_all %a send %s receive %r into %b {axis = "ep", ranks = 2} : memref<8x4xf32>, memref<2x2xi64>, memref<2x2xi64>, memref<6x4xf32>
  prog.return arena(%c64)
}

// -----

module @kernels {
  func.func private @copy(memref<?x4xf32>, memref<?x4xf32>)
}
// CHECK-LABEL: prog.program @peer
prog.program @peer(%x: memref<8xi32>) {
  %c0 = arith.constant 0 : i64
  %c128 = arith.constant 128 : i64
  %a = prog.buffer () at %c0 : memref<8x4xf32>
  // CHECK: %[[B:.*]] = prog.buffer() at %{{.*}} {peer} : memref<8x4xf32>
  %b = prog.buffer () at %c0 {peer} : memref<8x4xf32>
  // CHECK: prog.all_to_all %{{.*}} into %[[B]] {axis = "ep", ranks = 2 : i64, transport = #prog.transport<peer>}
  prog.all_to_all %a into %b {axis = "ep", ranks = 2, transport = #prog.transport<peer>} : memref<8x4xf32>, memref<8x4xf32>
  // CHECK: prog.all_to_all %{{.*}} into %[[B]] {axis = "ep", kernel = @kernels::@copy, ranks = 2 : i64, transport = #prog.transport<peer>}
  prog.all_to_all %a into %b {axis = "ep", kernel = @kernels::@copy, ranks = 2, transport = #prog.transport<peer>} : memref<8x4xf32>, memref<8x4xf32>
  // CHECK: prog.return arena(%{{.*}}) peer(%{{.*}})
  prog.return arena(%c128) peer(%c128)
}

// -----

// On tensors, then on buffers of the arena: its rows lie in one piece, so the result is copied into the caller's output.
// PROG-LABEL: prog.program @tensors
// PROG: %[[Y:.*]] = prog.buffer() at %{{.*}} : memref<8x4xf32>
// PROG: prog.all_to_all %{{.*}} into %[[Y]] {axis = "ep", ranks = 2 : i64, transport = #prog.transport<peer>} : memref<8x4xf32>, memref<8x4xf32>
// PROG: %[[OUT:.*]] = prog.output 0() : memref<8x4xf32, strided<[?, 1]>>
// PROG: prog.copy %[[Y]], %[[OUT]]
func.func @tensors() -> tensor<8x4xf32> {
  %x = arith.constant dense<1.0> : tensor<8x4xf32>
  %0 = tensor.empty() : tensor<8x4xf32>
  %y = prog.all_to_all %x into %0 {axis = "ep", ranks = 2, transport = #prog.transport<peer>} : tensor<8x4xf32>, tensor<8x4xf32> -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}
