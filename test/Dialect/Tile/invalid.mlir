// Every constraint is refused by name; labels are those of the op's documentation.
// RUN: moe-opt %s -split-input-file -verify-diagnostics

// offsets (C1) one out
func.func @offsets_c1_one_out(%s: memref<4xi32>, %m: index, %o: memref<4x2xi64>) {
  // expected-error @+1 {{'tile.offsets' op has 2 outs, expected 1}}
  tile.offsets sizes(%s : memref<4xi32>) rows(%m) outs(%o, %o : memref<4x2xi64>, memref<4x2xi64>)
  return
}

// -----

// offsets (C1) sizes
func.func @offsets_c1_sizes(%s: memref<4x1xi32>, %m: index, %o: memref<4x2xi64>) {
  // expected-error @+1 {{'tile.offsets' op sizes has rank 2, expected 1}}
  tile.offsets sizes(%s : memref<4x1xi32>) rows(%m) outs(%o : memref<4x2xi64>)
  return
}

// -----

// offsets (C1) static G
func.func @offsets_c1_static_g(%s: memref<?xi32>, %m: index, %o: memref<4x2xi64>) {
  // expected-error @+1 {{'tile.offsets' op sizes has a dynamic dimension 0, expected a static one}}
  tile.offsets sizes(%s : memref<?xi32>) rows(%m) outs(%o : memref<4x2xi64>)
  return
}

// -----

// offsets (C1) shape of the out
func.func @offsets_c1_shape_of_the_out(%s: memref<4xi32>, %m: index, %o: memref<5x2xi64>) {
  // expected-error @+1 {{'tile.offsets' op out has shape [5, 2], expected [4, 2]}}
  tile.offsets sizes(%s : memref<4xi32>) rows(%m) outs(%o : memref<5x2xi64>)
  return
}

// -----

// offsets (C2)
func.func @offsets_c2(%s: memref<4xi32>, %m: index, %o: memref<4x2xi64>) {
  // expected-error @+1 {{'tile.offsets' op align is 0, expected at least 1}}
  tile.offsets sizes(%s : memref<4xi32>) rows(%m) outs(%o : memref<4x2xi64>) {align = 0 : i64}
  return
}

// -----

// (K1)
func.func @k1(%s: tensor<4xi32>, %m: index, %o: memref<4x2xi64>) {
  // expected-error @+1 {{'tile.offsets' op operand #2 is 'memref<4x2xi64>', expected a tensor like the operands before it}}
  tile.offsets sizes(%s : tensor<4xi32>) rows(%m) outs(%o : memref<4x2xi64>)
  return
}

// -----

// results of a kernel on tensors are its outs (destination style)
func.func @results_of_a_kernel_on_tensors_are_its_outs_destination_style(%s: tensor<4xi32>, %m: index, %o: tensor<4x2xi64>) {
  // expected-error @+1 {{'tile.offsets' op expected the number of tensor results (0) to be equal to the number of output tensors (1)}}
  tile.offsets sizes(%s : tensor<4xi32>) rows(%m) outs(%o : tensor<4x2xi64>)
  return
}

// -----

// plan (C1) six outs
func.func @plan_c1_six_outs(%ids: memref<?x2xi32>, %s: memref<8xi32>) {
  // expected-error @+1 {{'tile.plan' op has 1 outs, expected 6}}
  tile.plan ids(%ids : memref<?x2xi32>) outs(%s : memref<8xi32>)
  return
}

// -----

// plan (C1) ids
func.func @plan_c1_ids(%ids: memref<?xi32>, %s: memref<8xi32>, %b: memref<8x2xi64>, %p: memref<?xi32>, %t: memref<?xi32>, %i: memref<?x2xi32>, %d: memref<1xi64>) {
  // expected-error @+1 {{'tile.plan' op ids has rank 1, expected 2}}
  tile.plan ids(%ids : memref<?xi32>) outs(%s, %b, %p, %t, %i, %d : memref<8xi32>, memref<8x2xi64>, memref<?xi32>, memref<?xi32>, memref<?x2xi32>, memref<1xi64>)
  return
}

// -----

