// RUN: moe-opt %s --convert-moe-to-tile --canonicalize --cse | FileCheck %s

// Two ranks, two experts on each, one or two slots a token.

!route = !moe.route<axis = "ep", ranks = 2, groups = 2, topk = 2, max_tokens = 8>

// CHECK-LABEL: func.func @dispatch
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>, %[[IDS:.*]]: tensor<?x2xi32>
// CHECK-DAG: %[[OWNERS:.*]] = arith.constant dense<[0, 0, 1, 1]> : tensor<4xi32>
// CHECK-DAG: %[[NUMBERS:.*]] = arith.constant dense<[0, 1, 0, 1]> : tensor<4xi32>
// The rank of each slot, and of each token's first slot on it; ids that are no expert's are reported.
// CHECK: %[[RANKS:.*]]:2 = tile.rows ins(%[[IDS]], %[[OWNERS]]
// CHECK-COUNT-2: tile.fault bad_id
// What goes to each rank.
// CHECK: %[[SEND:.*]]:6 = tile.plan ids(%[[RANKS]]#1 : tensor<?x2xi32>)
// CHECK: %[[SIZES:.*]] = prog.all_to_all %[[SEND]]#0 into %{{.*}} {axis = "ep", ranks = 2 : i64} : tensor<2xi32>, tensor<2xi32>
// CHECK: %[[ARRIVED:.*]] = tile.offsets sizes(%[[SIZES]] : tensor<2xi32>) rows(%c16)
// The ids, as the receiver numbers its experts.
// CHECK: %[[SENT:.*]] = tile.rows ins(%[[IDS]], %[[SEND]]#3, %[[RANKS]]#0, %[[NUMBERS]] {{.*}} bounds(%[[SEND]]#1
// CHECK: prog.all_to_all %[[SENT]] send %[[SEND]]#1 receive %[[ARRIVED]] into %{{.*}} -> tensor<16x2xi32>
// CHECK: %[[LOCAL:.*]] = tile.rows
// CHECK: %[[PACKED:.*]] = tile.rows ins(%[[X]], %[[SEND]]#3
// CHECK: %[[A:.*]] = prog.all_to_all %[[PACKED]] send %[[SEND]]#1 receive %[[ARRIVED]] into %{{.*}} -> tensor<16x8xf32>
// CHECK: return %[[A]], %[[LOCAL]]
func.func @dispatch(%x: tensor<?x8xf32>, %ids: tensor<?x2xi32>) -> (tensor<16x8xf32>, tensor<16x2xi32>) {
  %r = moe.route %ids : tensor<?x2xi32> -> !route
  %i = moe.route_ids %r : !route -> tensor<16x2xi32>
  %a = moe.dispatch %x, %r : tensor<?x8xf32>, !route -> tensor<16x8xf32>
  return %a, %i : tensor<16x8xf32>, tensor<16x2xi32>
}

// The other way, from an argument: its rows may be padded, so they are copied first.
// CHECK-LABEL: func.func @collect
// CHECK-SAME: %[[Y:.*]]: tensor<16x8xf32>
// CHECK: %[[SEND:.*]]:6 = tile.plan
// CHECK: %[[ARRIVED:.*]] = tile.offsets
// CHECK: %[[COPY:.*]] = tile.rows ins(%[[Y]] : tensor<16x8xf32>)
// CHECK: %[[BACK:.*]] = prog.all_to_all %[[COPY]] send %[[ARRIVED]] receive %[[SEND]]#1
// CHECK: tile.rows ins(%[[BACK]], %[[SEND]]#4
func.func @collect(%y: tensor<16x8xf32>, %ids: tensor<?x2xi32>) -> tensor<?x8xf32> {
  %r = moe.route %ids : tensor<?x2xi32> -> !route
  %c = moe.collect %y, %r : tensor<16x8xf32>, !route -> tensor<?x8xf32>
  return %c : tensor<?x8xf32>
}

