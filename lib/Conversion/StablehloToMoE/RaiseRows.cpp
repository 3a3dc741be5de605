//===- RaiseRows.cpp - rows of tokens, biases of rows, sums of slots ------===//

#include "Normalize.h"
#include "Raise.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::moe;
using namespace mlir::moe::stablehlo;

//===----------------------------------------------------------------------===//
// Gather
//===----------------------------------------------------------------------===//

/// x of jnp.repeat(x, k, axis=0), which gives slot t * k + j the row of token t; null if it is something else.
static Value getRepeated(Value value, int64_t topk) {
  Value repeated = skipReshape(value);
  RankedTensorType type = getTensor(repeated);
  Value x = getBroadcastSource(repeated, {0, 2});
  return x && repeated != value && type.getRank() == 3 && type.getDimSize(1) == topk &&
                 getTensor(value).getRank() == 2 && getTensor(value).getDimSize(1) == type.getDimSize(2)
             ? x
             : Value();
}

/// x[token], or repeat(x, k)[permutation].
static LogicalResult raiseGather(Operation *op, PatternRewriter &rewriter) {
  std::optional<Taken> taken = getTaken(op->getResult(0));
  if (!taken || getTensor(taken->from).getRank() != 2 || !isMoEFloat(getElementTypeOrSelf(taken->from)))
    return failure();
  Value x = taken->from;
  PlanOp plan = getPlanOf(taken->index, PlanField::Token);
  if (!plan) {
    plan = getPlanOf(taken->index, PlanField::Permutation);
    x = plan ? getRepeated(x, plan.getPlan().getType().getTopk()) : Value();
  }
  if (!plan || !x || getTensor(x).getDimSize(0) != plan.getPlan().getType().getTokens())
    return failure();
  RankedTensorType type = getTensor(op->getResult(0));
  auto encoding = RaggedAttr::get(rewriter.getContext(), plan.getPlan().getType().getGroups(), TailState::Zero, 1);
  Value rows =
      GatherOp::create(rewriter, op->getLoc(), RankedTensorType::get(type.getShape(), type.getElementType(), encoding),
                       x, plan.getPlan(), /*through=*/Value());
  rewriter.replaceOp(op, castToPlain(rewriter, op->getLoc(), rows));
  return success();
}

//===----------------------------------------------------------------------===//
// Bias
//===----------------------------------------------------------------------===//

/// b of b[ids[permutation]], the bias of each row's expert.
static Value getBiasOfRows(Value value, PlanOp plan) {
  std::optional<Taken> taken = getTaken(value);
  if (!taken || getTensor(taken->from).getRank() != 2 ||
      getTensor(taken->from).getDimSize(0) != plan.getPlan().getType().getGroups())
    return {};
  std::optional<Taken> expert = getTaken(skipExtension(skipReshape(skipExtension(taken->index))));
  if (!expert || getPlanOf(expert->index, PlanField::Permutation) != plan ||
      skipExtension(skipReshape(skipExtension(expert->from))) != skipExtension(skipReshape(plan.getIds())))
    return {};
  return taken->from;
}

