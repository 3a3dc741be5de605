//===- CodeGen.h - from LLVM IR to machine code, for every target -----------===//
#ifndef MOE_TARGET_COMMON_CODEGEN_H
#define MOE_TARGET_COMMON_CODEGEN_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/OptimizationLevel.h"
#include "llvm/Target/TargetMachine.h"

namespace mlir::moe {

/// LLVM's default pipeline.
void optimize(llvm::Module &module, llvm::TargetMachine &machine, llvm::OptimizationLevel level);

/// Appends the module as an object file or as assembly. Fails if the target cannot write such a file. The code
/// generator changes the module.
LogicalResult emitCode(llvm::Module &module, llvm::TargetMachine &machine, llvm::CodeGenFileType kind,
                       llvm::SmallVectorImpl<char> &output);

} // namespace mlir::moe

#endif
