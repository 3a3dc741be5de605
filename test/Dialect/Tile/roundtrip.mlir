// Every op prints and parses, on tensors and on memrefs, in its own form and in the generic one.
// RUN: moe-opt %s | moe-opt | FileCheck %s
// RUN: moe-opt %s --mlir-print-op-generic | moe-opt | FileCheck %s

// CHECK-LABEL: func @offsets_tensor
func.func @offsets_tensor(%s: tensor<6xi32>, %m: index, %init: tensor<6x2xi64>) -> tensor<6x2xi64> {
  // CHECK: tile.offsets sizes(%{{.*}} : tensor<6xi32>) rows(%{{.*}}) outs(%{{.*}} : tensor<6x2xi64>) {align = 8 : i64} -> tensor<6x2xi64>
  %b = tile.offsets sizes(%s : tensor<6xi32>) rows(%m) outs(%init : tensor<6x2xi64>) {align = 8 : i64} -> tensor<6x2xi64>
  return %b : tensor<6x2xi64>
}

// CHECK-LABEL: func @offsets_memref
func.func @offsets_memref(%s: memref<6xi64>, %m: index, %out: memref<6x2xi64>) {
  // CHECK: tile.offsets sizes(%{{.*}} : memref<6xi64>) rows(%{{.*}}) outs(%{{.*}} : memref<6x2xi64>){{$}}
  tile.offsets sizes(%s : memref<6xi64>) rows(%m) outs(%out : memref<6x2xi64>)
  return
}

// CHECK-LABEL: func @plan_tensor
func.func @plan_tensor(%ids: tensor<?x2xi32>, %s: tensor<8xi32>, %b: tensor<8x2xi64>, %perm: tensor<?xi32>, %tok: tensor<?xi32>,
                       %inv: tensor<?x2xi32>, %d: tensor<1xi64>) -> tensor<8xi32> {
  // CHECK: tile.plan ids(%{{.*}} : tensor<?x2xi32>) outs({{.*}}) {align = 4 : i64} ->
  %p:6 = tile.plan ids(%ids : tensor<?x2xi32>)
      outs(%s, %b, %perm, %tok, %inv, %d : tensor<8xi32>, tensor<8x2xi64>, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>, tensor<1xi64>)
      {align = 4 : i64}
      -> tensor<8xi32>, tensor<8x2xi64>, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>, tensor<1xi64>
  return %p#0 : tensor<8xi32>
}

// CHECK-LABEL: func @plan_memref
func.func @plan_memref(%ids: memref<?x2xi32>, %s: memref<8xi32>, %b: memref<8x2xi64>, %perm: memref<?xi32>, %tok: memref<?xi32>,
                       %inv: memref<?x2xi32>, %d: memref<1xi64>) {
  // CHECK: tile.plan ids(%{{.*}} : memref<?x2xi32>) outs(
  tile.plan ids(%ids : memref<?x2xi32>)
      outs(%s, %b, %perm, %tok, %inv, %d : memref<8xi32>, memref<8x2xi64>, memref<?xi32>, memref<?xi32>, memref<?x2xi32>, memref<1xi64>)
  return
}

// CHECK-LABEL: func @plan_equal_blocks
func.func @plan_equal_blocks(%ids: memref<?x2xi32>, %s: memref<8xi32>, %b: memref<8x2xi64>, %perm: memref<24xi32>, %tok: memref<24xi32>,
                             %inv: memref<?x2xi32>, %d: memref<1xi64>) {
  // CHECK: tile.plan ids(%{{.*}} : memref<?x2xi32>) outs({{.*}}) {equal_blocks}
  tile.plan ids(%ids : memref<?x2xi32>)
      outs(%s, %b, %perm, %tok, %inv, %d : memref<8xi32>, memref<8x2xi64>, memref<24xi32>, memref<24xi32>, memref<?x2xi32>, memref<1xi64>)
      {equal_blocks}
  return
}

// CHECK-LABEL: func @gemm_gathered_gated
func.func @gemm_gathered_gated(%x: tensor<?x64xbf16>, %tok: tensor<?xi32>, %w: tensor<8x64x224xbf16>, %b: tensor<8x2xi64>,
                               %init: tensor<?x112xbf16>) -> tensor<?x112xbf16> {
  // CHECK: tile.ragged_gemm lhs(%{{.*}} : tensor<?x64xbf16>) gather(%{{.*}} : tensor<?xi32>) rhs(%{{.*}} : tensor<8x64x224xbf16>)
  // CHECK-SAME: bounds(%{{.*}} : tensor<8x2xi64>) outs(%{{.*}} : tensor<?x112xbf16>) attributes {accs = #tile.accs<concatenated>} {
  // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32):
  %y = tile.ragged_gemm lhs(%x : tensor<?x64xbf16>) gather(%tok : tensor<?xi32>) rhs(%w : tensor<8x64x224xbf16>)
      bounds(%b : tensor<8x2xi64>) outs(%init : tensor<?x112xbf16>) attributes {accs = #tile.accs<concatenated>} {
  ^bb0(%gate: f32, %up: f32):
    %0 = arith.mulf %gate, %up : f32
    %1 = arith.truncf %0 : f32 to bf16
    tile.yield %1 : bf16
  } -> tensor<?x112xbf16>
  return %y : tensor<?x112xbf16>
}

