//===- Passes.td - passes within the moe dialect -------------------------===//

#ifndef MOE_DIALECT_MOE_TRANSFORMS_PASSES_TD
#define MOE_DIALECT_MOE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def MoECheckRaggedPass : Pass<"moe-check-ragged"> {
  let summary = "rejects programs that would read undefined rows or mix plans";
  let description = [{
    Follows every ragged value from its producer through upstream ops: its plan, and whether its rows outside every
    group are zero. The IR is not changed. Refused are:
    - a use of rows that may not be zero outside every group: a function result, a cast to a plain tensor, and any op that
      does not work row by row. Rows are not zero where the encoding says `tail = undefined` and where a plain tensor, an
      uninitialised one or a constant was cast to a ragged type;
    - a reduction over such rows;
    - an op that names another plan than the one its ragged operand was made with, and an elementwise op on values of
      different plans. A function argument is taken to be ragged by the first plan it is used with;
    - a cast or elementwise op that changes the groups or the alignment;
    - a plan that crosses a function boundary or a block: a plan is the result of `moe.plan` or `moe.plan_from_sizes`;
    - a plan whose slots, rows or groups are known not to fit in 32 bits. Ids, permutations and sizes are i32; offsets of
      elements (row x pitch) are 64-bit everywhere and need no check.

    An elementwise upstream op on ragged tensors is an op on the rows in groups: its lowering writes zeros elsewhere if
    the type of its result says so. That a scale block fits the alignment of the groups is a matter of the verifier of
    `moe.ragged_matmul`.

    Example: refused, since the tail of `%y` is undefined, with `tail = zero` it is accepted.
    ```mlir
    %y = moe.ragged_matmul %x, %w plan %p : tensor<8x4xf32, #moe.ragged<groups = 2>>, tensor<2x4x6xf32>,
        !moe.plan<groups = 2, rows = 8> -> tensor<8x6xf32, #moe.ragged<groups = 2, tail = undefined>>
    return %y : tensor<8x6xf32, #moe.ragged<groups = 2, tail = undefined>>
    ```
  }];
}

def MoEFuseWeightsPass : Pass<"moe-fuse-weights"> {
  let summary = "moves routing weights from a combine into the product that feeds it";
  let description = [{
    A `moe.combine` with weights of a `moe.ragged_matmul` becomes an unweighted combine of a weighted product, if the product
    has no other use, no weights of its own, the same plan and the same block. The product's rows are scaled in f32 before
    they are rounded, so the result differs from the unfused one by at most the rounding of the intermediate. A weighted
    combine that is not rewritten gets a remark that says why.

    Before:
    ```mlir
    %y = moe.ragged_matmul %a, %w plan %p : tensor<?x64xbf16, #r>, tensor<8x64x32xbf16>, !plan -> tensor<?x32xbf16, #r>
    %o = moe.combine %y, %p weights %s : tensor<?x32xbf16, #r>, !plan, tensor<?x2xf32> -> tensor<?x32xbf16>
    ```
    After:
    ```mlir
    %y = moe.ragged_matmul %a, %w plan %p weights %s
        : tensor<?x64xbf16, #r>, tensor<8x64x32xbf16>, !plan, tensor<?x2xf32> -> tensor<?x32xbf16, #r>
    %o = moe.combine %y, %p : tensor<?x32xbf16, #r>, !plan -> tensor<?x32xbf16>
    ```
  }];
}

