//===- Ptxas.h - from PTX to a cubin ----------------------------------------===//
#ifndef MOE_LIB_TARGET_CUDA_PTXAS_H
#define MOE_LIB_TARGET_CUDA_PTXAS_H

#include "moe/Target/CUDA/CUDA.h"

namespace mlir::moe {

/// Something ptxas said that makes a kernel slower than it is written, or nothing.
struct PtxasFinding {
  std::string kernel; ///< "" if ptxas does not say which
  std::string text;
};

/// Reads what `ptxas -v --warn-on-spills` prints: what each kernel uses, and the findings.
void readPtxasLog(StringRef log, std::vector<CUDAKernelUse> &kernels, std::vector<PtxasFinding> &findings);

/// Runs ptxas. Errors as of compileToCubin are emitted at `loc`.
FailureOr<CUDACode> runPtxas(StringRef ptx, const CUDATargetOptions &options, llvm::raw_ostream *log, Location loc);

} // namespace mlir::moe

#endif
