// RUN: moe-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{axis is empty, expected the name of a mesh axis}}
func.func private @f(!moe.route<axis = "", ranks = 4, groups = 2, topk = 2, max_tokens = 64>)

// -----
// expected-error @+1 {{ranks is 0, expected at least 1}}
func.func private @f(!moe.route<axis = "ep", ranks = 0, groups = 2, topk = 2, max_tokens = 64>)

// -----
// expected-error @+1 {{groups is 0, expected at least 1}}
func.func private @f(!moe.route<axis = "ep", ranks = 1, groups = 0, topk = 2, max_tokens = 64>)

// -----
// expected-error @+1 {{max_tokens is 0, expected at least 1}}
func.func private @f(!moe.route<axis = "ep", ranks = 1, groups = 1, topk = 2, max_tokens = 0>)

// -----
// expected-error @+1 {{ranks * max_tokens * topk is 4 * 1000000000 * 2, expected at most 2147483647}}
func.func private @f(!moe.route<axis = "ep", ranks = 4, groups = 1, topk = 2, max_tokens = 1000000000>)

// -----
// expected-error @+1 {{ranks * groups is 4 * 1000000000, expected at most 2147483647}}
func.func private @f(!moe.route<axis = "ep", ranks = 4, groups = 1000000000, topk = 2, max_tokens = 1>)

// -----
// expected-error @+1 {{pair_capacity is 5, expected it with transport capacity only, not exact}}
func.func private @f(!moe.route<axis = "ep", ranks = 4, groups = 1, topk = 2, max_tokens = 8, pair_capacity = 5>)

// -----
// expected-error @+1 {{pair_capacity is 5, expected it with transport capacity only, not peer}}
func.func private @f(!moe.route<axis = "ep", ranks = 4, groups = 1, topk = 2, max_tokens = 8, transport = peer, pair_capacity = 5>)

// -----
// expected-error @+1 {{pair_capacity is 0, expected at least 1}}
func.func private @f(!moe.route<axis = "ep", ranks = 4, groups = 1, topk = 2, max_tokens = 8, transport = capacity>)

// -----
// expected-error @+1 {{pair_capacity is 17, expected at most 16 (max_tokens * topk)}}
func.func private @f(!moe.route<axis = "ep", ranks = 4, groups = 1, topk = 2, max_tokens = 8, transport = capacity, pair_capacity = 17>)

// -----
func.func @f(%ids: tensor<?x?xi32>) {
  // expected-error @+1 {{type of ids is 'tensor<?x?xi32>', expected a static number of slots in dimension 1}}
  %r = moe.route %ids : tensor<?x?xi32> -> !moe.route<axis = "ep", ranks = 4, groups = 2, topk = 2, max_tokens = 64>
  return
}

// -----
func.func @f(%ids: tensor<?x3xi32>) {
  // expected-error @+1 {{topk of the route is 2, expected 3 (dimension 1 of ids)}}
  %r = moe.route %ids : tensor<?x3xi32> -> !moe.route<axis = "ep", ranks = 4, groups = 2, topk = 2, max_tokens = 64>
  return
}

// -----
func.func @f(%ids: tensor<5x2xi32>) {
  // expected-error @+1 {{tokens of the route is 6, expected 5 (dimension 0 of ids)}}
  %r = moe.route %ids : tensor<5x2xi32> -> !moe.route<axis = "ep", ranks = 4, groups = 2, topk = 2, max_tokens = 64, tokens = 6>
  return
}

// -----
func.func @f(%ids: tensor<?x2xi32>) {
  // expected-error @+1 {{owners[1] is 4, expected a rank, 0 to 3}}
  %r = moe.route %ids {owners = array<i32: 0, 4>} : tensor<?x2xi32> -> !moe.route<axis = "ep", ranks = 4, groups = 2, topk = 2, max_tokens = 64>
  return
}

// -----
func.func @f(%ids: tensor<?x2xi32>) {
  // expected-error @+1 {{owners gives rank 1 more than 2 experts (groups of the route)}}
  %r = moe.route %ids {owners = array<i32: 1, 1, 0, 1>} : tensor<?x2xi32> -> !moe.route<axis = "ep", ranks = 4, groups = 2, topk = 2, max_tokens = 64>
  return
}

// -----
func.func @f(%ids: tensor<65x2xi32>) {
  // expected-error @+1 {{has 65 tokens, expected at most 64 (max_tokens of the route)}}
  %r = moe.route %ids : tensor<65x2xi32> -> !moe.route<axis = "ep", ranks = 4, groups = 2, topk = 2, max_tokens = 64>
  return
}