// plan (C1) static k
func.func @plan_c1_static_k(%ids: memref<?x?xi32>, %s: memref<8xi32>, %b: memref<8x2xi64>, %p: memref<?xi32>, %t: memref<?xi32>, %i: memref<?x2xi32>, %d: memref<1xi64>) {
  // expected-error @+1 {{'tile.plan' op ids has a dynamic dimension 1, expected a static one}}
  tile.plan ids(%ids : memref<?x?xi32>) outs(%s, %b, %p, %t, %i, %d : memref<8xi32>, memref<8x2xi64>, memref<?xi32>, memref<?xi32>, memref<?x2xi32>, memref<1xi64>)
  return
}

// -----

// plan (C1) sizes
func.func @plan_c1_sizes(%ids: memref<?x2xi32>, %s: memref<8x1xi32>, %b: memref<8x2xi64>, %p: memref<?xi32>, %t: memref<?xi32>, %i: memref<?x2xi32>, %d: memref<1xi64>) {
  // expected-error @+1 {{'tile.plan' op sizes has rank 2, expected 1}}
  tile.plan ids(%ids : memref<?x2xi32>) outs(%s, %b, %p, %t, %i, %d : memref<8x1xi32>, memref<8x2xi64>, memref<?xi32>, memref<?xi32>, memref<?x2xi32>, memref<1xi64>)
  return
}

// -----

// plan (C1) bounds
func.func @plan_c1_bounds(%ids: memref<?x2xi32>, %s: memref<8xi32>, %b: memref<7x2xi64>, %p: memref<?xi32>, %t: memref<?xi32>, %i: memref<?x2xi32>, %d: memref<1xi64>) {
  // expected-error @+1 {{'tile.plan' op bounds has shape [7, 2], expected [8, 2]}}
  tile.plan ids(%ids : memref<?x2xi32>) outs(%s, %b, %p, %t, %i, %d : memref<8xi32>, memref<7x2xi64>, memref<?xi32>, memref<?xi32>, memref<?x2xi32>, memref<1xi64>)
  return
}

// -----

// plan (C1) element type
func.func @plan_c1_element_type(%ids: memref<?x2xi32>, %s: memref<8xi32>, %b: memref<8x2xi32>, %p: memref<?xi32>, %t: memref<?xi32>, %i: memref<?x2xi32>, %d: memref<1xi64>) {
  // expected-error @+1 {{'tile.plan' op bounds has element type 'i32', expected 'i64'}}
  tile.plan ids(%ids : memref<?x2xi32>) outs(%s, %b, %p, %t, %i, %d : memref<8xi32>, memref<8x2xi32>, memref<?xi32>, memref<?xi32>, memref<?x2xi32>, memref<1xi64>)
  return
}

// -----

// plan (C1) permutation
func.func @plan_c1_permutation(%ids: memref<?x2xi32>, %s: memref<8xi32>, %b: memref<8x2xi64>, %p: memref<?x2xi32>, %t: memref<?xi32>, %i: memref<?x2xi32>, %d: memref<1xi64>) {
  // expected-error @+1 {{'tile.plan' op permutation has shape [?, 2], expected [?]}}
  tile.plan ids(%ids : memref<?x2xi32>) outs(%s, %b, %p, %t, %i, %d : memref<8xi32>, memref<8x2xi64>, memref<?x2xi32>, memref<?xi32>, memref<?x2xi32>, memref<1xi64>)
  return
}

// -----

// plan (C1) inverse
func.func @plan_c1_inverse(%ids: memref<?x2xi32>, %s: memref<8xi32>, %b: memref<8x2xi64>, %p: memref<?xi32>, %t: memref<?xi32>, %i: memref<?x3xi32>, %d: memref<1xi64>) {
  // expected-error @+1 {{'tile.plan' op inverse has shape [?, 3], expected [?, 2]}}
  tile.plan ids(%ids : memref<?x2xi32>) outs(%s, %b, %p, %t, %i, %d : memref<8xi32>, memref<8x2xi64>, memref<?xi32>, memref<?xi32>, memref<?x3xi32>, memref<1xi64>)
  return
}

// -----

