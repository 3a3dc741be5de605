// RUN: not moe-opt %s --tile-fuse="disable=gather,epilog" 2>&1 | FileCheck %s

// CHECK: error: tile-fuse: disable names 'epilog', expected epilogue or gather
func.func @nothing() {
  return
}
