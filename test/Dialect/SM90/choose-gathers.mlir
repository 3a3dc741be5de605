// RUN: moe-opt %s --mlir-disable-threading --sm90-choose-gathers=table=none --mlir-print-local-scope 2>&1 | FileCheck %s
// RUN: moe-opt %s --mlir-disable-threading "--sm90-choose-gathers=table=none rows=64" 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: echo "sm_90a rows.nk.bf16.bf16.k4096.n8192.g8.gather 1024 10 none" > %t
// RUN: echo "sm_90a rows.nk.bf16.bf16.k4096.n8192.g8 1024 20 none" >> %t
// RUN: moe-opt %s --mlir-disable-threading --sm90-choose-gathers=table=%t 2>&1 | FileCheck %s --check-prefix=TABLE
// RUN: not moe-opt %s --mlir-disable-threading --sm90-choose-gathers=table=%t.none 2>&1 | FileCheck %s --check-prefix=NONE

// NONE: error: cannot read '{{.*}}.none'

// A copy costs little beside a large product, which is faster without a gather.
// CHECK: remark: its rows are copied first: gathered {{[0-9.]+}} us, copied {{[0-9.]+}} us
// Where a row meets few columns a copy is dear.
// CHECK: remark: gathers its rows: gathered
// Two products share a copy.
// CHECK: remark: its rows are copied first
// CHECK: remark: its rows are copied first

// CHECK-LABEL: func.func @large
// CHECK-SAME: %[[X:[^:]*]]: tensor<4096x4096xbf16>, %[[G:[^:]*]]: tensor<8192xi32>
// CHECK: %[[EMPTY:.*]] = tensor.empty() : tensor<8192x4096xbf16>
// CHECK: %[[COPY:.*]] = tile.rows ins(%[[X]], %[[G]] : tensor<4096x4096xbf16>, tensor<8192xi32>) outs(%[[EMPTY]] : tensor<8192x4096xbf16>) {
// CHECK-NEXT: ^bb0(%[[ROW:.*]]: index, %[[XS:.*]]: tensor<4096x4096xbf16>, %[[GS:.*]]: tensor<8192xi32>):
// CHECK-NEXT: %[[N:.*]] = tile.load %[[GS]][%[[ROW]]] : tensor<8192xi32> -> i32
// CHECK-NEXT: %[[I:.*]] = arith.index_cast %[[N]] : i32 to index
// CHECK-NEXT: %[[V:.*]] = tile.load %[[XS]][%[[I]]] : tensor<4096x4096xbf16> -> vector<4096xbf16>
// CHECK-NEXT: tile.yield %[[V]]
// CHECK: tile.ragged_gemm lhs(%[[COPY]] : tensor<8192x4096xbf16>) rhs(
// Measured times decide, if there are both.
// TABLE: remark: gathers its rows: gathered 10.0 us, copied {{[0-9]+}}.{{[0-9]}} us
// TABLE-LABEL: func.func @large
// TABLE: gather(
func.func @large(%x: tensor<4096x4096xbf16>, %g: tensor<8192xi32>, %w: tensor<8x8192x4096xbf16>, %b: tensor<8x2xi64>) -> tensor<8192x8192xbf16> {
  %e = tensor.empty() : tensor<8192x8192xbf16>
  %y = tile.ragged_gemm lhs(%x : tensor<4096x4096xbf16>) gather(%g : tensor<8192xi32>) rhs(%w : tensor<8x8192x4096xbf16>) bounds(%b : tensor<8x2xi64>)
      outs(%e : tensor<8192x8192xbf16>) attributes {layout = #tile.rhs<nk>} {
  ^bb0(%acc: f32):
    %0 = arith.truncf %acc : f32 to bf16
    tile.yield %0 : bf16
  } -> tensor<8192x8192xbf16>
  return %y : tensor<8192x8192xbf16>
}

// CHECK-LABEL: func.func @small
// CHECK-NOT: tile.rows
// CHECK: gather(
func.func @small(%x: tensor<4096x4096xbf16>, %g: tensor<8192xi32>, %w: tensor<8x256x4096xbf16>, %b: tensor<8x2xi64>) -> tensor<8192x256xbf16> {
  %e = tensor.empty() : tensor<8192x256xbf16>
  %y = tile.ragged_gemm lhs(%x : tensor<4096x4096xbf16>) gather(%g : tensor<8192xi32>) rhs(%w : tensor<8x256x4096xbf16>) bounds(%b : tensor<8x2xi64>)
      outs(%e : tensor<8192x256xbf16>) attributes {layout = #tile.rhs<nk>} {
  ^bb0(%acc: f32):
    %0 = arith.truncf %acc : f32 to bf16
    tile.yield %0 : bf16
  } -> tensor<8192x256xbf16>
  return %y : tensor<8192x256xbf16>
}