// plan (C1) dropped
func.func @plan_c1_dropped(%ids: memref<?x2xi32>, %s: memref<8xi32>, %b: memref<8x2xi64>, %p: memref<?xi32>, %t: memref<?xi32>, %i: memref<?x2xi32>, %d: memref<1xi32>) {
  // expected-error @+1 {{'tile.plan' op dropped has element type 'i32', expected 'i64'}}
  tile.plan ids(%ids : memref<?x2xi32>) outs(%s, %b, %p, %t, %i, %d : memref<8xi32>, memref<8x2xi64>, memref<?xi32>, memref<?xi32>, memref<?x2xi32>, memref<1xi32>)
  return
}

// -----

// plan (C2)
func.func @plan_c2(%ids: memref<?x2xi32>, %s: memref<8xi32>, %b: memref<8x2xi64>, %p: memref<?xi32>, %t: memref<?xi32>, %i: memref<?x2xi32>, %d: memref<1xi64>) {
  // expected-error @+1 {{'tile.plan' op align is -1, expected at least 1}}
  tile.plan ids(%ids : memref<?x2xi32>) outs(%s, %b, %p, %t, %i, %d : memref<8xi32>, memref<8x2xi64>, memref<?xi32>, memref<?xi32>, memref<?x2xi32>, memref<1xi64>) {align = -1 : i64}
  return
}

// -----

// plan (C3) align
func.func @plan_c3_align(%ids: memref<?x2xi32>, %s: memref<8xi32>, %b: memref<8x2xi64>, %p: memref<8xi32>, %t: memref<8xi32>, %i: memref<?x2xi32>, %d: memref<1xi64>) {
  // expected-error @+1 {{'tile.plan' op align is 2, expected 1 with equal_blocks}}
  tile.plan ids(%ids : memref<?x2xi32>) outs(%s, %b, %p, %t, %i, %d : memref<8xi32>, memref<8x2xi64>, memref<8xi32>, memref<8xi32>, memref<?x2xi32>, memref<1xi64>) {align = 2 : i64, equal_blocks}
  return
}

// -----

// plan (C3) static
func.func @plan_c3_static(%ids: memref<?x2xi32>, %s: memref<8xi32>, %b: memref<8x2xi64>, %p: memref<?xi32>, %t: memref<?xi32>, %i: memref<?x2xi32>, %d: memref<1xi64>) {
  // expected-error @+1 {{'tile.plan' op permutation has a dynamic dimension 0, expected a static one}}
  tile.plan ids(%ids : memref<?x2xi32>) outs(%s, %b, %p, %t, %i, %d : memref<8xi32>, memref<8x2xi64>, memref<?xi32>, memref<?xi32>, memref<?x2xi32>, memref<1xi64>) {equal_blocks}
  return
}

// -----

// plan (C3) multiple
func.func @plan_c3_multiple(%ids: memref<?x2xi32>, %s: memref<8xi32>, %b: memref<8x2xi64>, %p: memref<12xi32>, %t: memref<12xi32>, %i: memref<?x2xi32>, %d: memref<1xi64>) {
  // expected-error @+1 {{'tile.plan' op has 12 rows, expected a multiple of 8 groups with equal_blocks}}
  tile.plan ids(%ids : memref<?x2xi32>) outs(%s, %b, %p, %t, %i, %d : memref<8xi32>, memref<8x2xi64>, memref<12xi32>, memref<12xi32>, memref<?x2xi32>, memref<1xi64>) {equal_blocks}
  return
}

// -----

// rows (C1) one out
func.func @rows_c1_one_out(%x: memref<?x8xf32>) {
  // expected-error @+1 {{'tile.rows' op has no outs, expected at least 1}}
  "tile.rows"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}> ({
  ^bb0(%r: index, %x0: memref<?x8xf32>):
    "tile.yield"() : () -> ()
  }) : (memref<?x8xf32>) -> ()
  return
}

// -----

// rows (C5) order
func.func @rows_c5_order(%x: memref<?x8xf32>, %o: memref<?x?xi32>, %y: memref<?x8xf32>) {
  // expected-error @+1 {{'tile.rows' op order is 'memref<?x?xi32>', expected rank 1, or rank 2 and a static width of at least 1}}
  tile.rows ins(%x : memref<?x8xf32>) order(%o : memref<?x?xi32>) outs(%y : memref<?x8xf32>) {
  ^bb0(%r: index, %xs: memref<?x8xf32>):
    %0 = tile.load %xs[%r] : memref<?x8xf32> -> vector<8xf32>
    tile.yield %0 : vector<8xf32>
  }
  return
}

