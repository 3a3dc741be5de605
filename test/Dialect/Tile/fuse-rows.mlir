// RUN: moe-opt %s -split-input-file --tile-fuse -verify-diagnostics | FileCheck %s
// RUN: moe-opt %s -split-input-file --tile-fuse="disable=rows" | FileCheck %s --check-prefix=OFF

// A chain of three becomes one; what the first gives others stays a result.
// CHECK-LABEL: func @chain
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>, %[[S:.*]]: tensor<?xf32>
// CHECK: %[[OUT:.*]]:2 = tile.rows ins(%[[X]], %[[S]] : tensor<?x8xf32>, tensor<?xf32>) outs(
// CHECK: ^bb0(%[[R:.*]]: index, %[[XS:.*]]: tensor<?x8xf32>, %[[SS:.*]]: tensor<?xf32>):
// CHECK:   %[[ROW:.*]] = tile.load %[[XS]][%[[R]]]
// CHECK:   %[[NEG:.*]] = arith.negf %[[ROW]]
// CHECK:   %[[EXP:.*]] = math.exp %[[NEG]]
// CHECK:   %[[F:.*]] = tile.load %[[SS]][%[[R]]]
// CHECK:   %[[B:.*]] = vector.broadcast %[[F]]
// CHECK:   %[[M:.*]] = arith.mulf %[[EXP]], %[[B]]
// CHECK:   tile.yield %[[M]], %[[NEG]]
// CHECK-NOT: tile.rows
// CHECK: return %[[OUT]]#0, %[[OUT]]#1
// OFF-LABEL: func @chain
// OFF-COUNT-3: tile.rows
func.func @chain(%x: tensor<?x8xf32>, %s: tensor<?xf32>, %n: index) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %i = tensor.empty(%n) : tensor<?x8xf32>
  %0 = tile.rows ins(%x : tensor<?x8xf32>) outs(%i : tensor<?x8xf32>) {
  ^bb0(%r: index, %xs: tensor<?x8xf32>):
    %1 = tile.load %xs[%r] : tensor<?x8xf32> -> vector<8xf32>
    %2 = arith.negf %1 : vector<8xf32>
    tile.yield %2 : vector<8xf32>
  } -> tensor<?x8xf32>
  %3 = tile.rows ins(%0 : tensor<?x8xf32>) outs(%i : tensor<?x8xf32>) {
  ^bb0(%r: index, %xs: tensor<?x8xf32>):
    %1 = tile.load %xs[%r] : tensor<?x8xf32> -> vector<8xf32>
    %2 = math.exp %1 : vector<8xf32>
    tile.yield %2 : vector<8xf32>
  } -> tensor<?x8xf32>
  %4 = tile.rows ins(%s, %3 : tensor<?xf32>, tensor<?x8xf32>) outs(%i : tensor<?x8xf32>) {
  ^bb0(%r: index, %ss: tensor<?xf32>, %xs: tensor<?x8xf32>):
    %1 = tile.load %xs[%r] : tensor<?x8xf32> -> vector<8xf32>
    %f = tile.load %ss[%r] : tensor<?xf32> -> f32
    %b = vector.broadcast %f : f32 to vector<8xf32>
    %2 = arith.mulf %1, %b : vector<8xf32>
    tile.yield %2 : vector<8xf32>
  } -> tensor<?x8xf32>
  return %4, %0 : tensor<?x8xf32>, tensor<?x8xf32>
}

// -----

// A value a row, in groups.
// CHECK-LABEL: func @groups
// CHECK: tile.rows ins(%{{.*}} : tensor<9x8xf32>) bounds(
// CHECK: ^bb0(%{{.*}}: index, %[[G:.*]]: index, %{{.*}}: tensor<9x8xf32>):
// CHECK:   %[[SUM:.*]] = vector.reduction
// CHECK:   %[[I:.*]] = arith.index_cast %[[G]]
// CHECK:   arith.addf %[[SUM]],
// CHECK-NOT: tile.rows
func.func @groups(%x: tensor<9x8xf32>, %b: tensor<3x2xi64>) -> tensor<9xf32> {
  %i = tensor.empty() : tensor<9xf32>
  %0 = tile.rows ins(%x : tensor<9x8xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<9xf32>) {
  ^bb0(%r: index, %g: index, %xs: tensor<9x8xf32>):
    %1 = tile.load %xs[%r] : tensor<9x8xf32> -> vector<8xf32>
    %2 = vector.reduction <add>, %1 : vector<8xf32> into f32
    tile.yield %2 : f32
  } -> tensor<9xf32>
  %3 = tile.rows ins(%0 : tensor<9xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<9xf32>) {
  ^bb0(%r: index, %g: index, %xs: tensor<9xf32>):
    %1 = tile.load %xs[%r] : tensor<9xf32> -> f32
    %k = arith.index_cast %g : index to i32
    %f = arith.sitofp %k : i32 to f32
    %2 = arith.addf %1, %f : f32
    tile.yield %2 : f32
  } -> tensor<9xf32>
  return %3 : tensor<9xf32>
}

