//===- CommOps.cpp - verifiers of the ops between ranks -------------------===//

#include "Shapes.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "moe/Dialect/MoE/IR/Plan.h"

using namespace mlir;
using namespace mlir::moe;
using namespace mlir::moe::detail;

OpFoldResult moe::getRouteTokens(OpBuilder &builder, Location loc, Value route) {
  if (int64_t tokens = cast<RouteType>(route.getType()).getTokens(); !ShapedType::isDynamic(tokens))
    return builder.getIndexAttr(tokens);
  if (auto op = route.getDefiningOp<RouteOp>())
    return tensor::getMixedSize(builder, loc, op.getIds(), 0);
  return {};
}

SmallVector<std::pair<int32_t, int32_t>> RouteOp::getPlaces() {
  RouteType type = getRoute().getType();
  SmallVector<int32_t> next(type.getRanks(), 0);
  SmallVector<std::pair<int32_t, int32_t>> places;
  if (std::optional<ArrayRef<int32_t>> owners = getOwners()) {
    for (int32_t owner : *owners)
      places.emplace_back(owner, next[owner]++);
    return places;
  }
  for (int32_t rank = 0; rank < type.getRanks(); ++rank)
    for (int32_t group = 0; group < type.getGroups(); ++group)
      places.emplace_back(rank, group);
  return places;
}

LogicalResult RouteOp::verify() {
  auto ids = getIds().getType();
  RouteType route = getRoute().getType();
  // C1
  if (ids.isDynamicDim(1))
    return emitOpError() << "type of ids is " << ids << ", expected a static number of slots in dimension 1";
  if (failed(verifyDim(*this, "topk of the route", route.getTopk(), ids.getDimSize(1), "dimension 1 of ids")) ||
      failed(verifyDim(*this, "tokens of the route", route.getTokens(), ids.getDimSize(0), "dimension 0 of ids")))
    return failure();
  // C2
  SmallVector<int64_t> owned(route.getRanks(), 0);
  for (auto [expert, owner] : llvm::enumerate(getOwners().value_or(ArrayRef<int32_t>()))) {
    if (owner < 0 || owner >= route.getRanks())
      return emitOpError() << "owners[" << expert << "] is " << owner << ", expected a rank, 0 to "
                           << route.getRanks() - 1;
    if (++owned[owner] > route.getGroups())
      return emitOpError() << "owners gives rank " << owner << " more than " << route.getGroups()
                           << " experts (groups of the route)";
  }
  // C3
  int64_t tokens = ShapedType::isDynamic(route.getTokens()) ? ids.getDimSize(0) : route.getTokens();
  if (!ShapedType::isDynamic(tokens) && tokens > route.getMaxTokens())
    return emitOpError() << "has " << tokens << " tokens, expected at most " << route.getMaxTokens()
                         << " (max_tokens of the route)";
  return success();
}

LogicalResult RouteIdsOp::verify() { return verifyResultDims(*this); }

/// `found` is `expected`, or f32 where that is allowed.
static LogicalResult verifyElementType(Operation *op, Type found, Type expected, StringRef whose, bool mayBeF32) {
  if (found == expected || (mayBeF32 && found.isF32()))
    return success();
  return op->emitOpError() << "element type of result is " << found << ", expected " << expected
                           << (mayBeF32 ? " or f32 (that of " : " (that of ") << whose << ")";
}

LogicalResult DispatchOp::verify() {
  // C1
  if (failed(verifyDim(*this, "number of rows of x", getX().getType().getDimSize(0), getRoute().getType().getTokens(),
                       "tokens of the route")))
    return failure();
  // C2
  if (failed(verifyElementType(*this, getType().getElementType(), getX().getType().getElementType(), "x", false)))
    return failure();
  return verifyResultDims(*this);
}

LogicalResult CollectOp::verify() {
  // C1
  if (failed(verifyDim(*this, "number of rows of y", getY().getType().getDimSize(0), getRoute().getType().getArrivals(),
                       "arrivals of the route")))
    return failure();
  // C2
  if (failed(verifyElementType(*this, getType().getElementType(), getY().getType().getElementType(), "y", true)))
    return failure();
  return verifyResultDims(*this);
}

LogicalResult CombineRanksOp::verify() {
  PlanType plan = getPlan().getType();
  RouteType route = getRoute().getType();
  // C1
  if (failed(verifyDim(*this, "groups of the plan", plan.getGroups(), route.getGroups(), "groups of the route")) ||
      failed(verifyDim(*this, "topk of the plan", plan.getTopk(), route.getTopk(), "topk of the route")) ||
      failed(verifyDim(*this, "tokens of the plan", plan.getTokens(), route.getArrivals(), "arrivals of the route")) ||
      failed(verifyRagged(*this, "y", getY().getType(), plan)))
    return failure();
  // C2
  if (Value weights = getWeights()) {
    auto type = cast<RankedTensorType>(weights.getType());
    if (failed(
            verifyDim(*this, "dimension 0 of weights", type.getDimSize(0), route.getTokens(), "tokens of the route")) ||
        failed(verifyDim(*this, "dimension 1 of weights", type.getDimSize(1), route.getTopk(), "topk of the route")))
      return failure();
  }
  // C3
  if (failed(verifyElementType(*this, getType().getElementType(), getY().getType().getElementType(), "y", true)))
    return failure();
  return verifyResultDims(*this);
}

LogicalResult AllToAllOp::verify() {
  auto x = cast<RankedTensorType>(getX().getType()), result = cast<RankedTensorType>(getType());
  int64_t ranks = getRanks();
  // C1
  if (ranks < 1 || ranks > INT32_MAX)
    return emitOpError() << "ranks is " << ranks << ", expected at least 1";
  if (getAxis().empty())
    return emitOpError("axis is empty, expected the name of a mesh axis");
  // C2
  if (static_cast<bool>(getFrom()) != static_cast<bool>(getTo()))
    return emitOpError() << "has only the plan '" << (getFrom() ? "from" : "to") << "', expected both or none";
  for (auto [plan, name, type, what] :
       {std::tuple(getFrom(), "groups of from", x, "x"), std::tuple(getTo(), "groups of to", result, "result")}) {
    if (!plan) {
      if (type.getEncoding())
        return emitOpError() << what << " is " << type << ", expected a plain tensor (there are no plans)";
      continue;
    }
    auto planType = cast<PlanType>(plan.getType());
    if (failed(verifyDim(*this, name, planType.getGroups(), ranks, "ranks")) ||
        failed(verifyRagged(*this, what, type, planType)))
      return failure();
  }
  // C3
  if (failed(verifyElementType(*this, result.getElementType(), x.getElementType(), "x", false)))
    return failure();
  if (!getFrom() && !x.isDynamicDim(0) && x.getDimSize(0) % ranks != 0)
    return emitOpError() << "x has " << x.getDimSize(0) << " rows, expected a number divisible by " << ranks
                         << " ranks";
  return verifyResultDims(*this);
}
