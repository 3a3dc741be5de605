// RUN: moe-opt %s --convert-moe-to-tile | FileCheck %s

// CHECK-LABEL: func @gather_combine
func.func @gather_combine(%x: tensor<?x64xbf16>, %ids: tensor<?x2xi32>, %w: tensor<?x2xf32>) -> tensor<?x64xbf16> {
  // CHECK: %[[P:.*]]:6 = tile.plan
  // CHECK: %[[G:.*]] = tile.rows ins(%arg0, %[[P]]#3 : tensor<?x64xbf16>, tensor<?xi32>) outs(%{{.*}} : tensor<?x64xbf16>)
  // CHECK: ^bb0(%[[R:.*]]: index, %[[X:.*]]: tensor<?x64xbf16>, %[[TOKEN:.*]]: tensor<?xi32>):
  // CHECK-NEXT: %[[T:.*]] = tile.load %[[TOKEN]][%[[R]]]
  // CHECK-NEXT: %[[I:.*]] = arith.index_cast %[[T]] : i32 to index
  // CHECK-NEXT: %[[ROW:.*]] = tile.load %[[X]][%[[I]]] : tensor<?x64xbf16> -> vector<64xbf16>
  // CHECK-NEXT: tile.yield %[[ROW]]
  // The sum is over slots 0 and 1 in order, in f32, rounded once; a slot is skipped for weight 0 or row -1.
  // CHECK: tile.rows ins(%[[G]], %[[P]]#4, %arg2 : tensor<?x64xbf16>, tensor<?x2xi32>, tensor<?x2xf32>) outs(%{{.*}} : tensor<?x64xbf16>)
  // CHECK: %[[SUM0:.*]] = arith.constant dense<0.0{{.*}}> : vector<64xf32>
  // CHECK: %[[C0:.*]] = arith.constant 0 : index
  // CHECK: tile.load %{{.*}}[%{{.*}}, %[[C0]]] : tensor<?x2xi32> -> i32
  // CHECK: arith.extf
  // CHECK: %[[SKIP:.*]] = arith.ori
  // CHECK: %[[TERM:.*]] = arith.mulf
  // CHECK: %[[ADD:.*]] = arith.addf %[[SUM0]], %[[TERM]]
  // CHECK: %[[SUM1:.*]] = arith.select %[[SKIP]], %[[SUM0]], %[[ADD]]
  // CHECK: %[[C1:.*]] = arith.constant 1 : index
  // CHECK: tile.load %{{.*}}[%{{.*}}, %[[C1]]] : tensor<?x2xi32> -> i32
  // CHECK: arith.addf %[[SUM1]]
  // CHECK: %[[SUM2:.*]] = arith.select %{{.*}}, %[[SUM1]]
  // CHECK: %[[OUT:.*]] = arith.truncf %[[SUM2]]
  // CHECK: tile.yield %[[OUT]]
  %p = moe.plan %ids : tensor<?x2xi32> -> !moe.plan<groups = 8, topk = 2>
  %g = moe.gather %x, %p
      : tensor<?x64xbf16>, !moe.plan<groups = 8, topk = 2> -> tensor<?x64xbf16, #moe.ragged<groups = 8>>
  %o = moe.combine %g, %p weights %w
      : tensor<?x64xbf16, #moe.ragged<groups = 8>>, !moe.plan<groups = 8, topk = 2>, tensor<?x2xf32> -> tensor<?x64xbf16>
  return %o : tensor<?x64xbf16>
}

