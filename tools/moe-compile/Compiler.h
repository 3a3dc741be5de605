//===- Compiler.h - from MLIR text to a .moe file, phase by phase ----------===//
#ifndef MOE_TOOLS_MOE_COMPILE_COMPILER_H
#define MOE_TOOLS_MOE_COMPILE_COMPILER_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "moe/Pipelines/Pipelines.h"
#include "moe/Target/CUDA/CUDA.h"

#include <string>

namespace mlir::moe {

/// docs/architecture.md has the table.
enum class Phase { Input, MoE, Tile, Bufferized, Prog, Kernels, Object, Program };

enum class TargetKind { CPU, CUDA };

struct CompilerOptions {
  Phase last = Phase::Program;
  TargetKind target = TargetKind::CPU;
  CPULevel level;                                 ///< of the cpu target
  CUDATargetOptions cuda;                         ///< of the cuda target
  sm90::SM90ChooseSchedulesPassOptions schedules; ///< of the cuda target
  bool keepGathers = false;                       ///< of the cuda target: in products, whatever a copy would cost
  PipelineOptions pipeline;
  /// Where to write one file a phase, and a reproducer of a failure; "" for nowhere. It exists.
  std::string dumpDir;
};

/// Takes the module through the phases up to the last one and gives its text, object or file. On failure an error
/// was emitted.
FailureOr<SmallVector<char, 0>> compile(OwningOpRef<ModuleOp> module, const CompilerOptions &options);

/// The same for a module that is through phase Prog, in place.
FailureOr<SmallVector<char, 0>> compileFromProg(ModuleOp module, const CompilerOptions &options);

} // namespace mlir::moe

#endif
