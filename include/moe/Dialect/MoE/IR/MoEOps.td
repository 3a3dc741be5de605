//===- MoEOps.td - operations of the moe dialect -------------------------===//

#ifndef MOE_DIALECT_MOE_IR_MOEOPS_TD
#define MOE_DIALECT_MOE_IR_MOEOPS_TD

include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "moe/Dialect/KnownAttributes.td"
include "moe/Dialect/MoE/IR/MoEAttrs.td"

// All ops are Pure: faults (BAD_SIZES, NAN_ROUTER, ...) are a report on the side, and an op whose results
// are unused may be dropped together with its report.
class MoE_Op<string opMnemonic, list<Trait> traits = []> : Op<MoE_Dialect, opMnemonic, traits # [Pure, KnownAttributes]> {
  let hasVerifier = 1;
}

// An op with tensor results. Where each dimension of them comes from is said once, in IR/Shapes.cpp, for the
// verifier, for reification and for the sharpening of types.
class MoE_TensorOp<string opMnemonic, list<Trait> traits = []>
    : MoE_Op<opMnemonic, traits # [DeclareOpInterfaceMethods<ReifyRankedShapedTypeOpInterface, ["reifyResultShapes"]>]> {
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::reifyResultShapes(::mlir::OpBuilder &builder,
                                                       ::mlir::ReifiedRankedShapedTypeDims &shapes) {
      return ::mlir::moe::detail::reifyResultDims(getOperation(), builder, shapes);
    }
  }];
}

def MoE_Float : AnyTypeOf<[F32, BF16, F16], "f32, bf16 or f16">;
def MoE_IsPlain : CPred<"!::llvm::cast<::mlir::RankedTensorType>($_self).getEncoding()">;
def MoE_IsRagged : CPred<"::llvm::isa_and_nonnull<::mlir::moe::RaggedAttr>(::llvm::cast<::mlir::RankedTensorType>($_self).getEncoding())">;

// The element types are appended to these summaries in diagnostics.
class MoE_Plain<list<Type> elements, list<int> ranks, string what>
    : RankedTensorOf<elements, [HasAnyRankOfPred<ranks>, MoE_IsPlain], "plain " # what # " tensor">;
def MoE_Matrix : MoE_Plain<[MoE_Float], [2], "rank-2">;
def MoE_Vector : MoE_Plain<[MoE_Float], [1], "rank-1">;
def MoE_F32Matrix : MoE_Plain<[F32], [2], "rank-2">;
def MoE_Ids : MoE_Plain<[I32], [2], "rank-2">;
def MoE_Sizes : MoE_Plain<[I32, I64], [1], "rank-1">;
def MoE_ScaleTensor : MoE_Plain<[F32], [1, 2, 3], "rank-1 to rank-3">;
def MoE_PlanTensor : MoE_Plain<[I32, I64], [1, 2], "rank-1 or rank-2">;
def MoE_FloatTensor : MoE_Plain<[MoE_Float], [2, 3], "rank-2 or rank-3">;
def MoE_RaggedMatrix : RankedTensorOf<[MoE_Float], [HasAnyRankOfPred<[2]>, MoE_IsRagged], "ragged rank-2 tensor">;
def MoE_AnyMatrix : RankedTensorOf<[MoE_Float], [HasAnyRankOfPred<[2]>, Or<[MoE_IsPlain, MoE_IsRagged]>],
    "plain or ragged rank-2 tensor">;
def MoE_AnyTensor : RankedTensorOf<[MoE_Float], [HasAnyRankOfPred<[2, 3]>, Or<[MoE_IsPlain, MoE_IsRagged]>],
    "plain or ragged rank-2 or rank-3 tensor">;

//===----------------------------------------------------------------------===//
// Router
//===----------------------------------------------------------------------===//

