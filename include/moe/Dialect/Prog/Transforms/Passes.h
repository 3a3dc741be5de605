//===- Passes.h - passes within the prog dialect --------------------------===//
#ifndef MOE_DIALECT_PROG_TRANSFORMS_PASSES_H
#define MOE_DIALECT_PROG_TRANSFORMS_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "moe/Dialect/Prog/IR/Prog.h"

namespace mlir::prog {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "moe/Dialect/Prog/Transforms/Passes.h.inc"

} // namespace mlir::prog

#endif
