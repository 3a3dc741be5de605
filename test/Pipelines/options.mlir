// A typo in an option is named, whatever the pipeline.
// RUN: not moe-opt %s --moe-to-tile-pipeline=nope 2>&1 | FileCheck %s --check-prefix=NOPE
// RUN: not moe-opt %s --moe-to-prog-pipeline="disable-fusion=epilog" 2>&1 | FileCheck %s --check-prefix=VALUE
// RUN: not moe-opt %s --prog-plan-arena=nope 2>&1 | FileCheck %s --check-prefix=NOPE
// RUN: moe-opt %s --moe-to-tile-pipeline="disable-fusion=epilogue,gather,weights"

// NOPE: nope
// VALUE: error: tile-fuse: disable names 'epilog', expected epilogue, gather or rows

func.func @f(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  return %x : tensor<4x8xf32>
}
