// RUN: moe-opt %s --convert-moe-to-tile | FileCheck %s

#row = affine_map<(d0, d1) -> (d0)>
#column = affine_map<(d0, d1) -> (d1)>
#element = affine_map<(d0, d1) -> (d0, d1)>
#none = affine_map<(d0, d1) -> ()>

// bf16 is computed in f32 and rounded once.
// CHECK-LABEL: func @bf16
func.func @bf16(%x: tensor<?x8xbf16>, %y: tensor<?x8xbf16>) -> tensor<?x8xbf16> {
  // CHECK: %[[M:.*]] = tensor.dim
  // CHECK: tensor.empty(%[[M]]) : tensor<?x8xbf16>
  // CHECK: tile.rows ins(%arg0, %arg1 : tensor<?x8xbf16>, tensor<?x8xbf16>)
  // CHECK-DAG: %[[A:.*]] = arith.extf
  // CHECK-DAG: %[[B:.*]] = arith.extf
  // CHECK: %[[S:.*]] = arith.addf %[[A]], %[[B]] fastmath<contract> : vector<8xf32>
  // CHECK: arith.truncf %[[S]] : vector<8xf32> to vector<8xbf16>
  %s = arith.addf %x, %y fastmath<contract> : tensor<?x8xbf16>
  return %s : tensor<?x8xbf16>
}

// Rows of a vector are scalars; a splat constant moves into the body, another constant is read like any tensor.
// CHECK-LABEL: func @constants
func.func @constants(%x: tensor<3xf32>) -> tensor<3xf32> {
  // CHECK: %[[C:.*]] = arith.constant dense<[1.0{{.*}}, 2.0{{.*}}, 3.0{{.*}}]>
  // CHECK: tile.rows ins(%arg0 : tensor<3xf32>)
  // CHECK: %[[TWO:.*]] = arith.constant 2.0{{.*}} : f32
  // CHECK: arith.mulf %{{.*}}, %[[TWO]] : f32
  // CHECK: tile.rows ins(%{{.*}}, %[[C]] : tensor<3xf32>, tensor<3xf32>)
  %c = arith.constant dense<2.0> : tensor<3xf32>
  %d = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %y = arith.mulf %x, %c : tensor<3xf32>
  %z = arith.addf %y, %d : tensor<3xf32>
  return %z : tensor<3xf32>
}

// CHECK-LABEL: func @casts
func.func @casts(%x: tensor<4x8xf16>, %i: tensor<4x8xi32>) -> (tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<4x8xi1>) {
  // CHECK: %[[E:.*]] = arith.extf %{{.*}} : vector<8xf16> to vector<8xf32>
  // CHECK-NEXT: tile.yield %[[E]] : vector<8xf32>
  // CHECK: arith.truncf %{{.*}} : vector<8xf32> to vector<8xbf16>
  // CHECK: arith.sitofp %{{.*}} : vector<8xi32> to vector<8xf32>
  // CHECK-NEXT: arith.truncf %{{.*}} : vector<8xf32> to vector<8xbf16>
  // CHECK: arith.cmpf olt, %{{.*}} : vector<8xf32>
  %e = arith.extf %x : tensor<4x8xf16> to tensor<4x8xf32>
  %t = arith.truncf %e : tensor<4x8xf32> to tensor<4x8xbf16>
  %f = arith.sitofp %i : tensor<4x8xi32> to tensor<4x8xbf16>
  %c = arith.cmpf olt, %t, %f : tensor<4x8xbf16>
  return %t, %f, %c : tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<4x8xi1>
}

// A ragged result is zero outside its groups, whatever the op makes of zeros.
// CHECK-LABEL: func @ragged
func.func @ragged(%x: tensor<8x4xf32, #moe.ragged<groups = 2>>, %s: tensor<2xi32>) -> tensor<2x4xf32> {
  // CHECK: %[[B:.*]] = tile.offsets
  // CHECK: tile.rows ins(%arg0 : tensor<8x4xf32>) bounds(%[[B]] : tensor<2x2xi64>)
  // CHECK: math.exp
  // CHECK: arith.constant dense<1.0{{.*}}> : vector<4xf32>
  // CHECK: arith.addf
  %one = arith.constant dense<1.0> : tensor<8x4xf32, #moe.ragged<groups = 2>>
  %p = moe.plan_from_sizes %s : tensor<2xi32> -> !moe.plan<groups = 2, rows = 8>
  %e = math.exp %x : tensor<8x4xf32, #moe.ragged<groups = 2>>
  %y = arith.addf %e, %one : tensor<8x4xf32, #moe.ragged<groups = 2>>
  %g = moe.group_sum %y, %p : tensor<8x4xf32, #moe.ragged<groups = 2>>, !moe.plan<groups = 2, rows = 8> -> tensor<2x4xf32>
  return %g : tensor<2x4xf32>
}

