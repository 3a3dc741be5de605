// RUN: moe-opt %s | moe-opt | FileCheck %s
// RUN: moe-opt %s --mlir-print-op-generic | moe-opt | FileCheck %s

// CHECK-LABEL: func.func @types(
// CHECK-SAME: %{{.*}}: tensor<?x64xbf16, #moe.ragged<groups = 8>>,
// CHECK-SAME: %{{.*}}: tensor<?x64xbf16, #moe.ragged<groups = 8, tail = undefined, align = 128>>,
// CHECK-SAME: %{{.*}}: tensor<24xf32, #moe.ragged<groups = 0>>,
// CHECK-SAME: %{{.*}}: !moe.plan<groups = 8>,
// CHECK-SAME: %{{.*}}: !moe.plan<groups = 8, rows = 96, tokens = 48, topk = 2, align = 4>,
// CHECK-SAME: %{{.*}}: !moe.plan<groups = 8, topk = 2>)
func.func @types(%a: tensor<?x64xbf16, #moe.ragged<groups = 8>>,
                 %b: tensor<?x64xbf16, #moe.ragged<groups = 8, tail = undefined, align = 128>>,
                 %c: tensor<24xf32, #moe.ragged<groups = 0, tail = zero, align = 1>>,
                 %d: !moe.plan<groups = 8, rows = ?, tokens = ?, topk = 0, align = 1>,
                 %e: !moe.plan<align = 4, topk = 2, tokens = 48, rows = 96, groups = 8>,
                 %f: !moe.plan<groups = 8, rows = ?, tokens = ?, topk = 2>) {
  return
}

