//===- RaiseRouter.cpp - logits, scores, top k and routing weights --------===//

#include "Normalize.h"
#include "RaggedDot.h"
#include "Raise.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::moe;
using namespace mlir::moe::stablehlo;

/// All dimensions but the last.
static SmallVector<int64_t> getLeadingDims(Value value) {
  return llvm::to_vector(llvm::seq<int64_t>(0, getTensor(value).getRank() - 1));
}

/// Tensors of higher rank are rows of their last dimension.
static Value toMatrix(PatternRewriter &rewriter, Location loc, Value value) {
  RankedTensorType type = getTensor(value);
  int64_t width = type.getShape().back();
  return createReshape(rewriter, loc, value, {width ? type.getNumElements() / width : 0, width});
}

static bool isStaticMatrix(Value value) {
  RankedTensorType type = getTensor(value);
  return type && type.hasStaticShape() && type.getRank() >= 2 && type.getNumElements() > 0;
}

//===----------------------------------------------------------------------===//
// Top k
//===----------------------------------------------------------------------===//

/// k of a top_k; none if it has an attribute that is not known.
static std::optional<int64_t> getK(Operation *op) {
  DictionaryAttr attrs = getAllAttributes(op);
  if (isOp(op, "stablehlo.composite")) {
    auto version = attrs.getAs<IntegerAttr>("version");
    if (version && version.getInt() != 1)
      return std::nullopt;
    attrs = attrs.getAs<DictionaryAttr>("composite_attributes");
  }
  if (!attrs)
    return std::nullopt;
  for (NamedAttribute attr : attrs)
    if (attr.getName() != "k" && attr.getName() != "is_stable")
      return std::nullopt;
  auto k = attrs.getAs<IntegerAttr>("k");
  return k ? std::optional(k.getInt()) : std::nullopt;
}

static bool isRouterTopK(Operation *op) {
  return isTopK(op) && isWellFormed(op) && isStaticMatrix(op->getOperand(0)) &&
         isMoEFloat(getElementTypeOrSelf(op->getOperand(0))) &&
         getElementTypeOrSelf(op->getResult(1).getType()).isInteger(32);
}

/// A select of f32 scores, without bias.
static SelectOp createSelect(PatternRewriter &rewriter, Location loc, Value scores, Value bias, int64_t k,
                             int64_t groups = 1, int64_t keepGroups = 1, int64_t groupTop = 1) {
  SmallVector<int64_t> shape{getTensor(scores).getDimSize(0), k};
  return SelectOp::create(rewriter, loc, RankedTensorType::get(shape, rewriter.getI32Type()),
                          RankedTensorType::get(shape, rewriter.getF32Type()), scores, bias, k, groups, keepGroups,
                          groupTop, NanPolicy::Propagate);
}

/// Replaces a top_k of any rank by what a select of its rows gives.
static void replaceTopK(Operation *op, PatternRewriter &rewriter, SelectOp select) {
  RankedTensorType type = getTensor(op->getResult(0));
  Value values = select.getValues();
  if (!type.getElementType().isF32()) // the very values that were widened before
    values = arith::TruncFOp::create(rewriter, op->getLoc(), getTensor(values).clone(type.getElementType()), values);
  rewriter.replaceOp(op, {createReshape(rewriter, op->getLoc(), values, type.getShape()),
                          createReshape(rewriter, op->getLoc(), select.getIds(), type.getShape())});
}

static LogicalResult raiseTopK(Operation *op, PatternRewriter &rewriter) {
  std::optional<int64_t> k = isRouterTopK(op) ? getK(op) : std::nullopt;
  if (!k || *k < 1 || *k > getTensor(op->getOperand(0)).getShape().back() ||
      *k != getTensor(op->getResult(0)).getShape().back())
    return failure();
  Value scores = extendToF32(rewriter, op->getLoc(), toMatrix(rewriter, op->getLoc(), op->getOperand(0)));
  replaceTopK(op, rewriter, createSelect(rewriter, op->getLoc(), scores, Value(), *k));
  return success();
}

/// ids of one_hot(ids, n).sum(1) > 0, which says of each of n groups whether it is among the ids.
static Value getMembers(Value value) {
  auto compare = value.getDefiningOp<arith::CmpFOp>();
  if (!compare || compare.getPredicate() != arith::CmpFPredicate::OGT ||
      !matchPattern(compare.getRhs(), m_AnyZeroFloat()))
    return {};
  Value hot = getReduced(compare.getLhs(), "stablehlo.add", 1);
  auto convert = hot ? hot.getDefiningOp<arith::UIToFPOp>() : arith::UIToFPOp();
  auto equal = convert ? convert.getIn().getDefiningOp<arith::CmpIOp>() : arith::CmpIOp();
  if (!equal || equal.getPredicate() != arith::CmpIPredicate::eq)
    return {};
  Value ids = getBroadcastSource(equal.getLhs(), {0, 1});
  Operation *iota = getProducer(equal.getRhs(), "stablehlo.iota");
  return ids && iota && getNumber(iota, "iota_dimension") == 2 ? ids : Value();
}

