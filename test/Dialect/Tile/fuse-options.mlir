// RUN: not moe-opt %s --tile-fuse="disable=gather,epilog" 2>&1 | FileCheck %s

// CHECK: error: tile-fuse: disable names 'epilog', expected epilogue, gather or rows
func.func @nothing() {
  return
}