// CHECK-LABEL: func.func @logits
func.func @logits(%x: tensor<?x64xbf16>, %kn: tensor<64x8xbf16>, %nk: tensor<8x64xbf16>, %b: tensor<8xf32>) {
  // CHECK: moe.logits %{{.*}}, %{{.*}} : tensor<?x64xbf16>, tensor<64x8xbf16> -> tensor<?x8xf32>
  %0 = moe.logits %x, %kn : tensor<?x64xbf16>, tensor<64x8xbf16> -> tensor<?x8xf32>
  // CHECK: moe.logits %{{.*}}, %{{.*}} bias %{{.*}} {layout = #moe.weights<nk>, precision = #moe.precision<tf32>} : tensor<?x64xbf16>, tensor<8x64xbf16>, tensor<8xf32> -> tensor<?x8xf32>
  %1 = moe.logits %x, %nk bias %b {layout = #moe.weights<nk>, precision = #moe.precision<tf32>}
      : tensor<?x64xbf16>, tensor<8x64xbf16>, tensor<8xf32> -> tensor<?x8xf32>
  return
}

// CHECK-LABEL: func.func @router
func.func @router(%l: tensor<?x64xf32>, %b: tensor<64xf32>) {
  // CHECK: moe.scores %{{.*}} : tensor<?x64xf32>
  %s = moe.scores %l : tensor<?x64xf32>
  // CHECK: moe.scores %{{.*}} {function = #moe.score<sigmoid>, nan = #moe.nan<propagate>} : tensor<?x64xf32>
  %t = moe.scores %l {function = #moe.score<sigmoid>, nan = #moe.nan<propagate>} : tensor<?x64xf32>
  // CHECK: moe.select %{{.*}} {k = 2 : i64} : tensor<?x64xf32> -> tensor<?x2xi32>, tensor<?x2xf32>
  %i:2 = moe.select %s {k = 2} : tensor<?x64xf32> -> tensor<?x2xi32>, tensor<?x2xf32>
  // CHECK: moe.select %{{.*}} bias %{{.*}} {group_top = 2 : i64, groups = 8 : i64, k = 8 : i64, keep_groups = 4 : i64, nan = #moe.nan<propagate>} : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x8xi32>, tensor<?x8xf32>
  %j:2 = moe.select %s bias %b {k = 8, groups = 8, keep_groups = 4, group_top = 2, nan = #moe.nan<propagate>}
      : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x8xi32>, tensor<?x8xf32>
  // CHECK: moe.normalize %{{.*}} : tensor<?x2xf32>
  %v = moe.normalize %i#1 : tensor<?x2xf32>
  // CHECK: moe.normalize %{{.*}} {nan = #moe.nan<propagate>, renormalize, scale = 2.500000e+00 : f32} : tensor<?x8xf32>
  %w = moe.normalize %j#1 {renormalize, scale = 2.5 : f32, nan = #moe.nan<propagate>} : tensor<?x8xf32>
  return
}

// CHECK-LABEL: func.func @plans
func.func @plans(%ids: tensor<?x2xi32>, %static: tensor<48x2xi32>, %s32: tensor<6xi32>, %s64: tensor<6xi64>, %m: index) {
  // CHECK: moe.plan %{{.*}} : tensor<?x2xi32> -> !moe.plan<groups = 8, topk = 2>
  %p = moe.plan %ids : tensor<?x2xi32> -> !moe.plan<groups = 8, topk = 2>
  // CHECK: moe.plan %{{.*}} {capacity = 96 : i64} : tensor<48x2xi32> -> !moe.plan<groups = 8, rows = 96, tokens = 48, topk = 2>
  %q = moe.plan %static {capacity = 96} : tensor<48x2xi32> -> !moe.plan<groups = 8, rows = 96, tokens = 48, topk = 2>
  // 48 * 2 slots and 8 * 3 rows of padding
  // CHECK: moe.plan %{{.*}} : tensor<48x2xi32> -> !moe.plan<groups = 8, rows = 120, tokens = 48, topk = 2, align = 4>
  %r = moe.plan %static : tensor<48x2xi32> -> !moe.plan<groups = 8, rows = 120, tokens = 48, topk = 2, align = 4>
  // CHECK: moe.plan_from_sizes %{{.*}} : tensor<6xi32> -> !moe.plan<groups = 6, rows = 24>
  %t = moe.plan_from_sizes %s32 : tensor<6xi32> -> !moe.plan<groups = 6, rows = 24>
  // CHECK: moe.plan_from_sizes %{{.*}} rows %{{.*}} : tensor<6xi64> -> !moe.plan<groups = 6>
  %u = moe.plan_from_sizes %s64 rows %m : tensor<6xi64> -> !moe.plan<groups = 6>
  // CHECK: moe.plan_get %{{.*}} {field = #moe.field<sizes>} : !moe.plan<groups = 8, topk = 2> -> tensor<8xi32>
  %0 = moe.plan_get %p {field = #moe.field<sizes>} : !moe.plan<groups = 8, topk = 2> -> tensor<8xi32>
  // CHECK: moe.plan_get %{{.*}} {field = #moe.field<bounds>} : !moe.plan<groups = 6> -> tensor<6x2xi64>
  %1 = moe.plan_get %u {field = #moe.field<bounds>} : !moe.plan<groups = 6> -> tensor<6x2xi64>
  // CHECK: moe.plan_get %{{.*}} {field = #moe.field<permutation>} : !moe.plan<groups = 8, topk = 2> -> tensor<?xi32>
  %2 = moe.plan_get %p {field = #moe.field<permutation>} : !moe.plan<groups = 8, topk = 2> -> tensor<?xi32>
  // CHECK: moe.plan_get %{{.*}} {field = #moe.field<token>}
  %3 = moe.plan_get %p {field = #moe.field<token>} : !moe.plan<groups = 8, topk = 2> -> tensor<?xi32>
  // CHECK: moe.plan_get %{{.*}} {field = #moe.field<inverse>} : !moe.plan<groups = 8, topk = 2> -> tensor<?x2xi32>
  %4 = moe.plan_get %p {field = #moe.field<inverse>} : !moe.plan<groups = 8, topk = 2> -> tensor<?x2xi32>
  // CHECK: moe.plan_get %{{.*}} {field = #moe.field<dropped>} : !moe.plan<groups = 8, topk = 2> -> tensor<1xi64>
  %5 = moe.plan_get %p {field = #moe.field<dropped>} : !moe.plan<groups = 8, topk = 2> -> tensor<1xi64>
  return
}

#r8 = #moe.ragged<groups = 8>
!plan = !moe.plan<groups = 8, topk = 2>

// CHECK-LABEL: func.func @ragged
func.func @ragged(%ids: tensor<?x2xi32>, %ids1: tensor<?x1xi32>, %x: tensor<?x64xbf16>, %kn: tensor<8x64x32xbf16>, %nk: tensor<8x32x64xbf16>,
                  %b: tensor<8x32xf32>, %w: tensor<?x2xf32>) {
  %p = moe.plan %ids : tensor<?x2xi32> -> !plan
  // CHECK: %[[G:.*]] = moe.gather %{{.*}}, %{{.*}} : tensor<?x64xbf16>, !moe.plan<groups = 8, topk = 2> -> tensor<?x64xbf16, #moe.ragged<groups = 8>>
  %g = moe.gather %x, %p : tensor<?x64xbf16>, !plan -> tensor<?x64xbf16, #r8>
  %p1 = moe.plan %ids1 : tensor<?x1xi32> -> !moe.plan<groups = 4, topk = 1>
  // CHECK: moe.gather %{{.*}}, %{{.*}} through %{{.*}} : tensor<?x64xbf16>, !moe.plan<groups = 4, topk = 1>, !moe.plan<groups = 8, topk = 2> -> tensor<?x64xbf16, #moe.ragged<groups = 4>>
  %t = moe.gather %x, %p1 through %p : tensor<?x64xbf16>, !moe.plan<groups = 4, topk = 1>, !plan -> tensor<?x64xbf16, #moe.ragged<groups = 4>>
  // CHECK: moe.ragged_matmul %[[G]], %{{.*}} plan %{{.*}} : tensor<?x64xbf16, #moe.ragged<groups = 8>>, tensor<8x64x32xbf16>, !moe.plan<groups = 8, topk = 2> -> tensor<?x32xbf16, #moe.ragged<groups = 8>>
  %y = moe.ragged_matmul %g, %kn plan %p : tensor<?x64xbf16, #r8>, tensor<8x64x32xbf16>, !plan -> tensor<?x32xbf16, #r8>
  // CHECK: moe.ragged_matmul %{{.*}}, %{{.*}} plan %{{.*}} bias %{{.*}} weights %{{.*}} {layout = #moe.weights<nk>} : tensor<?x64xbf16, #moe.ragged<groups = 8>>, tensor<8x32x64xbf16>, !moe.plan<groups = 8, topk = 2>, tensor<8x32xf32>, tensor<?x2xf32> -> tensor<?x32xf32, #moe.ragged<groups = 8>>
  %z = moe.ragged_matmul %g, %nk plan %p bias %b weights %w {layout = #moe.weights<nk>}
      : tensor<?x64xbf16, #r8>, tensor<8x32x64xbf16>, !plan, tensor<8x32xf32>, tensor<?x2xf32> -> tensor<?x32xf32, #r8>
  // CHECK: moe.gated_activation %{{.*}} : tensor<?x32xbf16, #moe.ragged<groups = 8>> -> tensor<?x16xbf16, #moe.ragged<groups = 8>>
  %a = moe.gated_activation %y : tensor<?x32xbf16, #r8> -> tensor<?x16xbf16, #r8>
  // CHECK: moe.gated_activation %{{.*}} {alpha = 1.702000e+00 : f32, layout = #moe.halves<interleaved>, limit = 7.000000e+00 : f32, up_offset = 1.000000e+00 : f32}
  %c = moe.gated_activation %z {layout = #moe.halves<interleaved>, limit = 7.0 : f32, alpha = 1.702 : f32, up_offset = 1.0 : f32}
      : tensor<?x32xf32, #r8> -> tensor<?x16xf32, #r8>
  // CHECK: moe.gated_activation %{{.*}} {function = #moe.gate<gelu_tanh>} : tensor<?x64xbf16> -> tensor<?x32xbf16>
  %d = moe.gated_activation %x {function = #moe.gate<gelu_tanh>} : tensor<?x64xbf16> -> tensor<?x32xbf16>
  // CHECK: moe.group_sum %{{.*}}, %{{.*}} : tensor<?x32xbf16, #moe.ragged<groups = 8>>, !moe.plan<groups = 8, topk = 2> -> tensor<8x32xf32>
  %s = moe.group_sum %y, %p : tensor<?x32xbf16, #r8>, !plan -> tensor<8x32xf32>
  // CHECK: moe.combine %{{.*}}, %{{.*}} : tensor<?x32xbf16, #moe.ragged<groups = 8>>, !moe.plan<groups = 8, topk = 2> -> tensor<?x32xf32>
  %o = moe.combine %y, %p : tensor<?x32xbf16, #r8>, !plan -> tensor<?x32xf32>
  // CHECK: moe.combine %{{.*}}, %{{.*}} weights %{{.*}} : tensor<?x32xbf16, #moe.ragged<groups = 8>>, !moe.plan<groups = 8, topk = 2>, tensor<?x2xf32> -> tensor<?x32xbf16>
  %q = moe.combine %y, %p weights %w : tensor<?x32xbf16, #r8>, !plan, tensor<?x2xf32> -> tensor<?x32xbf16>
  return
}

// CHECK-LABEL: func.func @matmul_modes
func.func @matmul_modes(%x: tensor<?x64xf32, #r8>, %dy: tensor<?x32xf32, #r8>, %s: tensor<8xi32>, %m: index,
                        %shard: tensor<2x64x32xf32>, %acc: tensor<8x64x32xf32>, %b3: tensor<4x5x64xf32>,
                        %w3: tensor<4x32x64xf32>) {
  %p = moe.plan_from_sizes %s rows %m : tensor<8xi32> -> !moe.plan<groups = 8>
  // CHECK: moe.ragged_matmul {{.*}} {group_offset = 2 : i64, precision = #moe.precision<tf32>}
  %0 = moe.ragged_matmul %x, %shard plan %p {group_offset = 2, precision = #moe.precision<tf32>}
      : tensor<?x64xf32, #r8>, tensor<2x64x32xf32>, !moe.plan<groups = 8> -> tensor<?x32xf32, #r8>
  // CHECK: moe.ragged_matmul %{{.*}}, %{{.*}} plan %{{.*}} acc %{{.*}} {mode = #moe.mode<contraction>} : tensor<?x64xf32, #moe.ragged<groups = 8>>, tensor<?x32xf32, #moe.ragged<groups = 8>>, !moe.plan<groups = 8>, tensor<8x64x32xf32> -> tensor<8x64x32xf32>
  %1 = moe.ragged_matmul %x, %dy plan %p acc %acc {mode = #moe.mode<contraction>}
      : tensor<?x64xf32, #r8>, tensor<?x32xf32, #r8>, !moe.plan<groups = 8>, tensor<8x64x32xf32> -> tensor<8x64x32xf32>
  // CHECK: moe.ragged_matmul {{.*}} {group_offset = 7 : i64, mode = #moe.mode<contraction>} : {{.*}} -> tensor<1x64x32xf32>
  %2 = moe.ragged_matmul %x, %dy plan %p {group_offset = 7, mode = #moe.mode<contraction>}
      : tensor<?x64xf32, #r8>, tensor<?x32xf32, #r8>, !moe.plan<groups = 8> -> tensor<1x64x32xf32>
  // CHECK: moe.ragged_matmul %{{.*}}, %{{.*}} {layout = #moe.weights<nk>, mode = #moe.mode<batch>} : tensor<4x5x64xf32>, tensor<4x32x64xf32> -> tensor<4x5x32xf32>
  %3 = moe.ragged_matmul %b3, %w3 {mode = #moe.mode<batch>, layout = #moe.weights<nk>}
      : tensor<4x5x64xf32>, tensor<4x32x64xf32> -> tensor<4x5x32xf32>
  return
}

// CHECK-LABEL: func.func @scales
func.func @scales(%x: tensor<?x192xbf16, #r8>, %w: tensor<8x192x32xbf16>, %s: tensor<8xi32>, %m: index,
                  %lhs: tensor<?x2xf32>, %rhs: tensor<8x2x32xf32>, %row: tensor<?xf32>, %column: tensor<8x32xf32>) {
  %p = moe.plan_from_sizes %s rows %m : tensor<8xi32> -> !moe.plan<groups = 8>
  // 192 = 128 + 64: two factors along K
  // CHECK: moe.ragged_matmul %{{.*}}, %{{.*}} plan %{{.*}} lhs_scale %{{.*}} rhs_scale %{{.*}} {scale_block = 128 : i64} : tensor<?x192xbf16, #moe.ragged<groups = 8>>, tensor<8x192x32xbf16>, !moe.plan<groups = 8>, tensor<?x2xf32>, tensor<8x2x32xf32> -> tensor<?x32xbf16, #moe.ragged<groups = 8>>
  %0 = moe.ragged_matmul %x, %w plan %p lhs_scale %lhs rhs_scale %rhs {scale_block = 128}
      : tensor<?x192xbf16, #r8>, tensor<8x192x32xbf16>, !moe.plan<groups = 8>, tensor<?x2xf32>, tensor<8x2x32xf32>
      -> tensor<?x32xbf16, #r8>
  // CHECK: moe.ragged_matmul %{{.*}}, %{{.*}} plan %{{.*}} lhs_scale %{{.*}} rhs_scale %{{.*}} {scale_block = 0 : i64} : {{.*}}, tensor<?xf32>, tensor<8x32xf32> ->
  %1 = moe.ragged_matmul %x, %w plan %p lhs_scale %row rhs_scale %column {scale_block = 0}
      : tensor<?x192xbf16, #r8>, tensor<8x192x32xbf16>, !moe.plan<groups = 8>, tensor<?xf32>, tensor<8x32xf32>
      -> tensor<?x32xbf16, #r8>
  return
}
