// RUN: moe-opt %s --convert-moe-to-tile | FileCheck %s

// Six tensors; the number of rows follows from the tokens.
// CHECK-LABEL: func @dynamic
func.func @dynamic(%ids: tensor<?x2xi32>) -> (tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>) {
  // CHECK: %[[T:.*]] = tensor.dim %arg0
  // CHECK: %[[K:.*]] = arith.constant 2 : index
  // CHECK: %[[M:.*]] = arith.muli %[[T]], %[[K]]
  // CHECK: %[[SIZES:.*]] = tensor.empty() : tensor<8xi32>
  // CHECK: %[[BOUNDS:.*]] = tensor.empty() : tensor<8x2xi64>
  // CHECK: %[[PERM:.*]] = tensor.empty(%[[M]]) : tensor<?xi32>
  // CHECK: %[[TOKEN:.*]] = tensor.empty(%[[M]]) : tensor<?xi32>
  // CHECK: %[[INVERSE:.*]] = tensor.empty({{.*}}) : tensor<?x2xi32>
  // CHECK: %[[DROPPED:.*]] = tensor.empty() : tensor<1xi64>
  // CHECK: %[[P:.*]]:6 = tile.plan ids(%arg0 : tensor<?x2xi32>) outs(%[[SIZES]], %[[BOUNDS]], %[[PERM]], %[[TOKEN]], %[[INVERSE]], %[[DROPPED]]
  // CHECK: return %[[P]]#2, %[[P]]#3, %[[P]]#4
  %p = moe.plan %ids : tensor<?x2xi32> -> !moe.plan<groups = 8, topk = 2>
  %a = moe.plan_get %p {field = #moe.field<permutation>} : !moe.plan<groups = 8, topk = 2> -> tensor<?xi32>
  %b = moe.plan_get %p {field = #moe.field<token>} : !moe.plan<groups = 8, topk = 2> -> tensor<?xi32>
  %c = moe.plan_get %p {field = #moe.field<inverse>} : !moe.plan<groups = 8, topk = 2> -> tensor<?x2xi32>
  return %a, %b, %c : tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>
}

// Room for every group to start at a multiple of 16: T * k + 8 * 15 rows.
// CHECK-LABEL: func @aligned
func.func @aligned(%ids: tensor<?x2xi32>) -> tensor<8xi32> {
  // CHECK: %[[M:.*]] = arith.muli
  // CHECK: %[[PAD:.*]] = arith.constant 120 : index
  // CHECK: %[[ROWS:.*]] = arith.addi %[[M]], %[[PAD]]
  // CHECK: tensor.empty(%[[ROWS]]) : tensor<?xi32>
  // CHECK: tile.plan {{.*}} {align = 16 : i64}
  %p = moe.plan %ids : tensor<?x2xi32> -> !moe.plan<groups = 8, topk = 2, align = 16>
  %s = moe.plan_get %p {field = #moe.field<sizes>} : !moe.plan<groups = 8, topk = 2, align = 16> -> tensor<8xi32>
  return %s : tensor<8xi32>
}

// CHECK-LABEL: func @capacity
func.func @capacity(%ids: tensor<?x2xi32>) -> tensor<1xi64> {
  // CHECK: tensor.empty() : tensor<96xi32>
  // CHECK: %[[P:.*]]:6 = tile.plan
  // CHECK: return %[[P]]#5
  %p = moe.plan %ids {capacity = 96} : tensor<?x2xi32> -> !moe.plan<groups = 8, rows = 96, topk = 2>
  %d = moe.plan_get %p {field = #moe.field<dropped>} : !moe.plan<groups = 8, rows = 96, topk = 2> -> tensor<1xi64>
  return %d : tensor<1xi64>
}

// A plan of sizes has bounds alone; its sizes are i32.
// CHECK-LABEL: func @sizes
func.func @sizes(%s: tensor<6xi64>, %m: index) -> (tensor<6xi32>, tensor<6x2xi64>) {
  // CHECK: %[[INIT:.*]] = tensor.empty() : tensor<6x2xi64>
  // CHECK: %[[B:.*]] = tile.offsets sizes(%arg0 : tensor<6xi64>) rows(%arg1) outs(%[[INIT]] : tensor<6x2xi64>)
  // CHECK: %[[S:.*]] = tile.rows ins(%arg0 : tensor<6xi64>) outs(%{{.*}} : tensor<6xi32>)
  // CHECK: arith.trunci
  // CHECK: return %[[S]], %[[B]]
  %p = moe.plan_from_sizes %s rows %m : tensor<6xi64> -> !moe.plan<groups = 6>
  %a = moe.plan_get %p {field = #moe.field<sizes>} : !moe.plan<groups = 6> -> tensor<6xi32>
  %b = moe.plan_get %p {field = #moe.field<bounds>} : !moe.plan<groups = 6> -> tensor<6x2xi64>
  return %a, %b : tensor<6xi32>, tensor<6x2xi64>
}