// -----

// rows (C5) bounds
func.func @rows_c5_bounds(%x: memref<?x8xf32>, %b: memref<2x2xi64>, %o: memref<?xi32>, %y: memref<?x8xf32>) {
  // expected-error @+1 {{'tile.rows' op has order and bounds, expected at most one of them}}
  tile.rows ins(%x : memref<?x8xf32>) bounds(%b : memref<2x2xi64>) order(%o : memref<?xi32>) outs(%y : memref<?x8xf32>) {
  ^bb0(%r: index, %g: index, %xs: memref<?x8xf32>):
    %0 = tile.load %xs[%r] : memref<?x8xf32> -> vector<8xf32>
    tile.yield %0 : vector<8xf32>
  }
  return
}

// -----

// rows (C1) rank
func.func @rows_c1_rank(%i0: memref<?x8xf32>, %y0: memref<?x8x2xf32>) {
  // expected-error @+1 {{'tile.rows' op out #0 has rank 3, expected 1 or 2}}
  tile.rows ins(%i0 : memref<?x8xf32>) outs(%y0 : memref<?x8x2xf32>) {
  ^bb0(%r: index, %x0: memref<?x8xf32>):
    %v = tile.load %x0[%r] : memref<?x8xf32> -> vector<8xf32>
    tile.yield %v : vector<8xf32>
  }
  return
}

// -----

// rows (C1) static width
func.func @rows_c1_static_width(%i0: memref<?x8xf32>, %y0: memref<?x?xf32>) {
  // expected-error @+1 {{'tile.rows' op out #0 is 'memref<?x?xf32>', expected a static width of at least 1}}
  tile.rows ins(%i0 : memref<?x8xf32>) outs(%y0 : memref<?x?xf32>) {
  ^bb0(%r: index, %x0: memref<?x8xf32>):
    %v = tile.load %x0[%r] : memref<?x8xf32> -> vector<8xf32>
    tile.yield %v : vector<8xf32>
  }
  return
}

// -----

// rows (C1) width of at least 1
func.func @rows_c1_width_of_at_least_1(%i0: memref<?x8xf32>, %y0: memref<?x0xf32>) {
  // expected-error @+1 {{'tile.rows' op out #0 is 'memref<?x0xf32>', expected a static width of at least 1}}
  tile.rows ins(%i0 : memref<?x8xf32>) outs(%y0 : memref<?x0xf32>) {
  ^bb0(%r: index, %x0: memref<?x8xf32>):
    %v = tile.load %x0[%r] : memref<?x8xf32> -> vector<8xf32>
    tile.yield %v : vector<8xf32>
  }
  return
}

// -----

// rows (C1) one number of rows
func.func @rows_c1_one_number_of_rows(%i0: memref<?x8xf32>, %y0: memref<3x8xf32>, %y1: memref<4x8xf32>) {
  // expected-error @+1 {{'tile.rows' op out #1 has 4 rows, expected 3 as in the outs before it}}
  tile.rows ins(%i0 : memref<?x8xf32>) outs(%y0, %y1 : memref<3x8xf32>, memref<4x8xf32>) {
  ^bb0(%r: index, %x0: memref<?x8xf32>):
    %v = tile.load %x0[%r] : memref<?x8xf32> -> vector<8xf32>
    tile.yield %v : vector<8xf32>
  }
  return
}

// -----

// rows (C1) bounds
func.func @rows_c1_bounds(%i0: memref<?x8xf32>, %b: memref<4xi64>, %y0: memref<?x8xf32>) {
  // expected-error @+1 {{'tile.rows' op bounds has shape [4], expected [?, 2]}}
  tile.rows ins(%i0 : memref<?x8xf32>) bounds(%b : memref<4xi64>) outs(%y0 : memref<?x8xf32>) {
  ^bb0(%r: index, %g: index, %x0: memref<?x8xf32>):
    %v = tile.load %x0[%r] : memref<?x8xf32> -> vector<8xf32>
    tile.yield %v : vector<8xf32>
  }
  return
}

