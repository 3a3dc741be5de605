//===- RaisePlan.cpp - argsort, bincount and what follows from them -------===//

#include "Normalize.h"
#include "Raise.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::moe;
using namespace mlir::moe::stablehlo;

/// Beyond this many groups a sort of integers is hardly one by expert.
static constexpr int64_t kMostGroups = 1 << 16;

/// The plan of ids [M], which are a reshape of [T, k] where they come from a top_k; null if an id can be out of range.
static Value createPlan(PatternRewriter &rewriter, Location loc, Value ids, std::optional<int64_t> groups) {
  std::optional<IntegerRange> range = getRange(ids);
  if (!range || range->min < 0 || range->max >= groups.value_or(kMostGroups))
    return {};
  Value slots = skipExtension(skipReshape(skipExtension(ids)));
  RankedTensorType type = getTensor(slots), flat = getTensor(ids);
  if (!flat.hasStaticShape() || flat.getNumElements() == 0)
    return {};
  int64_t topk = type.getRank() < 2 ? 1 : type.getShape().back();
  slots = createReshape(rewriter, loc, slots, {flat.getNumElements() / topk, topk});
  type = getTensor(slots);
  if (!type.getElementType().isInteger(32)) {
    if (type.getElementType().getIntOrFloatBitWidth() < 32)
      return {};
    slots = arith::TruncIOp::create(rewriter, loc, type.clone(rewriter.getI32Type()), slots);
  }
  auto plan = PlanType::get(rewriter.getContext(), groups.value_or(range->max + 1), flat.getNumElements(),
                            type.getDimSize(0), type.getDimSize(1), /*align=*/1);
  return PlanOp::create(rewriter, loc, plan, slots, /*capacity=*/IntegerAttr());
}

static bool isIndexType(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isInteger(32) || element.isInteger(64);
}

static bool isIota(Value value) {
  Operation *iota = getProducer(value, "stablehlo.iota");
  return iota && getTensor(value).getRank() == 1;
}

/// sort(ids, iota), stable, ascending: the second result is the plan's permutation. Of a permutation it is the inverse.
static LogicalResult raiseArgsort(Operation *op, PatternRewriter &rewriter) {
  if (op->getNumOperands() != 2 || getSortOrder(op) != "LT" || !isIota(op->getOperand(1)) ||
      !isIndexType(op->getOperand(0).getType()) || !isIndexType(op->getOperand(1).getType()) ||
      getTensor(op->getOperand(0)).getRank() != 1)
    return failure();
  Location loc = op->getLoc();
  Value ids = op->getOperand(0);
  RankedTensorType type = getTensor(op->getResult(1));
  if (PlanOp plan = getPlanOf(ids, PlanField::Permutation)) {
    if (ids.getType() != type)
      return failure();
    rewriter.replaceOp(op, {op->getOperand(1), createField(rewriter, loc, plan.getPlan(), PlanField::Inverse, type)});
    return success();
  }
  // An order that is no plan's yet is not to be taken for ids.
  if (getProducer(skipExtension(skipReshape(skipExtension(ids))), "stablehlo.sort"))
    return failure();
  Value plan = createPlan(rewriter, loc, ids, std::nullopt);
  if (!plan)
    return failure();
  Value order = createField(rewriter, loc, plan, PlanField::Permutation, type);
  Value sorted = createTake(rewriter, loc, ids, order);
  rewriter.replaceOp(op, {sorted, order});
  return success();
}

/// Whether a scatter writes one element at each index of a column.
static bool scattersElements(Operation *op) {
  std::optional<Dimensions> dims = getDimensions(op, "scatter_dimension_numbers");
  return dims &&
         *dims == Dimensions{{"inserted_window_dims", {0}},
                             {"scatter_dims_to_operand_dims", {0}},
                             {"index_vector_dim", {1}}} &&
         getTensor(op->getOperand(0)).getRank() == 1 && getTensor(op->getOperand(1)).getRank() == 2 &&
         getTensor(op->getOperand(1)).getDimSize(1) == 1 &&
         getTensor(op->getOperand(2)).getShape() == getTensor(op->getOperand(1)).getShape().take_front(1);
}

/// zeros.at[ids].add(1): the plan's sizes.
static LogicalResult raiseBincount(Operation *op, PatternRewriter &rewriter) {
  if (!scattersElements(op) || getBinaryRegion(op) != "stablehlo.add" || !isIndexType(op->getResult(0).getType()) ||
      !matchPattern(op->getOperand(0), m_Zero()) || !matchPattern(op->getOperand(2), m_One()))
    return failure();
  RankedTensorType type = getTensor(op->getResult(0));
  if (!type.hasStaticShape())
    return failure();
  Value plan = createPlan(rewriter, op->getLoc(), op->getOperand(1), type.getDimSize(0));
  if (!plan)
    return failure();
  rewriter.replaceOp(op, createField(rewriter, op->getLoc(), plan, PlanField::Sizes, type));
  return success();
}

/// zeros.at[permutation].set(iota): its inverse.
static LogicalResult raiseInverse(Operation *op, PatternRewriter &rewriter) {
  if (!scattersElements(op) || !isIota(op->getOperand(2)) || !isIndexType(op->getResult(0).getType()))
    return failure();
  if (op->getNumRegions() != 1 || !op->getRegion(0).hasOneBlock() || op->getRegion(0).getNumArguments() != 2)
    return failure();
  Block &block = op->getRegion(0).front();
  if (block.getOperations().size() != 1 || block.front().getNumOperands() != 1 ||
      block.front().getOperand(0) != block.getArgument(1))
    return failure();
  PlanOp plan = getPlanOf(op->getOperand(1), PlanField::Permutation);
  RankedTensorType type = getTensor(op->getResult(0));
  if (!plan || type.getShape() != getTensor(op->getOperand(2)).getShape())
    return failure();
  rewriter.replaceOp(op, createField(rewriter, op->getLoc(), plan.getPlan(), PlanField::Inverse, type));
  return success();
}

/// permutation / k: the token of each row.
static LogicalResult raiseDivide(Operation *op, PatternRewriter &rewriter) {
  PlanOp plan = getPlanOf(op->getOperand(0), PlanField::Permutation);
  std::optional<IntegerRange> divisor = getRange(op->getOperand(1));
  if (!plan || !divisor || divisor->min != divisor->max || divisor->min != plan.getPlan().getType().getTopk())
    return failure();
  rewriter.replaceOp(
      op, createField(rewriter, op->getLoc(), plan.getPlan(), PlanField::Token, getTensor(op->getResult(0))));
  return success();
}

namespace {
/// A plan made from the sizes of another is that plan: its rows lie group after group.
struct UsePlanOfSizes : OpRewritePattern<PlanFromSizesOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PlanFromSizesOp op, PatternRewriter &rewriter) const override {
    PlanOp plan = getPlanOf(op.getSizes(), PlanField::Sizes);
    if (!plan || plan.getPlan().getType().getRows() != op.getPlan().getType().getRows() ||
        plan.getPlan().getType().getGroups() != op.getPlan().getType().getGroups())
      return failure();
    rewriter.replaceOp(op, plan.getPlan());
    return success();
  }
};
} // namespace

void stablehlo::populatePlanPatterns(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<NamedPattern>(context, "stablehlo.sort", raiseArgsort);
  patterns.add<NamedPattern>(context, "stablehlo.scatter", raiseBincount);
  patterns.add<NamedPattern>(context, "stablehlo.scatter", raiseInverse);
  patterns.add<NamedPattern>(context, "stablehlo.divide", raiseDivide);
  patterns.add<UsePlanOfSizes>(context);
}
