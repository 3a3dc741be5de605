// RUN: moe-opt %s --pass-pipeline='builtin.module(prog.program(prog-plan-arena))' --split-input-file --verify-diagnostics

prog.program @overflow(%x: memref<?xi8>) {
  %t = prog.dim %x, 0 : memref<?xi8>
  // expected-error @below {{'prog.buffer' op has a size in bytes that passes 64 bits}}
  %a = prog.buffer (%t) : memref<?x4611686018427387904x4xf32>
  prog.memset %a, 0 : memref<?x4611686018427387904x4xf32>
  prog.return
}

// -----

prog.program @negative() {
  %t = arith.constant -4 : i64
  // expected-error @below {{'prog.buffer' op has a negative size}}
  %a = prog.buffer (%t) : memref<?xf32>
  prog.memset %a, 0 : memref<?xf32>
  prog.return
}

// -----

prog.program @arena() {
  %a = prog.buffer () : memref<9223372036854775680xi8>
  // expected-error @below {{'prog.buffer' op does not fit an arena of 2^63 bytes}}
  %b = prog.buffer () : memref<9223372036854775680xi8>
  prog.copy %a, %b : memref<9223372036854775680xi8>, memref<9223372036854775680xi8>
  prog.return
}
