//===- CommOps.td - operations of the moe dialect between ranks ----------===//

#ifndef MOE_DIALECT_MOE_IR_COMMOPS_TD
#define MOE_DIALECT_MOE_IR_COMMOPS_TD

// Included by MoEOps.td, whose classes it uses.

// Every rank of an axis runs the same program, so all of them drop or merge the same exchanges: the ops are Pure.

def MoE_Exchanged : AnyTypeOf<[MoE_AnyMatrix, MoE_Plain<[I32, I64], [1, 2], "rank-1 or rank-2">, MoE_Vector]>;

def MoE_RouteOp : MoE_Op<"route"> {
  let summary = "which tokens go to which ranks, by the experts that these own";
  let description = [{
    Expert e belongs to rank `owners[e]`, and is there the next in the order of ids; without `owners` rank r owns the experts
    `r * groups` to `(r + 1) * groups - 1`. A token goes once to each rank that owns one of its experts. The ids are those of
    `moe.plan`: -1 is a dropped slot, and another id that is no expert's is treated as one, with fault `BAD_ID`.

    Every rank holds its own tokens, at most `max_tokens` of the route's type, which the runtime checks. On arrival they are ordered by
    source rank, then by token. With transport `exact` there is room for all, and none is dropped here. With transport `capacity` of
    the slots of a rank's tokens on another rank the first `pair_capacity` are kept, in the order of token and slot; the others are
    dropped and counted on the tokens' rank, with fault `OVERFLOW`. A token none of whose slots on a rank are kept does not go there.

    Example:
    ```mlir
    %r = moe.route %ids : tensor<?x2xi32> -> !moe.route<axis = "ep", ranks = 4, groups = 2, topk = 2, max_tokens = 64>
    %s = moe.route %ids {owners = array<i32: 0, 1, 1>} : tensor<?x2xi32>
        -> !moe.route<axis = "ep", ranks = 2, groups = 2, topk = 2, max_tokens = 64>
    ```
    Constraints:
    - (C1) the route's tokens and topk are the shape of ids; topk is static.
    - (C2) owners are ranks, 0 to ranks - 1, and none owns more than `groups` experts.
    - (C3) a static number of tokens is at most max_tokens.
  }];
  let arguments = (ins MoE_Ids:$ids, OptionalAttr<DenseI32ArrayAttr>:$owners);
  let results = (outs MoE_RouteType:$route);
  let assemblyFormat = "$ids attr-dict `:` type($ids) `->` qualified(type($route))";
  let extraClassDeclaration = [{
    /// The rank that owns each expert, and its number there.
    ::llvm::SmallVector<::std::pair<int32_t, int32_t>> getPlaces();
  }];
}

def MoE_RouteIdsOp : MoE_TensorOp<"route_ids"> {
  let summary = "ids of the arrived tokens among this rank's experts";
  let description = [{
    For each slot of an arrived token the number of its expert on this rank, or -1 where another rank owns it, the slot is dropped,
    or no token arrived. A `moe.plan` of them orders rows by expert, then source rank, token and slot; its `capacity` is that of
    the rank.

    Example: `%i = moe.route_ids %r : !moe.route<axis = "ep", ranks = 4, groups = 2, topk = 2, max_tokens = 64> -> tensor<256x2xi32>`

    Constraints:
    - (C1) the result is `[arrivals, topk]` of the route.
  }];
  let arguments = (ins MoE_RouteType:$route);
  let results = (outs MoE_Ids:$result);
  let assemblyFormat = "$route attr-dict `:` qualified(type($route)) `->` type($result)";
}

def MoE_DispatchOp : MoE_TensorOp<"dispatch"> {
  let summary = "rows of tokens to the ranks that need them";
  let description = [{
    The result holds the rows of the tokens that arrived on this rank, in their order; its other rows are zero. Each row travels once to
    a rank, however many of its slots are there; `moe.gather` by the plan of `moe.route_ids` fans it out.

    Example:
    ```mlir
    %a = moe.dispatch %x, %r : tensor<?x64xbf16>, !moe.route<axis = "ep", ranks = 4, groups = 2, topk = 2, max_tokens = 64>
        -> tensor<256x64xbf16>
    ```
    Constraints:
    - (C1) x has as many rows as the route has tokens.
    - (C2) the result is `[arrivals, H]` of the route, of x's element type.
  }];
  let arguments = (ins MoE_Matrix:$x, MoE_RouteType:$route);
  let results = (outs MoE_Matrix:$result);
  let assemblyFormat = "$x `,` $route attr-dict `:` type($x) `,` qualified(type($route)) `->` type($result)";
}

