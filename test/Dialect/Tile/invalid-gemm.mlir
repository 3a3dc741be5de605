// Every constraint is refused by name; labels are those of the op's documentation.
// RUN: moe-opt %s -split-input-file -verify-diagnostics

// ragged_gemm (C1) ranks with bounds
func.func @ragged_gemm_c1_ranks_with_bounds(%x: memref<?x8xf32>, %w: memref<8x16xf32>, %b: memref<4x2xi64>, %y0: memref<?x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op lhs has rank 2 and rhs has rank 2, expected 2 and 3 with bounds}}
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<8x16xf32>) bounds(%b : memref<4x2xi64>) outs(%y0 : memref<?x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C1) ranks without bounds
func.func @ragged_gemm_c1_ranks_without_bounds(%x: memref<?x8xf32>, %w: memref<4x8x16xf32>, %y0: memref<?x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op lhs has rank 2 and rhs has rank 3, expected 2 and 2, or 3 and 3 without bounds}}
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<4x8x16xf32>) outs(%y0 : memref<?x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C1) K
func.func @ragged_gemm_c1_k(%x: memref<?x8xf32>, %w: memref<4x9x16xf32>, %b: memref<4x2xi64>, %y0: memref<?x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op rhs has shape [4, 9, 16], expected [?, 8, ?]}}
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<4x9x16xf32>) bounds(%b : memref<4x2xi64>) outs(%y0 : memref<?x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C1) K, layout nk
func.func @ragged_gemm_c1_k_layout_nk(%x: memref<?x8xf32>, %w: memref<4x8x16xf32>, %b: memref<4x2xi64>, %y0: memref<?x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op rhs has shape [4, 8, 16], expected [?, ?, 8]}}
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<4x8x16xf32>) bounds(%b : memref<4x2xi64>) outs(%y0 : memref<?x16xf32>) attributes {layout = #tile.rhs<nk>} {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C1) static K
func.func @ragged_gemm_c1_static_k(%x: memref<?x?xf32>, %w: memref<4x8x16xf32>, %b: memref<4x2xi64>, %y0: memref<?x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op lhs has a dynamic dimension 1, expected a static one}}
  tile.ragged_gemm lhs(%x : memref<?x?xf32>) rhs(%w : memref<4x8x16xf32>) bounds(%b : memref<4x2xi64>) outs(%y0 : memref<?x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C1) static N
func.func @ragged_gemm_c1_static_n(%x: memref<?x8xf32>, %w: memref<4x8x?xf32>, %b: memref<4x2xi64>, %y0: memref<?x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op rhs has a dynamic dimension 2, expected a static one}}
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<4x8x?xf32>) bounds(%b : memref<4x2xi64>) outs(%y0 : memref<?x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C1) batch
func.func @ragged_gemm_c1_batch(%x: memref<3x?x8xf32>, %w: memref<4x8x16xf32>, %y0: memref<3x?x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op rhs has shape [4, 8, 16], expected [3, 8, ?]}}
  tile.ragged_gemm lhs(%x : memref<3x?x8xf32>) rhs(%w : memref<4x8x16xf32>) outs(%y0 : memref<3x?x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C1) element types
func.func @ragged_gemm_c1_element_types(%x: memref<?x8xbf16>, %w: memref<4x8x16xf32>, %b: memref<4x2xi64>, %y0: memref<?x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op lhs has element type 'bf16', expected 'f32'}}
  tile.ragged_gemm lhs(%x : memref<?x8xbf16>) rhs(%w : memref<4x8x16xf32>) bounds(%b : memref<4x2xi64>) outs(%y0 : memref<?x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C1) contraction, rows
