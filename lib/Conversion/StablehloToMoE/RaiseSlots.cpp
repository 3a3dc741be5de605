//===- RaiseSlots.cpp - from the rows of slots to those of groups ---------===//
//
// The gradient of a layer that sums the slots [T, k, H] of each token works on slots, while the products before and
// after work on rows. Here its work goes where the rows are, as it is in the gradient of a layer that scatters rows.
//
//===----------------------------------------------------------------------===//

#include "Normalize.h"
#include "Raise.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::moe;
using namespace mlir::moe::stablehlo;

/// The permutation of a plan's rows, or its inverse, as a vector.
static Value createOrder(PatternRewriter &rewriter, Location loc, PlanOp plan, PlanField field) {
  auto type = RankedTensorType::get({plan.getPlan().getType().getRows()}, rewriter.getI32Type());
  return createField(rewriter, loc, plan.getPlan(), field, type);
}

static bool isOfSlots(RankedTensorType type, PlanOp plan) {
  PlanType planType = plan.getPlan().getType();
  return type.getRank() == 3 && type.getDimSize(0) == planType.getTokens() && type.getDimSize(1) == planType.getTopk();
}

/// zeros.at[order].add(rows), where the order is a plan's, and so each row has a place of its own: a gather by the
/// inverse.
static LogicalResult moveScatteredRows(Operation *op, PatternRewriter &rewriter) {
  std::optional<Dimensions> dims = getDimensions(op, "scatter_dimension_numbers");
  if (!dims ||
      *dims != Dimensions{{"update_window_dims", {1}},
                          {"inserted_window_dims", {0}},
                          {"scatter_dims_to_operand_dims", {0}},
                          {"index_vector_dim", {1}}} ||
      getBinaryRegion(op) != "stablehlo.add" || !matchPattern(op->getOperand(0), m_AnyZeroFloat()) ||
      op->getOperand(2).getType() != op->getResult(0).getType())
    return failure();
  for (auto [to, from] :
       {std::pair(PlanField::Permutation, PlanField::Inverse), std::pair(PlanField::Inverse, PlanField::Permutation)}) {
    PlanOp plan = getPlanOf(op->getOperand(1), to);
    if (!plan || getTensor(op->getResult(0)).getDimSize(0) != plan.getPlan().getType().getRows())
      continue;
    Value order = createOrder(rewriter, op->getLoc(), plan, from);
    rewriter.replaceOp(op, createTake(rewriter, op->getLoc(), op->getOperand(2), order));
    return success();
  }
  return failure();
}

/// (repeat(x, k) * w)[permutation]: the rows of tokens, times w[permutation].
static LogicalResult moveWeightedTokens(Operation *op, PatternRewriter &rewriter) {
  std::optional<Taken> taken = getTaken(op->getResult(0));
  PlanOp plan = taken ? getPlanOf(taken->index, PlanField::Permutation) : PlanOp();
  Value product = taken ? skipReshape(taken->from) : Value();
  RankedTensorType type = getTensor(op->getResult(0));
  if (!plan || !isOfSlots(getTensor(product), plan) || type.getRank() != 2 ||
      getTensor(product).getDimSize(2) != type.getDimSize(1))
    return failure();
  return success(matchEitherOrder<arith::MulFOp>(product, [&](Value repeated, Value factors) {
    Value w = getBroadcastSource(factors, {0, 1});
    if (!w || !getBroadcastSource(repeated, {0, 2}))
      return false;
    Location loc = op->getLoc();
    Value order = createOrder(rewriter, loc, plan, PlanField::Permutation);
    Value rows = createTake(rewriter, loc, createReshape(rewriter, loc, repeated, type.getShape()), order);
    Value flat = createReshape(rewriter, loc, w, {type.getDimSize(0)});
    Value weights = create(rewriter, loc, "stablehlo.broadcast_in_dim", type, createTake(rewriter, loc, flat, order),
                           rewriter.getNamedAttr("broadcast_dimensions", rewriter.getDenseI64ArrayAttr({0})))
                        ->getResult(0);
    rewriter.replaceOp(op, arith::MulFOp::create(rewriter, loc, rows, weights));
    return true;
  }));
}