// -----

// rows (C2) number of arguments
func.func @rows_c2_number_of_arguments(%i0: memref<?x8xf32>, %b: memref<4x2xi64>, %y0: memref<?x8xf32>) {
  // expected-error @+1 {{'tile.rows' op body has 2 arguments, expected 3}}
  tile.rows ins(%i0 : memref<?x8xf32>) bounds(%b : memref<4x2xi64>) outs(%y0 : memref<?x8xf32>) {
  ^bb0(%r: index, %x0: memref<?x8xf32>):
    %v = tile.load %x0[%r] : memref<?x8xf32> -> vector<8xf32>
    tile.yield %v : vector<8xf32>
  }
  return
}

// -----

// rows (C2) type of an argument
func.func @rows_c2_type_of_an_argument(%i0: memref<?x8xf32>, %y0: memref<?x8xf32>) {
  // expected-error @+1 {{'tile.rows' op body argument #0 is 'i64', expected 'index'}}
  tile.rows ins(%i0 : memref<?x8xf32>) outs(%y0 : memref<?x8xf32>) {
  ^bb0(%q: i64, %x0: memref<?x8xf32>):
    %r = arith.constant 0 : index
    %v = tile.load %x0[%r] : memref<?x8xf32> -> vector<8xf32>
    tile.yield %v : vector<8xf32>
  }
  return
}

// -----

// rows (C3) number of values
func.func @rows_c3_number_of_values(%i0: memref<?x8xf32>, %y0: memref<?x8xf32>) {
  tile.rows ins(%i0 : memref<?x8xf32>) outs(%y0 : memref<?x8xf32>) {
  ^bb0(%r: index, %x0: memref<?x8xf32>):
    %v = tile.load %x0[%r] : memref<?x8xf32> -> vector<8xf32>
    // expected-error @+1 {{'tile.yield' op yields 2 values, expected 1 for the outs of tile.rows}}
    tile.yield %v, %v : vector<8xf32>, vector<8xf32>
  }
  return
}

// -----

// rows (C3) width of a value
func.func @rows_c3_width_of_a_value(%i0: memref<?x8xf32>, %y0: memref<?x4xf32>) {
  tile.rows ins(%i0 : memref<?x8xf32>) outs(%y0 : memref<?x4xf32>) {
  ^bb0(%r: index, %x0: memref<?x8xf32>):
    %v = tile.load %x0[%r] : memref<?x8xf32> -> vector<8xf32>
    // expected-error @+1 {{'tile.yield' op value #0 of the body is 'vector<8xf32>', expected 'vector<4xf32>'}}
    tile.yield %v : vector<8xf32>
  }
  return
}

// -----

// rows (C3) scalar for rank 1
func.func @rows_c3_scalar_for_rank_1(%i0: memref<?x8xf32>, %y0: memref<?xf32>) {
  tile.rows ins(%i0 : memref<?x8xf32>) outs(%y0 : memref<?xf32>) {
  ^bb0(%r: index, %x0: memref<?x8xf32>):
    %v = tile.load %x0[%r] : memref<?x8xf32> -> vector<8xf32>
    // expected-error @+1 {{'tile.yield' op value #0 of the body is 'vector<8xf32>', expected 'f32'}}
    tile.yield %v : vector<8xf32>
  }
  return
}

// -----

// rows (C4) ops
func.func @rows_c4_ops(%i0: memref<?x8xf32>, %y0: memref<?x8xf32>) {
  // expected-note @+1 {{the body belongs to this op}}
  tile.rows ins(%i0 : memref<?x8xf32>) outs(%y0 : memref<?x8xf32>) {
  ^bb0(%r: index, %x0: memref<?x8xf32>):
    %v = tile.load %x0[%r] : memref<?x8xf32> -> vector<8xf32>
    // expected-error @+1 {{'vector.shape_cast' op is in the body of tile.rows, expected elementwise arith or math, arith.constant, vector.broadcast, reduction, extract, extract_strided_slice, insert_strided_slice, deinterleave, interleave or step, or a tile op for bodies}}
    %s = vector.shape_cast %v : vector<8xf32> to vector<2x4xf32>
    tile.yield %v : vector<8xf32>
  }
  return
}

