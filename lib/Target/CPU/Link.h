//===- Link.h - from an object file to a shared object --------------------===//
#ifndef MOE_LIB_TARGET_CPU_LINK_H
#define MOE_LIB_TARGET_CPU_LINK_H

#include "mlir/IR/Location.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir::moe {

/// Links one object file into a shared object that needs nothing and runs nothing when it is loaded, and checks that it
/// is so and that it exports `symbols`. On failure an error was emitted at `loc`.
FailureOr<llvm::SmallVector<char, 0>> linkSharedObject(llvm::ArrayRef<char> object, llvm::ArrayRef<std::string> symbols,
                                                       Location loc);

} // namespace mlir::moe

#endif