// The index says how many rows there are; a small number of them makes another choice.
// CHECK-LABEL: func.func @two
// CHECK: %[[COUNT:.*]] = tensor.dim %{{.*}}, %c0 : tensor<?xi32>
// CHECK: tensor.empty(%[[COUNT]]) : tensor<?x4096xbf16>
// CHECK: %[[COPY:.*]] = tile.rows
// CHECK-NOT: tile.rows
// CHECK: tile.ragged_gemm lhs(%[[COPY]] : tensor<?x4096xbf16>) rhs(
// CHECK: tile.ragged_gemm lhs(%[[COPY]] : tensor<?x4096xbf16>) rhs(
// ROWS-LABEL: func.func @two
// ROWS: gather(
// ROWS: gather(
func.func @two(%x: tensor<?x4096xbf16>, %g: tensor<?xi32>, %w: tensor<8x8192x4096xbf16>, %v: tensor<8x8192x4096xbf16>, %b: tensor<8x2xi64>,
               %e: tensor<?x8192xbf16>) -> (tensor<?x8192xbf16>, tensor<?x8192xbf16>) {
  %y = tile.ragged_gemm lhs(%x : tensor<?x4096xbf16>) gather(%g : tensor<?xi32>) rhs(%w : tensor<8x8192x4096xbf16>) bounds(%b : tensor<8x2xi64>)
      outs(%e : tensor<?x8192xbf16>) attributes {layout = #tile.rhs<nk>} {
  ^bb0(%acc: f32):
    %0 = arith.truncf %acc : f32 to bf16
    tile.yield %0 : bf16
  } -> tensor<?x8192xbf16>
  %z = tile.ragged_gemm lhs(%x : tensor<?x4096xbf16>) gather(%g : tensor<?xi32>) rhs(%v : tensor<8x8192x4096xbf16>) bounds(%b : tensor<8x2xi64>)
      outs(%e : tensor<?x8192xbf16>) attributes {layout = #tile.rhs<nk>} {
  ^bb0(%acc: f32):
    %0 = arith.truncf %acc : f32 to bf16
    tile.yield %0 : bf16
  } -> tensor<?x8192xbf16>
  return %y, %z : tensor<?x8192xbf16>, tensor<?x8192xbf16>
}