namespace {
struct RaiseBias : OpRewritePattern<arith::AddFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::AddFOp op, PatternRewriter &rewriter) const override {
    return success(matchEitherOrder<arith::AddFOp>(op, [&](Value rows, Value biases) {
      auto plain = rows.getDefiningOp<tensor::CastOp>();
      auto product = plain ? plain.getSource().getDefiningOp<RaggedMatmulOp>() : RaggedMatmulOp();
      PlanOp plan = product && product.getPlan() ? getFullPlan(product.getPlan()) : PlanOp();
      if (!plan || product.getMode() != RaggedMode::Rows || product.getBias() || product.getWeights())
        return false;
      Value bias = getBiasOfRows(biases, plan);
      if (!bias || getTensor(bias).getDimSize(1) != getTensor(rows).getDimSize(1))
        return false;
      auto biased = cast<RaggedMatmulOp>(rewriter.clone(*product));
      rewriter.modifyOpInPlace(biased, [&] { biased.getBiasMutable().assign(bias); });
      rewriter.replaceOp(op, castToPlain(rewriter, op.getLoc(), biased.getResult()));
      return true;
    }));
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Combine
//===----------------------------------------------------------------------===//

/// The element type of the sum: of the rows, or f32.
static bool canCombineTo(Type result, Value rows) {
  Type element = getElementTypeOrSelf(rows), sum = getElementTypeOrSelf(result);
  return isMoEFloat(element) && (sum == element || sum.isF32());
}

static Value createCombine(PatternRewriter &rewriter, Location loc, Type type, Value rows, Value plan, Value weights) {
  if (weights)
    weights = extendToF32(rewriter, loc, weights);
  return CombineOp::create(rewriter, loc, type, castToRagged(rewriter, loc, rows, plan), plan, weights,
                           NanPolicy::Propagate);
}

/// zeros.at[token].add(rows), which segment_sum is too.
static LogicalResult raiseScatter(Operation *op, PatternRewriter &rewriter) {
  std::optional<Dimensions> dims = getDimensions(op, "scatter_dimension_numbers");
  if (!dims || getTensor(op->getOperand(0)).getRank() != 2 || getTensor(op->getOperand(2)).getRank() != 2 ||
      *dims != Dimensions{{"update_window_dims", {1}},
                          {"inserted_window_dims", {0}},
                          {"scatter_dims_to_operand_dims", {0}},
                          {"index_vector_dim", {1}}} ||
      getBinaryRegion(op) != "stablehlo.add" || !matchPattern(op->getOperand(0), m_AnyZeroFloat()))
    return failure();
  PlanOp plan = getPlanOf(op->getOperand(1), PlanField::Token);
  Value rows = op->getOperand(2);
  RankedTensorType type = getTensor(op->getResult(0));
  if (!plan || !canCombineTo(type, rows) || type.getDimSize(0) != plan.getPlan().getType().getTokens() ||
      type.getDimSize(1) != getTensor(rows).getDimSize(1) ||
      getTensor(rows).getDimSize(0) != plan.getPlan().getType().getRows())
    return failure();
  rewriter.replaceOp(op, createCombine(rewriter, op->getLoc(), type, rows, plan.getPlan(), Value()));
  return success();
}

/// What is widened to f32: sums are made in f32 anyway.
static Value skipWidening(Value value) {
  auto extension = value.getDefiningOp<arith::ExtFOp>();
  return extension ? extension.getIn() : value;
}

/// rows[inverse] as [T, k, H]: the rows of each slot.
static std::optional<std::pair<Value, PlanOp>> getSlots(Value value) {
  std::optional<Taken> taken = getTaken(skipWidening(skipReshape(skipWidening(value))));
  if (!taken || getTensor(taken->from).getRank() != 2)
    return std::nullopt;
  PlanOp plan = getPlanOf(taken->index, PlanField::Inverse);
  RankedTensorType type = getTensor(value);
  if (!plan || type.getRank() != 3 || type.getDimSize(0) != plan.getPlan().getType().getTokens() ||
      type.getDimSize(1) != plan.getPlan().getType().getTopk())
    return std::nullopt;
  return std::pair(taken->from, plan);
}

static LogicalResult combineSlots(Operation *op, PatternRewriter &rewriter, Value slots, Value weights) {
  auto found = getSlots(slots);
  if (!found || !canCombineTo(op->getResult(0).getType(), found->first))
    return failure();
  auto [rows, plan] = *found;
  if (getTensor(op->getResult(0)).getShape() !=
      ArrayRef({plan.getPlan().getType().getTokens(), getTensor(rows).getDimSize(1)}))
    return failure();
  if (weights && getTensor(weights).getShape() !=
                     ArrayRef({plan.getPlan().getType().getTokens(), plan.getPlan().getType().getTopk()}))
    return failure();
  rewriter.replaceOp(op,
                     createCombine(rewriter, op->getLoc(), op->getResult(0).getType(), rows, plan.getPlan(), weights));
  return success();
}

/// The sum over the slots of each token, of weighted rows or of rows.
static LogicalResult raiseSlotSum(Operation *op, PatternRewriter &rewriter) {
  Value summed = op->getNumResults() == 1 ? getReduced(op->getResult(0), "stablehlo.add", 1) : Value();
  if (!summed || getTensor(summed).getRank() != 3)
    return failure();
  bool weighted = matchEitherOrder<arith::MulFOp>(skipWidening(summed), [&](Value slots, Value factors) {
    Value weights = getBroadcastSource(factors, {0, 1});
    return weights && succeeded(combineSlots(op, rewriter, slots, weights));
  });
  return weighted ? success() : combineSlots(op, rewriter, summed, Value());
}

/// einsum("tkh,tk->th"): the same sum as a product batched over the tokens.
static LogicalResult raiseSlotProduct(Operation *op, PatternRewriter &rewriter) {
  std::optional<Dimensions> dims = getDimensions(op, "dot_dimension_numbers");
  if (!dims || *dims != Dimensions{{"lhs_batching_dimensions", {0}},
                                   {"rhs_batching_dimensions", {0}},
                                   {"lhs_contracting_dimensions", {1}},
                                   {"rhs_contracting_dimensions", {1}}})
    return failure();
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  if (getTensor(lhs).getRank() == 2)
    std::swap(lhs, rhs);
  return getTensor(rhs).getRank() == 2 ? combineSlots(op, rewriter, lhs, rhs) : failure();
}

/// w of w.reshape(-1)[permutation], the weight of each row.
static Value getWeightOfRows(Value value, PlanOp plan) {
  std::optional<Taken> taken = getTaken(value);
  if (!taken || getPlanOf(taken->index, PlanField::Permutation) != plan)
    return {};
  Value weights = skipReshape(taken->from);
  PlanType type = plan.getPlan().getType();
  bool fits = getTensor(weights).getShape() == ArrayRef({type.getTokens(), type.getTopk()});
  return fits ? weights : Value();
}

namespace {
/// Weighted rows are rows with weights.
struct RaiseWeights : OpRewritePattern<CombineOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CombineOp op, PatternRewriter &rewriter) const override {
    PlanOp plan = getFullPlan(op.getPlan());
    Value y = op.getY();
    if (auto cast = y.getDefiningOp<tensor::CastOp>())
      y = cast.getSource();
    if (op.getWeights() || !plan)
      return failure();
    return success(matchEitherOrder<arith::MulFOp>(y, [&](Value rows, Value factors) {
      Value weight = getBroadcastSource(factors, {0});
      if (auto extension = weight ? weight.getDefiningOp<arith::ExtFOp>() : arith::ExtFOp())
        weight = extension.getIn();
      Value weights = weight ? getWeightOfRows(weight, plan) : Value();
      if (!weights || !canCombineTo(op.getType(), rows))
        return false;
      rewriter.replaceOp(op, createCombine(rewriter, op.getLoc(), op.getType(), rows, op.getPlan(), weights));
      return true;
    }));
  }
};

