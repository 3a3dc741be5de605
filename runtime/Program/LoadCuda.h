//===- LoadCuda.h - checks what a file says of its CUDA kernels --------------------===//
#ifndef MOERT_PROGRAM_LOADCUDA_H
#define MOERT_PROGRAM_LOADCUDA_H

#include "Program.h"
#include "program_generated.h"

namespace moert {

/// Checks and decodes everything that can be said of a kernel without its arguments. `numKernels` is how many the
/// file has.
moe_status *decodeCudaKernel(const moe::fb::Kernel &from, size_t numKernels, Kernel &kernel);

/// Checks the fallbacks of all kernels, once they are decoded.
moe_status *checkFallbacks(const std::vector<Kernel> &kernels);

/// Checks that the parameters of a kernel can be made of these buffers, to which `step`, a launch, refers.
moe_status *checkCudaArguments(const Kernel &kernel, const std::vector<Buffer> &buffers, const Step &step, size_t i);

} // namespace moert

#endif