// CHECK-LABEL: func @gemm_extras
func.func @gemm_extras(%x: memref<?x8xf32>, %w: memref<4x16x8xf32>, %b: memref<9x2xi64>, %slots: memref<?xi32>, %row: memref<?xf32>,
                       %weight: memref<?x2xf32>, %bias: memref<4x16xf32>, %res: memref<?x8xbf16>, %out: memref<?x8xf32>) {
  // CHECK: slots(%{{.*}} : memref<?xi32>) extras(%{{.*}} : memref<?xf32>, memref<?x2xf32>, memref<4x16xf32>, memref<?x8xbf16>)
  // CHECK-SAME: accs = #tile.accs<interleaved>
  // CHECK-SAME: extra_kinds = [#tile.extra<row>, #tile.extra<slot>, #tile.extra<group>, #tile.extra<elem>]
  // CHECK-SAME: group_offset = 5 : i64
  // CHECK-SAME: layout = #tile.rhs<nk>
  // CHECK-SAME: precision = #tile.precision<tf32>
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<4x16x8xf32>) bounds(%b : memref<9x2xi64>) slots(%slots : memref<?xi32>)
      extras(%row, %weight, %bias, %res : memref<?xf32>, memref<?x2xf32>, memref<4x16xf32>, memref<?x8xbf16>)
      outs(%out : memref<?x8xf32>)
      attributes {accs = #tile.accs<interleaved>, layout = #tile.rhs<nk>, group_offset = 5 : i64, precision = #tile.precision<tf32>,
                  extra_kinds = [#tile.extra<row>, #tile.extra<slot>, #tile.extra<group>, #tile.extra<elem>]} {
  ^bb0(%a0: f32, %a1: f32, %r: f32, %s: f32, %b0: f32, %b1: f32, %e: bf16):
    %0 = arith.addf %a0, %b0 : f32
    %1 = arith.addf %a1, %b1 : f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.mulf %2, %r : f32
    %4 = arith.mulf %3, %s : f32
    %5 = arith.extf %e : bf16 to f32
    %6 = arith.addf %4, %5 : f32
    tile.yield %6 : f32
  }
  return
}

// CHECK-LABEL: func @gemm_contraction
func.func @gemm_contraction(%x: tensor<?x8xf16>, %dy: tensor<?x16xf16>, %b: tensor<4x2xi64>, %dw: tensor<4x8x16xf32>)
    -> tensor<4x8x16xf32> {
  // CHECK: tile.ragged_gemm lhs(%{{.*}} : tensor<?x8xf16>) rhs(%{{.*}} : tensor<?x16xf16>) bounds(%{{.*}} : tensor<4x2xi64>)
  // CHECK-SAME: accumulate, mode = #tile.mode<contraction>
  // CHECK-NEXT: ^bb0(%{{.*}}: f32, %{{.*}}: f32):
  %y = tile.ragged_gemm lhs(%x : tensor<?x8xf16>) rhs(%dy : tensor<?x16xf16>) bounds(%b : tensor<4x2xi64>)
      outs(%dw : tensor<4x8x16xf32>) attributes {mode = #tile.mode<contraction>, accumulate} {
  ^bb0(%acc: f32, %old: f32):
    %0 = arith.addf %acc, %old : f32
    tile.yield %0 : f32
  } -> tensor<4x8x16xf32>
  return %y : tensor<4x8x16xf32>
}

