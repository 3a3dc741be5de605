// RUN: moe-opt %s --split-input-file --moe-partition="axis=ep size=2" | FileCheck %s
// RUN: moe-opt %s --split-input-file --moe-partition="axis=ep size=3 owners=2,0,2,1 max-tokens=8 capacity=20 partial-sums=true" | FileCheck %s --check-prefix=OWNERS
// RUN: moe-opt %s --split-input-file --moe-partition="axis=ep size=2 pair-capacity=4" | FileCheck %s --check-prefix=BLOCKS
// RUN: moe-opt %s --split-input-file --moe-partition="axis=ep size=2 transport=capacity" | FileCheck %s --check-prefix=ALL
// RUN: moe-opt %s --split-input-file --moe-partition="axis=ep size=2 mesh=nvlink pair-capacity=4" | FileCheck %s --check-prefix=BLOCKS
// RUN: moe-opt %s --split-input-file --moe-partition="axis=ep size=2 transport=exact mesh=nvlink" | FileCheck %s
// RUN: moe-opt %s --split-input-file --moe-partition="axis=ep size=2 mesh=nvlink" | FileCheck %s --check-prefix=PEER
// RUN: moe-opt %s --split-input-file --moe-partition="axis=ep size=2 transport=peer" | FileCheck %s --check-prefix=PEER

!plan = !moe.plan<groups = 4, rows = 12, tokens = 6, topk = 2>

// CHECK-LABEL: func.func @layer
// CHECK-SAME: %[[X:.*]]: tensor<6x8xf32>, %[[IDS:.*]]: tensor<6x2xi32>, %[[S:.*]]: tensor<6x2xf32>, %[[W:.*]]: tensor<2x8x16xf32>, %[[B:.*]]: tensor<2x16xf32>, %[[D:.*]]: tensor<2x8x8xf32>)
// CHECK: %[[R:.*]] = moe.route %[[IDS]] : tensor<6x2xi32> -> !moe.route<axis = "ep", ranks = 2, groups = 2, topk = 2, max_tokens = 6, tokens = 6>
// CHECK: %[[I:.*]] = moe.route_ids %[[R]] : {{.*}} -> tensor<12x2xi32>
// CHECK: %[[P:.*]] = moe.plan %[[I]] : tensor<12x2xi32> -> !moe.plan<groups = 2, rows = 24, tokens = 12, topk = 2>
// CHECK: %[[A:.*]] = moe.dispatch %[[X]], %[[R]] : {{.*}} -> tensor<12x8xf32>
// CHECK: %[[G:.*]] = moe.gather %[[A]], %[[P]] : {{.*}} -> tensor<24x8xf32, #moe.ragged<groups = 2>>
// CHECK: %[[H:.*]] = moe.ragged_matmul %[[G]], %[[W]] plan %[[P]] bias %[[B]] : {{.*}} -> tensor<24x16xf32, #moe.ragged<groups = 2>>
// CHECK: %[[T:.*]] = moe.gated_activation %[[H]] : {{.*}} -> tensor<24x8xf32, #moe.ragged<groups = 2>>
// CHECK: %[[N:.*]] = arith.negf %[[T]] : tensor<24x8xf32, #moe.ragged<groups = 2>>
// CHECK: %[[Y:.*]] = moe.ragged_matmul %[[N]], %[[D]] plan %[[P]]
// CHECK: moe.combine_ranks %[[Y]], %[[P]], %[[R]] weights %[[S]] : {{.*}} -> tensor<6x8xf32>

// A capacity of pairs of ranks chooses equal blocks.
// BLOCKS-LABEL: func.func @layer
// BLOCKS: moe.route %{{.*}} -> !moe.route<axis = "ep", ranks = 2, groups = 2, topk = 2, max_tokens = 6, tokens = 6, transport = capacity, pair_capacity = 4>
// BLOCKS: moe.plan %{{.*}} {capacity = 8 : i64} : tensor<8x2xi32> -> !moe.plan<groups = 2, rows = 8, tokens = 8, topk = 2>
// BLOCKS: moe.dispatch {{.*}} -> tensor<8x8xf32>