/// top_k of scores whose groups are masked by -inf but for the best: where(keep, scores as [T, groups, size], -inf).
static LogicalResult raiseLimitedTopK(Operation *op, PatternRewriter &rewriter) {
  std::optional<int64_t> k = isRouterTopK(op) ? getK(op) : std::nullopt;
  Value masked = k ? skipReshape(op->getOperand(0)) : Value();
  auto where = masked ? masked.getDefiningOp<arith::SelectOp>() : arith::SelectOp();
  if (!where || getTensor(where).getRank() != 3 || getTensor(op->getOperand(0)).getRank() != 2 ||
      !matchPattern(where.getFalseValue(), m_NegInfFloat()))
    return failure();
  Value grouped = where.getTrueValue(), keep = getBroadcastSource(where.getCondition(), {0, 1}),
        kept = keep ? getMembers(keep) : Value();
  Operation *topGroups = kept ? kept.getDefiningOp() : nullptr;
  std::optional<int64_t> keepGroups = topGroups && isRouterTopK(topGroups) ? getK(topGroups) : std::nullopt;
  Value best = keepGroups && kept == topGroups->getResult(1) ? getReduced(topGroups->getOperand(0), "stablehlo.add", 2)
                                                             : Value();
  Operation *topOfGroup = best ? best.getDefiningOp() : nullptr;
  std::optional<int64_t> groupTop = topOfGroup && isRouterTopK(topOfGroup) ? getK(topOfGroup) : std::nullopt;
  if (!groupTop || best != topOfGroup->getResult(0) || topOfGroup->getOperand(0) != grouped ||
      !getElementTypeOrSelf(grouped).isF32())
    return failure();
  int64_t groups = getTensor(grouped).getDimSize(1), size = getTensor(grouped).getDimSize(2);
  if (*k < 1 || *k != getTensor(op->getResult(0)).getShape().back() || *keepGroups < 1 || *keepGroups > groups ||
      *groupTop < 1 || *groupTop > size || *keepGroups * size < *k)
    return failure();
  Value scores = createReshape(rewriter, op->getLoc(), grouped, getTensor(op->getOperand(0)).getShape());
  replaceTopK(op, rewriter, createSelect(rewriter, op->getLoc(), scores, Value(), *k, groups, *keepGroups, *groupTop));
  return success();
}

/// take_along_axis(scores, ids), where the ids were chosen from scores, biased or not: the values of the select.
static LogicalResult raiseTakeAlong(Operation *op, PatternRewriter &rewriter) {
  static const Dimensions ofMany = {{"collapsed_slice_dims", {1}},
                                    {"operand_batching_dims", {0}},
                                    {"start_indices_batching_dims", {0}},
                                    {"start_index_map", {1}},
                                    {"index_vector_dim", {2}}};
  // Of one token JAX takes columns of the only row.
  static const Dimensions ofOne = {
      {"offset_dims", {0}}, {"collapsed_slice_dims", {1}}, {"start_index_map", {1}}, {"index_vector_dim", {1}}};
  std::optional<Dimensions> dims = getDimensions(op, "dimension_numbers");
  if (!dims || (*dims != ofMany && *dims != ofOne))
    return failure();
  Value scores = op->getOperand(0), ids = skipReshape(op->getOperand(1));
  auto select = ids.getDefiningOp<SelectOp>();
  if (!select || ids != select.getIds() || getTensor(op->getResult(0)) != getTensor(select.getValues()))
    return failure();
  if (select.getScores() == scores) {
    rewriter.replaceOp(op, select.getValues());
    return success();
  }
  if (select.getBias())
    return failure();
  Value bias;
  matchEitherOrder<arith::AddFOp>(select.getScores(), [&](Value unbiased, Value rows) {
    bias = unbiased == scores ? getBroadcastSource(rows, {1}) : Value();
    return bias != nullptr;
  });
  if (!bias)
    return failure();
  SelectOp biased = createSelect(rewriter, select.getLoc(), scores, bias, select.getK(), select.getGroups(),
                                 select.getKeepGroups(), select.getGroupTop());
  // Where the old select stands, whose users may come before this op.
  rewriter.moveOpAfter(biased, select);
  rewriter.replaceAllUsesWith(select.getIds(), biased.getIds());
  rewriter.replaceOp(op, biased.getValues());
  return success();
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

static Value createScores(PatternRewriter &rewriter, Location loc, Value logits, ScoreFunction function) {
  return ScoresOp::create(rewriter, loc, logits.getType(), logits, function, NanPolicy::Propagate);
}

namespace {
/// exp(x - max(x)) / sum(exp(x - max(x))).
struct RaiseSoftmax : OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::DivFOp op, PatternRewriter &rewriter) const override {
    auto exp = op.getLhs().getDefiningOp<math::ExpOp>();
    auto shifted = exp ? getOperands<arith::SubFOp>(exp.getOperand()) : std::nullopt;
    if (!shifted || !isStaticMatrix(op) || !getElementTypeOrSelf(op.getType()).isF32())
      return failure();
    SmallVector<int64_t> leading = getLeadingDims(op);
    int64_t last = leading.size();
    Value sum = getBroadcastSource(op.getRhs(), leading), max = getBroadcastSource(shifted->second, leading);
    if (!sum || !max || getReduced(sum, "stablehlo.add", last) != op.getLhs() ||
        getReduced(max, "stablehlo.maximum", last) != shifted->first)
      return failure();
    Value scores =
        createScores(rewriter, op.getLoc(), toMatrix(rewriter, op.getLoc(), shifted->first), ScoreFunction::Softmax);
    rewriter.replaceOp(op, createReshape(rewriter, op.getLoc(), scores, getTensor(op).getShape()));
    return success();
  }
};