// -----
!route = !moe.route<axis = "ep", ranks = 4, groups = 2, topk = 2, max_tokens = 64, tokens = 5>
func.func @f(%r: !route) {
  // expected-error @+1 {{dimension 0 of result is 255, expected 256 (arrivals of the route)}}
  %i = moe.route_ids %r : !route -> tensor<255x2xi32>
  return
}

// -----
!route = !moe.route<axis = "ep", ranks = 4, groups = 2, topk = 2, max_tokens = 64, tokens = 5>
func.func @f(%r: !route, %x: tensor<6x8xf32>) {
  // expected-error @+1 {{number of rows of x is 6, expected 5 (tokens of the route)}}
  %a = moe.dispatch %x, %r : tensor<6x8xf32>, !route -> tensor<256x8xf32>
  return
}

// -----
!route = !moe.route<axis = "ep", ranks = 4, groups = 2, topk = 2, max_tokens = 64, tokens = 5>
func.func @f(%r: !route, %x: tensor<5x8xf32>) {
  // expected-error @+1 {{element type of result is 'bf16', expected 'f32' (that of x)}}
  %a = moe.dispatch %x, %r : tensor<5x8xf32>, !route -> tensor<256x8xbf16>
  return
}

// -----
!route = !moe.route<axis = "ep", ranks = 4, groups = 2, topk = 2, max_tokens = 64, tokens = 5>
func.func @f(%r: !route, %y: tensor<255x8xf32>) {
  // expected-error @+1 {{number of rows of y is 255, expected 256 (arrivals of the route)}}
  %a = moe.collect %y, %r : tensor<255x8xf32>, !route -> tensor<5x8xf32>
  return
}

// -----
!route = !moe.route<axis = "ep", ranks = 4, groups = 2, topk = 2, max_tokens = 64, tokens = 5>
func.func @f(%r: !route, %y: tensor<256x8xf32>) {
  // expected-error @+1 {{element type of result is 'f16', expected 'f32' or f32 (that of y)}}
  %a = moe.collect %y, %r : tensor<256x8xf32>, !route -> tensor<5x8xf16>
  return
}

// -----
!route = !moe.route<axis = "ep", ranks = 4, groups = 2, topk = 2, max_tokens = 64, tokens = 5>
!plan = !moe.plan<groups = 3, tokens = 256, topk = 2>
func.func @f(%y: tensor<?x8xf32, #moe.ragged<groups = 3>>, %p: !plan, %r: !route) {
  // expected-error @+1 {{groups of the plan is 3, expected 2 (groups of the route)}}
  %o = moe.combine_ranks %y, %p, %r : tensor<?x8xf32, #moe.ragged<groups = 3>>, !plan, !route -> tensor<5x8xf32>
  return
}

// -----
!route = !moe.route<axis = "ep", ranks = 4, groups = 2, topk = 2, max_tokens = 64, tokens = 5>
!plan = !moe.plan<groups = 2, tokens = 250, topk = 2>
func.func @f(%y: tensor<?x8xf32, #moe.ragged<groups = 2>>, %p: !plan, %r: !route) {
  // expected-error @+1 {{tokens of the plan is 250, expected 256 (arrivals of the route)}}
  %o = moe.combine_ranks %y, %p, %r : tensor<?x8xf32, #moe.ragged<groups = 2>>, !plan, !route -> tensor<5x8xf32>
  return
}

// -----
!route = !moe.route<axis = "ep", ranks = 4, groups = 2, topk = 2, max_tokens = 64, tokens = 5>
!plan = !moe.plan<groups = 2, tokens = 256, topk = 1>
func.func @f(%y: tensor<?x8xf32, #moe.ragged<groups = 2>>, %p: !plan, %r: !route) {
  // expected-error @+1 {{topk of the plan is 1, expected 2 (topk of the route)}}
  %o = moe.combine_ranks %y, %p, %r : tensor<?x8xf32, #moe.ragged<groups = 2>>, !plan, !route -> tensor<5x8xf32>
  return
}

// -----
!route = !moe.route<axis = "ep", ranks = 4, groups = 2, topk = 2, max_tokens = 64, tokens = 5>
!plan = !moe.plan<groups = 2, tokens = 256, topk = 2>
func.func @f(%y: tensor<?x8xf32, #moe.ragged<groups = 2>>, %p: !plan, %r: !route, %w: tensor<6x2xf32>) {
  // expected-error @+1 {{dimension 0 of weights is 6, expected 5 (tokens of the route)}}
  %o = moe.combine_ranks %y, %p, %r weights %w : tensor<?x8xf32, #moe.ragged<groups = 2>>, !plan, !route, tensor<6x2xf32> -> tensor<5x8xf32>
  return
}

