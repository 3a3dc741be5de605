// REQUIRES: ptxas
// RUN: rm -rf %t && mkdir %t
// RUN: moe-compile %s --target=cuda -o %t/cuda.moe
// RUN: moe-objdump %t/cuda.moe | FileCheck %s
// RUN: moe-objdump %t/cuda.moe --program | moe-opt | FileCheck %s --check-prefix=PROGRAM
// RUN: moe-compile %s -o %t/cpu.moe
// RUN: moe-objdump %t/cpu.moe --program | moe-opt | FileCheck %s --check-prefix=CPU

// On a GPU a kernel does it, into the peer arena.
// CHECK: peer arena: 320 bytes
// CHECK-NEXT: steps: 3 launches, 1 copies and fills, 1 exchanges over 2 ranks of axis 'ep'
// CHECK: main_exchange: 4 buffers, 0 scalars, 1024 threads, {{[1-5][0-9]}} registers, 0 bytes of stack, 0 bytes of shared memory, 16 blocks
// CHECK: peers
// CHECK: pointer(0)
// PROGRAM: func.func private @main_exchange(memref<?x8xf32> {prog.access = "read"}, memref<2x2xi64> {prog.access = "read"}, memref<2x2xi64> {prog.access = "read"}, memref<9x8xf32> {prog.access = "write"})
// PROGRAM: %[[Y:.*]] = prog.buffer() at %{{.*}} {peer} : memref<9x8xf32>
// PROGRAM: prog.all_to_all %{{.*}} send %{{.*}} receive %{{.*}} into %[[Y]] {axis = "ep", kernel = @kernels::@main_exchange, ranks = 2 : i64, transport = #prog.transport<peer>}
// PROGRAM: prog.return arena(%{{.*}}) peer(%{{.*}})

// On a CPU it is exact.
// CPU: prog.all_to_all %{{.*}} send %{{.*}} receive %{{.*}} into %{{.*}} {axis = "ep", ranks = 2 : i64} : memref<?x8xf32>
func.func @main(%x: tensor<?x8xf32>, %sizes: tensor<2xi32>) -> tensor<9x8xf32> {
  %c0 = arith.constant 0 : index
  %c9 = arith.constant 9 : index
  %m = tensor.dim %x, %c0 : tensor<?x8xf32>
  %e0 = tensor.empty(%m) : tensor<?x8xf32>
  %own = tile.rows ins(%x : tensor<?x8xf32>) outs(%e0 : tensor<?x8xf32>) {
  ^bb0(%r: index, %xs: tensor<?x8xf32>):
    %row = tile.load %xs[%r] : tensor<?x8xf32> -> vector<8xf32>
    tile.yield %row : vector<8xf32>
  } -> tensor<?x8xf32>
  %e1 = tensor.empty() : tensor<2x2xi64>
  %send = tile.offsets sizes(%sizes : tensor<2xi32>) rows(%m) outs(%e1 : tensor<2x2xi64>) -> tensor<2x2xi64>
  %receive = tile.offsets sizes(%sizes : tensor<2xi32>) rows(%c9) outs(%e1 : tensor<2x2xi64>) -> tensor<2x2xi64>
  %e2 = tensor.empty() : tensor<9x8xf32>
  %y = prog.all_to_all %own send %send receive %receive into %e2 {axis = "ep", ranks = 2, transport = #prog.transport<peer>}
      : tensor<?x8xf32>, tensor<2x2xi64>, tensor<2x2xi64>, tensor<9x8xf32> -> tensor<9x8xf32>
  return %y : tensor<9x8xf32>
}
