//===- Shapes.cpp - where the dimensions of results come from -------------===//

#include "Shapes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "moe/Dialect/MoE/IR/Plan.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::moe;
using namespace mlir::moe::detail;

using Kind = DimSource::Kind;

static DimSource dim(Value tensor, int64_t number, const char *what) { return {Kind::Dim, tensor, number, what}; }
static DimSource halfDim(Value tensor, int64_t number, const char *what) {
  return {Kind::HalfDim, tensor, number, what};
}
static DimSource constant(int64_t number, const char *what) { return {Kind::Constant, Value(), number, what}; }
static DimSource planRows(Value plan) { return {Kind::PlanRows, plan, 0, "rows of the plan"}; }
static DimSource planTokens(Value plan) { return {Kind::PlanTokens, plan, 0, "tokens of the plan"}; }

static DimSource routeTokens(Value route) { return {Kind::RouteTokens, route, 0, "tokens of the route"}; }
static DimSource arrivals(Value route) {
  return constant(cast<RouteType>(route.getType()).getArrivals(), "arrivals of the route");
}

static int64_t typeDim(Value tensor, int64_t number) {
  return cast<RankedTensorType>(tensor.getType()).getDimSize(number);
}

//===----------------------------------------------------------------------===//
// The rules
//===----------------------------------------------------------------------===//

static SmallVector<DimSource, 3> planFieldDims(PlanGetOp op) {
  Value plan = op.getPlan();
  auto type = cast<PlanType>(plan.getType());
  switch (op.getField()) {
  case PlanField::Sizes:
    return {constant(type.getGroups(), "groups of the plan")};
  case PlanField::Bounds:
    return {constant(type.getGroups(), "groups of the plan"), constant(2, "begin and end")};
  case PlanField::Permutation:
  case PlanField::Token:
    return {planRows(plan)};
  case PlanField::Inverse:
    return {planTokens(plan), constant(type.getTopk(), "topk of the plan")};
  case PlanField::Dropped:
    return {constant(1, "one count")};
  }
  return {};
}

static SmallVector<DimSource, 3> matmulDims(RaggedMatmulOp op) {
  Value lhs = op.getLhs(), rhs = op.getRhs(), plan = op.getPlan();
  // Ranks depend on the mode; a wrong one is reported by the verifier before it asks for dimensions.
  DimSource columns = dim(rhs, op.getLayout() == WeightLayout::KN ? 2 : 1, "columns of rhs");
  switch (op.getMode()) {
  case RaggedMode::Rows: {
    bool staticPlan = !ShapedType::isDynamic(cast<PlanType>(plan.getType()).getRows());
    return {staticPlan ? planRows(plan) : dim(lhs, 0, "rows of lhs"), columns};
  }
  case RaggedMode::Contraction: {
    // The result has acc's type, so it is only ever sharpened together with acc.
    if (Value acc = op.getAcc())
      return {dim(acc, 0, "groups of acc"), dim(acc, 1, "rows of acc"), dim(acc, 2, "columns of acc")};
    // With group_offset the result's own type says how many groups it holds.
    int64_t groups = op.getGroupOffset() ? typeDim(op.getResult(), 0) : cast<PlanType>(plan.getType()).getGroups();
    return {constant(groups, "groups of the plan"), dim(lhs, 1, "columns of lhs"), dim(rhs, 1, "columns of rhs")};
  }
  case RaggedMode::Batch:
    return {dim(lhs, 0, "batches of lhs"), dim(lhs, 1, "rows of lhs"), columns};
  }
  return {};
}

SmallVector<ResultDims, 2> moe::detail::getResultDims(Operation *op) {
  using Results = SmallVector<ResultDims, 2>;
  return llvm::TypeSwitch<Operation *, Results>(op)
      .Case([](LogitsOp op) -> Results {
        bool kn = op.getLayout() == WeightLayout::KN;
        return {{"result", {dim(op.getX(), 0, "rows of x"), dim(op.getRouter(), kn ? 1 : 0, "experts of router")}}};
      })
      .Case([](ScoresOp op) -> Results {
        return {{"result", {dim(op.getLogits(), 0, "rows of logits"), dim(op.getLogits(), 1, "columns of logits")}}};
      })
      .Case([](SelectOp op) -> Results {
        SmallVector<DimSource, 3> dims = {dim(op.getScores(), 0, "rows of scores"), constant(op.getK(), "k")};
        return {{"ids", dims}, {"values", dims}};
      })
      .Case([](NormalizeOp op) -> Results {
        return {{"result", {dim(op.getValues(), 0, "rows of values"), dim(op.getValues(), 1, "columns of values")}}};
      })
      .Case([](PlanGetOp op) -> Results { return {{"result", planFieldDims(op)}}; })
      .Case([](GatherOp op) -> Results {
        return {{"result", {planRows(op.getPlan()), dim(op.getX(), 1, "columns of x")}}};
      })
      .Case([](RaggedMatmulOp op) -> Results { return {{"result", matmulDims(op)}}; })
      .Case([](GroupSumOp op) -> Results {
        int64_t groups = cast<PlanType>(op.getPlan().getType()).getGroups();
        return {{"result", {constant(groups, "groups of the plan"), dim(op.getX(), 1, "columns of x")}}};
      })
      .Case([](GatedActivationOp op) -> Results {
        return {{"result", {dim(op.getX(), 0, "rows of x"), halfDim(op.getX(), 1, "half the columns of x")}}};
      })
      .Case([](CombineOp op) -> Results {
        bool staticPlan = !ShapedType::isDynamic(cast<PlanType>(op.getPlan().getType()).getTokens());
        DimSource tokens =
            op.getWeights() && !staticPlan ? dim(op.getWeights(), 0, "rows of weights") : planTokens(op.getPlan());
        return {{"result", {tokens, dim(op.getY(), 1, "columns of y")}}};
      })
      .Case([](RouteIdsOp op) -> Results {
        return {
            {"result", {arrivals(op.getRoute()), constant(op.getRoute().getType().getTopk(), "topk of the route")}}};
      })
      .Case([](DispatchOp op) -> Results {
        return {{"result", {arrivals(op.getRoute()), dim(op.getX(), 1, "columns of x")}}};
      })
      .Case<CollectOp, CombineRanksOp>([](auto op) -> Results {
        return {{"result", {routeTokens(op.getRoute()), dim(op.getY(), 1, "columns of y")}}};
      })
      .Case([](AllToAllOp op) -> Results {
        SmallVector<DimSource, 3> dims{op.getTo() ? planRows(op.getTo()) : dim(op.getX(), 0, "rows of x")};
        for (int64_t d = 1, rank = cast<RankedTensorType>(op.getX().getType()).getRank(); d < rank; ++d)
          dims.push_back(dim(op.getX(), d, "columns of x"));
        return {{"result", dims}};
      })
      .Default([](Operation *) { return Results(); });
}