/// The sum is made in f32 anyway: its rows need not be widened.
struct CombineNarrowRows : OpRewritePattern<CombineOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CombineOp op, PatternRewriter &rewriter) const override {
    Value y = op.getY();
    if (auto cast = y.getDefiningOp<tensor::CastOp>())
      y = cast.getSource();
    auto extension = y.getDefiningOp<arith::ExtFOp>();
    if (!extension || !isMoEFloat(getElementTypeOrSelf(extension.getIn())))
      return failure();
    Value rows = castToRagged(rewriter, op.getLoc(), extension.getIn(), op.getPlan());
    rewriter.modifyOpInPlace(op, [&] { op.getYMutable().assign(rows); });
    return success();
  }
};

/// And it may be rounded at once.
struct RoundCombine : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::TruncFOp op, PatternRewriter &rewriter) const override {
    auto combine = op.getIn().getDefiningOp<CombineOp>();
    if (!combine || getElementTypeOrSelf(combine.getY()) != getElementTypeOrSelf(op.getType()))
      return failure();
    rewriter.replaceOpWithNewOp<CombineOp>(op, op.getType(), combine.getY(), combine.getPlan(), combine.getWeights(),
                                           combine.getNan());
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

/// A product or combine takes what was ragged by its plan before the cast to a plain tensor.
template <typename OpTy> struct DropCasts : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override {
    if (!op.getPlan() || !getFullPlan(op.getPlan()))
      return failure();
    bool changed = false;
    for (OpOperand &operand : op->getOpOperands()) {
      auto outer = operand.get().template getDefiningOp<tensor::CastOp>();
      auto inner = outer && getRagged(outer.getResult()) ? outer.getSource().template getDefiningOp<tensor::CastOp>()
                                                         : tensor::CastOp();
      if (!inner || !getRagged(inner.getSource()) || findPlan(inner.getSource()) != op.getPlan())
        continue;
      rewriter.modifyOpInPlace(op, [&] { operand.set(inner.getSource()); });
      changed = true;
    }
    return success(changed);
  }
};