/// What experts are chosen by: logistic(logits), with or without a bias.
struct RaiseSigmoid : OpRewritePattern<SelectOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SelectOp op, PatternRewriter &rewriter) const override {
    Operation *logistic = getProducer(op.getScores(), "stablehlo.logistic");
    if (auto sum = getOperands<arith::AddFOp>(op.getScores()); sum && !logistic) {
      logistic = getProducer(sum->first, "stablehlo.logistic");
      if (!logistic)
        logistic = getProducer(sum->second, "stablehlo.logistic");
    }
    if (!logistic)
      return failure();
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(logistic);
    rewriter.replaceOp(logistic,
                       createScores(rewriter, logistic->getLoc(), logistic->getOperand(0), ScoreFunction::Sigmoid));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Logits
//===----------------------------------------------------------------------===//

/// The product that a router's scores are made of.
static Operation *findRouterProduct(Value value, int depth = 0) {
  Operation *op = value.getDefiningOp();
  if (!op || depth > 6)
    return nullptr;
  if (isOp(op, "stablehlo.dot_general"))
    return op;
  if (isa<arith::ExtFOp, arith::TruncFOp>(op) || isOp(op, "stablehlo.reshape"))
    return findRouterProduct(op->getOperand(0), depth + 1);
  if (isa<arith::AddFOp>(op))
    for (Value operand : op->getOperands())
      if (Operation *product = findRouterProduct(operand, depth + 1))
        return product;
  return nullptr;
}

} // namespace

LogicalResult stablehlo::raiseLogits(Operation *dot, PatternRewriter &rewriter) {
  Value x = dot->getOperand(0), router = dot->getOperand(1);
  RankedTensorType type = getTensor(dot->getResult(0));
  std::optional<Dimensions> dims = getDimensions(dot, "dot_dimension_numbers");
  if (!dims || !type || !isStaticMatrix(x) || !isStaticMatrix(router) || getTensor(router).getRank() != 2)
    return failure();
  int64_t last = getTensor(x).getRank() - 1;
  bool kn = *dims == Dimensions{{"lhs_contracting_dimensions", {last}}, {"rhs_contracting_dimensions", {0}}};
  bool nk = *dims == Dimensions{{"lhs_contracting_dimensions", {last}}, {"rhs_contracting_dimensions", {1}}};
  Type element = getElementTypeOrSelf(x);
  SmallVector<int64_t> shape(getTensor(x).getShape().drop_back());
  shape.push_back(getTensor(router).getDimSize(kn ? 1 : 0));
  if (type.getShape() != ArrayRef(shape) || getTensor(x).getShape().back() != getTensor(router).getDimSize(kn ? 0 : 1))
    return failure();
  if ((!kn && !nk) || !isMoEFloat(element) || getElementTypeOrSelf(router) != element ||
      (type.getElementType() != element && !type.getElementType().isF32()))
    return failure();
  for (NamedAttribute attr : getAllAttributes(dot))
    if (attr.getName() != "dot_dimension_numbers" && attr.getName() != "precision_config")
      return failure();
  std::optional<bool> exact = isExact(dot->getAttr("precision_config"));
  if (!exact)
    return failure();
  Location loc = dot->getLoc();
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(dot);
  Value rows = toMatrix(rewriter, loc, x);
  auto result = RankedTensorType::get({getTensor(rows).getDimSize(0), type.getShape().back()}, rewriter.getF32Type());
  Value logits =
      LogitsOp::create(rewriter, loc, result, rows, router, /*bias=*/Value(), kn ? WeightLayout::KN : WeightLayout::NK,
                       *exact || !element.isF32() ? Precision::Exact : Precision::TF32);
  if (!type.getElementType().isF32()) // rounded where the program rounds: that may choose another expert
    logits = arith::TruncFOp::create(rewriter, loc, result.clone(type.getElementType()), logits);
  rewriter.replaceOp(dot, createReshape(rewriter, loc, logits, type.getShape()));
  return success();
}