!plan = !moe.plan<groups = 2, rows = 32, tokens = 16, topk = 2>

// Every slot's row comes back to the place that a plan of the slots' ranks gives it.
// CHECK-LABEL: func.func @combine
// CHECK: %[[RANKS:.*]]:2 = tile.rows
// CHECK: %[[LOCAL:.*]]:6 = tile.plan ids(%{{.*}} : tensor<16x2xi32>)
// CHECK: %[[HERE:.*]]:6 = tile.plan ids(%{{.*}} : tensor<16x2xi32>) {{.*}} tensor<1x2xi64>
// CHECK: %[[HOME:.*]]:6 = tile.plan ids(%[[RANKS]]#0 : tensor<?x2xi32>)
// CHECK: %[[SIZES:.*]] = prog.all_to_all %[[HOME]]#0
// CHECK: %[[LEAVING:.*]] = tile.offsets sizes(%[[SIZES]]
// CHECK: %[[PACKED:.*]] = tile.rows ins(%{{.*}}, %[[HERE]]#2, %[[LOCAL]]#4 {{.*}} bounds(%[[HERE]]#1
// CHECK: %[[BACK:.*]] = prog.all_to_all %[[PACKED]] send %[[LEAVING]] receive %[[HOME]]#1
// CHECK: tile.rows ins(%[[BACK]], %[[HOME]]#4, %{{.*}} : tensor<?x8xf32>, tensor<?x2xi32>, tensor<?x2xf32>)
func.func @combine(%x: tensor<?x8xf32>, %ids: tensor<?x2xi32>, %w: tensor<?x2xf32>) -> tensor<?x8xf32> {
  %r = moe.route %ids : tensor<?x2xi32> -> !route
  %i = moe.route_ids %r : !route -> tensor<16x2xi32>
  %p = moe.plan %i : tensor<16x2xi32> -> !plan
  %a = moe.dispatch %x, %r : tensor<?x8xf32>, !route -> tensor<16x8xf32>
  %g = moe.gather %a, %p : tensor<16x8xf32>, !plan -> tensor<32x8xf32, #moe.ragged<groups = 2>>
  %o = moe.combine_ranks %g, %p, %r weights %w : tensor<32x8xf32, #moe.ragged<groups = 2>>, !plan, !route, tensor<?x2xf32> -> tensor<?x8xf32>
  return %o : tensor<?x8xf32>
}

// One row for each token comes back, the weighted sum of this rank's; the weights are dispatched.
// CHECK-LABEL: func.func @partial
// CHECK: %[[SEND:.*]]:6 = tile.plan ids(%{{.*}} : tensor<?x2xi32>)
// CHECK: %[[ARRIVED:.*]] = tile.offsets
// CHECK: %[[LOCAL:.*]]:6 = tile.plan ids(%{{.*}} : tensor<16x2xi32>)
// CHECK: %[[WEIGHTS:.*]] = prog.all_to_all %{{.*}} -> tensor<16x2xf32>
// CHECK: %[[SUMS:.*]] = tile.rows ins(%{{.*}}, %[[LOCAL]]#4, %[[WEIGHTS]] :
// CHECK: prog.all_to_all %[[SUMS]] send %[[ARRIVED]] receive %[[SEND]]#1
// CHECK-NOT: tile.plan
func.func @partial(%x: tensor<?x8xf32>, %ids: tensor<?x2xi32>, %w: tensor<?x2xf32>) -> tensor<?x8xf32> {
  %r = moe.route %ids : tensor<?x2xi32> -> !route
  %i = moe.route_ids %r : !route -> tensor<16x2xi32>
  %p = moe.plan %i : tensor<16x2xi32> -> !plan
  %a = moe.dispatch %x, %r : tensor<?x8xf32>, !route -> tensor<16x8xf32>
  %g = moe.gather %a, %p : tensor<16x8xf32>, !plan -> tensor<32x8xf32, #moe.ragged<groups = 2>>
  %o = moe.combine_ranks %g, %p, %r weights %w {partial_sums} : tensor<32x8xf32, #moe.ragged<groups = 2>>, !plan, !route, tensor<?x2xf32> -> tensor<?x8xf32>
  return %o : tensor<?x8xf32>
}

