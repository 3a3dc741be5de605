// RUN: moe-opt %s | moe-opt | FileCheck %s
// RUN: moe-opt %s --mlir-print-op-generic | moe-opt | FileCheck %s
// RUN: moe-opt %s --canonicalize | FileCheck %s --check-prefix=SHARP

!route = !moe.route<axis = "ep", ranks = 4, groups = 2, topk = 2, max_tokens = 64>
!plan = !moe.plan<groups = 2, tokens = 256, topk = 2>

// CHECK-LABEL: func private @route
// CHECK-SAME: !moe.route<axis = "ep", ranks = 4, groups = 2, topk = 2, max_tokens = 64>
func.func private @route(!route)

// CHECK-LABEL: func private @equal_blocks
// CHECK-SAME: !moe.route<axis = "ep", ranks = 4, groups = 2, topk = 2, max_tokens = 64, transport = capacity, pair_capacity = 40>
func.func private @equal_blocks(!moe.route<axis = "ep", ranks = 4, groups = 2, topk = 2, max_tokens = 64, transport = capacity, pair_capacity = 40>)

// CHECK-LABEL: func @layer
// SHARP-LABEL: func @layer
func.func @layer(%x: tensor<?x64xbf16>, %ids: tensor<?x2xi32>, %w: tensor<?x2xf32>, %up: tensor<2x64x64xbf16>) -> (tensor<?x64xbf16>, tensor<?x64xf32>) {
  // CHECK: moe.route %{{.*}} : tensor<?x2xi32> -> !moe.route<axis = "ep", ranks = 4, groups = 2, topk = 2, max_tokens = 64>
  %r = moe.route %ids : tensor<?x2xi32> -> !route
  // CHECK: moe.route_ids %{{.*}} : !moe.route<{{.*}}> -> tensor<256x2xi32>
  %i = moe.route_ids %r : !route -> tensor<256x2xi32>
  %p = moe.plan %i : tensor<256x2xi32> -> !plan
  // CHECK: moe.dispatch %{{.*}}, %{{.*}} : tensor<?x64xbf16>, !moe.route<{{.*}}> -> tensor<?x64xbf16>
  // SHARP: moe.dispatch {{.*}} -> tensor<256x64xbf16>
  %a = moe.dispatch %x, %r : tensor<?x64xbf16>, !route -> tensor<?x64xbf16>
  %g = moe.gather %a, %p : tensor<?x64xbf16>, !plan -> tensor<?x64xbf16, #moe.ragged<groups = 2>>
  %y = moe.ragged_matmul %g, %up plan %p : tensor<?x64xbf16, #moe.ragged<groups = 2>>, tensor<2x64x64xbf16>, !plan -> tensor<?x64xbf16, #moe.ragged<groups = 2>>
  // CHECK: moe.combine_ranks %{{.*}}, %{{.*}}, %{{.*}} weights %{{.*}} {partial_sums}
  %o = moe.combine_ranks %y, %p, %r weights %w {partial_sums} : tensor<?x64xbf16, #moe.ragged<groups = 2>>, !plan, !route, tensor<?x2xf32> -> tensor<?x64xbf16>
  // CHECK: moe.collect %{{.*}}, %{{.*}} : tensor<?x64xbf16>, !moe.route<{{.*}}> -> tensor<?x64xf32>
  %c = moe.collect %a, %r : tensor<?x64xbf16>, !route -> tensor<?x64xf32>
  return %o, %c : tensor<?x64xbf16>, tensor<?x64xf32>
}

// CHECK-LABEL: func @owners
// SHARP-LABEL: func @owners
func.func @owners(%x: tensor<6x8xf32>, %ids: tensor<6x1xi32>) -> tensor<?x8xf32> {
  // CHECK: owners = array<i32: 0, 1, 1>
  // SHARP: moe.route {{.*}} -> !moe.route<axis = "ep", ranks = 2, groups = 2, topk = 1, max_tokens = 8, tokens = 6>
  %r = moe.route %ids {owners = array<i32: 0, 1, 1>} : tensor<6x1xi32> -> !moe.route<axis = "ep", ranks = 2, groups = 2, topk = 1, max_tokens = 8>
  %a = moe.dispatch %x, %r : tensor<6x8xf32>, !moe.route<axis = "ep", ranks = 2, groups = 2, topk = 1, max_tokens = 8> -> tensor<16x8xf32>
  // SHARP: moe.collect {{.*}} -> tensor<6x8xf32>
  %c = moe.collect %a, %r : tensor<16x8xf32>, !moe.route<axis = "ep", ranks = 2, groups = 2, topk = 1, max_tokens = 8> -> tensor<?x8xf32>
  return %c : tensor<?x8xf32>
}

// What is known of the tokens goes into a route of equal blocks too; what arrives has room for pair_capacity rows from each rank.
// SHARP-LABEL: func @blocks
func.func @blocks(%x: tensor<6x8xf32>, %ids: tensor<6x2xi32>) -> tensor<?x8xf32> {
  // SHARP: moe.route {{.*}} -> !moe.route<axis = "ep", ranks = 2, groups = 2, topk = 2, max_tokens = 8, tokens = 6, transport = capacity, pair_capacity = 5>
  %r = moe.route %ids : tensor<6x2xi32> -> !moe.route<axis = "ep", ranks = 2, groups = 2, topk = 2, max_tokens = 8, transport = capacity, pair_capacity = 5>
  // SHARP: moe.dispatch {{.*}} -> tensor<10x8xf32>
  %a = moe.dispatch %x, %r : tensor<6x8xf32>, !moe.route<axis = "ep", ranks = 2, groups = 2, topk = 2, max_tokens = 8, transport = capacity, pair_capacity = 5> -> tensor<?x8xf32>
  return %a : tensor<?x8xf32>
}

// CHECK-LABEL: func @exchange
func.func @exchange(%x: tensor<?x64xf32, #moe.ragged<groups = 4>>, %s: tensor<4xi32>, %m: index) -> tensor<96x64xf32, #moe.ragged<groups = 4>> {
  %p = moe.plan_from_sizes %s rows %m : tensor<4xi32> -> !moe.plan<groups = 4>
  // CHECK: moe.all_to_all %{{.*}} {axis = "ep", ranks = 4 : i64} : tensor<4xi32> -> tensor<4xi32>
  %a = moe.all_to_all %s {axis = "ep", ranks = 4} : tensor<4xi32> -> tensor<4xi32>
  %q = moe.plan_from_sizes %a : tensor<4xi32> -> !moe.plan<groups = 4, rows = 96>
  // CHECK: moe.all_to_all %{{.*}} from %{{.*}} to %{{.*}} {axis = "ep", ranks = 4 : i64}
  %y = moe.all_to_all %x from %p to %q {axis = "ep", ranks = 4} : tensor<?x64xf32, #moe.ragged<groups = 4>>, !moe.plan<groups = 4>, !moe.plan<groups = 4, rows = 96> -> tensor<96x64xf32, #moe.ragged<groups = 4>>
  return %y : tensor<96x64xf32, #moe.ragged<groups = 4>>
}