// CHECK-LABEL: func @gemm_group_sum
func.func @gemm_group_sum(%dy: tensor<?x16xf32>, %b: tensor<4x2xi64>, %db: tensor<4x16xf32>) -> tensor<4x16xf32> {
  // CHECK: tile.ragged_gemm rhs(%{{.*}} : tensor<?x16xf32>)
  %y = tile.ragged_gemm rhs(%dy : tensor<?x16xf32>) bounds(%b : tensor<4x2xi64>) outs(%db : tensor<4x16xf32>)
      attributes {mode = #tile.mode<contraction>} {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// CHECK-LABEL: func @gemm_batch
func.func @gemm_batch(%x: tensor<4x?x8xf32>, %w: tensor<4x8x16xf32>, %init: tensor<4x?x16xf32>) -> tensor<4x?x16xf32> {
  // CHECK: tile.ragged_gemm lhs(%{{.*}} : tensor<4x?x8xf32>) rhs(%{{.*}} : tensor<4x8x16xf32>) outs(%{{.*}} : tensor<4x?x16xf32>) {
  %y = tile.ragged_gemm lhs(%x : tensor<4x?x8xf32>) rhs(%w : tensor<4x8x16xf32>) outs(%init : tensor<4x?x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  } -> tensor<4x?x16xf32>
  return %y : tensor<4x?x16xf32>
}

// CHECK-LABEL: func @rows_tensor
func.func @rows_tensor(%x: tensor<?x64xbf16>, %w: tensor<?xf32>, %init: tensor<?x64xbf16>) -> tensor<?x64xbf16> {
  // CHECK: tile.rows ins(%{{.*}}, %{{.*}} : tensor<?x64xbf16>, tensor<?xf32>) outs(%{{.*}} : tensor<?x64xbf16>) {
  // CHECK-NEXT: ^bb0(%[[R:.*]]: index, %[[X:.*]]: tensor<?x64xbf16>, %[[W:.*]]: tensor<?xf32>):
  // CHECK-NEXT: tile.load %[[X]][%[[R]]] : tensor<?x64xbf16> -> vector<64xbf16>
  // CHECK: tile.load %[[W]][%[[R]]] : tensor<?xf32> -> f32
  %o = tile.rows ins(%x, %w : tensor<?x64xbf16>, tensor<?xf32>) outs(%init : tensor<?x64xbf16>) {
  ^bb0(%r: index, %xs: tensor<?x64xbf16>, %ws: tensor<?xf32>):
    %row = tile.load %xs[%r] : tensor<?x64xbf16> -> vector<64xbf16>
    %f = arith.extf %row : vector<64xbf16> to vector<64xf32>
    %s = tile.load %ws[%r] : tensor<?xf32> -> f32
    %b = vector.broadcast %s : f32 to vector<64xf32>
    %m = arith.mulf %f, %b : vector<64xf32>
    %t = arith.truncf %m : vector<64xf32> to vector<64xbf16>
    tile.yield %t : vector<64xbf16>
  } -> tensor<?x64xbf16>
  return %o : tensor<?x64xbf16>
}

// CHECK-LABEL: func @rows_memref_router
func.func @rows_memref_router(%x: memref<?x64xf32, strided<[?, 1]>>, %b: memref<8x2xi64>, %ids: memref<?x4xi32>, %top: memref<?xf32>) {
  // CHECK: tile.rows ins(%{{.*}} : memref<?x64xf32, strided<[?, 1]>>) bounds(%{{.*}} : memref<8x2xi64>)
  // CHECK-NEXT: ^bb0(%{{.*}}: index, %{{.*}}: index, %{{.*}}: memref<?x64xf32, strided<[?, 1]>>):
  tile.rows ins(%x : memref<?x64xf32, strided<[?, 1]>>) bounds(%b : memref<8x2xi64>) outs(%ids, %top : memref<?x4xi32>, memref<?xf32>) {
  ^bb0(%r: index, %g: index, %xs: memref<?x64xf32, strided<[?, 1]>>):
    %row = tile.load %xs[%r] : memref<?x64xf32, strided<[?, 1]>> -> vector<64xf32>
    // CHECK: tile.select %{{.*}} {group_top = 2 : i64, groups = 8 : i64, keep_groups = 4 : i64, nan = #tile.nan<first>} : vector<64xf32> -> vector<4xi32>
    %k = tile.select %row {groups = 8 : i64, keep_groups = 4 : i64, group_top = 2 : i64, nan = #tile.nan<first>} : vector<64xf32> -> vector<4xi32>
    // CHECK: tile.lookup %{{.*}}[%{{.*}}] : vector<64xf32>, vector<4xi32> -> vector<4xf32>
    %v = tile.lookup %row[%k] : vector<64xf32>, vector<4xi32> -> vector<4xf32>
    %sum = vector.reduction <add>, %v : vector<4xf32> into f32
    %zero = arith.constant 0.0 : f32
    %bad = arith.cmpf une, %sum, %sum : f32
    %c0 = arith.constant 0 : i64
    // CHECK: tile.fault nan_router if %{{.*}} row %{{.*}} value %{{.*}} limit %{{.*}}
    tile.fault nan_router if %bad row %r value %c0 limit %c0
    tile.yield %k, %sum : vector<4xi32>, f32
  }
  return
}
