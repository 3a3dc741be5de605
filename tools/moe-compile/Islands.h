//===- Islands.h - StableHLO with custom calls for what moe can compute ---===//
#ifndef MOE_TOOLS_MOE_COMPILE_ISLANDS_H
#define MOE_TOOLS_MOE_COMPILE_ISLANDS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <string>

namespace mlir::moe {

/// Makes a .moe file of a module's text; on failure an error was emitted.
using CompileText = llvm::function_ref<FailureOr<SmallVector<char, 0>>(StringRef text)>;

/// Outlines the islands of a StableHLO module, compiles each and puts a custom call of runtime/include/moert/xla.h in
/// its place. On failure an error was emitted.
LogicalResult replaceIslands(ModuleOp module, CompileText compileText);

} // namespace mlir::moe

#endif
