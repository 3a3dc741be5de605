//===- Raise.h - from idioms of StableHLO to moe --------------------------===//
//
// Patterns for what moe-normalize-stablehlo leaves. Each knows one small idiom and makes a moe op of it, on plain
// tensors between casts; CSE finds that two idioms speak of one plan. Whatever is not an idiom stays.
//
//===----------------------------------------------------------------------===//
#ifndef MOE_LIB_CONVERSION_STABLEHLOTOMOE_RAISE_H
#define MOE_LIB_CONVERSION_STABLEHLOTOMOE_RAISE_H

#include "Stablehlo.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "moe/Dialect/MoE/IR/MoE.h"

namespace mlir::moe::stablehlo {

/// Routers limited to groups, which are made of several top_k.
void populateGroupLimitPatterns(RewritePatternSet &patterns);

void populateRouterPatterns(RewritePatternSet &patterns);
void populatePlanPatterns(RewritePatternSet &patterns);
void populateRowPatterns(RewritePatternSet &patterns);
void populateActivationPatterns(RewritePatternSet &patterns);
/// What is done with the rows of slots becomes work on the rows of groups.
void populateSlotPatterns(RewritePatternSet &patterns);

/// A product of tokens and a router, in either layout.
LogicalResult raiseLogits(Operation *dot, PatternRewriter &rewriter);

//===----------------------------------------------------------------------===//
// Parts of idioms
//===----------------------------------------------------------------------===//

/// The number of which every element is; none if they are not all one constant.
std::optional<double> getSplat(Value value);

/// What is broadcast along all dimensions but `dims`, or reshaped if those have size 1; null if it is neither.
Value getBroadcastSource(Value value, ArrayRef<int64_t> dims);

/// What a reshape reshapes; the value itself if it is none.
Value skipReshape(Value value);

/// Without a widening of integers.
Value skipExtension(Value value);

/// What is reduced along one dimension by `combiner` (such as stablehlo.add), from the neutral element on; null if it
/// is no such reduction.
Value getReduced(Value value, StringRef combiner, int64_t dim);

/// The operands, if an OpTy makes the value.
template <typename OpTy> std::optional<std::pair<Value, Value>> getOperands(Value value) {
  auto op = value.getDefiningOp<OpTy>();
  if (!op)
    return std::nullopt;
  return std::pair(op->getOperand(0), op->getOperand(1));
}

/// Calls `match` with the operands in both orders; true as soon as it is.
template <typename OpTy> bool matchEitherOrder(Value value, llvm::function_ref<bool(Value, Value)> match) {
  auto operands = getOperands<OpTy>(value);
  return operands && (match(operands->first, operands->second) || match(operands->second, operands->first));
}

/// The plan, if it is made from ids that are all in range and drops nothing: each row is a slot and each slot a row.
PlanOp getFullPlan(Value plan);

/// The plan of which the indices are this field, as a vector or column of any integer type; null if they are not, or if
/// the plan is not full.
PlanOp getPlanOf(Value indices, PlanField field);

/// What is taken by row number: x[index] for the rows of a matrix, or the elements of a vector.
struct Taken {
  Value from, index;
};
std::optional<Taken> getTaken(Value value);

/// A field of a plan, reshaped and widened to `type`.
Value createField(PatternRewriter &rewriter, Location loc, Value plan, PlanField field, RankedTensorType type);

/// from[index], for a matrix or vector and numbers of any shape that are in range.
Value createTake(PatternRewriter &rewriter, Location loc, Value from, Value index);

RaggedAttr getRagged(Value value);

/// The value as a ragged tensor of the plan: without the cast if it was ragged by this plan.
Value castToRagged(PatternRewriter &rewriter, Location loc, Value value, Value plan);
/// The value as a plain tensor.
Value castToPlain(PatternRewriter &rewriter, Location loc, Value value);

/// The plan that a ragged value goes by; null if it is not known.
Value findPlan(Value ragged);

inline Value extendToF32(PatternRewriter &rewriter, Location loc, Value value) {
  RankedTensorType type = getTensor(value);
  if (type.getElementType().isF32())
    return value;
  return arith::ExtFOp::create(rewriter, loc, type.clone(rewriter.getF32Type()), value);
}

inline bool isMoEFloat(Type type) { return type.isF32() || type.isBF16() || type.isF16(); }

} // namespace mlir::moe::stablehlo

#endif