// CHECK-LABEL: func @combine_plain
func.func @combine_plain(%x: tensor<4x8xf32, #moe.ragged<groups = 2>>, %ids: tensor<4x1xi32>) -> tensor<4x8xf32> {
  // CHECK: tile.rows
  // CHECK-NOT: arith.select
  // CHECK: arith.addf
  %p = moe.plan %ids : tensor<4x1xi32> -> !moe.plan<groups = 2, rows = 4, tokens = 4, topk = 1>
  %o = moe.combine %x, %p
      : tensor<4x8xf32, #moe.ragged<groups = 2>>, !moe.plan<groups = 2, rows = 4, tokens = 4, topk = 1> -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}

// More slots than one body reads at once: f32 sums of 16 slots go from one op to the next, and only the last one rounds.
// CHECK-LABEL: func @combine_many_slots
func.func @combine_many_slots(%x: tensor<165x8xbf16, #moe.ragged<groups = 40>>, %ids: tensor<5x33xi32>, %w: tensor<5x33xf32>)
    -> tensor<5x8xbf16> {
  // CHECK: %[[A:.*]] = tile.rows ins(%{{.*}}, %{{.*}}, %arg2 : {{.*}}) outs(%{{.*}} : tensor<5x8xf32>)
  // CHECK-NOT: arith.truncf
  // CHECK: arith.constant 15 : index
  // CHECK: %[[B:.*]] = tile.rows ins(%{{.*}}, %{{.*}}, %arg2, %[[A]] : {{.*}}, tensor<5x8xf32>) outs(%{{.*}} : tensor<5x8xf32>)
  // CHECK: ^bb0(%[[R:.*]]: index, {{.*}}, %[[BEFORE:.*]]: tensor<5x8xf32>):
  // CHECK-NEXT: tile.load %[[BEFORE]][%[[R]]]
  // CHECK-NEXT: arith.constant 16 : index
  // CHECK-NOT: arith.truncf
  // CHECK: tile.rows ins(%{{.*}}, %{{.*}}, %arg2, %[[B]] : {{.*}}, tensor<5x8xf32>) outs(%{{.*}} : tensor<5x8xbf16>)
  // CHECK: arith.constant 32 : index
  // CHECK: arith.truncf
  // CHECK-NOT: tile.rows
  %p = moe.plan %ids : tensor<5x33xi32> -> !moe.plan<groups = 40, rows = 165, tokens = 5, topk = 33>
  %o = moe.combine %x, %p weights %w : tensor<165x8xbf16, #moe.ragged<groups = 40>>,
      !moe.plan<groups = 40, rows = 165, tokens = 5, topk = 33>, tensor<5x33xf32> -> tensor<5x8xbf16>
  return %o : tensor<5x8xbf16>
}

// CHECK-LABEL: func @silu
func.func @silu(%h: tensor<?x8xbf16>) -> tensor<?x4xbf16> {
  // CHECK: tile.rows ins(%arg0 : tensor<?x8xbf16>) outs(%{{.*}} : tensor<?x4xbf16>)
  // CHECK: %[[ROW:.*]] = arith.extf %{{.*}} : vector<8xbf16> to vector<8xf32>
  // CHECK: %[[GATE:.*]] = vector.extract_strided_slice %[[ROW]] {offsets = [0], sizes = [4], strides = [1]}
  // CHECK: %[[UP:.*]] = vector.extract_strided_slice %[[ROW]] {offsets = [4], sizes = [4], strides = [1]}
  // CHECK: %[[S:.*]] = arith.divf
  // CHECK: %[[ACT:.*]] = arith.mulf %[[GATE]], %[[S]]
  // CHECK: %[[OUT:.*]] = arith.mulf %[[ACT]], %[[UP]]
  // CHECK: arith.truncf %[[OUT]] : vector<4xf32> to vector<4xbf16>
  %a = moe.gated_activation %h : tensor<?x8xbf16> -> tensor<?x4xbf16>
  return %a : tensor<?x4xbf16>
}

// The gpt-oss form; a ragged argument gets its plan from the op that uses the result.
// CHECK-LABEL: func @interleaved
func.func @interleaved(%h: tensor<8x8xf32, #moe.ragged<groups = 4, tail = undefined>>, %w: tensor<4x4x8xf32>, %s: tensor<4xi32>)
    -> tensor<8x8xf32, #moe.ragged<groups = 4>> {
  // CHECK: %[[B:.*]] = tile.offsets
  // CHECK: tile.rows ins(%arg0 : tensor<8x8xf32>) bounds(%[[B]] : tensor<4x2xi64>)
  // CHECK: ^bb0(%{{.*}}: index, %{{.*}}: index, %{{.*}}: tensor<8x8xf32>):
  // CHECK: %[[G:.*]], %[[U:.*]] = vector.deinterleave
  // CHECK-DAG: %[[HI:.*]] = arith.constant dense<7.0
  // CHECK: %[[GATE:.*]] = arith.minimumf %[[G]], %[[HI]]
  // CHECK: %[[UPMIN:.*]] = arith.minimumf %[[U]], %[[HI]]
  // CHECK: %[[LO:.*]] = arith.constant dense<-7.0
  // CHECK: %[[UPMAX:.*]] = arith.maximumf %[[UPMIN]], %[[LO]]
  // CHECK: %[[ONE:.*]] = arith.constant dense<1.0
  // CHECK: %[[UP:.*]] = arith.addf %[[UPMAX]], %[[ONE]]
  // CHECK: %[[ALPHA:.*]] = arith.constant dense<1.702
  // CHECK: arith.mulf %[[GATE]], %[[ALPHA]]
  // CHECK: %[[ACT:.*]] = arith.mulf %[[GATE]]
  // CHECK: arith.mulf %[[ACT]], %[[UP]]
  %p = moe.plan_from_sizes %s : tensor<4xi32> -> !moe.plan<groups = 4, rows = 8>
  %a = moe.gated_activation %h {layout = #moe.halves<interleaved>, limit = 7.0 : f32, alpha = 1.702 : f32, up_offset = 1.0 : f32}
      : tensor<8x8xf32, #moe.ragged<groups = 4, tail = undefined>> -> tensor<8x4xf32, #moe.ragged<groups = 4, tail = undefined>>
  %y = moe.ragged_matmul %a, %w plan %p
      : tensor<8x4xf32, #moe.ragged<groups = 4, tail = undefined>>, tensor<4x4x8xf32>, !moe.plan<groups = 4, rows = 8>
      -> tensor<8x8xf32, #moe.ragged<groups = 4>>
  return %y : tensor<8x8xf32, #moe.ragged<groups = 4>>
}

// gelu(g) = g * sigmoid(2 u)
// CHECK-LABEL: func @gelu
func.func @gelu(%h: tensor<2x8xf32>) -> tensor<2x4xf32> {
  // CHECK-DAG: arith.constant dense<4.471500e-02>
  // CHECK-DAG: arith.constant dense<1.59576917>
  // CHECK: math.exp
  // CHECK-NOT: math.tanh
  // CHECK: return
  %a = moe.gated_activation %h {function = #moe.gate<gelu_tanh>} : tensor<2x8xf32> -> tensor<2x4xf32>
  return %a : tensor<2x4xf32>
}

// CHECK-LABEL: func @relu
func.func @relu(%h: tensor<2x8xf32>) -> tensor<2x4xf32> {
  // CHECK: arith.maximumf
  %a = moe.gated_activation %h {function = #moe.gate<relu>} : tensor<2x8xf32> -> tensor<2x4xf32>
  return %a : tensor<2x4xf32>
}

// Rows without columns need no kernel.
// CHECK-LABEL: func @no_columns
func.func @no_columns(%h: tensor<?x0xf32>) -> tensor<?x0xf32> {
  // CHECK: %[[E:.*]] = tensor.empty
  // CHECK-NOT: tile.rows
  // CHECK: return %[[E]]
  %a = moe.gated_activation %h : tensor<?x0xf32> -> tensor<?x0xf32>
  return %a : tensor<?x0xf32>
}

// Two lookups become one list of row numbers; -1 stays -1.
// CHECK-LABEL: func @gather_through
func.func @gather_through(%x: tensor<?x8xf32>, %ids: tensor<?x2xi32>, %jds: tensor<?x1xi32>) -> tensor<?x8xf32, #moe.ragged<groups = 4>> {
  // CHECK: %[[P:.*]]:6 = tile.plan ids(%arg1
  // CHECK: %[[Q:.*]]:6 = tile.plan ids(%arg2
  // CHECK: %[[INDEX:.*]] = tile.rows ins(%[[Q]]#3, %[[P]]#3 : tensor<?xi32>, tensor<?xi32>)
  // CHECK: %[[OUTER:.*]] = tile.load %{{.*}}[%{{.*}}] : tensor<?xi32> -> i32
  // CHECK: %[[NONE:.*]] = arith.cmpi slt, %[[OUTER]], %{{.*}} : i32
  // CHECK: %[[FOUND:.*]] = tile.load
  // CHECK: %[[ROW:.*]] = arith.select %[[NONE]], %[[OUTER]], %[[FOUND]] : i32
  // CHECK: tile.yield %[[ROW]]
  // CHECK: tile.rows ins(%arg0, %[[INDEX]] : tensor<?x8xf32>, tensor<?xi32>)
  %p = moe.plan %ids : tensor<?x2xi32> -> !moe.plan<groups = 8, topk = 2>
  %q = moe.plan %jds : tensor<?x1xi32> -> !moe.plan<groups = 4, topk = 1>
  %g = moe.gather %x, %q through %p
      : tensor<?x8xf32>, !moe.plan<groups = 4, topk = 1>, !moe.plan<groups = 8, topk = 2> -> tensor<?x8xf32, #moe.ragged<groups = 4>>
  return %g : tensor<?x8xf32, #moe.ragged<groups = 4>>
}