// -----

// CHECK-LABEL: func @not_the_same_rows
// CHECK-COUNT-2: tile.rows
func.func @not_the_same_rows(%x: tensor<9x8xf32>) -> tensor<7x8xf32> {
  %i = tensor.empty() : tensor<9x8xf32>
  %j = tensor.empty() : tensor<7x8xf32>
  // expected-note @+1 {{the rows before it}}
  %0 = tile.rows ins(%x : tensor<9x8xf32>) outs(%i : tensor<9x8xf32>) {
  ^bb0(%r: index, %xs: tensor<9x8xf32>):
    %1 = tile.load %xs[%r] : tensor<9x8xf32> -> vector<8xf32>
    tile.yield %1 : vector<8xf32>
  } -> tensor<9x8xf32>
  // expected-remark @+1 {{not fused with the rows before it: the numbers of rows are not known to be the same}}
  %3 = tile.rows ins(%0 : tensor<9x8xf32>) outs(%j : tensor<7x8xf32>) {
  ^bb0(%r: index, %xs: tensor<9x8xf32>):
    %1 = tile.load %xs[%r] : tensor<9x8xf32> -> vector<8xf32>
    tile.yield %1 : vector<8xf32>
  } -> tensor<7x8xf32>
  return %3 : tensor<7x8xf32>
}

// -----

// CHECK-LABEL: func @other_bounds
// CHECK-COUNT-2: tile.rows
func.func @other_bounds(%x: tensor<9x8xf32>, %b: tensor<3x2xi64>) -> tensor<9x8xf32> {
  %i = tensor.empty() : tensor<9x8xf32>
  // expected-note @+1 {{the rows before it}}
  %0 = tile.rows ins(%x : tensor<9x8xf32>) outs(%i : tensor<9x8xf32>) {
  ^bb0(%r: index, %xs: tensor<9x8xf32>):
    %1 = tile.load %xs[%r] : tensor<9x8xf32> -> vector<8xf32>
    tile.yield %1 : vector<8xf32>
  } -> tensor<9x8xf32>
  // expected-remark @+1 {{not fused with the rows before it: the bounds are not the same}}
  %3 = tile.rows ins(%0 : tensor<9x8xf32>) bounds(%b : tensor<3x2xi64>) outs(%i : tensor<9x8xf32>) {
  ^bb0(%r: index, %g: index, %xs: tensor<9x8xf32>):
    %1 = tile.load %xs[%r] : tensor<9x8xf32> -> vector<8xf32>
    tile.yield %1 : vector<8xf32>
  } -> tensor<9x8xf32>
  return %3 : tensor<9x8xf32>
}

// -----

// CHECK-LABEL: func @gathered
// CHECK-COUNT-2: tile.rows
func.func @gathered(%x: tensor<9x8xf32>, %t: tensor<9xi32>) -> tensor<9x8xf32> {
  %i = tensor.empty() : tensor<9x8xf32>
  // expected-note @+1 {{of this op}}
  %0 = tile.rows ins(%x : tensor<9x8xf32>) outs(%i : tensor<9x8xf32>) {
  ^bb0(%r: index, %xs: tensor<9x8xf32>):
    %1 = tile.load %xs[%r] : tensor<9x8xf32> -> vector<8xf32>
    %2 = arith.negf %1 : vector<8xf32>
    tile.yield %2 : vector<8xf32>
  } -> tensor<9x8xf32>
  // expected-remark @+1 {{not fused with the rows before it: a row of another number, or an element, is read}}
  %3 = tile.rows ins(%0, %t : tensor<9x8xf32>, tensor<9xi32>) outs(%i : tensor<9x8xf32>) {
  ^bb0(%r: index, %xs: tensor<9x8xf32>, %ts: tensor<9xi32>):
    %1 = tile.load %ts[%r] : tensor<9xi32> -> i32
    %2 = arith.index_cast %1 : i32 to index
    %4 = tile.load %xs[%2] : tensor<9x8xf32> -> vector<8xf32>
    tile.yield %4 : vector<8xf32>
  } -> tensor<9x8xf32>
  return %3 : tensor<9x8xf32>
}

// -----