/// Elementwise work on rows that are ragged by one plan is done on ragged rows, so that it can be fused with the
/// products.
struct SinkCast : RewritePattern {
  explicit SinkCast(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    bool isElementwise = isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect()) &&
                         OpTrait::hasElementwiseMappableTraits(op);
    if ((!isElementwise && !isOp(op, "stablehlo.logistic")) || op->getNumResults() != 1 || op->getNumOperands() == 0)
      return failure();
    RankedTensorType type = getTensor(op->getResult(0));
    if (!type || type.getEncoding() || type.getRank() != 2 || !isMoEFloat(type.getElementType()))
      return failure();
    RaggedAttr encoding;
    Value plan;
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      auto cast = operand.getDefiningOp<tensor::CastOp>();
      RaggedAttr ragged = cast ? getRagged(cast.getSource()) : RaggedAttr();
      if (!ragged && !getSplat(operand))
        return failure();
      operands.push_back(ragged ? cast.getSource() : operand);
      if (!ragged)
        continue;
      Value other = findPlan(cast.getSource());
      if (!other || !getFullPlan(other) || (plan && plan != other) || ragged.getTail() != TailState::Zero)
        return failure();
      encoding = ragged;
      plan = other;
    }
    if (!plan)
      return failure();
    for (Value &operand : operands)
      if (!getRagged(operand)) {
        RankedTensorType plain = getTensor(operand);
        DenseElementsAttr value;
        matchPattern(operand, m_Constant(&value));
        operand = arith::ConstantOp::create(
            rewriter, op->getLoc(),
            value.resizeSplat(RankedTensorType::get(plain.getShape(), plain.getElementType(), encoding)));
      }
    Operation *clone = rewriter.clone(*op);
    rewriter.modifyOpInPlace(clone, [&] {
      clone->setOperands(operands);
      clone->getResult(0).setType(RankedTensorType::get(type.getShape(), type.getElementType(), encoding));
    });
    rewriter.replaceOp(op, castToPlain(rewriter, op->getLoc(), clone->getResult(0)));
    return success();
  }
};
} // namespace

void stablehlo::populateRowPatterns(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<NamedPattern>(context, "stablehlo.gather", raiseGather);
  patterns.add<NamedPattern>(context, "stablehlo.scatter", raiseScatter);
  patterns.add<NamedPattern>(context, "stablehlo.reduce", raiseSlotSum);
  patterns.add<NamedPattern>(context, "stablehlo.dot_general", raiseSlotProduct);
  patterns.add<RaiseBias, RaiseWeights, CombineNarrowRows, RoundCombine, DropCasts<RaggedMatmulOp>,
               DropCasts<CombineOp>, SinkCast>(context);
}