def MoE_CollectOp : MoE_TensorOp<"collect"> {
  let summary = "sum of a token's rows on all ranks it went to";
  let description = [{
    y has a row for each arrived token, as the result of `moe.dispatch` has; it goes back to the token's rank. There
    the token's rows are added in f32, in the order of each rank's first slot, and rounded once. Adjoint to `moe.dispatch`.

    Example:
    ```mlir
    %o = moe.collect %y, %r : tensor<256x64xbf16>, !moe.route<axis = "ep", ranks = 4, groups = 2, topk = 2, max_tokens = 64>
        -> tensor<?x64xbf16>
    ```
    Constraints:
    - (C1) y is `[arrivals, H]` of the route.
    - (C2) the result is `[T, H]` of the route's tokens, of y's element type or f32.
  }];
  let arguments = (ins MoE_Matrix:$y, MoE_RouteType:$route);
  let results = (outs MoE_Matrix:$result);
  let assemblyFormat = "$y `,` $route attr-dict `:` type($y) `,` qualified(type($route)) `->` type($result)";
}

def MoE_CombineRanksOp : MoE_TensorOp<"combine_ranks"> {
  let summary = "weighted sum of each token's rows, which lie on the ranks of their experts";
  let description = [{
    `moe.combine` over ranks: `result[t] = sum_j weights[t, j] * y[row(t, j)]`, where the row lies on the rank of the slot's expert, by the plan
    made there of `moe.route_ids`. By default every slot's row travels back, and the sum is that of `moe.combine`: in
    slot order in f32, rounded once. Slots dropped there or by the route for lack of capacity contribute nothing.

    With `partial_sums` each rank adds a token's rows of its own experts, weighted, in slot order in f32, rounds the sum to y's element
    type, and sends one row back; `moe.collect` says how those are added. So many bytes less travel as tokens have slots on one rank.

    Example:
    ```mlir
    %o = moe.combine_ranks %y, %p, %r weights %w
        : tensor<?x64xbf16, #moe.ragged<groups = 2>>, !moe.plan<groups = 2, tokens = 256, topk = 2>,
          !moe.route<axis = "ep", ranks = 4, groups = 2, topk = 2, max_tokens = 64>, tensor<?x2xf32> -> tensor<?x64xbf16>
    ```
    Constraints:
    - (C1) the plan has the route's groups and topk and its arrivals as tokens; y has a ragged encoding with the plan's groups and
      align, and the plan's rows.
    - (C2) weights is `[T, k]` of the route.
    - (C3) the result is `[T, H]` of the route's tokens, of y's element type or f32.
  }];
  let arguments = (ins MoE_RaggedMatrix:$y, MoE_PlanType:$plan, MoE_RouteType:$route, Optional<MoE_F32Matrix>:$weights,
                   UnitAttr:$partial_sums);
  let results = (outs MoE_Matrix:$result);
  let assemblyFormat = [{
    $y `,` $plan `,` $route (`weights` $weights^)? attr-dict `:` type($y) `,` qualified(type($plan)) `,` qualified(type($route))
    (`,` type($weights)^)? `->` type($result)
  }];
}

def MoE_AllToAllOp : MoE_TensorOp<"all_to_all", [AttrSizedOperandSegments]> {
  let summary = "rows of each group to the rank of its number, and from there";
  let description = [{
    Ragged: x is ragged by plan `from`, whose groups are ranks: rows of group d go to rank d. The result is ragged by plan `to`: rows of group s
    came from rank s. The sizes of `to` on this rank are what the others have in `from` for it; ranks that disagree get an error, not a result.
    Without plans x is `ranks` equal blocks of rows: block d goes to rank d, and block s of the result came from rank s.

    Example: the sizes travel first.
    ```mlir
    %sizes = moe.plan_get %p {field = #moe.field<sizes>} : !moe.plan<groups = 4, topk = 1> -> tensor<4xi32>
    %arriving = moe.all_to_all %sizes {axis = "ep", ranks = 4} : tensor<4xi32> -> tensor<4xi32>
    %q = moe.plan_from_sizes %arriving : tensor<4xi32> -> !moe.plan<groups = 4, rows = 96>
    %y = moe.all_to_all %x from %p to %q {axis = "ep", ranks = 4}
        : tensor<?x64xf32, #moe.ragged<groups = 4>>, !moe.plan<groups = 4, topk = 1>, !moe.plan<groups = 4, rows = 96>
        -> tensor<96x64xf32, #moe.ragged<groups = 4>>
    ```
    Constraints:
    - (C1) ranks is at least 1 and the axis has a name.
    - (C2) from and to come together, with a group for each rank; x and the result have a ragged encoding with the groups and align of
      `from` and `to`, and their rows. Without them x and the result are plain.
    - (C3) the result has x's element type, and x's dimensions after the first; without plans all of them, and the first is divisible
      by ranks.
  }];
  let arguments = (ins MoE_Exchanged:$x, Optional<MoE_PlanType>:$from, Optional<MoE_PlanType>:$to, StrAttr:$axis, I64Attr:$ranks);
  let results = (outs MoE_Exchanged:$result);
  let assemblyFormat = "$x (`from` $from^)? (`to` $to^)? attr-dict `:` type(operands) `->` type($result)";
}

#endif
