// RUN: moe-opt %s --convert-tile-to-cpu="lanes=16 registers=32" --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,V4
// RUN: moe-opt %s --convert-tile-to-cpu="lanes=8 registers=16" --canonicalize --cse | FileCheck %s --check-prefixes=CHECK,V3

module @kernels {

// A task is as many rows as make 64 KB. A wide row is walked in chunks of four vectors (two where there are 16
// registers); the rest of the row in pieces of powers of two.
func.func @wide(%x: memref<?x1044xf32>, %y: memref<?x1044xf32, strided<[?, 1]>>) {
  tile.rows ins(%x : memref<?x1044xf32>) outs(%y : memref<?x1044xf32, strided<[?, 1]>>) {
  ^bb0(%r: index, %xs: memref<?x1044xf32>):
    %v = tile.load %xs[%r] : memref<?x1044xf32> -> vector<1044xf32>
    %n = arith.negf %v : vector<1044xf32>
    tile.yield %n : vector<1044xf32>
  }
  return
}
// CHECK-LABEL: func.func @wide.tasks(
// CHECK-SAME: %[[Y:arg[0-9]+]]: memref<?x1044xf32, strided<[?, 1]>>) -> index {
// CHECK: %[[ROWS:.*]] = memref.dim %[[Y]], %c0
// CHECK: arith.ceildivui %[[ROWS]], %c7
// CHECK-LABEL: func.func @wide(
// CHECK-NOT: vector<1044xf32>
// CHECK: scf.for %[[R:.*]] = %{{.*}} to %{{.*}} step %c1
// A row that is not there is read from a chunk of zeros, without a branch.
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[R]], %{{.*}}
// CHECK: %[[ROW:.*]] = arith.select %[[INSIDE]], %{{.*}}, %{{.*}} : memref<?xf32, strided<[1], offset: ?>>
// V4: scf.for %[[C:.*]] = %c0 to %c1024 step %c64
// V3: scf.for %[[C:.*]] = %c0 to %c1040 step %c16
// CHECK: %[[AT:.*]] = arith.select %[[INSIDE]], %[[C]], %c0 : index
// V4: vector.load %[[ROW]][%[[AT]]] : {{.*}}, vector<64xf32>
// V4: arith.negf %{{.*}} : vector<64xf32>
// V4: vector.store {{.*}}, vector<64xf32>
// V4: arith.negf %{{.*}} : vector<16xf32>
// V3: arith.negf %{{.*}} : vector<16xf32>
// CHECK: arith.negf %{{.*}} : vector<4xf32>
// CHECK-NOT: arith.negf
// CHECK: return

// A softmax of a wide row is three loops and stores no intermediate row.
func.func @softmax(%x: memref<?x1024xf32>, %y: memref<?x1024xf32>) {
  tile.rows ins(%x : memref<?x1024xf32>) outs(%y : memref<?x1024xf32>) {
  ^bb0(%r: index, %xs: memref<?x1024xf32>):
    %v = tile.load %xs[%r] : memref<?x1024xf32> -> vector<1024xf32>
    %m = vector.reduction <maximumf>, %v : vector<1024xf32> into f32
    %b = vector.broadcast %m : f32 to vector<1024xf32>
    %s = arith.subf %v, %b : vector<1024xf32>
    %e = math.exp %s : vector<1024xf32>
    %t = vector.reduction <add>, %e : vector<1024xf32> into f32
    %d = vector.broadcast %t : f32 to vector<1024xf32>
    %q = arith.divf %e, %d : vector<1024xf32>
    tile.yield %q : vector<1024xf32>
  }
  return
}
// CHECK-LABEL: func.func @softmax(
// CHECK: %[[LOW:.*]] = arith.constant dense<0xFF800000>
// CHECK: scf.for {{.*}} step %c1
// CHECK: scf.for {{.*}} iter_args({{.*}} = %[[LOW]])
// CHECK: arith.maximumf
// V4: vector.extract_strided_slice {{.*}} vector<64xf32> to vector<32xf32>
// V3: vector.extract_strided_slice {{.*}} vector<16xf32> to vector<8xf32>
// CHECK: vector.extract %{{.*}}[0] : f32 from vector<1xf32>
// CHECK: scf.for {{.*}} iter_args(
// CHECK: math.exp
// CHECK-NOT: vector.store
// CHECK: arith.addf
// CHECK: scf.for
// CHECK: math.exp
// CHECK: arith.divf
// CHECK: vector.store

