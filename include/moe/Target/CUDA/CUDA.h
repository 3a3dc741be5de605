//===- CUDA.h - machine code of the cuda target ---------------------------===//
#ifndef MOE_TARGET_CUDA_CUDA_H
#define MOE_TARGET_CUDA_CUDA_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Location.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace mlir::moe {

struct CUDATargetOptions {
  std::string chip = "sm_90a"; ///< as ptxas has it
  int64_t ptxVersion = 88;     ///< 10 times the version of PTX: 88 is 8.8
  std::string ptxas;           ///< the program; "" to look for it (findCUDATool)
};

/// Refuses a chip or a version of PTX that this LLVM does not have, or that the kernels cannot do with: LLVM would end
/// the process later. The error is emitted at `loc`.
LogicalResult checkCUDATarget(const CUDATargetOptions &options, Location loc);

/// The path of a program of the CUDA toolkit, such as "ptxas": `given` if it is not empty, else from PATH, CUDA_HOME,
/// CUDA_PATH or /usr/local/cuda. An error that names all of these was emitted at `loc` if it is nowhere.
FailureOr<std::string> findCUDATool(StringRef name, StringRef given, Location loc);

/// What ptxas says of a kernel.
struct CUDAKernelUse {
  std::string name;
  unsigned registers = 0; ///< of a thread
  unsigned stack = 0;     ///< bytes of a thread
  unsigned shared = 0;    ///< bytes of static shared memory
};

struct CUDACode {
  llvm::SmallVector<char, 0> cubin;
  std::vector<CUDAKernelUse> kernels;
};

/// What a kernel consists of. Padding is not counted.
struct SassCounts {
  std::string kernel;
  unsigned instructions = 0;
  unsigned wgmmas = 0;                    ///< HGMMA
  unsigned bulkLoads = 0, bulkStores = 0; ///< UTMALDG; UTMASTG and UTMAREDG
  unsigned locals = 0;                    ///< LDL and STL: spills, or arrays of a thread
};

/// Counts the instructions of each kernel of a cubin, which may come from anywhere.
llvm::Expected<std::vector<SassCounts>> countSass(ArrayRef<char> cubin);
/// Such as "1532 instructions, 8 wgmmas, 4 bulk loads, 3 bulk stores, 0 local loads and stores".
std::string describe(const SassCounts &counts);
/// Prints a kernel of a cubin as nvdisasm does, which must be installed.
LogicalResult disassembleCubin(ArrayRef<char> cubin, StringRef kernel, Location loc, llvm::raw_ostream &os);

/// Where to print on the way; nothing is printed where null. Borrowed.
struct CUDADumps {
  llvm::raw_ostream *llvmIR = nullptr, *ptx = nullptr, *log = nullptr, *cubin = nullptr, *counts = nullptr;
};

/// Compiles the gpu.module in module @kernels, in the LLVM dialect: LLVM makes PTX, ptxas makes the cubin. A kernel
/// that spills registers, or of which ptxas says that its wgmma or its register budgets do not do what they should, is
/// an error that names it.
FailureOr<CUDACode> compileToCubin(ModuleOp kernels, const CUDATargetOptions &options, const CUDADumps &dumps);

} // namespace mlir::moe

#endif