// Left alone: what has a schedule, and what runs on ordinary loads.
// CHECK-LABEL: func.func @alone
// CHECK-NOT: tile.rows
// CHECK: gather(
// CHECK: gather(
func.func @alone(%x: tensor<4096x4096xbf16>, %g: tensor<8192xi32>, %w: tensor<8x8192x4096xbf16>, %b: tensor<8x2xi64>, %xf: tensor<4096x4096xf32>,
                 %wf: tensor<8x8192x4096xf32>, %e: tensor<8192x8192xbf16>, %ef: tensor<8192x8192xf32>) -> (tensor<8192x8192xbf16>, tensor<8192x8192xf32>) {
  %y = tile.ragged_gemm lhs(%x : tensor<4096x4096xbf16>) gather(%g : tensor<8192xi32>) rhs(%w : tensor<8x8192x4096xbf16>) bounds(%b : tensor<8x2xi64>)
      outs(%e : tensor<8192x8192xbf16>) attributes {layout = #tile.rhs<nk>, sm90.schedule = #sm90.schedule<m = 128, n = 256, stages = 4>} {
  ^bb0(%acc: f32):
    %0 = arith.truncf %acc : f32 to bf16
    tile.yield %0 : bf16
  } -> tensor<8192x8192xbf16>
  %z = tile.ragged_gemm lhs(%xf : tensor<4096x4096xf32>) gather(%g : tensor<8192xi32>) rhs(%wf : tensor<8x8192x4096xf32>) bounds(%b : tensor<8x2xi64>)
      outs(%ef : tensor<8192x8192xf32>) attributes {layout = #tile.rhs<nk>} {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<8192x8192xf32>
  return %y, %z : tensor<8192x8192xbf16>, tensor<8192x8192xf32>
}

// The copy of a plan's tokens goes in the order of slots, if what reads it reads the plan's groups only.
// CHECK-LABEL: func.func @planned
// CHECK: %[[PLAN:.*]]:6 = tile.plan
// CHECK: tile.rows ins(%{{.*}}, %[[PLAN]]#3 : {{.*}}) order(%[[PLAN]]#4 : tensor<4096x2xi32>) outs(
// CHECK: gather(%[[PLAN]]#3
func.func @planned(%x: tensor<4096x4096xbf16>, %ids: tensor<4096x2xi32>, %w: tensor<8x8192x4096xbf16>, %one: tensor<256x4096xbf16>, %s: tensor<8xi32>, %b: tensor<8x2xi64>,
                   %m: tensor<8192xi32>, %d: tensor<1xi64>, %e: tensor<8192x8192xbf16>, %f: tensor<8192x256xbf16>)
    -> (tensor<8192x8192xbf16>, tensor<8192x256xbf16>) {
  %p:6 = tile.plan ids(%ids : tensor<4096x2xi32>) outs(%s, %b, %m, %m, %ids, %d : tensor<8xi32>, tensor<8x2xi64>, tensor<8192xi32>, tensor<8192xi32>, tensor<4096x2xi32>, tensor<1xi64>)
      -> tensor<8xi32>, tensor<8x2xi64>, tensor<8192xi32>, tensor<8192xi32>, tensor<4096x2xi32>, tensor<1xi64>
  %y = tile.ragged_gemm lhs(%x : tensor<4096x4096xbf16>) gather(%p#3 : tensor<8192xi32>) rhs(%w : tensor<8x8192x4096xbf16>) bounds(%p#1 : tensor<8x2xi64>)
      outs(%e : tensor<8192x8192xbf16>) attributes {layout = #tile.rhs<nk>} {
  ^bb0(%acc: f32):
    %0 = arith.truncf %acc : f32 to bf16
    tile.yield %0 : bf16
  } -> tensor<8192x8192xbf16>
  %z = tile.ragged_gemm lhs(%x : tensor<4096x4096xbf16>) gather(%p#3 : tensor<8192xi32>) rhs(%one : tensor<256x4096xbf16>)
      outs(%f : tensor<8192x256xbf16>) attributes {layout = #tile.rhs<nk>, sm90.schedule = #sm90.schedule<m = 128, n = 256, stages = 4>} {
  ^bb0(%acc: f32):
    %0 = arith.truncf %acc : f32 to bf16
    tile.yield %0 : bf16
  } -> tensor<8192x256xbf16>
  return %y, %z : tensor<8192x8192xbf16>, tensor<8192x256xbf16>
}

// A product without groups has results in rows without a slot, too.
// CHECK-LABEL: func.func @ungrouped
// CHECK: tile.rows ins(%{{[^)]*}}) outs(
func.func @ungrouped(%x: tensor<4096x4096xbf16>, %ids: tensor<4096x2xi32>, %w: tensor<65536x4096xbf16>, %s: tensor<8xi32>, %b: tensor<8x2xi64>, %m: tensor<8192xi32>, %d: tensor<1xi64>,
                     %e: tensor<8192x65536xbf16>) -> tensor<8192x65536xbf16> {
  %p:6 = tile.plan ids(%ids : tensor<4096x2xi32>) outs(%s, %b, %m, %m, %ids, %d : tensor<8xi32>, tensor<8x2xi64>, tensor<8192xi32>, tensor<8192xi32>, tensor<4096x2xi32>, tensor<1xi64>)
      -> tensor<8xi32>, tensor<8x2xi64>, tensor<8192xi32>, tensor<8192xi32>, tensor<4096x2xi32>, tensor<1xi64>
  %y = tile.ragged_gemm lhs(%x : tensor<4096x4096xbf16>) gather(%p#3 : tensor<8192xi32>) rhs(%w : tensor<65536x4096xbf16>)
      outs(%e : tensor<8192x65536xbf16>) attributes {layout = #tile.rhs<nk>} {
  ^bb0(%acc: f32):
    %0 = arith.truncf %acc : f32 to bf16
    tile.yield %0 : bf16
  } -> tensor<8192x65536xbf16>
  return %y : tensor<8192x65536xbf16>
}
