// RUN: moe-opt %s --convert-moe-to-tile --split-input-file --verify-diagnostics

func.func @scales(%x: tensor<8x16xbf16, #moe.ragged<groups = 2>>, %w: tensor<2x16x8xbf16>, %s: tensor<2xi32>,
                  %xs: tensor<8x1xf32>, %ws: tensor<2x1x8xf32>) -> tensor<8x8xbf16, #moe.ragged<groups = 2>> {
  %p = moe.plan_from_sizes %s : tensor<2xi32> -> !moe.plan<groups = 2, rows = 8>
  // expected-error @below {{is not lowered to this target yet: lhs_scale}}
  %y = moe.ragged_matmul %x, %w plan %p lhs_scale %xs rhs_scale %ws {scale_block = 16}
      : tensor<8x16xbf16, #moe.ragged<groups = 2>>, tensor<2x16x8xbf16>, !moe.plan<groups = 2, rows = 8>,
        tensor<8x1xf32>, tensor<2x1x8xf32> -> tensor<8x8xbf16, #moe.ragged<groups = 2>>
  return %y : tensor<8x8xbf16, #moe.ragged<groups = 2>>
}

// -----

func.func @no_plan(%h: tensor<8x8xf32, #moe.ragged<groups = 2>>) -> tensor<8x4xf32, #moe.ragged<groups = 2>> {
  // expected-error @below {{result is ragged, but no op of this function ties it to a plan}}
  %a = moe.gated_activation %h : tensor<8x8xf32, #moe.ragged<groups = 2>> -> tensor<8x4xf32, #moe.ragged<groups = 2>>
  return %a : tensor<8x4xf32, #moe.ragged<groups = 2>>
}

// -----

func.func @late_plan(%h: tensor<8x8xf32, #moe.ragged<groups = 2>>, %s: tensor<2xi32>) -> tensor<2x4xf32> {
  // expected-error @below {{result is ragged, but its plan is made after it}}
  %a = moe.gated_activation %h : tensor<8x8xf32, #moe.ragged<groups = 2>> -> tensor<8x4xf32, #moe.ragged<groups = 2>>
  // expected-note @below {{the plan is made here}}
  %p = moe.plan_from_sizes %s : tensor<2xi32> -> !moe.plan<groups = 2, rows = 8>
  %g = moe.group_sum %a, %p : tensor<8x4xf32, #moe.ragged<groups = 2>>, !moe.plan<groups = 2, rows = 8> -> tensor<2x4xf32>
  return %g : tensor<2x4xf32>
}

// -----

func.func @dynamic_width(%l: tensor<4x?xf32>) -> tensor<4x?xf32> {
  // expected-error @below {{logits has type 'tensor<4x?xf32>', whose dimension 1 is dynamic; a kernel needs it static}}
  %s = moe.scores %l : tensor<4x?xf32>
  return %s : tensor<4x?xf32>
}

// -----

// expected-error @below {{takes or returns a plan or route, which cannot cross a function boundary}}
func.func private @plan(!moe.plan<groups = 2>)

// -----

// expected-error @below {{has 2 blocks; only straight-line code is lowered}}
func.func @blocks(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  cf.br ^bb1
^bb1:
  return %x : tensor<4x8xf32>
}

// -----

func.func @other_op(%x: tensor<4x8xf32>) -> tensor<32xf32> {
  // expected-error @below {{'tensor.collapse_shape' op cannot be lowered to the tile dialect}}
  %y = tensor.collapse_shape %x [[0, 1]] : tensor<4x8xf32> into tensor<32xf32>
  return %y : tensor<32xf32>
}

// -----

func.func @rank(%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  // expected-error @below {{result has type 'tensor<2x4x8xf32>'; elementwise ops are lowered on tensors of rank 1 or 2}}
  %y = arith.addf %x, %x : tensor<2x4x8xf32>
  return %y : tensor<2x4x8xf32>
}

// -----

func.func @element_type(%x: tensor<4x8xf64>) -> tensor<4x8xf64> {
  // expected-error @below {{result has element type 'f64'; kernels work on f32, bf16, f16, i1, i8, i32 and i64}}
  %y = arith.addf %x, %x : tensor<4x8xf64>
  return %y : tensor<4x8xf64>
}

// -----

func.func @scalar(%c: i1, %x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{operand 0 is a scalar of type 'i1'; only constant scalars are lowered}}
  %z = arith.select %c, %x, %y : tensor<4x8xf32>
  return %z : tensor<4x8xf32>
}

// -----

func.func @reduction(%x: tensor<4x8xf32>, %init: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{has 1 reductions and 2 loops for a result of rank 1; only elementwise ops are lowered}}
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
                       iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x8xf32>) outs(%init : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @transpose(%x: tensor<8x4xf32>, %init: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @below {{operand 0 is read through affine_map<(d0, d1) -> (d1, d0)>; only identity and broadcasts are lowered}}
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x4xf32>) outs(%init : tensor<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

func.func @inner_op(%x: tensor<4x8xf32>, %init: tensor<4x8xindex>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    // expected-error @below {{'linalg.index' op in a linalg op cannot be lowered to the tile dialect}}
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i32
    %k = arith.sitofp %j : i32 to f32
    linalg.yield %k : f32
  } -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

func.func @matmul(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>, %init: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @below {{'linalg.matmul' op has 1 reductions and 3 loops for a result of rank 2; only elementwise ops are lowered}}
  %z = linalg.matmul ins(%x, %y : tensor<4x8xf32>, tensor<8x4xf32>) outs(%init : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %z : tensor<4x4xf32>
}