def MoE_LogitsOp : MoE_TensorOp<"logits"> {
  let summary = "router logits: tokens times router weights, in f32";
  let description = [{
    `logits[t, e] = sum_h x[t, h] * router[h, e] + bias[e]`, accumulated in f32 and never rounded through a
    narrower type. With `layout = nk` the router weight is `[E, H]`.

    Example:
    ```mlir
    %l = moe.logits %x, %router : tensor<?x64xbf16>, tensor<64x8xbf16> -> tensor<?x8xf32>
    %m = moe.logits %x, %router bias %b {layout = #moe.weights<nk>}
        : tensor<?x64xf32>, tensor<8x64xf32>, tensor<8xf32> -> tensor<?x8xf32>
    ```
    Constraints:
    - (C1) x is `[T, H]`, router `[H, E]` (`kn`) or `[E, H]` (`nk`), with equal H and equal element type.
    - (C2) the result is `[T, E]` f32.
    - (C3) bias is `[E]`.
  }];
  let arguments = (ins MoE_Matrix:$x, MoE_Matrix:$router, Optional<MoE_Vector>:$bias,
                   DefaultValuedAttr<MoE_WeightLayoutAttr, "::mlir::moe::WeightLayout::KN">:$layout,
                   DefaultValuedAttr<MoE_PrecisionAttr, "::mlir::moe::Precision::Exact">:$precision);
  let results = (outs MoE_F32Matrix:$result);
  let assemblyFormat = [{
    $x `,` $router (`bias` $bias^)? attr-dict `:` type($x) `,` type($router) (`,` type($bias)^)? `->` type($result)
  }];
}

def MoE_ScoresOp : MoE_TensorOp<"scores", [SameOperandsAndResultType]> {
  let summary = "softmax or sigmoid over each row of logits";
  let description = [{
    Softmax subtracts the row's maximum first. NaN policy:
    - `last`: +inf counts as the largest finite value; a NaN takes no part in the softmax and stays NaN, so that
      `moe.select` ranks it last; a row without a finite logit becomes NaN throughout.
    - `propagate`: plain arithmetic, as JAX.

    Example: `%s = moe.scores %l {function = #moe.score<sigmoid>} : tensor<?x8xf32>`
  }];
  let arguments = (ins MoE_F32Matrix:$logits,
                   DefaultValuedAttr<MoE_ScoreFunctionAttr, "::mlir::moe::ScoreFunction::Softmax">:$function,
                   DefaultValuedAttr<MoE_NanPolicyAttr, "::mlir::moe::NanPolicy::Last">:$nan);
  let results = (outs MoE_F32Matrix:$result);
  let assemblyFormat = "$logits attr-dict `:` type($logits)";
  let hasVerifier = 0;
}

def MoE_SelectOp : MoE_TensorOp<"select"> {
  let summary = "the top k experts of each token, by biased score, within the best expert groups";
  let description = [{
    Chooses k distinct experts a token, best first, by `score + bias`; ties go to the lowest id. `values` are the
    scores of the chosen experts *without* the bias. With `groups` > 1 the experts form that many equal, consecutive
    groups; a group's score is the sum of its `group_top` best biased scores; only experts of the `keep_groups` best
    groups can be chosen, whatever the signs.

    NaN policy: `last` ranks NaN below every number, counts +inf as the largest finite value, and gives a row
    without any finite score ids 0..k-1 and NaN values, with fault `NAN_ROUTER`. `propagate` ranks NaN above every
    number, as JAX's top_k does, and experts of other groups count as -inf, as if masked before a top_k.

    Example:
    ```mlir
    %ids, %v = moe.select %s bias %b {k = 8, groups = 8, keep_groups = 4, group_top = 2}
        : tensor<?x64xf32>, tensor<64xf32> -> tensor<?x8xi32>, tensor<?x8xf32>
    ```
    Constraints:
    - (C1) 1 <= k <= E; E is static.
    - (C2) groups >= 1 divides E.
    - (C3) 1 <= keep_groups <= groups, and keep_groups * (E / groups) >= k.
    - (C4) 1 <= group_top <= E / groups.
    - (C5) bias is `[E]`.
    - (C6) the results are `[T, k]` i32 and f32.
  }];
  let arguments = (ins MoE_F32Matrix:$scores, Optional<MoE_Vector>:$bias, I64Attr:$k,
                   DefaultValuedAttr<I64Attr, "1">:$groups, DefaultValuedAttr<I64Attr, "1">:$keep_groups,
                   DefaultValuedAttr<I64Attr, "1">:$group_top,
                   DefaultValuedAttr<MoE_NanPolicyAttr, "::mlir::moe::NanPolicy::Last">:$nan);
  let results = (outs MoE_Ids:$ids, MoE_F32Matrix:$values);
  let assemblyFormat = [{
    $scores (`bias` $bias^)? attr-dict `:` type($scores) (`,` type($bias)^)? `->` type($ids) `,` type($values)
  }];
}

