//===- ExpandMath.h - math without a math library -------------------------===//
#ifndef MOE_LIB_CONVERSION_KERNELSTOLLVM_EXPANDMATH_H
#define MOE_LIB_CONVERSION_KERNELSTOLLVM_EXPANDMATH_H

#include "mlir/Pass/Pass.h"

namespace mlir::moe {

/// Rewrites `math` and `arith` ops that LLVM would turn into calls: exponentials and the like become polynomials (f32;
/// narrower types are computed in f32), casts to and from bf16 integer arithmetic, minima and maxima compare and
/// select.
std::unique_ptr<Pass> createExpandMathPass();

} // namespace mlir::moe

#endif
