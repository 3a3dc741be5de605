//===- Plan.h - what is known of a routing plan --------------------------===//
#ifndef MOE_DIALECT_MOE_IR_PLAN_H
#define MOE_DIALECT_MOE_IR_PLAN_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include <optional>

namespace mlir::moe {

/// Rows M of the tensors that are ragged by `plan`: an index attribute where the type or constants say it, else
/// an index value computed before the builder's insertion point. Null if `plan` is not the result of a
/// `moe.plan` or `moe.plan_from_sizes` and its type does not say.
OpFoldResult getPlanRows(OpBuilder &builder, Location loc, Value plan);

/// Tokens T of a plan with slots, in the same way.
OpFoldResult getPlanTokens(OpBuilder &builder, Location loc, Value plan);

/// Tokens T of a route on this rank, in the same way.
OpFoldResult getRouteTokens(OpBuilder &builder, Location loc, Value route);

/// Rows of a plan of `tokens` tokens with `topk` slots each and no capacity: tokens * topk, plus the padding
/// that aligned group starts may need. Null if one of them is dynamic or the result does not fit in 64 bits.
std::optional<int64_t> getStaticPlanRows(int64_t tokens, int64_t topk, int64_t groups, int64_t align);

/// True if it is known at compile time that no row belongs to any group of `plan`.
bool hasNoRows(Value plan);

} // namespace mlir::moe

#endif