// CHECK-LABEL: func @use_between
// CHECK-COUNT-3: tile.rows
func.func @use_between(%x: tensor<9x8xf32>, %t: tensor<9xi32>) -> (tensor<9x8xf32>, tensor<9x8xf32>) {
  %i = tensor.empty() : tensor<9x8xf32>
  // expected-note @+1 {{of this op}}
  %0 = tile.rows ins(%x : tensor<9x8xf32>) outs(%i : tensor<9x8xf32>) {
  ^bb0(%r: index, %xs: tensor<9x8xf32>):
    %1 = tile.load %xs[%r] : tensor<9x8xf32> -> vector<8xf32>
    %2 = arith.negf %1 : vector<8xf32>
    tile.yield %2 : vector<8xf32>
  } -> tensor<9x8xf32>
  // expected-note @+2 {{used here}}
  // expected-remark @+1 {{not fused with the rows before it: a row of another number, or an element, is read}}
  %3 = tile.rows ins(%0, %t : tensor<9x8xf32>, tensor<9xi32>) outs(%i : tensor<9x8xf32>) {
  ^bb0(%r: index, %xs: tensor<9x8xf32>, %ts: tensor<9xi32>):
    %1 = tile.load %ts[%r] : tensor<9xi32> -> i32
    %2 = arith.index_cast %1 : i32 to index
    %4 = tile.load %xs[%2] : tensor<9x8xf32> -> vector<8xf32>
    tile.yield %4 : vector<8xf32>
  } -> tensor<9x8xf32>
  // expected-remark @+1 {{not fused with the rows before it: a use of the rows before it stands between the two}}
  %5 = tile.rows ins(%0 : tensor<9x8xf32>) outs(%i : tensor<9x8xf32>) {
  ^bb0(%r: index, %xs: tensor<9x8xf32>):
    %1 = tile.load %xs[%r] : tensor<9x8xf32> -> vector<8xf32>
    tile.yield %1 : vector<8xf32>
  } -> tensor<9x8xf32>
  return %3, %5 : tensor<9x8xf32>, tensor<9x8xf32>
}

// -----

// All threads of a wide row would compute the narrow one.
// CHECK-LABEL: func @far_wider
// CHECK-COUNT-2: tile.rows
func.func @far_wider(%x: tensor<9x8xf32>, %w: tensor<9x64xf32>) -> tensor<9x64xf32> {
  %i = tensor.empty() : tensor<9xf32>
  %j = tensor.empty() : tensor<9x64xf32>
  // expected-note @+1 {{the rows before it}}
  %0 = tile.rows ins(%x : tensor<9x8xf32>) outs(%i : tensor<9xf32>) {
  ^bb0(%r: index, %xs: tensor<9x8xf32>):
    %1 = tile.load %xs[%r] : tensor<9x8xf32> -> vector<8xf32>
    %2 = vector.reduction <add>, %1 : vector<8xf32> into f32
    tile.yield %2 : f32
  } -> tensor<9xf32>
  // expected-remark @+1 {{not fused with the rows before it: it is far wider}}
  %3 = tile.rows ins(%0, %w : tensor<9xf32>, tensor<9x64xf32>) outs(%j : tensor<9x64xf32>) {
  ^bb0(%r: index, %ss: tensor<9xf32>, %ws: tensor<9x64xf32>):
    %1 = tile.load %ss[%r] : tensor<9xf32> -> f32
    %b = vector.broadcast %1 : f32 to vector<64xf32>
    %2 = tile.load %ws[%r] : tensor<9x64xf32> -> vector<64xf32>
    %4 = arith.mulf %2, %b : vector<64xf32>
    tile.yield %4 : vector<64xf32>
  } -> tensor<9x64xf32>
  return %3 : tensor<9x64xf32>
}

// -----

// CHECK-LABEL: func @ordered
// CHECK-COUNT-2: tile.rows
func.func @ordered(%x: tensor<9x8xf32>, %o: tensor<9xi32>) -> tensor<9x8xf32> {
  %i = tensor.empty() : tensor<9x8xf32>
  // expected-note @+1 {{the rows before it}}
  %0 = tile.rows ins(%x : tensor<9x8xf32>) order(%o : tensor<9xi32>) outs(%i : tensor<9x8xf32>) {
  ^bb0(%r: index, %xs: tensor<9x8xf32>):
    %1 = tile.load %xs[%r] : tensor<9x8xf32> -> vector<8xf32>
    %2 = arith.negf %1 : vector<8xf32>
    tile.yield %2 : vector<8xf32>
  } -> tensor<9x8xf32>
  // expected-remark @+1 {{not fused with the rows before it: one has an order}}
  %3 = tile.rows ins(%0 : tensor<9x8xf32>) outs(%i : tensor<9x8xf32>) {
  ^bb0(%r: index, %xs: tensor<9x8xf32>):
    %1 = tile.load %xs[%r] : tensor<9x8xf32> -> vector<8xf32>
    tile.yield %1 : vector<8xf32>
  } -> tensor<9x8xf32>
  return %3 : tensor<9x8xf32>
}

// -----