!blocks = !moe.route<axis = "ep", ranks = 2, groups = 2, topk = 2, max_tokens = 8, transport = capacity, pair_capacity = 5>
!few = !moe.plan<groups = 2, rows = 20, tokens = 10, topk = 2>

// A fixed capacity: 5 slots of each rank's tokens on each rank. All that travels is 2 blocks of 5 rows, without sizes or bounds.
// CHECK-LABEL: func.func @blocks
// CHECK: %[[RANKS:.*]]:2 = tile.rows
// The slots that are kept, and their tokens.
// CHECK: %[[HOME:.*]]:6 = tile.plan ids(%[[RANKS]]#0 : tensor<?x2xi32>) {{.*}} {equal_blocks} -> tensor<2xi32>, tensor<2x2xi64>, tensor<10xi32>
// CHECK: %[[KEPT:.*]]:2 = tile.rows ins(%[[RANKS]]#0, %[[HOME]]#4
// CHECK: %[[SEND:.*]]:6 = tile.plan ids(%[[KEPT]]#1 : tensor<?x2xi32>) {{.*}} {equal_blocks} -> tensor<2xi32>, tensor<2x2xi64>, tensor<10xi32>
// CHECK: %[[SENT:.*]] = tile.rows ins(%{{.*}}, %[[SEND]]#3, %[[KEPT]]#0
// CHECK: prog.all_to_all %[[SENT]] into %{{.*}} -> tensor<10x2xi32>
// CHECK: %[[LOCAL:.*]]:6 = tile.plan ids(%{{.*}} : tensor<10x2xi32>)
// CHECK: %[[PACKED:.*]] = tile.rows ins(%{{.*}}, %[[SEND]]#3
// CHECK: prog.all_to_all %[[PACKED]] into %{{.*}} -> tensor<10x8xf32>
// The slots that are here, by source rank.
// CHECK: arith.divui %{{.*}}, %c5
// CHECK: %[[HERE:.*]]:6 = tile.plan ids(%{{.*}} : tensor<10x2xi32>) {{.*}} {equal_blocks}
// CHECK: %[[PACKED:.*]] = tile.rows ins(%{{.*}}, %[[HERE]]#2, %[[LOCAL]]#4 {{.*}} bounds(%[[HERE]]#1
// CHECK: %[[BACK:.*]] = prog.all_to_all %[[PACKED]] into %{{.*}} -> tensor<10x8xf32>
// CHECK: tile.rows ins(%[[BACK]], %[[HOME]]#4
// CHECK-NOT: send
func.func @blocks(%x: tensor<?x8xf32>, %ids: tensor<?x2xi32>, %w: tensor<?x2xf32>) -> tensor<?x8xf32> {
  %r = moe.route %ids : tensor<?x2xi32> -> !blocks
  %i = moe.route_ids %r : !blocks -> tensor<10x2xi32>
  %p = moe.plan %i : tensor<10x2xi32> -> !few
  %a = moe.dispatch %x, %r : tensor<?x8xf32>, !blocks -> tensor<10x8xf32>
  %g = moe.gather %a, %p : tensor<10x8xf32>, !few -> tensor<20x8xf32, #moe.ragged<groups = 2>>
  %o = moe.combine_ranks %g, %p, %r weights %w : tensor<20x8xf32, #moe.ragged<groups = 2>>, !few, !blocks, tensor<?x2xf32> -> tensor<?x8xf32>
  return %o : tensor<?x8xf32>
}

