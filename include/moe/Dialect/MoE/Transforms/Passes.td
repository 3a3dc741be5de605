//===- Passes.td - passes within the moe dialect -------------------------===//

#ifndef MOE_DIALECT_MOE_TRANSFORMS_PASSES_TD
#define MOE_DIALECT_MOE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def MoECheckRaggedPass : Pass<"moe-check-ragged"> {
  let summary = "rejects programs that would read undefined rows or mix plans";
  let description = [{
    Follows every ragged value from its producer through upstream ops and refuses:
    - a function result or a non-ragged use that may hold undefined rows;
    - a reduction over rows whose tail is undefined;
    - an op whose plan differs from the plan its ragged operand was made with;
    - a plan that crosses a function boundary;
    - a row count and pitch whose element offset can pass 2^31 together with 32-bit index arithmetic;
    - a scale block that does not fit the alignment of the groups.
  }];
}

def MoEFuseWeightsPass : Pass<"moe-fuse-weights"> {
  let summary = "moves routing weights from a combine into the product that feeds it";
  let description = [{
    `combine(ragged_matmul(a, w), weights)` becomes `combine(ragged_matmul(a, w, weights))`, if the product has no other use and no
    weights of its own. The product's rows are scaled in f32 before they are rounded, so the result differs from the
    unfused one by at most the rounding of the intermediate. A combine that is not rewritten gets a remark that says why.
  }];
  let dependentDialects = ["::mlir::moe::MoEDialect"];
}

#endif