// 8 and 9 rows at once do not fit the registers of a thread.
// CHECK-LABEL: func @many_rows
// CHECK-COUNT-2: tile.rows
func.func @many_rows(%x: tensor<9x8xf32>) -> tensor<9x8xf32> {
  %i = tensor.empty() : tensor<9x8xf32>
  // expected-note @+1 {{the rows before it}}
  %0 = tile.rows ins(%x : tensor<9x8xf32>) outs(%i : tensor<9x8xf32>) {
  ^bb0(%r: index, %xs: tensor<9x8xf32>):
    %c0 = arith.constant 0 : index
    %x0 = tile.load %xs[%c0] : tensor<9x8xf32> -> vector<8xf32>
    %c1 = arith.constant 1 : index
    %x1 = tile.load %xs[%c1] : tensor<9x8xf32> -> vector<8xf32>
    %c2 = arith.constant 2 : index
    %x2 = tile.load %xs[%c2] : tensor<9x8xf32> -> vector<8xf32>
    %c3 = arith.constant 3 : index
    %x3 = tile.load %xs[%c3] : tensor<9x8xf32> -> vector<8xf32>
    %c4 = arith.constant 4 : index
    %x4 = tile.load %xs[%c4] : tensor<9x8xf32> -> vector<8xf32>
    %c5 = arith.constant 5 : index
    %x5 = tile.load %xs[%c5] : tensor<9x8xf32> -> vector<8xf32>
    %c6 = arith.constant 6 : index
    %x6 = tile.load %xs[%c6] : tensor<9x8xf32> -> vector<8xf32>
    %c7 = arith.constant 7 : index
    %x7 = tile.load %xs[%c7] : tensor<9x8xf32> -> vector<8xf32>
    %s1 = arith.addf %x0, %x1 : vector<8xf32>
    %s2 = arith.addf %s1, %x2 : vector<8xf32>
    %s3 = arith.addf %s2, %x3 : vector<8xf32>
    %s4 = arith.addf %s3, %x4 : vector<8xf32>
    %s5 = arith.addf %s4, %x5 : vector<8xf32>
    %s6 = arith.addf %s5, %x6 : vector<8xf32>
    %s7 = arith.addf %s6, %x7 : vector<8xf32>
    tile.yield %s7 : vector<8xf32>
  } -> tensor<9x8xf32>
  // expected-remark @+1 {{not fused with the rows before it: it would read more than 16 rows at once}}
  %1 = tile.rows ins(%x, %0 : tensor<9x8xf32>, tensor<9x8xf32>) outs(%i : tensor<9x8xf32>) {
  ^bb0(%r: index, %xs: tensor<9x8xf32>, %before: tensor<9x8xf32>):
    %b = tile.load %before[%r] : tensor<9x8xf32> -> vector<8xf32>
    %c0 = arith.constant 0 : index
    %x0 = tile.load %xs[%c0] : tensor<9x8xf32> -> vector<8xf32>
    %c1 = arith.constant 1 : index
    %x1 = tile.load %xs[%c1] : tensor<9x8xf32> -> vector<8xf32>
    %c2 = arith.constant 2 : index
    %x2 = tile.load %xs[%c2] : tensor<9x8xf32> -> vector<8xf32>
    %c3 = arith.constant 3 : index
    %x3 = tile.load %xs[%c3] : tensor<9x8xf32> -> vector<8xf32>
    %c4 = arith.constant 4 : index
    %x4 = tile.load %xs[%c4] : tensor<9x8xf32> -> vector<8xf32>
    %c5 = arith.constant 5 : index
    %x5 = tile.load %xs[%c5] : tensor<9x8xf32> -> vector<8xf32>
    %c6 = arith.constant 6 : index
    %x6 = tile.load %xs[%c6] : tensor<9x8xf32> -> vector<8xf32>
    %c7 = arith.constant 7 : index
    %x7 = tile.load %xs[%c7] : tensor<9x8xf32> -> vector<8xf32>
    %c8 = arith.constant 8 : index
    %x8 = tile.load %xs[%c8] : tensor<9x8xf32> -> vector<8xf32>
    %s1 = arith.addf %x0, %x1 : vector<8xf32>
    %s2 = arith.addf %s1, %x2 : vector<8xf32>
    %s3 = arith.addf %s2, %x3 : vector<8xf32>
    %s4 = arith.addf %s3, %x4 : vector<8xf32>
    %s5 = arith.addf %s4, %x5 : vector<8xf32>
    %s6 = arith.addf %s5, %x6 : vector<8xf32>
    %s7 = arith.addf %s6, %x7 : vector<8xf32>
    %s8 = arith.addf %s7, %x8 : vector<8xf32>
    %t = arith.addf %b, %s8 : vector<8xf32>
    tile.yield %t : vector<8xf32>
  } -> tensor<9x8xf32>
  return %1 : tensor<9x8xf32>
}