func.func @ragged_gemm_c1_contraction_rows(%x: memref<5x8xf32>, %w: memref<6x16xf32>, %b: memref<4x2xi64>, %y0: memref<4x8x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op lhs has shape [5, 8], expected [6, ?]}}
  tile.ragged_gemm lhs(%x : memref<5x8xf32>) rhs(%w : memref<6x16xf32>) bounds(%b : memref<4x2xi64>) outs(%y0 : memref<4x8x16xf32>) attributes {mode = #tile.mode<contraction>} {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C1) contraction, rank
func.func @ragged_gemm_c1_contraction_rank(%x: memref<?x8xf32>, %w: memref<4x8x16xf32>, %b: memref<4x2xi64>, %y0: memref<4x8x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op rhs has rank 3, expected 2}}
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<4x8x16xf32>) bounds(%b : memref<4x2xi64>) outs(%y0 : memref<4x8x16xf32>) attributes {mode = #tile.mode<contraction>} {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C2) bounds
func.func @ragged_gemm_c2_bounds(%x: memref<?x8xf32>, %w: memref<4x8x16xf32>, %b: memref<4x3xi64>, %y0: memref<?x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op bounds has shape [4, 3], expected [?, 2]}}
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<4x8x16xf32>) bounds(%b : memref<4x3xi64>) outs(%y0 : memref<?x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C2) static G
func.func @ragged_gemm_c2_static_g(%x: memref<?x8xf32>, %w: memref<4x8x16xf32>, %b: memref<?x2xi64>, %y0: memref<?x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op bounds has a dynamic dimension 0, expected a static one}}
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<4x8x16xf32>) bounds(%b : memref<?x2xi64>) outs(%y0 : memref<?x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C2) group_offset
func.func @ragged_gemm_c2_group_offset(%x: memref<?x8xf32>, %w: memref<4x8x16xf32>, %b: memref<6x2xi64>, %y0: memref<?x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op group_offset is 3 for 4 groups of 6 in bounds, expected 0 to 2}}
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<4x8x16xf32>) bounds(%b : memref<6x2xi64>) outs(%y0 : memref<?x16xf32>) attributes {group_offset = 3 : i64} {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C2) negative group_offset
func.func @ragged_gemm_c2_negative_group_offset(%x: memref<?x8xf32>, %w: memref<4x8x16xf32>, %b: memref<4x2xi64>, %y0: memref<?x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op group_offset is -1 for 4 groups of 4 in bounds, expected 0 to 0}}
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<4x8x16xf32>) bounds(%b : memref<4x2xi64>) outs(%y0 : memref<?x16xf32>) attributes {group_offset = -1 : i64} {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C2) group_offset without bounds
func.func @ragged_gemm_c2_group_offset_without_bounds(%x: memref<?x8xf32>, %w: memref<8x16xf32>, %y0: memref<?x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op group_offset is 1 without bounds, expected 0}}
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<8x16xf32>) outs(%y0 : memref<?x16xf32>) attributes {group_offset = 1 : i64} {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C2) contraction without bounds
func.func @ragged_gemm_c2_contraction_without_bounds(%x: memref<?x8xf32>, %w: memref<?x16xf32>, %y0: memref<4x8x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op has no bounds in mode contraction, expected some}}
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<?x16xf32>) outs(%y0 : memref<4x8x16xf32>) attributes {mode = #tile.mode<contraction>} {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C3) gather in mode contraction
func.func @ragged_gemm_c3_gather_in_mode_contraction(%x: memref<?x8xf32>, %i: memref<?xi32>, %w: memref<?x16xf32>, %b: memref<4x2xi64>, %y0: memref<4x8x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op has a gather in mode contraction, expected none}}
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) gather(%i : memref<?xi32>) rhs(%w : memref<?x16xf32>) bounds(%b : memref<4x2xi64>) outs(%y0 : memref<4x8x16xf32>) attributes {mode = #tile.mode<contraction>} {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C3) gather of a batch
func.func @ragged_gemm_c3_gather_of_a_batch(%x: memref<4x?x8xf32>, %i: memref<?xi32>, %w: memref<4x8x16xf32>, %y0: memref<4x?x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op has a gather with an lhs of rank 3, expected rank 2}}
  tile.ragged_gemm lhs(%x : memref<4x?x8xf32>) gather(%i : memref<?xi32>) rhs(%w : memref<4x8x16xf32>) outs(%y0 : memref<4x?x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C3) rank of gather