// Without one there is room for all slots, and for all tokens.
// ALL-LABEL: func.func @layer
// ALL: moe.route %{{.*}} -> !moe.route<{{.*}}, transport = capacity, pair_capacity = 12>
// ALL: moe.dispatch {{.*}} -> tensor<12x8xf32>

// PEER-LABEL: func.func @layer
// PEER: moe.route %{{.*}} -> !moe.route<axis = "ep", ranks = 2, groups = 2, topk = 2, max_tokens = 6, tokens = 6, transport = peer>
// PEER: moe.dispatch {{.*}} -> tensor<12x8xf32>

// OWNERS-LABEL: func.func @layer
// OWNERS-SAME: tensor<2x8x16xf32>, %{{.*}}: tensor<2x16xf32>, %{{.*}}: tensor<2x8x8xf32>)
// OWNERS: moe.route %{{.*}} {owners = array<i32: 2, 0, 2, 1>} : tensor<6x2xi32> -> !moe.route<axis = "ep", ranks = 3, groups = 2, topk = 2, max_tokens = 8, tokens = 6>
// OWNERS: moe.plan %{{.*}} {capacity = 20 : i64} : tensor<24x2xi32> -> !moe.plan<groups = 2, rows = 20, tokens = 24, topk = 2>
// OWNERS: moe.combine_ranks {{.*}} {partial_sums}
func.func @layer(%x: tensor<6x8xf32>, %ids: tensor<6x2xi32>, %s: tensor<6x2xf32>, %w: tensor<4x8x16xf32>, %b: tensor<4x16xf32>, %d: tensor<4x8x8xf32>) -> tensor<6x8xf32> {
  %p = moe.plan %ids : tensor<6x2xi32> -> !plan
  %g = moe.gather %x, %p : tensor<6x8xf32>, !plan -> tensor<12x8xf32, #moe.ragged<groups = 4>>
  %h = moe.ragged_matmul %g, %w plan %p bias %b : tensor<12x8xf32, #moe.ragged<groups = 4>>, tensor<4x8x16xf32>, !plan, tensor<4x16xf32> -> tensor<12x16xf32, #moe.ragged<groups = 4>>
  %a = moe.gated_activation %h : tensor<12x16xf32, #moe.ragged<groups = 4>> -> tensor<12x8xf32, #moe.ragged<groups = 4>>
  %n = arith.negf %a : tensor<12x8xf32, #moe.ragged<groups = 4>>
  %y = moe.ragged_matmul %n, %d plan %p : tensor<12x8xf32, #moe.ragged<groups = 4>>, tensor<4x8x8xf32>, !plan -> tensor<12x8xf32, #moe.ragged<groups = 4>>
  %o = moe.combine %y, %p weights %s : tensor<12x8xf32, #moe.ragged<groups = 4>>, !plan, tensor<6x2xf32> -> tensor<6x8xf32>
  return %o : tensor<6x8xf32>
}

// -----

// Weights of a product travel too; a dispatched value is dispatched once.
// CHECK-LABEL: func.func @weighted
// CHECK-COUNT-2: moe.dispatch
// CHECK-NOT: moe.dispatch
// CHECK: moe.combine_ranks
!plan = !moe.plan<groups = 4, rows = 12, tokens = 6, topk = 2>
!rows = tensor<12x8xf32, #moe.ragged<groups = 4>>
func.func @weighted(%x: tensor<6x8xf32>, %ids: tensor<6x2xi32>, %s: tensor<6x2xf32>, %w: tensor<4x8x8xf32>) -> (tensor<6x8xf32>, tensor<6x8xf32>) {
  %p = moe.plan %ids : tensor<6x2xi32> -> !plan
  %g = moe.gather %x, %p : tensor<6x8xf32>, !plan -> !rows
  %f = moe.gather %x, %p : tensor<6x8xf32>, !plan -> !rows
  %y = moe.ragged_matmul %g, %w plan %p weights %s : !rows, tensor<4x8x8xf32>, !plan, tensor<6x2xf32> -> !rows
  %o = moe.combine %y, %p : !rows, !plan -> tensor<6x8xf32>
  %q = moe.combine %f, %p : !rows, !plan -> tensor<6x8xf32>
  return %o, %q : tensor<6x8xf32>, tensor<6x8xf32>
}