def MoEPartitionPass : Pass<"moe-partition"> {
  let summary = "turns single-device layers into the ones of each rank of a mesh axis";
  let description = [{
    Experts are spread over the ranks of an axis, and tokens travel. Every `moe.plan` of expert ids becomes a `moe.route` and the plan of the
    experts of this rank; gathers read what `moe.dispatch` brought, combines become `moe.combine_ranks`, and the function's arguments
    with something for each expert (weights and biases) shrink to those of one rank. All ranks run the same function: each is given its own
    tokens and its experts' weights, in the order of expert ids, and results are those of the whole layer for its tokens. The router and what
    works on tokens stays as it is.

    The number of experts is a multiple of `size`, or `owners` says which rank owns each; a rank that owns fewer than the
    most is given weights of any contents for the rest. `capacity` is that of a rank, in rows over all sources; a capacity of the plan
    is taken for one.

    How rows travel is `transport`: `exact`, `peer`, or `capacity` with `pair-capacity`, the most slots that one rank's tokens may have on
    another; by default, and where more is given, it is max-tokens * topk, with which no slot is dropped. Where no transport is given, a
    `pair-capacity` chooses `capacity`; otherwise it is `peer` where all ranks are in one NVLink domain (`mesh=nvlink`), and `exact` over a network.

    Refused by name: other uses of a plan, plans of sizes, group offsets, scales, weights that are not arguments of the function.

    Before:
    ```mlir
    %p = moe.plan %ids : tensor<6x2xi32> -> !moe.plan<groups = 4, rows = 12, tokens = 6, topk = 2>
    %g = moe.gather %x, %p : tensor<6x8xf32>, !moe.plan<groups = 4, rows = 12, tokens = 6, topk = 2> -> tensor<12x8xf32, #moe.ragged<groups = 4>>
    %y = moe.ragged_matmul %g, %w plan %p : tensor<12x8xf32, #moe.ragged<groups = 4>>, tensor<4x8x8xf32>,
        !moe.plan<groups = 4, rows = 12, tokens = 6, topk = 2> -> tensor<12x8xf32, #moe.ragged<groups = 4>>
    %o = moe.combine %y, %p weights %s : tensor<12x8xf32, #moe.ragged<groups = 4>>,
        !moe.plan<groups = 4, rows = 12, tokens = 6, topk = 2>, tensor<6x2xf32> -> tensor<6x8xf32>
    ```
    After `axis=ep size=2`:
    ```mlir
    %r = moe.route %ids : tensor<6x2xi32> -> !moe.route<axis = "ep", ranks = 2, groups = 2, topk = 2, max_tokens = 6, tokens = 6>
    %i = moe.route_ids %r : !moe.route<axis = "ep", ranks = 2, groups = 2, topk = 2, max_tokens = 6, tokens = 6> -> tensor<12x2xi32>
    %p = moe.plan %i : tensor<12x2xi32> -> !moe.plan<groups = 2, rows = 24, tokens = 12, topk = 2>
    %a = moe.dispatch %x, %r : tensor<6x8xf32>, !moe.route<axis = "ep", ranks = 2, groups = 2, topk = 2, max_tokens = 6, tokens = 6>
        -> tensor<12x8xf32>
    %g = moe.gather %a, %p : tensor<12x8xf32>, !moe.plan<groups = 2, rows = 24, tokens = 12, topk = 2>
        -> tensor<24x8xf32, #moe.ragged<groups = 2>>
    %y = moe.ragged_matmul %g, %w plan %p : tensor<24x8xf32, #moe.ragged<groups = 2>>, tensor<2x8x8xf32>,
        !moe.plan<groups = 2, rows = 24, tokens = 12, topk = 2> -> tensor<24x8xf32, #moe.ragged<groups = 2>>
    %o = moe.combine_ranks %y, %p, %r weights %s : tensor<24x8xf32, #moe.ragged<groups = 2>>,
        !moe.plan<groups = 2, rows = 24, tokens = 12, topk = 2>,
        !moe.route<axis = "ep", ranks = 2, groups = 2, topk = 2, max_tokens = 6, tokens = 6>, tensor<6x2xf32> -> tensor<6x8xf32>
    ```
  }];
  let options = [
    Option<"axis", "axis", "std::string", /*default=*/"", "name of the mesh axis">,
    Option<"size", "size", "int64_t", /*default=*/"0", "its number of ranks">,
    ListOption<"owners", "owners", "int64_t", "rank of each expert (default: consecutive experts in equal parts)">,
    Option<"maxTokens", "max-tokens", "int64_t", /*default=*/"0", "the most tokens of a rank (default: those of the function, if static)">,
    Option<"capacity", "capacity", "int64_t", /*default=*/"-1", "rows of experts on a rank (default: room for all)">,
    Option<"transport", "transport", "std::string", /*default=*/"", "how rows travel: exact, capacity or peer (default: see above)">,
    Option<"mesh", "mesh", "std::string", /*default=*/"\"network\"", "what connects the ranks: nvlink or network">,
    Option<"pairCapacity", "pair-capacity", "int64_t", /*default=*/"0", "slots of one rank's tokens on another (default: room for all)">,
    Option<"partialSums", "partial-sums", "bool", /*default=*/"false", "add a token's rows on the ranks of their experts first">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}

#endif
