//===- CudaKernels.h - CUDA kernels in a .moe file ---------------------------===//
#ifndef MOE_LIB_TARGET_PROGRAM_CUDAKERNELS_H
#define MOE_LIB_TARGET_PROGRAM_CUDAKERNELS_H

#include "Format.h"
#include "moe/Target/Program/Program.h"

namespace mlir::moe::program {

/// `fallback` is the number of the kernel to fall back on, or -1.
flatbuffers::Offset<fb::CudaKernel> writeCudaKernel(flatbuffers::FlatBufferBuilder &fbb, const CUDAKernelInfo &kernel,
                                                    int32_t fallback);

/// How the kernel is launched, and its parameters, for people to read. `names` are of all kernels of the file.
std::vector<std::string> describeCudaKernel(const fb::CudaKernel &kernel, ArrayRef<std::string> names);

} // namespace mlir::moe::program

#endif
