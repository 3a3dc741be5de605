//===- Passes.h - passes within the moe dialect ---------------------------===//
#ifndef MOE_DIALECT_MOE_TRANSFORMS_PASSES_H
#define MOE_DIALECT_MOE_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::moe {

/// createMoECheckRaggedPass, createMoEFuseWeightsPass, and registerMoETransformsPasses.
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "moe/Dialect/MoE/Transforms/Passes.h.inc"

} // namespace mlir::moe

#endif
