// RUN: moe-opt %s --pass-pipeline='builtin.module(prog.program(prog-plan-arena),canonicalize)' --split-input-file | FileCheck %s

module @kernels {
  func.func private @k(memref<?xf32> {prog.access = "readwrite"}, memref<?xf32> {prog.access = "readwrite"})
}

// a and b are alive together, c only after a is dead: c takes a's place.
// CHECK-LABEL: prog.program @reuse(
prog.program @reuse() {
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : i64
  // CHECK-DAG: %[[B:.*]] = arith.constant 4096 : i64
  // CHECK-DAG: %[[BYTES:.*]] = arith.constant 4288 : i64
  // CHECK: prog.buffer() at %[[ZERO]] : memref<1024xf32>
  // CHECK: prog.buffer() at %[[B]] : memref<40xf32>
  // CHECK: prog.buffer() at %[[ZERO]] : memref<1000xf32>
  %a = prog.buffer () : memref<1024xf32>
  %b = prog.buffer () : memref<40xf32>
  %c = prog.buffer () : memref<1000xf32>
  prog.launch @kernels::@k(%a, %b) : memref<1024xf32>, memref<40xf32>
  prog.launch @kernels::@k(%b, %c) : memref<40xf32>, memref<1000xf32>
  // CHECK: prog.return arena(%[[BYTES]])
  prog.return
}

// -----

module @kernels {
  func.func private @five(memref<?xi8>, memref<?xi8>, memref<?xi8>, memref<?xi8>, memref<?xi8>)
  func.func private @four(memref<?xi8>, memref<?xi8>, memref<?xi8>, memref<?xi8>)
}

// Of the two gaps that b and d leave, f goes into the one of d, which it fits better.
// CHECK-LABEL: prog.program @best_fit(
prog.program @best_fit() {
  // CHECK-DAG: %[[D:.*]] = arith.constant 14336 : i64
  // CHECK-DAG: %[[BYTES:.*]] = arith.constant 15872 : i64
  %a = prog.buffer () : memref<8192xi8>
  %b = prog.buffer () : memref<4096xi8>
  %c = prog.buffer () : memref<2048xi8>
  // CHECK: prog.buffer() at %[[D]] : memref<1024xi8>
  %d = prog.buffer () : memref<1024xi8>
  %e = prog.buffer () : memref<512xi8>
  // CHECK: prog.buffer() at %[[D]] : memref<510xi8>
  %f = prog.buffer () : memref<510xi8>
  prog.launch @kernels::@five(%a, %b, %c, %d, %e) : memref<8192xi8>, memref<4096xi8>, memref<2048xi8>, memref<1024xi8>, memref<512xi8>
  prog.launch @kernels::@four(%a, %c, %e, %f) : memref<8192xi8>, memref<2048xi8>, memref<512xi8>, memref<510xi8>
  // CHECK: prog.return arena(%[[BYTES]])
  prog.return
}

// -----

module @kernels {
  func.func private @k(memref<?x?xf32> {prog.access = "readwrite"}, memref<?x?xf32> {prog.access = "readwrite"})
}

// Sizes in one unknown are compared by their coefficients: 2 * T rows of 16 take the place of T rows of 64.
// CHECK-LABEL: prog.program @dynamic(
prog.program @dynamic(%x: memref<?xf32>) {
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : i64
  // CHECK-DAG: %[[C256:.*]] = arith.constant 256 : i64
  // CHECK-DAG: %[[C512:.*]] = arith.constant 512 : i64
  // CHECK: %[[T:.*]] = prog.dim
  // CHECK-DAG: %[[B:.*]] = arith.muli %[[T]], %[[C256]] : i64
  // CHECK-DAG: %[[BYTES:.*]] = arith.muli %[[T]], %[[C512]] : i64
  %t = prog.dim %x, 0 : memref<?xf32>
  // CHECK: prog.buffer(%[[T]]) at %[[ZERO]] : memref<?x64xf32>
  %a = prog.buffer (%t) : memref<?x64xf32>
  // CHECK: prog.buffer(%[[T]]) at %[[B]] : memref<?x64xf32>
  %b = prog.buffer (%t) : memref<?x64xf32>
  prog.launch @kernels::@k(%a, %b) : memref<?x64xf32>, memref<?x64xf32>
  // The size is computed after the first step, and still may be part of an offset.
  %c2 = arith.constant 2 : i64
  %t2 = arith.muli %t, %c2 : i64
  // CHECK: prog.buffer(%{{.*}}) at %[[ZERO]] : memref<?x16xf32>
  %c = prog.buffer (%t2) : memref<?x16xf32>
  prog.launch @kernels::@k(%b, %c) : memref<?x64xf32>, memref<?x16xf32>
  // CHECK: prog.return arena(%[[BYTES]])
  prog.return
}

// -----

module @kernels {
  func.func private @k(memref<?xf32> {prog.access = "readwrite"}, memref<?xf32> {prog.access = "readwrite"})
}

// Sizes that cannot be compared lie one after the other, each in whole units of 64 bytes: 4 * T in 4 * 64 * ceil(T / 64).
// CHECK-LABEL: prog.program @regions(
prog.program @regions(%x: memref<?xf32>, %y: memref<?xf32>) {
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : i64
  // CHECK-DAG: %[[C256:.*]] = arith.constant 256 : i64
  // CHECK-DAG: %[[C64:.*]] = arith.constant 64 : i64
  // CHECK-DAG: %[[S:.*]] = prog.dim %{{.*}}, 0
  // CHECK-DAG: %[[T:.*]] = prog.dim %{{.*}}, 0
  // CHECK-DAG: %[[CEIL_S:.*]] = arith.ceildivsi %[[S]], %[[C64]]
  // CHECK-DAG: %[[NEXT:.*]] = arith.muli %[[CEIL_S]], %[[C256]]
  // CHECK-DAG: %[[CEIL_T:.*]] = arith.ceildivsi %[[T]], %[[C64]]
  // CHECK-DAG: %[[MORE:.*]] = arith.muli %[[CEIL_T]], %[[C256]]
  // CHECK-DAG: %[[BYTES:.*]] = arith.addi %[[NEXT]], %[[MORE]]
  %s = prog.dim %x, 0 : memref<?xf32>
  %t = prog.dim %y, 0 : memref<?xf32>
  // CHECK: prog.buffer(%[[S]]) at %[[ZERO]] : memref<?xf32>
  %a = prog.buffer (%s) : memref<?xf32>
  // CHECK: prog.buffer(%[[T]]) at %[[NEXT]] : memref<?xf32>
  %b = prog.buffer (%t) : memref<?xf32>
  // CHECK: prog.buffer(%[[T]]) at %[[NEXT]] : memref<?xf32>
  %c = prog.buffer (%t) : memref<?xf32>
  prog.launch @kernels::@k(%a, %b) : memref<?xf32>, memref<?xf32>
  prog.launch @kernels::@k(%a, %c) : memref<?xf32>, memref<?xf32>
  // CHECK: prog.return arena(%[[BYTES]])
  prog.return
}

// -----

// Unused buffers take no place, and without buffers there is no arena.
// CHECK-LABEL: prog.program @unused(
// CHECK-NEXT: prog.return{{$}}
prog.program @unused() {
  %a = prog.buffer () : memref<1024xf32>
  prog.return
}