func.func @ragged_gemm_c3_rank_of_gather(%x: memref<?x8xf32>, %i: memref<?x1xi32>, %w: memref<4x8x16xf32>, %b: memref<4x2xi64>, %y0: memref<?x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op gather has rank 2, expected 1}}
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) gather(%i : memref<?x1xi32>) rhs(%w : memref<4x8x16xf32>) bounds(%b : memref<4x2xi64>) outs(%y0 : memref<?x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C4)
func.func @ragged_gemm_c4(%w: memref<4x8x16xf32>, %b: memref<4x2xi64>, %y0: memref<?x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op has no lhs in mode rows, expected one}}
  tile.ragged_gemm rhs(%w : memref<4x8x16xf32>) bounds(%b : memref<4x2xi64>) outs(%y0 : memref<?x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C5) number of kinds
func.func @ragged_gemm_c5_number_of_kinds(%x: memref<?x8xf32>, %w: memref<4x8x16xf32>, %b: memref<4x2xi64>, %e0: memref<?xf32>, %y0: memref<?x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op extra_kinds has 0 entries, expected 1, one for each extra operand}}
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<4x8x16xf32>) bounds(%b : memref<4x2xi64>) extras(%e0 : memref<?xf32>) outs(%y0 : memref<?x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C5) row
func.func @ragged_gemm_c5_row(%x: memref<?x8xf32>, %w: memref<4x8x16xf32>, %b: memref<4x2xi64>, %e0: memref<?x2xf32>, %y0: memref<?x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op extra #0 of kind row has shape [?, 2], expected [?]}}
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<4x8x16xf32>) bounds(%b : memref<4x2xi64>) extras(%e0 : memref<?x2xf32>) outs(%y0 : memref<?x16xf32>) attributes {extra_kinds = [#tile.extra<row>]} {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C5) slot without slots
func.func @ragged_gemm_c5_slot_without_slots(%x: memref<?x8xf32>, %w: memref<4x8x16xf32>, %b: memref<4x2xi64>, %e0: memref<?x2xf32>, %y0: memref<?x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op extra #0 has kind slot without slots, expected slots}}
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<4x8x16xf32>) bounds(%b : memref<4x2xi64>) extras(%e0 : memref<?x2xf32>) outs(%y0 : memref<?x16xf32>) attributes {extra_kinds = [#tile.extra<slot>]} {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C5) slot
func.func @ragged_gemm_c5_slot(%x: memref<?x8xf32>, %w: memref<4x8x16xf32>, %b: memref<4x2xi64>, %s: memref<?xi32>, %e0: memref<?xf32>, %y0: memref<?x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op extra #0 of kind slot has shape [?], expected [?, ?]}}
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<4x8x16xf32>) bounds(%b : memref<4x2xi64>) slots(%s : memref<?xi32>) extras(%e0 : memref<?xf32>) outs(%y0 : memref<?x16xf32>) attributes {extra_kinds = [#tile.extra<slot>]} {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C5) slots
func.func @ragged_gemm_c5_slots(%x: memref<6x8xf32>, %w: memref<4x8x16xf32>, %b: memref<4x2xi64>, %s: memref<5xi32>, %y0: memref<6x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op slots has shape [5], expected [6]}}
  tile.ragged_gemm lhs(%x : memref<6x8xf32>) rhs(%w : memref<4x8x16xf32>) bounds(%b : memref<4x2xi64>) slots(%s : memref<5xi32>) outs(%y0 : memref<6x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C5) group
func.func @ragged_gemm_c5_group(%x: memref<?x8xf32>, %w: memref<4x8x16xf32>, %b: memref<4x2xi64>, %e0: memref<3x16xf32>, %y0: memref<?x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op extra #0 of kind group has shape [3, 16], expected [4, 16]}}
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<4x8x16xf32>) bounds(%b : memref<4x2xi64>) extras(%e0 : memref<3x16xf32>) outs(%y0 : memref<?x16xf32>) attributes {extra_kinds = [#tile.extra<group>]} {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C5) group of one product
func.func @ragged_gemm_c5_group_of_one_product(%x: memref<?x8xf32>, %w: memref<8x16xf32>, %e0: memref<1x16xf32>, %y0: memref<?x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op extra #0 of kind group has shape [1, 16], expected [16]}}
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<8x16xf32>) extras(%e0 : memref<1x16xf32>) outs(%y0 : memref<?x16xf32>) attributes {extra_kinds = [#tile.extra<group>]} {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C5) elem
func.func @ragged_gemm_c5_elem(%x: memref<?x8xf32>, %w: memref<4x8x16xf32>, %b: memref<4x2xi64>, %e0: memref<?x16xf32>, %y0: memref<?x8xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op extra #0 of kind elem has shape [?, 16], expected [?, 8]}}
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<4x8x16xf32>) bounds(%b : memref<4x2xi64>) extras(%e0 : memref<?x16xf32>) outs(%y0 : memref<?x8xf32>) attributes {accs = #tile.accs<concatenated>, extra_kinds = [#tile.extra<elem>]} {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C5) extras of a batch
func.func @ragged_gemm_c5_extras_of_a_batch(%x: memref<4x?x8xf32>, %w: memref<4x8x16xf32>, %e0: memref<?xf32>, %y0: memref<4x?x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op has slots or extras with an lhs of rank 3, expected rank 2}}
  tile.ragged_gemm lhs(%x : memref<4x?x8xf32>) rhs(%w : memref<4x8x16xf32>) extras(%e0 : memref<?xf32>) outs(%y0 : memref<4x?x16xf32>) attributes {extra_kinds = [#tile.extra<row>]} {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C5) extras in mode contraction
func.func @ragged_gemm_c5_extras_in_mode_contraction(%x: memref<?x8xf32>, %w: memref<?x16xf32>, %b: memref<4x2xi64>, %e0: memref<?xf32>, %y0: memref<4x8x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op has slots or extras in mode contraction, expected none}}
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<?x16xf32>) bounds(%b : memref<4x2xi64>) extras(%e0 : memref<?xf32>) outs(%y0 : memref<4x8x16xf32>) attributes {mode = #tile.mode<contraction>, extra_kinds = [#tile.extra<row>]} {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C6) accs in mode contraction
func.func @ragged_gemm_c6_accs_in_mode_contraction(%x: memref<?x8xf32>, %w: memref<?x16xf32>, %b: memref<4x2xi64>, %y0: memref<4x8x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op accs is interleaved in mode contraction, expected single}}
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<?x16xf32>) bounds(%b : memref<4x2xi64>) outs(%y0 : memref<4x8x16xf32>) attributes {mode = #tile.mode<contraction>, accs = #tile.accs<interleaved>} {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C6) layout in mode contraction
func.func @ragged_gemm_c6_layout_in_mode_contraction(%x: memref<?x8xf32>, %w: memref<?x16xf32>, %b: memref<4x2xi64>, %y0: memref<4x8x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op layout is nk in mode contraction, expected kn}}
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<?x16xf32>) bounds(%b : memref<4x2xi64>) outs(%y0 : memref<4x8x16xf32>) attributes {mode = #tile.mode<contraction>, layout = #tile.rhs<nk>} {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C6) N
func.func @ragged_gemm_c6_n(%x: memref<?x8xf32>, %w: memref<4x8x15xf32>, %b: memref<4x2xi64>, %y0: memref<?x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op rhs has 15 columns, expected a multiple of 2, the number of accumulators}}
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<4x8x15xf32>) bounds(%b : memref<4x2xi64>) outs(%y0 : memref<?x16xf32>) attributes {accs = #tile.accs<interleaved>} {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C7) number of arguments
func.func @ragged_gemm_c7_number_of_arguments(%x: memref<?x8xf32>, %w: memref<4x8x16xf32>, %b: memref<4x2xi64>, %y0: memref<?x8xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op epilogue has 1 arguments, expected 2}}
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<4x8x16xf32>) bounds(%b : memref<4x2xi64>) outs(%y0 : memref<?x8xf32>) attributes {accs = #tile.accs<concatenated>} {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C7) type of an argument
func.func @ragged_gemm_c7_type_of_an_argument(%x: memref<?x8xf32>, %w: memref<4x8x16xf32>, %b: memref<4x2xi64>, %e0: memref<?xbf16>, %y0: memref<?x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op epilogue argument #1 is 'f32', expected 'bf16'}}
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<4x8x16xf32>) bounds(%b : memref<4x2xi64>) extras(%e0 : memref<?xbf16>) outs(%y0 : memref<?x16xf32>) attributes {extra_kinds = [#tile.extra<row>]} {
  ^bb0(%acc: f32, %r: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C7) old values
func.func @ragged_gemm_c7_old_values(%x: memref<?x8xf32>, %w: memref<4x8x16xf32>, %b: memref<4x2xi64>, %y0: memref<?x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op epilogue has 1 arguments, expected 2}}
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<4x8x16xf32>) bounds(%b : memref<4x2xi64>) outs(%y0 : memref<?x16xf32>) attributes {accumulate} {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C7) number of yielded values
func.func @ragged_gemm_c7_number_of_yielded_values(%x: memref<?x8xf32>, %w: memref<4x8x16xf32>, %b: memref<4x2xi64>, %y0: memref<?x16xf32>) {
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<4x8x16xf32>) bounds(%b : memref<4x2xi64>) outs(%y0 : memref<?x16xf32>) {
  ^bb0(%acc: f32):
    // expected-error @+1 {{'tile.yield' op yields 2 values, expected 1 for the outs of tile.ragged_gemm}}
    tile.yield %acc, %acc : f32, f32
  }
  return
}

// -----

// ragged_gemm (C7) type of a yielded value
func.func @ragged_gemm_c7_type_of_a_yielded_value(%x: memref<?x8xf32>, %w: memref<4x8x16xf32>, %b: memref<4x2xi64>, %y0: memref<?x16xbf16>) {
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<4x8x16xf32>) bounds(%b : memref<4x2xi64>) outs(%y0 : memref<?x16xbf16>) {
  ^bb0(%acc: f32):
    // expected-error @+1 {{'tile.yield' op value #0 of the epilogue is 'f32', expected 'bf16'}}
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C7) ops
func.func @ragged_gemm_c7_ops(%x: memref<?x8xf32>, %w: memref<4x8x16xf32>, %b: memref<4x2xi64>, %y0: memref<?x16xf32>) {
  // expected-note @+1 {{the epilogue belongs to this op}}
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<4x8x16xf32>) bounds(%b : memref<4x2xi64>) outs(%y0 : memref<?x16xf32>) {
  ^bb0(%acc: f32):
    // expected-error @+1 {{'vector.broadcast' op is in the epilogue of tile.ragged_gemm, expected elementwise arith or math, or arith.constant, on scalars}}
    %v = vector.broadcast %acc : f32 to vector<4xf32>
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C7) ops on vectors
func.func @ragged_gemm_c7_ops_on_vectors(%x: memref<?x8xf32>, %w: memref<4x8x16xf32>, %b: memref<4x2xi64>, %y0: memref<?x16xf32>) {
  // expected-note @+1 {{the epilogue belongs to this op}}
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<4x8x16xf32>) bounds(%b : memref<4x2xi64>) outs(%y0 : memref<?x16xf32>) {
  ^bb0(%acc: f32):
    // expected-error @+1 {{'arith.constant' op is in the epilogue of tile.ragged_gemm, expected elementwise arith or math, or arith.constant, on scalars}}
    %v = arith.constant dense<1.0> : vector<4xf32>
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C8) one out
func.func @ragged_gemm_c8_one_out(%x: memref<?x8xf32>, %w: memref<8x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op has no outs, expected at least 1}}
  "tile.ragged_gemm"(%x, %w) <{operandSegmentSizes = array<i32: 1, 0, 1, 0, 0, 0, 0>}> ({
  ^bb0(%acc: f32):
    "tile.yield"() : () -> ()
  }) : (memref<?x8xf32>, memref<8x16xf32>) -> ()
  return
}

// -----

// ragged_gemm (C8) shape
func.func @ragged_gemm_c8_shape(%x: memref<?x8xf32>, %w: memref<4x8x16xf32>, %b: memref<4x2xi64>, %y0: memref<?x16xf32>, %y1: memref<?x8xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op out #1 has shape [?, 8], expected [?, 16]}}
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<4x8x16xf32>) bounds(%b : memref<4x2xi64>) outs(%y0, %y1 : memref<?x16xf32>, memref<?x8xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C8) rows
func.func @ragged_gemm_c8_rows(%x: memref<6x8xf32>, %w: memref<4x8x16xf32>, %b: memref<4x2xi64>, %y0: memref<7x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op out #0 has shape [7, 16], expected [6, 16]}}
  tile.ragged_gemm lhs(%x : memref<6x8xf32>) rhs(%w : memref<4x8x16xf32>) bounds(%b : memref<4x2xi64>) outs(%y0 : memref<7x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C8) gathered rows
func.func @ragged_gemm_c8_gathered_rows(%x: memref<6x8xf32>, %i: memref<7xi32>, %w: memref<4x8x16xf32>, %b: memref<4x2xi64>, %y0: memref<6x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op out #0 has shape [6, 16], expected [7, 16]}}
  tile.ragged_gemm lhs(%x : memref<6x8xf32>) gather(%i : memref<7xi32>) rhs(%w : memref<4x8x16xf32>) bounds(%b : memref<4x2xi64>) outs(%y0 : memref<6x16xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C8) static columns
func.func @ragged_gemm_c8_static_columns(%x: memref<?x8xf32>, %w: memref<4x8x16xf32>, %b: memref<4x2xi64>, %y0: memref<?x?xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op out #0 has a dynamic dimension 1, expected a static one}}
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<4x8x16xf32>) bounds(%b : memref<4x2xi64>) outs(%y0 : memref<?x?xf32>) {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C8) accumulators halve the columns
func.func @ragged_gemm_c8_accumulators_halve_the_columns(%x: memref<?x8xf32>, %w: memref<4x8x16xf32>, %b: memref<4x2xi64>, %y0: memref<?x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op out #0 has shape [?, 16], expected [?, 8]}}
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<4x8x16xf32>) bounds(%b : memref<4x2xi64>) outs(%y0 : memref<?x16xf32>) attributes {accs = #tile.accs<concatenated>} {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C8) contraction
func.func @ragged_gemm_c8_contraction(%x: memref<?x8xf32>, %w: memref<?x16xf32>, %b: memref<4x2xi64>, %y0: memref<4x9x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op out #0 has shape [4, 9, 16], expected [?, 8, 16]}}
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<?x16xf32>) bounds(%b : memref<4x2xi64>) outs(%y0 : memref<4x9x16xf32>) attributes {mode = #tile.mode<contraction>} {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C8) contraction, one number of groups
func.func @ragged_gemm_c8_contraction_one_number_of_groups(%x: memref<?x8xf32>, %w: memref<?x16xf32>, %b: memref<4x2xi64>, %y0: memref<4x8x16xf32>, %y1: memref<3x8x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op out #1 has shape [3, 8, 16], expected [4, 8, 16]}}
  tile.ragged_gemm lhs(%x : memref<?x8xf32>) rhs(%w : memref<?x16xf32>) bounds(%b : memref<4x2xi64>) outs(%y0, %y1 : memref<4x8x16xf32>, memref<3x8x16xf32>) attributes {mode = #tile.mode<contraction>} {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}

// -----

// ragged_gemm (C8) sum of rows
func.func @ragged_gemm_c8_sum_of_rows(%w: memref<?x16xf32>, %b: memref<4x2xi64>, %y0: memref<4x1x16xf32>) {
  // expected-error @+1 {{'tile.ragged_gemm' op out #0 has shape [4, 1, 16], expected [?, 16]}}
  tile.ragged_gemm rhs(%w : memref<?x16xf32>) bounds(%b : memref<4x2xi64>) outs(%y0 : memref<4x1x16xf32>) attributes {mode = #tile.mode<contraction>} {
  ^bb0(%acc: f32):
    tile.yield %acc : f32
  }
  return
}
