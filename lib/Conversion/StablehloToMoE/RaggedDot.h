//===- RaggedDot.h - reading a ragged dot of unregistered StableHLO -------===//
#ifndef MOE_LIB_CONVERSION_STABLEHLOTOMOE_RAGGEDDOT_H
#define MOE_LIB_CONVERSION_STABLEHLOTOMOE_RAGGEDDOT_H

#include "mlir/IR/Operation.h"
#include <optional>
#include <string>

namespace mlir::moe::stablehlo {

/// Dimension numbers and precision of a ragged dot, as both spellings carry them.
struct RaggedDot {
  SmallVector<int64_t> lhsBatching, rhsBatching, lhsContracting, rhsContracting, lhsRagged, rhsGroup;
  SmallVector<std::string> precision; ///< one an operand, such as HIGHEST; empty for the default

  /// True if every operand has the default precision.
  bool hasDefaultPrecision() const {
    return llvm::all_of(precision, [](StringRef name) { return name == "DEFAULT"; });
  }
};

/// Whether a precision_config asks for more than the default, which allows TF32; none if it is not readable.
std::optional<bool> isExact(Attribute precisionConfig);

/// Whether the op is a ragged dot: `chlo.ragged_dot`, or a `stablehlo.composite` of that name.
bool isRaggedDot(Operation *op);

/// Reads the attributes of a ragged dot. On failure `why` says what is unknown about it.
FailureOr<RaggedDot> readRaggedDot(Operation *op, std::string &why);

} // namespace mlir::moe::stablehlo

#endif