// The row of a router is emitted straight-line, and what two sinks need is there once.
func.func @narrow(%x: memref<?x8xf32>, %y: memref<?x8xf32>) {
  tile.rows ins(%x : memref<?x8xf32>) outs(%y : memref<?x8xf32>) {
  ^bb0(%r: index, %xs: memref<?x8xf32>):
    %v = tile.load %xs[%r] : memref<?x8xf32> -> vector<8xf32>
    %e = math.exp %v : vector<8xf32>
    %t = vector.reduction <add>, %e : vector<8xf32> into f32
    %d = vector.broadcast %t : f32 to vector<8xf32>
    %q = arith.divf %e, %d : vector<8xf32>
    tile.yield %q : vector<8xf32>
  }
  return
}
// CHECK-LABEL: func.func @narrow(
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: math.exp
// CHECK-NOT: math.exp
// CHECK: return

// Halves of a row and pairs within it are read from where they lie.
func.func @halves(%x: memref<?x2048xbf16>, %y: memref<?x1024xbf16>, %z: memref<?x1024xbf16>) {
  tile.rows ins(%x : memref<?x2048xbf16>) outs(%y, %z : memref<?x1024xbf16>, memref<?x1024xbf16>) {
  ^bb0(%r: index, %xs: memref<?x2048xbf16>):
    %v = tile.load %xs[%r] : memref<?x2048xbf16> -> vector<2048xbf16>
    %up = vector.extract_strided_slice %v {offsets = [1024], sizes = [1024], strides = [1]} : vector<2048xbf16> to vector<1024xbf16>
    %even, %odd = vector.deinterleave %v : vector<2048xbf16> -> vector<1024xbf16>
    %p = arith.mulf %even, %odd : vector<1024xbf16>
    tile.yield %up, %p : vector<1024xbf16>, vector<1024xbf16>
  }
  return
}
// CHECK-LABEL: func.func @halves(
// CHECK: scf.for %[[C:.*]] = %c0 to %c1024
// CHECK: arith.addi %[[C]], %c1024
// CHECK: vector.load
// CHECK: vector.store
// CHECK: arith.muli %[[C]], %c2
// V4: vector.load {{.*}}, vector<128xbf16>
// V4: vector.deinterleave {{.*}} : vector<128xbf16> -> vector<64xbf16>
// V3: vector.deinterleave {{.*}} : vector<32xbf16> -> vector<16xbf16>
// Arithmetic on narrow floats is in f32, with one rounding an op.
// CHECK: arith.extf
// CHECK: arith.extf
// CHECK: arith.mulf %{{.*}} : vector<{{64|16}}xf32>
// CHECK: arith.truncf
// CHECK: vector.store

// With bounds: zeros up to the group, the body within it, zeros behind the last one.
func.func @bounds(%x: memref<?x8xf32>, %b: memref<4x2xi64>, %y: memref<?x8xf32>, %g: memref<?xi64>) {
  tile.rows ins(%x : memref<?x8xf32>) bounds(%b : memref<4x2xi64>) outs(%y, %g : memref<?x8xf32>, memref<?xi64>) {
  ^bb0(%r: index, %group: index, %xs: memref<?x8xf32>):
    %v = tile.load %xs[%r] : memref<?x8xf32> -> vector<8xf32>
    %n = arith.index_cast %group : index to i64
    tile.yield %v, %n : vector<8xf32>, i64
  }
  return
}
// CHECK-LABEL: func.func @bounds(
// CHECK-SAME: %[[B:arg[0-9]+]]: memref<4x2xi64>, %{{[a-z0-9]+}}: memref<?x8xf32>, %[[G:arg[0-9]+]]: memref<?xi64>,
// CHECK: %[[END:.*]] = scf.for %[[GROUP:.*]] = %c0 to %c4 step %c1 iter_args(%[[NEXT:.*]] = %{{.*}})
// CHECK: memref.load %[[B]][%[[GROUP]], %c0]
// CHECK: memref.load %[[B]][%[[GROUP]], %c1]
// CHECK: scf.for %{{.*}} = %[[NEXT]] to %[[FIRST:.*]] step
// CHECK-NOT: vector.load
// CHECK: memref.store %c0_i64, %[[G]]
// CHECK: scf.for %{{.*}} = %[[FIRST]] to %[[LAST:.*]] step
// CHECK: vector.load
// CHECK: scf.yield %[[LAST]]
// CHECK: scf.for %{{.*}} = %[[END]] to
// CHECK: memref.store %c0_i64, %[[G]]
}
