//===- Shapes.h - where the dimensions of results come from ---------------===//
#ifndef MOE_LIB_DIALECT_MOE_IR_SHAPES_H
#define MOE_LIB_DIALECT_MOE_IR_SHAPES_H

#include "moe/Dialect/MoE/IR/MoE.h"

namespace mlir::moe::detail {

/// Where one dimension of a result comes from.
struct DimSource {
  enum class Kind { Constant, Dim, HalfDim, PlanRows, PlanTokens, RouteTokens };
  Kind kind;
  Value value;      ///< the tensor, plan or route
  int64_t number;   ///< the constant, or the dimension of the tensor
  const char *what; ///< for diagnostics

  /// The dimension as far as types say it.
  int64_t staticSize() const;
  /// The dimension as an attribute or index value; null if it cannot be computed.
  OpFoldResult reify(OpBuilder &builder, Location loc) const;
};

/// One result, its name in the op's definition, and its dimensions.
struct ResultDims {
  const char *name;
  SmallVector<DimSource, 3> dims;
};

/// The results of `op` in order; empty for an op that has no tensor result or is not of this dialect. Looks at
/// operand types only as far as their ODS constraints promise.
SmallVector<ResultDims, 2> getResultDims(Operation *op);

/// Rank and static sizes of every result agree with getResultDims.
LogicalResult verifyResultDims(Operation *op);

/// `what` is `found`, and must be `expected`, which is `why`. Dynamic sizes agree with anything.
LogicalResult verifyDim(Operation *op, const Twine &what, int64_t found, int64_t expected, const Twine &why);

/// `type` carries a ragged encoding with the plan's groups and align, and the plan's rows.
LogicalResult verifyRagged(Operation *op, StringRef what, RankedTensorType type, PlanType plan);

} // namespace mlir::moe::detail

#endif
