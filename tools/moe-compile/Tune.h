//===- Tune.h - measures the schedules of a program's products -------------------===//
#ifndef MOE_TOOLS_MOE_COMPILE_TUNE_H
#define MOE_TOOLS_MOE_COMPILE_TUNE_H

#include "Compiler.h"

namespace mlir::moe {

struct TuneOptions {
  std::string table; ///< the file that gets the fastest schedules; it need not be there
  uint64_t seed = 0; ///< of the operands and the group sizes
};

/// Measures schedules of every product of the module (which is at phase Input and is not changed) that suits wgmma and
/// has none, on GPU 0, says what they took, and puts the fastest into the table. On failure an error was emitted.
LogicalResult tune(ModuleOp module, const CompilerOptions &options, const TuneOptions &tuning);

} // namespace mlir::moe

#endif