// Partial sums come back in the blocks that the tokens came in.
// CHECK-LABEL: func.func @partial_blocks
// CHECK: %[[SEND:.*]]:6 = tile.plan ids(%{{.*}}#1 : tensor<?x2xi32>) {{.*}} {equal_blocks}
// CHECK: %[[WEIGHTS:.*]] = prog.all_to_all %{{.*}} -> tensor<10x2xf32>
// CHECK: %[[SUMS:.*]] = tile.rows ins(%{{.*}}, %[[WEIGHTS]] :
// CHECK: %[[BACK:.*]] = prog.all_to_all %[[SUMS]] into
// CHECK: tile.rows ins(%[[BACK]], %[[SEND]]#4
func.func @partial_blocks(%x: tensor<?x8xf32>, %ids: tensor<?x2xi32>, %w: tensor<?x2xf32>) -> tensor<?x8xf32> {
  %r = moe.route %ids : tensor<?x2xi32> -> !blocks
  %i = moe.route_ids %r : !blocks -> tensor<10x2xi32>
  %p = moe.plan %i : tensor<10x2xi32> -> !few
  %a = moe.dispatch %x, %r : tensor<?x8xf32>, !blocks -> tensor<10x8xf32>
  %g = moe.gather %a, %p : tensor<10x8xf32>, !few -> tensor<20x8xf32, #moe.ragged<groups = 2>>
  %o = moe.combine_ranks %g, %p, %r weights %w {partial_sums} : tensor<20x8xf32, #moe.ragged<groups = 2>>, !few, !blocks, tensor<?x2xf32> -> tensor<?x8xf32>
  return %o : tensor<?x8xf32>
}

!stores = !moe.route<axis = "ep", ranks = 2, groups = 2, topk = 2, max_tokens = 8, transport = peer>

// By peer stores the same rows travel by the same bounds, the sizes too.
// CHECK-LABEL: func.func @peer
// CHECK: prog.all_to_all %{{.*}} into %{{.*}} {axis = "ep", ranks = 2 : i64, transport = #prog.transport<peer>} : tensor<2xi32>, tensor<2xi32>
// CHECK: prog.all_to_all %{{.*}} send %{{.*}} receive %{{.*}} into %{{.*}} {axis = "ep", ranks = 2 : i64, transport = #prog.transport<peer>} {{.*}} -> tensor<16x8xf32>
func.func @peer(%x: tensor<?x8xf32>, %ids: tensor<?x2xi32>) -> tensor<16x8xf32> {
  %r = moe.route %ids : tensor<?x2xi32> -> !stores
  %a = moe.dispatch %x, %r : tensor<?x8xf32>, !stores -> tensor<16x8xf32>
  return %a : tensor<16x8xf32>
}

// CHECK-LABEL: func.func @exchange
// CHECK: %[[Q:.*]] = tile.offsets sizes(%{{.*}} : tensor<2xi32>) rows(%c9)
// CHECK: prog.all_to_all %{{.*}} send %{{.*}} receive %[[Q]] into %{{.*}} {axis = "tp", ranks = 2 : i64} : {{.*}} -> tensor<9x8xf32>
func.func @exchange(%x: tensor<?x8xf32>, %ids: tensor<?x1xi32>, %s: tensor<2xi32>) -> tensor<9x8xf32, #moe.ragged<groups = 2>> {
  %p = moe.plan %ids : tensor<?x1xi32> -> !moe.plan<groups = 2, topk = 1>
  %g = moe.gather %x, %p : tensor<?x8xf32>, !moe.plan<groups = 2, topk = 1> -> tensor<?x8xf32, #moe.ragged<groups = 2>>
  %q = moe.plan_from_sizes %s : tensor<2xi32> -> !moe.plan<groups = 2, rows = 9>
  %y = moe.all_to_all %g from %p to %q {axis = "tp", ranks = 2} : tensor<?x8xf32, #moe.ragged<groups = 2>>, !moe.plan<groups = 2, topk = 1>, !moe.plan<groups = 2, rows = 9> -> tensor<9x8xf32, #moe.ragged<groups = 2>>
  return %y : tensor<9x8xf32, #moe.ragged<groups = 2>>
}