// -----
!route = !moe.route<axis = "ep", ranks = 4, groups = 2, topk = 2, max_tokens = 64, tokens = 5>
!plan = !moe.plan<groups = 2, tokens = 256, topk = 2>
func.func @f(%y: tensor<?x8xf32, #moe.ragged<groups = 2>>, %p: !plan, %r: !route, %w: tensor<5x3xf32>) {
  // expected-error @+1 {{dimension 1 of weights is 3, expected 2 (topk of the route)}}
  %o = moe.combine_ranks %y, %p, %r weights %w : tensor<?x8xf32, #moe.ragged<groups = 2>>, !plan, !route, tensor<5x3xf32> -> tensor<5x8xf32>
  return
}

// -----
!route = !moe.route<axis = "ep", ranks = 4, groups = 2, topk = 2, max_tokens = 64, tokens = 5>
!plan = !moe.plan<groups = 2, tokens = 256, topk = 2>
func.func @f(%y: tensor<?x8xf32, #moe.ragged<groups = 2>>, %p: !plan, %r: !route) {
  // expected-error @+1 {{has the unknown attribute 'partial', expected partial_sums}}
  %o = moe.combine_ranks %y, %p, %r {partial} : tensor<?x8xf32, #moe.ragged<groups = 2>>, !plan, !route -> tensor<5x8xf32>
  return
}

// -----
func.func @f(%x: tensor<8x2xf32>) {
  // expected-error @+1 {{ranks is 0, expected at least 1}}
  %y = moe.all_to_all %x {axis = "ep", ranks = 0} : tensor<8x2xf32> -> tensor<8x2xf32>
  return
}

// -----
func.func @f(%x: tensor<8x2xf32>) {
  // expected-error @+1 {{axis is empty, expected the name of a mesh axis}}
  %y = moe.all_to_all %x {axis = "", ranks = 2} : tensor<8x2xf32> -> tensor<8x2xf32>
  return
}

// -----
func.func @f(%x: tensor<8x2xf32>) {
  // expected-error @+1 {{x has 8 rows, expected a number divisible by 3 ranks}}
  %y = moe.all_to_all %x {axis = "ep", ranks = 3} : tensor<8x2xf32> -> tensor<8x2xf32>
  return
}

// -----
func.func @f(%x: tensor<8x2xf32>) {
  // expected-error @+1 {{dimension 1 of result is 3, expected 2 (columns of x)}}
  %y = moe.all_to_all %x {axis = "ep", ranks = 2} : tensor<8x2xf32> -> tensor<8x3xf32>
  return
}

// -----
func.func @f(%x: tensor<8x2xf32, #moe.ragged<groups = 2>>, %p: !moe.plan<groups = 2, rows = 8>) {
  // expected-error @+1 {{has only the plan 'from', expected both or none}}
  %y = moe.all_to_all %x from %p {axis = "ep", ranks = 2} : tensor<8x2xf32, #moe.ragged<groups = 2>>, !moe.plan<groups = 2, rows = 8> -> tensor<8x2xf32>
  return
}

// -----
func.func @f(%x: tensor<8x2xf32, #moe.ragged<groups = 2>>) {
  // expected-error @+1 {{expected a plain tensor (there are no plans)}}
  %y = moe.all_to_all %x {axis = "ep", ranks = 2} : tensor<8x2xf32, #moe.ragged<groups = 2>> -> tensor<8x2xf32>
  return
}

// -----
!plan = !moe.plan<groups = 2, rows = 8>
func.func @f(%x: tensor<8x2xf32, #moe.ragged<groups = 2>>, %p: !plan) {
  // expected-error @+1 {{groups of from is 2, expected 4 (ranks)}}
  %y = moe.all_to_all %x from %p to %p {axis = "ep", ranks = 4} : tensor<8x2xf32, #moe.ragged<groups = 2>>, !plan, !plan -> tensor<8x2xf32, #moe.ragged<groups = 2>>
  return
}

// -----
!plan = !moe.plan<groups = 2, rows = 8>
func.func @f(%x: tensor<8x2xf32, #moe.ragged<groups = 2>>, %p: !plan) {
  // expected-error @+1 {{element type of result is 'f16', expected 'f32' (that of x)}}
  %y = moe.all_to_all %x from %p to %p {axis = "ep", ranks = 2} : tensor<8x2xf32, #moe.ragged<groups = 2>>, !plan, !plan -> tensor<8x2xf16, #moe.ragged<groups = 2>>
  return
}

// -----
!route = !moe.route<axis = "ep", ranks = 4, groups = 2, topk = 2, max_tokens = 64, transport = capacity, pair_capacity = 40>
func.func @f(%r: !route) {
  // expected-error @+1 {{dimension 0 of result is 256, expected 160 (arrivals of the route)}}
  %i = moe.route_ids %r : !route -> tensor<256x2xi32>
  return
}