def MoE_NormalizeOp : MoE_TensorOp<"normalize", [SameOperandsAndResultType]> {
  let summary = "routing weights: renormalise the chosen scores, then scale";
  let description = [{
    With `renormalize`, each row is divided by max(its sum + `epsilon`, `floor`); then everything is multiplied by `scale`.
    Under `nan = last` a NaN counts as 0 before that, so that the result is always finite. Programs that divide by the
    bare sum have `floor` -inf and `nan = propagate`.

    Example: `%w = moe.normalize %v {renormalize, scale = 2.5 : f32} : tensor<?x8xf32>`
  }];
  let arguments = (ins MoE_F32Matrix:$values, UnitAttr:$renormalize, DefaultValuedAttr<F32Attr, "1.0">:$scale,
                   DefaultValuedAttr<F32Attr, "0.0">:$epsilon, DefaultValuedAttr<F32Attr, "1.0e-20f">:$floor,
                   DefaultValuedAttr<MoE_NanPolicyAttr, "::mlir::moe::NanPolicy::Last">:$nan);
  let results = (outs MoE_F32Matrix:$result);
  let assemblyFormat = "$values attr-dict `:` type($values)";
  let hasVerifier = 0;
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Routing plan
//===----------------------------------------------------------------------===//

def MoE_PlanOp : MoE_Op<"plan"> {
  let summary = "routing plan of expert ids";
  let description = [{
    Rows are ordered by expert, then by token, then by slot. An id of -1 is a dropped slot; any other id outside
    0..E-1 is treated as dropped, with fault `BAD_ID`. The number of rows is T * k, rounded up for `align` > 1 to
    T * k + E * (align - 1); `capacity` replaces it: slots are kept in order up to the capacity, the rest is dropped and
    counted, with fault `OVERFLOW`.

    Example:
    ```mlir
    %p = moe.plan %ids : tensor<?x2xi32> -> !moe.plan<groups = 8, topk = 2>
    %q = moe.plan %ids {capacity = 96} : tensor<48x2xi32> -> !moe.plan<groups = 8, rows = 96, tokens = 48, topk = 2>
    ```
    Constraints:
    - (C1) the plan's tokens and topk are the shape of ids; topk is static and at least 1.
    - (C2) the plan's rows are `capacity`, or follow from T, k, E and align and fit in 64 bits.
    - (C3) capacity is at least 0.
  }];
  let arguments = (ins MoE_Ids:$ids, OptionalAttr<I64Attr>:$capacity);
  let results = (outs MoE_PlanType:$plan);
  let assemblyFormat = "$ids attr-dict `:` type($ids) `->` qualified(type($plan))";
}

def MoE_PlanFromSizesOp : MoE_Op<"plan_from_sizes"> {
  let summary = "plan of rows that are already sorted by group";
  let description = [{
    Group g has sizes[g] rows and starts at the sum of the earlier sizes, each rounded up to `align`. A negative
    size or a sum past the number of rows is clamped, with fault `BAD_SIZES`; constant sizes are checked by the verifier.
    `rows` gives the number of rows M when it is not static in the plan's type.

    Example:
    ```mlir
    %p = moe.plan_from_sizes %sizes : tensor<6xi32> -> !moe.plan<groups = 6, rows = 24>
    %q = moe.plan_from_sizes %sizes rows %m : tensor<6xi64> -> !moe.plan<groups = 6>
    ```
    Constraints:
    - (C1) sizes has `groups` elements.
    - (C2) topk is 0.
    - (C3) rows is given exactly if the plan's rows are dynamic; a constant is not negative.
    - (C4) constant sizes are not negative, and no group that has rows ends past the number of rows.
  }];
  let arguments = (ins MoE_Sizes:$sizes, Optional<Index>:$rows);
  let results = (outs MoE_PlanType:$plan);
  let assemblyFormat = "$sizes (`rows` $rows^)? attr-dict `:` type($sizes) `->` qualified(type($plan))";
}

def MoE_PlanGetOp : MoE_TensorOp<"plan_get"> {
  let summary = "one tensor of a plan";
  let description = [{
    | field | type | meaning |
    |---|---|---|
    | `sizes` | `[G]` i32 | rows of each group |
    | `bounds` | `[G, 2]` i64 | rows [begin, end) of each group, clamped into range |
    | `permutation` | `[M]` i32 | row -> slot t * k + j, or -1 |
    | `token` | `[M]` i32 | row -> token, or -1 |
    | `inverse` | `[T, k]` i32 | slot -> row, or -1 |
    | `dropped` | `[1]` i64 | slots dropped for lack of capacity |

    Example: `%s = moe.plan_get %p {field = #moe.field<sizes>} : !moe.plan<groups = 8, topk = 2> -> tensor<8xi32>`

    Constraints:
    - (C1) a plan made from sizes (topk = 0) has only `sizes` and `bounds`.
    - (C2) the result type is as in the table.
  }];
  let arguments = (ins MoE_PlanType:$plan, MoE_PlanFieldAttr:$field);
  let results = (outs MoE_PlanTensor:$result);
  let assemblyFormat = "$plan attr-dict `:` qualified(type($plan)) `->` type($result)";
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Ragged tensors
//===----------------------------------------------------------------------===//

def MoE_GatherOp : MoE_TensorOp<"gather"> {
  let summary = "rows of x in the order of a plan";
  let description = [{
    `result[r] = x[token(r)]`, zero for rows outside every group.

    With `through`, x is not in the order of tokens but stands for the rows of a second plan, and is read through it:
    `result[r] = x[token'(token(r))]`, where the tokens of the first plan are the rows of the second, and a row without a
    token' is zero. A gather of a gather is written so by the canonicaliser: the rows are copied once.

    Example:
    ```mlir
    %g = moe.gather %x, %p : tensor<?x64xbf16>, !moe.plan<groups = 8, topk = 2>
        -> tensor<?x64xbf16, #moe.ragged<groups = 8>>
    %h = moe.gather %x, %q through %p : tensor<?x64xbf16>, !moe.plan<groups = 4, topk = 1>, !moe.plan<groups = 8, topk = 2>
        -> tensor<?x64xbf16, #moe.ragged<groups = 4>>
    ```
    Constraints:
    - (C1) the plan has slots (topk >= 1) and as many tokens as x has rows.
    - (C2) the result has the plan's rows, x's columns and element type, and a ragged encoding with the plan's groups and align.
    - (C3) with `through`, both plans have slots, x has as many rows as `through` has tokens, and the plan has as many
      tokens as `through` has rows.
  }];
  let arguments = (ins MoE_Matrix:$x, MoE_PlanType:$plan, Optional<MoE_PlanType>:$through);
  let results = (outs MoE_RaggedMatrix:$result);
  let assemblyFormat = [{
    $x `,` $plan (`through` $through^)? attr-dict `:` type($x) `,` qualified(type($plan)) (`,` qualified(type($through))^)?
    `->` type($result)
  }];
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def MoE_RaggedMatmulOp : MoE_TensorOp<"ragged_matmul", [AttrSizedOperandSegments]> {
  let summary = "one matrix product for each group";
  let description = [{
    Accumulates in f32 and rounds once to the result type.

    | mode | lhs | rhs | result | meaning |
    |---|---|---|---|---|
    | `rows` | `[M, K]` ragged | `[g, K, N]` (`kn`) or `[g, N, K]` (`nk`) | `[M, N]` ragged | row r of group i: `lhs[r] * rhs[i]` |
    | `contraction` | `[M, K]` ragged | `[M, N]` ragged | `[g, K, N]` | `lhs_i^T * rhs_i` over the rows of group i |
    | `batch` | `[G, M, K]` | `[G, K, N]` or `[G, N, K]` | `[G, M, N]` | plain batched product; takes no plan |

    Options:
    - `group_offset`: the weights hold only g groups, from `group_offset` of the plan on; rows of other groups are zero
      in the result. In mode `contraction` the result holds those g groups.
    - `bias` `[g, N]`: added to every row of its group, before rounding (mode `rows`).
    - `weights` `[T, k]` f32: each row is multiplied by the routing weight of its slot, after the bias; a row of weight 0
      is zero whatever it holds (mode `rows`; the plan needs slots). With `nan = propagate` it is a mere product.
    - `acc` of the result's type, f32: the product is added to it (mode `contraction`); empty groups keep theirs.
    - `lhs_scale`, `rhs_scale` f32 with `scale_block` = the number of consecutive elements along the contraction that
      share one factor: operands stand for `value * scale`. A scale has the shape of its operand with the contraction
      dimension divided by scale_block, rounded up; with `scale_block = 0` without that dimension (one factor a row of lhs
      and a column of each group of rhs; in mode `contraction` one a column of each group on both sides). Declared for FP8
      and verified; a target may refuse them by name.
    - `precision = tf32`: f32 operands may be rounded to TF32.

    Example:
    ```mlir
    %y = moe.ragged_matmul %x, %w plan %p
        : tensor<?x64xbf16, #moe.ragged<groups = 8>>, tensor<8x64x32xbf16>, !moe.plan<groups = 8, topk = 2>
        -> tensor<?x32xbf16, #moe.ragged<groups = 8>>
    %z = moe.ragged_matmul %x, %dy plan %p acc %dw {mode = #moe.mode<contraction>}
        : tensor<?x64xbf16, #moe.ragged<groups = 8>>, tensor<?x32xbf16, #moe.ragged<groups = 8>>,
          !moe.plan<groups = 8, topk = 2>, tensor<8x64x32xf32> -> tensor<8x64x32xf32>
    ```
    Constraints:
    - (C1) ranks and shapes as in the table; lhs and rhs have the same element type; layout `nk` only where rhs is a weight.
    - (C2) modes `rows` and `contraction` have a plan, mode `batch` has none.
    - (C3) ragged operands and results carry a ragged encoding with the plan's groups and align, and the plan's rows.
    - (C4) 0 <= group_offset and group_offset + g <= the plan's groups, with a static g; without group_offset, g equals them;
      none in mode `batch`.
    - (C5) bias is `[g, N]`, only in mode `rows`.
    - (C6) weights is `[T, k]` of the plan, only in mode `rows`.
    - (C7) acc has the result's type, f32, only in mode `contraction`.
    - (C8) scales come with scale_block and scale_block with a scale; it is at least 0, and the shapes follow it.
    - (C9) scale_block is 0 or divides align in mode `contraction`: one factor never covers rows of two groups.
    - (C10) the result's element type is the operands' or f32.
  }];
  let arguments = (ins MoE_AnyTensor:$lhs, MoE_AnyTensor:$rhs, Optional<MoE_PlanType>:$plan,
                   Optional<MoE_Matrix>:$bias, Optional<MoE_F32Matrix>:$weights, Optional<MoE_FloatTensor>:$acc,
                   Optional<MoE_ScaleTensor>:$lhs_scale, Optional<MoE_ScaleTensor>:$rhs_scale,
                   DefaultValuedAttr<MoE_RaggedModeAttr, "::mlir::moe::RaggedMode::Rows">:$mode,
                   DefaultValuedAttr<MoE_WeightLayoutAttr, "::mlir::moe::WeightLayout::KN">:$layout,
                   OptionalAttr<I64Attr>:$group_offset, OptionalAttr<I64Attr>:$scale_block,
                   DefaultValuedAttr<MoE_PrecisionAttr, "::mlir::moe::Precision::Exact">:$precision,
                   DefaultValuedAttr<MoE_NanPolicyAttr, "::mlir::moe::NanPolicy::Last">:$nan);
  let results = (outs MoE_AnyTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`plan` $plan^)? (`bias` $bias^)? (`weights` $weights^)? (`acc` $acc^)?
    (`lhs_scale` $lhs_scale^)? (`rhs_scale` $rhs_scale^)? attr-dict
    `:` type(operands) `->` type($result)
  }];
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def MoE_GroupSumOp : MoE_TensorOp<"group_sum"> {
  let summary = "sum of the rows of each group";
  let description = [{
    `result[g, n] = sum of x[r, n] over the rows r of group g`, in f32, rounded once; 0 for an empty group. The gradient
    of an expert's bias.

    Example: `%s = moe.group_sum %x, %p : tensor<?x64xf32, #moe.ragged<groups = 8>>, !moe.plan<groups = 8> -> tensor<8x64xf32>`

    Constraints:
    - (C1) x has a ragged encoding with the plan's groups and align, and the plan's rows.
    - (C2) the result is `[G, N]`, of x's element type or f32.
  }];
  let arguments = (ins MoE_RaggedMatrix:$x, MoE_PlanType:$plan);
  let results = (outs MoE_Matrix:$result);
  let assemblyFormat = "$x `,` $plan attr-dict `:` type($x) `,` qualified(type($plan)) `->` type($result)";
  let hasFolder = 1;
}

def MoE_GatedActivationOp : MoE_TensorOp<"gated_activation"> {
  let summary = "act(gate) * (up + up_offset), where a row holds a gate half and an up half";
  let description = [{
    With `layout = concatenated` the first half of a row is gate, the second up; with `interleaved` the even columns are gate,
    the odd ones up. Computed in f32, rounded once. Steps: with `limit`, gate is clamped from above by limit and up to
    [-limit, limit]; then `act(gate) * (up + up_offset)`, where `silu(g) = g * sigmoid(alpha * g)` (the gpt-oss form has
    alpha = 1.702, up_offset = 1), `gelu_tanh` the tanh approximation of GELU, `relu` and `sigmoid` as named.

    Example:
    ```mlir
    %a = moe.gated_activation %h : tensor<?x64xbf16> -> tensor<?x32xbf16>
    %b = moe.gated_activation %h {layout = #moe.halves<interleaved>, limit = 7.0 : f32, alpha = 1.702 : f32, up_offset = 1.0 : f32}
        : tensor<?x64xf32> -> tensor<?x32xf32>
    ```
    Constraints:
    - (C1) x is `[M, 2F]` and the result `[M, F]`, of one element type and encoding.
    - (C2) limit is greater than 0.
    - (C3) alpha other than 1 only with `silu`.
  }];
  let arguments = (ins MoE_AnyMatrix:$x,
                   DefaultValuedAttr<MoE_GateFunctionAttr, "::mlir::moe::GateFunction::Silu">:$function,
                   DefaultValuedAttr<MoE_GateLayoutAttr, "::mlir::moe::GateLayout::Concatenated">:$layout,
                   OptionalAttr<F32Attr>:$limit, DefaultValuedAttr<F32Attr, "1.0">:$alpha,
                   DefaultValuedAttr<F32Attr, "0.0">:$up_offset);
  let results = (outs MoE_AnyMatrix:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
}

def MoE_CombineOp : MoE_TensorOp<"combine"> {
  let summary = "weighted sum of each token's rows, in slot order";
  let description = [{
    `result[t] = sum_j weights[t, j] * y[row(t, j)]`, in slot order in f32, rounded once; without `weights` every weight is 1.
    Dropped slots contribute nothing, and a slot of weight 0 contributes nothing even if its row is NaN; with
    `nan = propagate` it contributes 0 times its row, as JAX.

    Example:
    ```mlir
    %o = moe.combine %y, %p weights %w : tensor<?x64xbf16, #moe.ragged<groups = 8>>, !moe.plan<groups = 8, topk = 2>,
        tensor<?x2xf32> -> tensor<?x64xbf16>
    ```
    Constraints:
    - (C1) the plan has slots; y has a ragged encoding with the plan's groups and align, and the plan's rows.
    - (C2) weights is `[T, k]` of the plan.
    - (C3) the result is `[T, H]`, of y's element type or f32.
  }];
  let arguments = (ins MoE_RaggedMatrix:$y, MoE_PlanType:$plan, Optional<MoE_F32Matrix>:$weights,
                   DefaultValuedAttr<MoE_NanPolicyAttr, "::mlir::moe::NanPolicy::Last">:$nan);
  let results = (outs MoE_Matrix:$result);
  let assemblyFormat = [{
    $y `,` $plan (`weights` $weights^)? attr-dict `:` type($y) `,` qualified(type($plan)) (`,` type($weights)^)? `->` type($result)
  }];
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

//===----------------------------------------------------------------------===//
// Between ranks
//===----------------------------------------------------------------------===//

include "moe/Dialect/MoE/IR/CommOps.td"

#endif
