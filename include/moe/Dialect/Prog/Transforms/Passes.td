//===- Passes.td - passes within the prog dialect ------------------------===//

#ifndef MOE_DIALECT_PROG_TRANSFORMS_PASSES_TD
#define MOE_DIALECT_PROG_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def ProgPlanArenaPass : Pass<"prog-plan-arena", "::mlir::prog::ProgramOp"> {
  let summary = "gives every buffer its place in the arena";
  let description = [{
    A buffer lives from its first to its last use. Buffers that live at the same time do not overlap; others may share memory. Offsets are
    multiples of 64 bytes, and expressions where sizes are dynamic.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

#endif