/// A sum along a dimension of size 1 changes nothing.
static LogicalResult dropSum(Operation *op, PatternRewriter &rewriter) {
  RankedTensorType type = op->getNumResults() == 1 ? getTensor(op->getOperand(0)) : RankedTensorType();
  if (!type)
    return failure();
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (type.getDimSize(dim) == 1 && getReduced(op->getResult(0), "stablehlo.add", dim)) {
      ArrayRef<int64_t> shape = getTensor(op->getResult(0)).getShape();
      rewriter.replaceOp(op, createReshape(rewriter, op->getLoc(), op->getOperand(0), shape));
      return success();
    }
  return failure();
}

/// sum(rows[inverse] * repeat(x, k)) along each slot: sum(rows * repeat(x, k)[permutation]) along each row, then by
/// slots.
static LogicalResult moveSums(Operation *op, PatternRewriter &rewriter) {
  Value product = op->getNumResults() == 1 ? getReduced(op->getResult(0), "stablehlo.add", 2) : Value();
  if (!product)
    return failure();
  return success(matchEitherOrder<arith::MulFOp>(product, [&](Value slots, Value repeated) {
    std::optional<Taken> taken = getTaken(skipReshape(slots));
    PlanOp plan = taken ? getPlanOf(taken->index, PlanField::Inverse) : PlanOp();
    if (!plan || !isOfSlots(getTensor(slots), plan) || !getBroadcastSource(repeated, {0, 2}))
      return false;
    Location loc = op->getLoc();
    RankedTensorType type = getTensor(taken->from);
    Value tokens = createTake(rewriter, loc, createReshape(rewriter, loc, repeated, type.getShape()),
                              createOrder(rewriter, loc, plan, PlanField::Permutation));
    OperationState sum(loc, "stablehlo.reduce");
    sum.addOperands({arith::MulFOp::create(rewriter, loc, taken->from, tokens), op->getOperand(1)});
    sum.addTypes(RankedTensorType::get({type.getDimSize(0)}, type.getElementType()));
    sum.propertiesAttr =
        rewriter.getDictionaryAttr(rewriter.getNamedAttr("dimensions", rewriter.getDenseI64ArrayAttr({1})));
    IRMapping mapping;
    op->getRegion(0).cloneInto(sum.addRegion(), mapping);
    Value sums = rewriter.create(sum)->getResult(0);
    Value inSlots = createTake(rewriter, loc, sums, createOrder(rewriter, loc, plan, PlanField::Inverse));
    rewriter.replaceOp(op, createReshape(rewriter, loc, inSlots, getTensor(op->getResult(0)).getShape()));
    return true;
  }));
}

namespace {
/// What was widened to be broadcast, and is narrowed again.
struct NarrowBroadcast : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::TruncFOp op, PatternRewriter &rewriter) const override {
    Operation *broadcast = getProducer(op.getIn(), "stablehlo.broadcast_in_dim");
    auto wide = broadcast ? broadcast->getOperand(0).getDefiningOp<arith::ExtFOp>() : arith::ExtFOp();
    if (!wide || getElementTypeOrSelf(wide.getIn()) != getElementTypeOrSelf(op.getType()))
      return failure();
    auto dims = *getNumbers(broadcast, "broadcast_dimensions");
    rewriter.replaceOp(
        op, stablehlo::create(rewriter, op.getLoc(), "stablehlo.broadcast_in_dim", op.getType(), wide.getIn(),
                              rewriter.getNamedAttr("broadcast_dimensions", rewriter.getDenseI64ArrayAttr(dims))));
    return success();
  }
};
} // namespace

void stablehlo::populateSlotPatterns(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<NamedPattern>(context, "stablehlo.scatter", moveScatteredRows);
  patterns.add<NamedPattern>(context, "stablehlo.gather", moveWeightedTokens);
  patterns.add<NamedPattern>(context, "stablehlo.reduce", dropSum);
  patterns.add<NamedPattern>(context, "stablehlo.reduce", moveSums);
  patterns.add<NarrowBroadcast>(context);
}