// -----

// rows (C4) dynamic position
func.func @rows_c4_position(%i0: memref<?x8xf32>, %y0: memref<?xf32>) {
  tile.rows ins(%i0 : memref<?x8xf32>) outs(%y0 : memref<?xf32>) {
  ^bb0(%r: index, %x0: memref<?x8xf32>):
    %v = tile.load %x0[%r] : memref<?x8xf32> -> vector<8xf32>
    // expected-error @+1 {{has a dynamic position in the body of tile.rows, expected a static one}}
    %s = vector.extract %v[%r] : f32 from vector<8xf32>
    tile.yield %s : f32
  }
  return
}

// -----

// rows (C4) memory
func.func @rows_c4_memory(%i0: memref<?x8xf32>, %y0: memref<?x8xf32>) {
  // expected-note @+1 {{the body belongs to this op}}
  tile.rows ins(%i0 : memref<?x8xf32>) outs(%y0 : memref<?x8xf32>) {
  ^bb0(%r: index, %x0: memref<?x8xf32>):
    %v = tile.load %x0[%r] : memref<?x8xf32> -> vector<8xf32>
    // expected-error @+1 {{'memref.load' op is in the body of tile.rows, expected elementwise arith or math, arith.constant, vector.broadcast, reduction, extract, extract_strided_slice, insert_strided_slice, deinterleave, interleave or step, or a tile op for bodies}}
    %s = memref.load %x0[%r, %r] : memref<?x8xf32>
    tile.yield %v : vector<8xf32>
  }
  return
}

// -----

// rows (C4) rank of vectors
func.func @rows_c4_rank_of_vectors(%i0: memref<?x8xf32>, %y0: memref<?x8xf32>) {
  tile.rows ins(%i0 : memref<?x8xf32>) outs(%y0 : memref<?x8xf32>) {
  ^bb0(%r: index, %x0: memref<?x8xf32>):
    %v = tile.load %x0[%r] : memref<?x8xf32> -> vector<8xf32>
    // expected-error @+1 {{'arith.constant' op has a result of type 'vector<2x4xf32>' in the body of tile.rows, expected a scalar or a vector of rank 1 and fixed length}}
    %s = arith.constant dense<1.0> : vector<2x4xf32>
    tile.yield %v : vector<8xf32>
  }
  return
}

// -----

// rows (C4) scalable vectors
func.func @rows_c4_scalable_vectors(%i0: memref<?x8xf32>, %y0: memref<?x8xf32>) {
  tile.rows ins(%i0 : memref<?x8xf32>) outs(%y0 : memref<?x8xf32>) {
  ^bb0(%r: index, %x0: memref<?x8xf32>):
    %v = tile.load %x0[%r] : memref<?x8xf32> -> vector<8xf32>
    // expected-error @+1 {{'arith.constant' op has a result of type 'vector<[4]xf32>' in the body of tile.rows, expected a scalar or a vector of rank 1 and fixed length}}
    %s = arith.constant dense<1.0> : vector<[4]xf32>
    tile.yield %v : vector<8xf32>
  }
  return
}

// -----

// rows (C4) broadcast of a vector
func.func @rows_c4_broadcast_of_a_vector(%i0: memref<?x8xf32>, %y0: memref<?x8xf32>) {
  tile.rows ins(%i0 : memref<?x8xf32>) outs(%y0 : memref<?x8xf32>) {
  ^bb0(%r: index, %x0: memref<?x8xf32>):
    %v = tile.load %x0[%r] : memref<?x8xf32> -> vector<8xf32>
    %one = arith.constant dense<1.0> : vector<1xf32>
    // expected-error @+1 {{'vector.broadcast' op broadcasts 'vector<1xf32>' in the body of tile.rows, expected a scalar}}
    %s = vector.broadcast %one : vector<1xf32> to vector<8xf32>
    tile.yield %v : vector<8xf32>
  }
  return
}

// -----