//===----------------------------------------------------------------------===//
// Their uses
//===----------------------------------------------------------------------===//

int64_t DimSource::staticSize() const {
  switch (kind) {
  case Kind::Constant:
    return number;
  case Kind::Dim:
    return typeDim(value, number);
  case Kind::HalfDim: {
    int64_t size = typeDim(value, number);
    return ShapedType::isDynamic(size) ? size : size / 2;
  }
  case Kind::PlanRows:
    return cast<PlanType>(value.getType()).getRows();
  case Kind::PlanTokens:
    return cast<PlanType>(value.getType()).getTokens();
  case Kind::RouteTokens:
    return cast<RouteType>(value.getType()).getTokens();
  }
  return ShapedType::kDynamic;
}

OpFoldResult DimSource::reify(OpBuilder &builder, Location loc) const {
  if (int64_t size = staticSize(); !ShapedType::isDynamic(size))
    return builder.getIndexAttr(size);
  switch (kind) {
  case Kind::Constant:
    return {};
  case Kind::Dim:
    return tensor::getMixedSize(builder, loc, value, number);
  case Kind::HalfDim: {
    Value whole = getValueOrCreateConstantIndexOp(builder, loc, tensor::getMixedSize(builder, loc, value, number));
    Value two = arith::ConstantIndexOp::create(builder, loc, 2);
    return arith::DivUIOp::create(builder, loc, whole, two).getResult();
  }
  case Kind::PlanRows:
    return getPlanRows(builder, loc, value);
  case Kind::PlanTokens:
    return getPlanTokens(builder, loc, value);
  case Kind::RouteTokens:
    return getRouteTokens(builder, loc, value);
  }
  return {};
}

LogicalResult moe::detail::reifyResultDims(Operation *op, OpBuilder &builder, ReifiedRankedShapedTypeDims &shapes) {
  for (auto [index, result] : llvm::enumerate(getResultDims(op))) {
    auto type = cast<RankedTensorType>(op->getResult(index).getType());
    SmallVector<OpFoldResult> &sizes = shapes.emplace_back();
    for (auto [number, source] : llvm::enumerate(result.dims)) {
      // A size that the result's own type says must be an attribute.
      OpFoldResult size = type.isDynamicDim(number) ? source.reify(builder, op->getLoc())
                                                    : OpFoldResult(builder.getIndexAttr(type.getDimSize(number)));
      // Where the type is dynamic, callers expect a value.
      if (size && type.isDynamicDim(number))
        size = getValueOrCreateConstantIndexOp(builder, op->getLoc(), size);
      sizes.push_back(size);
    }
  }
  return success();
}

LogicalResult moe::detail::verifyDim(Operation *op, const Twine &what, int64_t found, int64_t expected,
                                     const Twine &why) {
  if (found == expected || ShapedType::isDynamic(found) || ShapedType::isDynamic(expected))
    return success();
  return op->emitOpError() << what << " is " << found << ", expected " << expected << " (" << why << ")";
}

LogicalResult moe::detail::verifyResultDims(Operation *op) {
  for (auto [index, result] : llvm::enumerate(getResultDims(op))) {
    auto type = cast<RankedTensorType>(op->getResult(index).getType());
    if (type.getRank() != static_cast<int64_t>(result.dims.size()))
      return op->emitOpError() << "rank of " << result.name << " is " << type.getRank() << ", expected "
                               << result.dims.size();
    for (auto [number, source] : llvm::enumerate(result.dims))
      if (failed(verifyDim(op, "dimension " + Twine(number) + " of " + result.name, type.getDimSize(number),
                           source.staticSize(), source.what)))
        return failure();
  }
  return success();
}

LogicalResult moe::detail::verifyRagged(Operation *op, StringRef what, RankedTensorType type, PlanType plan) {
  auto ragged = dyn_cast_if_present<RaggedAttr>(type.getEncoding());
  if (!ragged)
    return op->emitOpError() << what << " is " << type
                             << ", expected a ragged encoding with groups = " << plan.getGroups()
                             << ", align = " << plan.getAlign() << " (those of the plan)";
  if (failed(verifyDim(op, "groups of " + what, ragged.getGroups(), plan.getGroups(), "groups of the plan")) ||
      failed(verifyDim(op, "align of " + what, ragged.getAlign(), plan.getAlign(), "align of the plan")))
    return failure();
  return verifyDim(op, "number of rows of " + what, type.getDimSize(0), plan.getRows(), "rows of the plan");
}
