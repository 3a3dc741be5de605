// RUN: moe-opt %s --prog-outline-exchanges --split-input-file --verify-diagnostics | FileCheck %s
// RUN: moe-opt %s --prog-outline-exchanges --split-input-file --verify-diagnostics | moe-opt --pass-pipeline='builtin.module(prog.program(prog-plan-arena))' --split-input-file | FileCheck %s --check-prefix=ARENA

// Two exchanges of one kind share a kernel; one that is exact has none.
// CHECK-LABEL: prog.program @f
// CHECK: prog.all_to_all %[[A:.*]] into %[[B:.*]] {axis = "ep", kernel = @kernels::@f_exchange, ranks = 2 : i64, transport = #prog.transport<peer>}
// CHECK: prog.all_to_all %[[B]] into %[[C:.*]] {axis = "ep", kernel = @kernels::@f_exchange, ranks = 2
// CHECK: prog.all_to_all %[[C]] send %{{.*}} receive %{{.*}} into %[[D:.*]] {axis = "ep", kernel = @kernels::@f_exchange_0, ranks = 2
// CHECK: prog.all_to_all %[[D]] into %{{.*}} {axis = "ep", ranks = 2 : i64}
// CHECK: module @kernels
// CHECK: func.func @f_exchange(%[[X:.*]]: memref<?x4xf32> {prog.access = "read"}, %[[Y:.*]]: memref<?x4xf32> {prog.access = "write"}) {
// CHECK-NEXT: prog.all_to_all %[[X]] into %[[Y]] {axis = "ep", ranks = 2 : i64, transport = #prog.transport<peer>}
// CHECK-NEXT: return
// CHECK: func.func @f_exchange_0({{.*}}: memref<?x4xf32> {prog.access = "read"}, {{.*}}: memref<2x2xi64> {prog.access = "read"}, {{.*}}: memref<2x2xi64> {prog.access = "read"}, {{.*}}: memref<6x4xf32> {prog.access = "write"})

// Targets of kernels are in an arena of their own: B and D do not live at the same time. Bytes: 16 m and 64 + 96.
// ARENA-LABEL: prog.program @f
// ARENA: %[[M:.*]] = prog.dim
// ARENA-DAG: %[[C0:.*]] = arith.constant 0 : i64
// ARENA: prog.buffer(%[[M]]) at %{{.*}} : memref<?x4xf32>
// ARENA: prog.buffer(%[[M]]) at %{{.*}} {peer} : memref<?x4xf32>
// ARENA: prog.buffer(%[[M]]) at %{{.*}} {peer} : memref<?x4xf32>
// ARENA: prog.buffer() at %{{.*}} : memref<2x2xi64>
// ARENA: prog.buffer() at %{{.*}} {peer} : memref<6x4xf32>
// ARENA: prog.buffer() at %{{.*}} : memref<6x4xf32>
// ARENA: prog.return arena(%{{.*}}) peer(%{{.*}})
prog.program @f(%x: memref<?x4xf32, strided<[?, 1]>>) {
  %m = prog.dim %x, 0 : memref<?x4xf32, strided<[?, 1]>>
  %a = prog.buffer (%m) : memref<?x4xf32>
  %b = prog.buffer (%m) : memref<?x4xf32>
  %c = prog.buffer (%m) : memref<?x4xf32>
  %bounds = prog.buffer () : memref<2x2xi64>
  %d = prog.buffer () : memref<6x4xf32>
  %e = prog.buffer () : memref<6x4xf32>
  prog.copy %x, %a : memref<?x4xf32, strided<[?, 1]>>, memref<?x4xf32>
  prog.memset %bounds, 0 : memref<2x2xi64>
  prog.all_to_all %a into %b {axis = "ep", ranks = 2, transport = #prog.transport<peer>} : memref<?x4xf32>, memref<?x4xf32>
  prog.all_to_all %b into %c {axis = "ep", ranks = 2, transport = #prog.transport<peer>} : memref<?x4xf32>, memref<?x4xf32>
  prog.all_to_all %c send %bounds receive %bounds into %d {axis = "ep", ranks = 2, transport = #prog.transport<peer>} : memref<?x4xf32>, memref<2x2xi64>, memref<2x2xi64>, memref<6x4xf32>
  prog.all_to_all %d into %e {axis = "ep", ranks = 2} : memref<6x4xf32>, memref<6x4xf32>
  prog.return
}

// -----

// expected-error @+1 {{'func.func' is called 'kernels', expected another name: the module of kernels has that one}}
func.func private @kernels()
prog.program @f(%x: memref<8xf32>) {
  %a = prog.buffer () : memref<8xf32>
  prog.all_to_all %x into %a {axis = "ep", ranks = 2, transport = #prog.transport<peer>} : memref<8xf32>, memref<8xf32>
  prog.return
}