// load (C1) indices
func.func @load_c1_indices(%i0: memref<?x8xf32>, %y0: memref<?x8xf32>) {
  tile.rows ins(%i0 : memref<?x8xf32>) outs(%y0 : memref<?x8xf32>) {
  ^bb0(%r: index, %x0: memref<?x8xf32>):
    // expected-error @+1 {{'tile.load' op has 3 indices, expected 2 for an element or 1 for a row}}
    %e = tile.load %x0[%r, %r, %r] : memref<?x8xf32> -> f32
    %z = arith.constant dense<0.0> : vector<8xf32>
    tile.yield %z : vector<8xf32>
  }
  return
}

// -----

// load (C1) a row
func.func @load_c1_a_row(%i0: memref<?x8xf32>, %y0: memref<?x8xf32>) {
  tile.rows ins(%i0 : memref<?x8xf32>) outs(%y0 : memref<?x8xf32>) {
  ^bb0(%r: index, %x0: memref<?x8xf32>):
    // expected-error @+1 {{'tile.load' op result is 'vector<4xf32>', expected 'vector<8xf32>'}}
    %e = tile.load %x0[%r] : memref<?x8xf32> -> vector<4xf32>
    %z = arith.constant dense<0.0> : vector<8xf32>
    tile.yield %z : vector<8xf32>
  }
  return
}

// -----

// load (C1) an element
func.func @load_c1_an_element(%i0: memref<?x8xf32>, %y0: memref<?x8xf32>) {
  tile.rows ins(%i0 : memref<?x8xf32>) outs(%y0 : memref<?x8xf32>) {
  ^bb0(%r: index, %x0: memref<?x8xf32>):
    // expected-error @+1 {{'tile.load' op result is 'f16', expected 'f32'}}
    %e = tile.load %x0[%r, %r] : memref<?x8xf32> -> f16
    %z = arith.constant dense<0.0> : vector<8xf32>
    tile.yield %z : vector<8xf32>
  }
  return
}

// -----

// load (C1) static width
func.func @load_c1_static_width(%i0: memref<?x?xf32>, %y0: memref<?x8xf32>) {
  tile.rows ins(%i0 : memref<?x?xf32>) outs(%y0 : memref<?x8xf32>) {
  ^bb0(%r: index, %x0: memref<?x?xf32>):
    // expected-error @+1 {{'tile.load' op reads a row of 'memref<?x?xf32>', expected a static width of at least 1}}
    %e = tile.load %x0[%r] : memref<?x?xf32> -> vector<8xf32>
    %z = arith.constant dense<0.0> : vector<8xf32>
    tile.yield %z : vector<8xf32>
  }
  return
}

// -----

// load (C2)
func.func @load_c2(%x: tensor<?x8xf32>, %y: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %o = tile.rows ins(%x : tensor<?x8xf32>) outs(%y : tensor<?x8xf32>) {
  ^bb0(%r: index, %x0: tensor<?x8xf32>):
    %c = arith.constant dense<0.0> : tensor<4x8xf32>
    // expected-error @+1 {{'tile.load' op source is not an argument of the body, expected one of the arguments for ins}}
    %v = tile.load %c[%r] : tensor<4x8xf32> -> vector<8xf32>
    tile.yield %v : vector<8xf32>
  } -> tensor<?x8xf32>
  return %o : tensor<?x8xf32>
}

// -----

// select (C1) k
func.func @select_c1_k(%s: vector<8xf32>) {
  // expected-error @+1 {{'tile.select' op selects 9 ids, expected at most 8, the number of scores}}
  %k = tile.select %s : vector<8xf32> -> vector<9xi32>
  return
}

// -----

// select (C1) groups
func.func @select_c1_groups(%s: vector<8xf32>) {
  // expected-error @+1 {{'tile.select' op groups is 3, expected a divisor of 8, the number of scores}}
  %k = tile.select %s {groups = 3 : i64} : vector<8xf32> -> vector<4xi32>
  return
}

// -----

// select (C1) no groups
func.func @select_c1_no_groups(%s: vector<8xf32>) {
  // expected-error @+1 {{'tile.select' op groups is 0, expected a divisor of 8, the number of scores}}
  %k = tile.select %s {groups = 0 : i64} : vector<8xf32> -> vector<4xi32>
  return
}

// -----

