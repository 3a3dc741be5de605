//===- Program.h - from the prog dialect to a .moe file and back -----------===//
#ifndef MOE_TARGET_PROGRAM_PROGRAM_H
#define MOE_TARGET_PROGRAM_PROGRAM_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace mlir::moe {

/// What the kernels of a file were compiled for.
struct ProgramTarget {
  std::string kind; ///< "cpu" or "cuda"
  std::string arch; ///< for the cpu, a level: "x86-64-v3"; for cuda, "sm_90a"
};

/// How the host launches a kernel of the cuda target.
struct CUDAKernelInfo {
  std::string name;
  ArrayAttr params;       ///< sm90 parameter attributes
  Attribute launch;       ///< an sm90::LaunchAttr
  std::string fallback;   ///< the kernel for arguments of which a tensor map cannot be made, or ""
  unsigned registers = 0; ///< of a thread
  unsigned stack = 0;     ///< bytes of a thread
};

/// What the functions of the gpu.module in module @kernels say of themselves; `convert-sm90-to-nvvm` has run. On
/// failure an error was emitted at the function that does not say it.
FailureOr<std::vector<CUDAKernelInfo>> getCUDAKernels(ModuleOp kernels);

/// The bytes of the .moe file with every prog.program of the module as an entry, in order, and the shared object of the
/// kernels they launch. Module @kernels must still say what these take and whether they write it. On failure an error
/// was emitted at the op that cannot be in a file. `cuda` has every kernel that is launched, and those they fall back
/// on, if the target is cuda; then the object is a cubin.
FailureOr<SmallVector<char, 0>> translateToProgram(ModuleOp module, ArrayRef<char> object, const ProgramTarget &target,
                                                   ArrayRef<CUDAKernelInfo> cuda = {});

/// A kernel as the file names it.
struct ProgramKernel {
  std::string name;
  unsigned numArgs, numScalars;
  /// cuda: how it is launched and what each parameter is, a line each, for people to read.
  std::vector<std::string> launch;
};

/// A .moe file as MLIR.
struct ReadProgram {
  OwningOpRef<ModuleOp> module; ///< the programs, and module @kernels with declarations of what they launch
  ProgramTarget target;
  std::string producer; ///< the compiler that wrote it
  SmallVector<ProgramKernel> kernels;
  ArrayRef<char> object; ///< in the bytes that were read
};

/// Reads a .moe file after the runtime's loader has checked it. `name` is the file's, for diagnostics. The bytes must
/// outlive the result. On failure an error was emitted at `name`. The context must have loaded the dialects prog, arith
/// and func.
FailureOr<ReadProgram> readProgram(ArrayRef<char> bytes, StringRef name, MLIRContext *context);

/// Writes a file all or nothing: a temporary file beside it takes its name. "-" is standard output. What is there and
/// no regular file is refused, as the name would be taken from a device or a pipe.
llvm::Error writeFile(StringRef path, ArrayRef<char> bytes);

} // namespace mlir::moe

#endif
