// RUN: moe-opt %s --allow-unregistered-dialect --moe-normalize-stablehlo --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @elementwise(
func.func @elementwise(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>, %i: tensor<4xi32>, %j: tensor<4xi32>, %p: tensor<4xi1>)
    -> (tensor<4x8xf32>, tensor<4xi32>, tensor<4xi64>, tensor<4x8xbf16>, tensor<4x8xi1>) {
  // CHECK: arith.addf
  %0 = "stablehlo.add"(%a, %b) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: math.exp
  %1 = "stablehlo.exponential"(%0) <{result_accuracy = #stablehlo.result_accuracy<mode = DEFAULT>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: arith.maximumf
  %2 = "stablehlo.maximum"(%1, %b) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: arith.maxsi
  %3 = "stablehlo.maximum"(%i, %j) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK: arith.select
  %4 = "stablehlo.select"(%p, %3, %j) : (tensor<4xi1>, tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK: arith.extsi
  %5 = "stablehlo.convert"(%4) : (tensor<4xi32>) -> tensor<4xi64>
  // CHECK: arith.truncf
  %6 = "stablehlo.convert"(%2) : (tensor<4x8xf32>) -> tensor<4x8xbf16>
  // CHECK: arith.cmpf une
  %7 = "stablehlo.compare"(%2, %a) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
  return %2, %4, %5, %6, %7 : tensor<4x8xf32>, tensor<4xi32>, tensor<4xi64>, tensor<4x8xbf16>, tensor<4x8xi1>
}

// What arith would compute differently, or what is not known, stays.
// CHECK-LABEL: func.func @stays(
func.func @stays(%a: tensor<4xf32>, %i: tensor<4xi32>, %j: tensor<4xi32>, %u: tensor<4xui32>)
    -> (tensor<4xi32>, tensor<4xui32>, tensor<4xi1>, tensor<4xf32>, tensor<4xi32>) {
  // CHECK: "stablehlo.divide"
  %0 = "stablehlo.divide"(%i, %j) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
  // CHECK: "stablehlo.maximum"
  %1 = "stablehlo.maximum"(%u, %u) : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xui32>
  // CHECK: "stablehlo.compare"
  %2 = "stablehlo.compare"(%a, %a) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  // CHECK: "stablehlo.exponential"
  %3 = "stablehlo.exponential"(%a) <{result_accuracy = #stablehlo.result_accuracy<mode = HIGHEST>}> : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: "stablehlo.convert"
  %4 = "stablehlo.convert"(%a) : (tensor<4xf32>) -> tensor<4xi32>
  return %0, %1, %2, %3, %4 : tensor<4xi32>, tensor<4xui32>, tensor<4xi1>, tensor<4xf32>, tensor<4xi32>
}

// CHECK-LABEL: func.func @logistic(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>
func.func @logistic(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %one = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
  %ones = "stablehlo.broadcast_in_dim"(%one) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x8xf32>
  %0 = "stablehlo.negate"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = "stablehlo.exponential"(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = "stablehlo.add"(%ones, %1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = "stablehlo.divide"(%ones, %2) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %[[R:.*]] = "stablehlo.logistic"(%[[X]])
  // CHECK-NEXT: return %[[R]]
  return %3 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @clamp(
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>
func.func @clamp(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // CHECK-DAG: %[[HIGH:.*]] = arith.constant dense<7.0{{.*}}> : tensor<4x8xf32>
  // CHECK-DAG: %[[LOW:.*]] = arith.constant dense<-7.0{{.*}}> : tensor<4x8xf32>
  %low = "stablehlo.constant"() <{value = dense<-7.0> : tensor<f32>}> : () -> tensor<f32>
  %high = "stablehlo.constant"() <{value = dense<7.0> : tensor<f32>}> : () -> tensor<f32>
  // CHECK: %[[M:.*]] = arith.maximumf %[[X]], %[[LOW]]
  // CHECK: arith.minimumf %[[M]], %[[HIGH]]
  %0 = "stablehlo.clamp"(%low, %x, %high) : (tensor<f32>, tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @shapes(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<8xf32>
func.func @shapes(%x: tensor<4xf32>, %b: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x1xbf16>) {
  // CHECK: %[[ROWS:.*]] = "stablehlo.broadcast_in_dim"(%[[X]]) <{broadcast_dimensions = array<i64: 0>}>
  %0 = "stablehlo.broadcast_in_dim"(%x) <{broadcast_dimensions = array<i64: 0>}> : (tensor<4xf32>) -> tensor<4x1xf32>
  %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<4x1xf32>) -> tensor<4x8xf32>
  // CHECK: %[[COLUMNS:.*]] = "stablehlo.broadcast_in_dim"(%[[B]]) <{broadcast_dimensions = array<i64: 1>}>
  %2 = "stablehlo.broadcast_in_dim"(%b) <{broadcast_dimensions = array<i64: 1>}> : (tensor<8xf32>) -> tensor<1x8xf32>
  %3 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x8xf32>) -> tensor<4x8xf32>
  // CHECK: %[[NARROW:.*]] = arith.truncf %[[X]]
  // CHECK: %[[COLUMN:.*]] = "stablehlo.reshape"(%[[NARROW]]) : (tensor<4xbf16>) -> tensor<4x1xbf16>
  %4 = "stablehlo.convert"(%0) : (tensor<4x1xf32>) -> tensor<4x1xbf16>
  // CHECK: return %[[ROWS]], %[[COLUMNS]], %[[COLUMN]]
  return %1, %3, %4 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x1xbf16>
}

// What a broadcast does not repeat stays, though its size be 1.
// CHECK-LABEL: func.func @one_row(
// CHECK-SAME: %[[X:.*]]: tensor<1x1xf32>
func.func @one_row(%x: tensor<1x1xf32>) -> tensor<1x8xf32> {
  // CHECK: %[[ROW:.*]] = "stablehlo.reshape"(%[[X]]) : (tensor<1x1xf32>) -> tensor<1xf32>
  // CHECK: "stablehlo.broadcast_in_dim"(%[[ROW]]) <{broadcast_dimensions = array<i64: 0>}>
  %0 = "stablehlo.broadcast_in_dim"(%x) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x1xf32>) -> tensor<1x8xf32>
  return %0 : tensor<1x8xf32>
}

// Ids of a top_k are in range: they need not be mended, clamped or masked.
// CHECK-LABEL: func.func @ranges(
func.func @ranges(%s: tensor<6x8xf32>) -> (tensor<12xi32>, tensor<12xi32>, tensor<12x1xi1>, tensor<12xi32>) {
  // CHECK-DAG: %[[TRUE:.*]] = arith.constant dense<true> : tensor<12x1xi1>
  // CHECK-DAG: %[[FOUR:.*]] = arith.constant dense<4> : tensor<12xi32>
  %zero = "stablehlo.constant"() <{value = dense<0> : tensor<12xi32>}> : () -> tensor<12xi32>
  %eight = "stablehlo.constant"() <{value = dense<8> : tensor<12xi32>}> : () -> tensor<12xi32>
  // CHECK: %[[TOP:.*]]:2 = "chlo.top_k"
  %v, %ids = "chlo.top_k"(%s) <{k = 2 : i64}> : (tensor<6x8xf32>) -> (tensor<6x2xf32>, tensor<6x2xi32>)
  // CHECK: %[[IDS:.*]] = "stablehlo.reshape"(%[[TOP]]#1)
  %flat = "stablehlo.reshape"(%ids) : (tensor<6x2xi32>) -> tensor<12xi32>
  %negative = "stablehlo.compare"(%flat, %zero) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<12xi32>, tensor<12xi32>) -> tensor<12xi1>
  %shifted = "stablehlo.add"(%flat, %eight) : (tensor<12xi32>, tensor<12xi32>) -> tensor<12xi32>
  %mended = "stablehlo.select"(%negative, %shifted, %flat) : (tensor<12xi1>, tensor<12xi32>, tensor<12xi32>) -> tensor<12xi32>
  %clamped = "stablehlo.maximum"(%zero, %flat) : (tensor<12xi32>, tensor<12xi32>) -> tensor<12xi32>
  %column = "stablehlo.reshape"(%flat) : (tensor<12xi32>) -> tensor<12x1xi32>
  %last = "stablehlo.constant"() <{value = dense<7> : tensor<12x1xi32>}> : () -> tensor<12x1xi32>
  %inside = "stablehlo.compare"(%column, %last) <{comparison_direction = #stablehlo<comparison_direction LE>}> : (tensor<12x1xi32>, tensor<12x1xi32>) -> tensor<12x1xi1>
  // A floor division as jnp writes it.
  %four = "stablehlo.constant"() <{value = dense<4> : tensor<12xi32>}> : () -> tensor<12xi32>
  %one = "stablehlo.constant"() <{value = dense<1> : tensor<12xi32>}> : () -> tensor<12xi32>
  // CHECK: %[[QUOTIENT:.*]] = "stablehlo.divide"(%[[IDS]], %[[FOUR]])
  %quotient = "stablehlo.divide"(%flat, %four) : (tensor<12xi32>, tensor<12xi32>) -> tensor<12xi32>
  %sign = "stablehlo.sign"(%flat) : (tensor<12xi32>) -> tensor<12xi32>
  %sign4 = "stablehlo.sign"(%four) : (tensor<12xi32>) -> tensor<12xi32>
  %differ = "stablehlo.compare"(%sign, %sign4) <{comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<12xi32>, tensor<12xi32>) -> tensor<12xi1>
  %rest = "stablehlo.remainder"(%flat, %four) : (tensor<12xi32>, tensor<12xi32>) -> tensor<12xi32>
  %some = "stablehlo.compare"(%rest, %zero) <{comparison_direction = #stablehlo<comparison_direction NE>}> : (tensor<12xi32>, tensor<12xi32>) -> tensor<12xi1>
  %correct = "stablehlo.and"(%differ, %some) : (tensor<12xi1>, tensor<12xi1>) -> tensor<12xi1>
  %less = "stablehlo.subtract"(%quotient, %one) : (tensor<12xi32>, tensor<12xi32>) -> tensor<12xi32>
  %floor = "stablehlo.select"(%correct, %less, %quotient) : (tensor<12xi1>, tensor<12xi32>, tensor<12xi32>) -> tensor<12xi32>
  // CHECK: return %[[IDS]], %[[IDS]], %[[TRUE]], %[[QUOTIENT]]
  return %mended, %clamped, %inside, %floor : tensor<12xi32>, tensor<12xi32>, tensor<12x1xi1>, tensor<12xi32>
}

// Ids of a caller may be anything.
// CHECK-LABEL: func.func @any_ids(
func.func @any_ids(%ids: tensor<12xi32>) -> tensor<12xi32> {
  %zero = "stablehlo.constant"() <{value = dense<0> : tensor<12xi32>}> : () -> tensor<12xi32>
  // CHECK: %[[R:.*]] = arith.maxsi
  %0 = "stablehlo.maximum"(%zero, %ids) : (tensor<12xi32>, tensor<12xi32>) -> tensor<12xi32>
  // CHECK: return %[[R]]
  return %0 : tensor<12xi32>
}

// -----

// Private functions are inlined, into each other too; a recursive one stays.
// CHECK-LABEL: func.func @calls(
// CHECK-NOT: call @twice
// CHECK: arith.addf
// CHECK: arith.addf
// CHECK: call @endless
func.func @calls(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @twice(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = call @endless(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = "stablehlo.negate"(%2) : (tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}
func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @double(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @double(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @endless(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.negate"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @endless(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
