// Phases: the output is the last one's text, object or file; --dump-dir has one file each.
// RUN: rm -rf %t && mkdir %t
// RUN: moe-compile %s --compile-to=input | FileCheck %s --check-prefix=INPUT
// RUN: moe-compile %s --compile-to=tile -o - | FileCheck %s --check-prefix=TILE
// RUN: moe-compile %s --compile-to=prog -o %t/prog.mlir
// RUN: FileCheck %s --check-prefix=PROG < %t/prog.mlir
// RUN: moe-compile %s -o %t/out.moe --cpu=x86-64-v3 --dump-dir=%t/dump/deep
// RUN: ls %t/dump/deep | FileCheck %s --check-prefix=DUMP
// RUN: cmp %t/out.moe %t/dump/deep/7.program.moe
// RUN: cat %s | moe-compile - -o %t/piped.moe --cpu=x86-64-v3
// RUN: cmp %t/out.moe %t/piped.moe
// RUN: moe-compile %s --compile-to=object -o %t/kernels.so --cpu=x86-64-v3
// RUN: cmp %t/kernels.so %t/dump/deep/6.object.so

// What the command line gets wrong is named.
// RUN: not moe-compile %s -o %t/no.moe --target=tpu 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not moe-compile %s -o %t/no.moe --cpu=pentium 2>&1 | FileCheck %s --check-prefix=CPU
// RUN: not moe-compile %s -o %t/no.moe --compile-to=tiles 2>&1 | FileCheck %s --check-prefix=PHASE
// RUN: not moe-compile %s -o %t/no.moe --disable-fusion=gather,weight 2>&1 | FileCheck %s --check-prefix=FUSION
// RUN: not moe-compile %s -o %t/no.moe --fuse 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not moe-compile %s 2>&1 | FileCheck %s --check-prefix=OUTPUT
// RUN: not moe-compile %t/absent.mlir -o %t/no.moe 2>&1 | FileCheck %s --check-prefix=ABSENT
// RUN: not moe-compile %s -o %t/absent/no.moe --cpu=x86-64-v3 2>&1 | FileCheck %s --check-prefix=UNWRITABLE
// RUN: not moe-compile %s -o %t/no.moe --dump-dir=%s/dir 2>&1 | FileCheck %s --check-prefix=DIRECTORY
// RUN: ls %t | FileCheck %s --check-prefix=LEFT

// INPUT: moe.logits
// TILE: tile.ragged_gemm
// PROG: prog.program @logits
// DUMP:      0.input.mlir
// DUMP-NEXT: 1.moe.mlir
// DUMP-NEXT: 2.tile.mlir
// DUMP-NEXT: 3.bufferized.mlir
// DUMP-NEXT: 4.prog.mlir
// DUMP-NEXT: 5.kernels.mlir
// DUMP-NEXT: 6.object.ll
// DUMP-NEXT: 6.object.s
// DUMP-NEXT: 6.object.so
// DUMP-NEXT: 7.program.moe
// DUMP-NOT:  {{.}}
// TARGET: target is 'tpu', expected cpu or cuda
// CPU: {{^}}moe-compile: error: cpu level is 'pentium', expected native, {{.*}}x86-64-v3
// PHASE: Cannot find option named 'tiles'
// FUSION: Cannot find option named 'weight'
// OPTION: Unknown command line argument '--fuse'
// OUTPUT: error: no output file: name one with -o
// ABSENT: error: cannot open input file '{{.*}}absent.mlir': No such file or directory
// UNWRITABLE: error: cannot write '{{.*}}absent/no.moe': {{.*}}No such file or directory
// DIRECTORY: error: cannot make directory '{{.*}}moe-compile.mlir/dir': Not a directory
// LEFT:      dump
// LEFT-NEXT: kernels.so
// LEFT-NEXT: out.moe
// LEFT-NEXT: piped.moe
// LEFT-NEXT: prog.mlir
// LEFT-NOT:  {{.}}

func.func @logits(%x: tensor<?x64xf32>, %w: tensor<64x8xf32>) -> tensor<?x8xf32> {
  %l = moe.logits %x, %w : tensor<?x64xf32>, tensor<64x8xf32> -> tensor<?x8xf32>
  return %l : tensor<?x8xf32>
}