namespace {
template <typename OpTy> struct RaiseLogits : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override {
    Operation *dot = findRouterProduct(op->getOperand(0));
    return dot ? raiseLogits(dot, rewriter) : failure();
  }
};

/// logits + bias, in f32.
struct RaiseLogitsBias : OpRewritePattern<arith::AddFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::AddFOp op, PatternRewriter &rewriter) const override {
    return success(matchEitherOrder<arith::AddFOp>(op, [&](Value value, Value rows) {
      auto logits = value.getDefiningOp<LogitsOp>();
      Value bias = getBroadcastSource(rows, {1});
      if (!logits || logits.getBias() || !bias || getTensor(bias).getRank() != 1)
        return false;
      rewriter.replaceOpWithNewOp<LogitsOp>(op, logits.getType(), logits.getX(), logits.getRouter(), bias,
                                            logits.getLayout(), logits.getPrecision());
      return true;
    }));
  }
};

//===----------------------------------------------------------------------===//
// Routing weights
//===----------------------------------------------------------------------===//

/// values / (sum(values) + epsilon), values scaled or not.
struct RaiseNormalize : OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::DivFOp op, PatternRewriter &rewriter) const override {
    Value divisor = isStaticMatrix(op) ? getBroadcastSource(op.getRhs(), {0}) : Value();
    if (!divisor || getTensor(op).getRank() != 2)
      return failure();
    double epsilon = 0, scale = 1, floor = -std::numeric_limits<double>::infinity();
    takeConstant<arith::MaximumFOp>(divisor, floor);
    takeConstant<arith::AddFOp>(divisor, epsilon);
    Value values = op.getLhs(), sum = getReduced(divisor, "stablehlo.add", 1);
    if (sum != values)
      takeConstant<arith::MulFOp>(values, scale);
    // Of routing weights, not of any matrix.
    if (!sum || sum != values || !isa_and_nonnull<SelectOp, ScoresOp>(values.getDefiningOp()))
      return failure();
    rewriter.replaceOpWithNewOp<NormalizeOp>(
        op, values.getType(), values, rewriter.getUnitAttr(), getF32(rewriter, scale), getF32(rewriter, epsilon),
        getF32(rewriter, floor), NanPolicyAttr::get(rewriter.getContext(), NanPolicy::Propagate));
    return success();
  }

private:
  static FloatAttr getF32(PatternRewriter &rewriter, double number) {
    return rewriter.getF32FloatAttr(static_cast<float>(number));
  }
  /// Takes a constant operand out of the value.
  template <typename OpTy> static void takeConstant(Value &value, double &number) {
    matchEitherOrder<OpTy>(value, [&](Value other, Value constant) {
      if (!getSplat(constant))
        return false;
      value = other;
      number = *getSplat(constant);
      return true;
    });
  }
};

/// Routing weights times a constant.
struct RaiseScale : OpRewritePattern<arith::MulFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::MulFOp op, PatternRewriter &rewriter) const override {
    return success(matchEitherOrder<arith::MulFOp>(op, [&](Value values, Value constant) {
      auto normalize = values.getDefiningOp<NormalizeOp>();
      if (!normalize || !normalize.getScale().isExactlyValue(1.0) || !getSplat(constant))
        return false;
      rewriter.replaceOpWithNewOp<NormalizeOp>(op, op.getType(), normalize.getValues(), normalize.getRenormalizeAttr(),
                                               rewriter.getF32FloatAttr(static_cast<float>(*getSplat(constant))),
                                               normalize.getEpsilonAttr(), normalize.getFloorAttr(),
                                               normalize.getNanAttr());
      return true;
    }));
  }
};
} // namespace

void stablehlo::populateGroupLimitPatterns(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<NamedPattern>(context, "chlo.top_k", raiseLimitedTopK);
  patterns.add<NamedPattern>(context, "stablehlo.composite", raiseLimitedTopK);
}

void stablehlo::populateRouterPatterns(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<NamedPattern>(context, "chlo.top_k", raiseTopK);
  patterns.add<NamedPattern>(context, "stablehlo.composite", raiseTopK);
  patterns.add<NamedPattern>(context, "stablehlo.gather", raiseTakeAlong);
  patterns.add<RaiseSoftmax, RaiseSigmoid, RaiseLogits<SelectOp>, RaiseLogits<ScoresOp>, RaiseLogitsBias,
               RaiseNormalize, RaiseScale>(context);
}