// CHECK-LABEL: func @generic
func.func @generic(%x: tensor<?x8xf32>, %r: tensor<?xf32>, %c: tensor<8xf32>, %n: tensor<f32>, %init: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK: tile.rows ins(%arg0, %arg1, %arg2, %arg3 : tensor<?x8xf32>, tensor<?xf32>, tensor<8xf32>, tensor<f32>)
  // CHECK: ^bb0(%[[I:.*]]: index, %[[X:.*]]: tensor<?x8xf32>, %[[R:.*]]: tensor<?xf32>, %[[C:.*]]: tensor<8xf32>, %[[N:.*]]: tensor<f32>):
  // CHECK: %[[A:.*]] = tile.load %[[X]][%[[I]]] : tensor<?x8xf32> -> vector<8xf32>
  // CHECK: %[[S:.*]] = tile.load %[[R]][%[[I]]] : tensor<?xf32> -> f32
  // CHECK: %[[B:.*]] = vector.broadcast %[[S]]
  // CHECK: %[[D:.*]] = tile.load %[[C]][] : tensor<8xf32> -> vector<8xf32>
  // CHECK: %[[T:.*]] = tile.load %[[N]][] : tensor<f32> -> f32
  // CHECK: %[[E:.*]] = vector.broadcast %[[T]]
  // CHECK: %[[M:.*]] = arith.mulf %[[A]], %[[B]]
  // CHECK: %[[P:.*]] = arith.addf %[[M]], %[[D]]
  // CHECK: %[[Q:.*]] = arith.maximumf %[[P]], %[[E]]
  // CHECK: tile.yield %[[Q]]
  %y = linalg.generic {indexing_maps = [#element, #row, #column, #none, #element], iterator_types = ["parallel", "parallel"]}
      ins(%x, %r, %c, %n : tensor<?x8xf32>, tensor<?xf32>, tensor<8xf32>, tensor<f32>) outs(%init : tensor<?x8xf32>) {
  ^bb0(%a: f32, %b: f32, %d: f32, %e: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %p = arith.addf %m, %d : f32
    %q = arith.maximumf %p, %e : f32
    linalg.yield %q : f32
  } -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// CHECK-LABEL: func @map_fill
func.func @map_fill(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  // CHECK: tile.rows outs(%{{.*}} : tensor<4x8xf32>)
  // CHECK: %[[C:.*]] = arith.constant dense<3.0{{.*}}> : vector<8xf32>
  // CHECK: tile.yield %[[C]]
  // CHECK: tile.rows ins(%arg0 : tensor<4x8xf32>)
  // CHECK: %[[ROW:.*]] = tile.load
  // CHECK: math.tanh %[[ROW]] : vector<8xf32>
  %three = arith.constant 3.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %f = linalg.fill ins(%three : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %m = linalg.map { math.tanh } ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>)
  return %f, %m : tensor<4x8xf32>, tensor<4x8xf32>
}

// Named ops have a body too.
// CHECK-LABEL: func @named
func.func @named(%x: tensor<4x8xf32>, %r: tensor<4xf32>) -> tensor<4x8xf32> {
  // CHECK: tile.rows ins(%arg1 : tensor<4xf32>)
  // CHECK: %[[S:.*]] = tile.load
  // CHECK: %[[B:.*]] = vector.broadcast %[[S]]
  // CHECK: tile.yield %[[B]]
  // CHECK: tile.rows ins(%arg0, %{{.*}} : tensor<4x8xf32>, tensor<4x8xf32>)
  // CHECK: arith.subf {{.*}} : vector<8xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %b = linalg.broadcast ins(%r : tensor<4xf32>) outs(%e : tensor<4x8xf32>) dimensions = [1]
  %y = linalg.sub ins(%x, %b : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
