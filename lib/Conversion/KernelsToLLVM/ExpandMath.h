//===- ExpandMath.h - math without a math library -------------------------===//
#ifndef MOE_LIB_CONVERSION_KERNELSTOLLVM_EXPANDMATH_H
#define MOE_LIB_CONVERSION_KERNELSTOLLVM_EXPANDMATH_H

#include "mlir/Pass/Pass.h"

namespace mlir::moe {

/// What a target has of `math` by itself; the rest becomes polynomials in f32, or is refused.
struct MathTarget {
  llvm::StringRef name;                         ///< in errors
  llvm::ArrayRef<llvm::StringRef> instructions; ///< ops beside those that every target has
};

/// Rewrites the `math` ops within `root`; an error has been emitted on failure.
LogicalResult expandMath(Operation *root, const MathTarget &target);

/// For the cpu target: expandMath, and what else LLVM would turn into calls: casts to and from bf16 become integer
/// arithmetic, minima and maxima compare and select. Integers are never divided by what would trap.
std::unique_ptr<Pass> createExpandMathPass();

} // namespace mlir::moe

#endif