// select (C1) keep_groups
func.func @select_c1_keep_groups(%s: vector<8xf32>) {
  // expected-error @+1 {{'tile.select' op keep_groups is 3, expected 1 to 2}}
  %k = tile.select %s {groups = 2 : i64, keep_groups = 3 : i64} : vector<8xf32> -> vector<4xi32>
  return
}

// -----

// select (C1) group_top
func.func @select_c1_group_top(%s: vector<8xf32>) {
  // expected-error @+1 {{'tile.select' op group_top is 5, expected 1 to 4, the size of a group}}
  %k = tile.select %s {groups = 2 : i64, group_top = 5 : i64} : vector<8xf32> -> vector<4xi32>
  return
}

// -----

// select (C1) enough kept
func.func @select_c1_enough_kept(%s: vector<8xf32>) {
  // expected-error @+1 {{'tile.select' op keep_groups is 1 with groups of 2, expected enough for 4 ids}}
  %k = tile.select %s {groups = 4 : i64, keep_groups = 1 : i64} : vector<8xf32> -> vector<4xi32>
  return
}

// -----

// lookup (C1) length
func.func @lookup_c1_length(%s: vector<8xf32>, %i: vector<2xi32>) {
  // expected-error @+1 {{'tile.lookup' op result is 'vector<3xf32>', expected 'vector<2xf32>'}}
  %v = tile.lookup %s[%i] : vector<8xf32>, vector<2xi32> -> vector<3xf32>
  return
}

// -----

// lookup (C1) element type
func.func @lookup_c1_element_type(%s: vector<8xf32>, %i: vector<2xi32>) {
  // expected-error @+1 {{'tile.lookup' op result is 'vector<2xi32>', expected 'vector<2xf32>'}}
  %v = tile.lookup %s[%i] : vector<8xf32>, vector<2xi32> -> vector<2xi32>
  return
}

// -----

// yield only ends a body or an epilogue
func.func @yield_only_ends_a_body_or_an_epilogue() {
  // expected-error @+1 {{'tile.yield' op expects parent op to be one of 'tile.ragged_gemm, tile.rows'}}
  tile.yield
}

// -----

// rows (C4) extract of everything
func.func @rows_c4_extract_of_everything(%i0: memref<?x8xf32>, %y0: memref<?x8xf32>) {
  tile.rows ins(%i0 : memref<?x8xf32>) outs(%y0 : memref<?x8xf32>) {
  ^bb0(%r: index, %x0: memref<?x8xf32>):
    %v = tile.load %x0[%r] : memref<?x8xf32> -> vector<8xf32>
    // expected-error @+1 {{'vector.extract' op takes no element in the body of tile.rows, expected one position of at least 0}}
    %s = vector.extract %v[] : vector<8xf32> from vector<8xf32>
    tile.yield %v : vector<8xf32>
  }
  return
}

// -----

// rows (C4) extract of poison
func.func @rows_c4_extract_of_poison(%i0: memref<?x8xf32>, %y0: memref<?x8xf32>) {
  tile.rows ins(%i0 : memref<?x8xf32>) outs(%y0 : memref<?x8xf32>) {
  ^bb0(%r: index, %x0: memref<?x8xf32>):
    %v = tile.load %x0[%r] : memref<?x8xf32> -> vector<8xf32>
    // expected-error @+1 {{'vector.extract' op takes no element in the body of tile.rows, expected one position of at least 0}}
    %s = vector.extract %v[-1] : f32 from vector<8xf32>
    tile.yield %v : vector<8xf32>
  }
  return
}

// -----

// misspelt attribute
func.func @unknown_attribute(%i0: memref<?x8xf32>, %y0: memref<?xi32>) {
  tile.rows ins(%i0 : memref<?x8xf32>) outs(%y0 : memref<?xi32>) {
  ^bb0(%r: index, %x0: memref<?x8xf32>):
    %v = tile.load %x0[%r] : memref<?x8xf32> -> vector<8xf32>
    // expected-error @+1 {{'tile.select' op has the unknown attribute 'group', expected group_top, groups, keep_groups, nan}}
    %k = tile.select %v {group = 2 : i64} : vector<8xf32> -> vector<1xi32>
    %s = vector.extract %k[0] : i32 from vector<1xi32>
    tile.yield %s : i32
  }
  return
}
