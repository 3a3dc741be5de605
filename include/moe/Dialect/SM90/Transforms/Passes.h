//===- Passes.h - passes that choose how kernels run on sm90 ----------------===//
#ifndef MOE_DIALECT_SM90_TRANSFORMS_PASSES_H
#define MOE_DIALECT_SM90_TRANSFORMS_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "moe/Dialect/SM90/IR/SM90.h"

namespace mlir::sm90 {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "moe/Dialect/SM90/Transforms/Passes.h.inc"

} // namespace mlir::sm90

#endif
