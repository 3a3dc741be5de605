//===- Canonicalize.cpp - folds and canonicalisations of the moe ops ------===//

#include "Shapes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "moe/Dialect/MoE/IR/Plan.h"

using namespace mlir;
using namespace mlir::moe;
using namespace mlir::moe::detail;

//===----------------------------------------------------------------------===//
// Nothing to compute
//===----------------------------------------------------------------------===//

/// A constant of zeros; null for a dynamic shape, which no constant can have, and for ragged rows: a constant belongs
/// to no plan, and an upstream op that is folded on it (exp) would no longer leave rows outside every group zero.
static OpFoldResult zeros(Value result) {
  auto type = cast<RankedTensorType>(result.getType());
  if (!type.hasStaticShape() || (type.getEncoding() && type.getNumElements() != 0))
    return {};
  return Builder(type.getContext()).getZeroAttr(type);
}

/// True if every element of `tensor` is the constant `number`.
static bool isSplatOf(Value tensor, double number) {
  DenseFPElementsAttr attr;
  return tensor && matchPattern(tensor, m_Constant(&attr)) && attr.isSplat() &&
         attr.getSplatValue<APFloat>().isExactlyValue(number);
}

OpFoldResult GatherOp::fold(FoldAdaptor) {
  if (hasNoRows(getPlan()) || (getThrough() && hasNoRows(getThrough())))
    return zeros(getResult());
  if (getThrough())
    return {};
  // With one slot a token, gather undoes an unweighted combine by the same plan. Rows outside every group must
  // be zero already, and what an upstream op made may only claim so.
  auto combine = getX().getDefiningOp<CombineOp>();
  if (!combine || combine.getPlan() != getPlan() || combine.getWeights() || getPlan().getType().getTopk() != 1)
    return {};
  Value rows = combine.getY();
  bool zeroTail = cast<RaggedAttr>(combine.getY().getType().getEncoding()).getTail() == TailState::Zero &&
                  isa_and_present<GatherOp, RaggedMatmulOp>(rows.getDefiningOp());
  if (zeroTail && rows.getType() == getResult().getType())
    return rows;
  return {};
}

OpFoldResult RaggedMatmulOp::fold(FoldAdaptor) {
  if (!getPlan() || !hasNoRows(getPlan()))
    return {};
  if (getAcc())
    return getAcc();
  return zeros(getResult());
}

OpFoldResult GroupSumOp::fold(FoldAdaptor) { return hasNoRows(getPlan()) ? zeros(getResult()) : OpFoldResult(); }

OpFoldResult CombineOp::fold(FoldAdaptor) {
  bool skips = getNan() == NanPolicy::Last && isSplatOf(getWeights(), 0.0);
  return hasNoRows(getPlan()) || skips ? zeros(getResult()) : OpFoldResult();
}

OpFoldResult NormalizeOp::fold(FoldAdaptor) {
  // Under nan = last the op also turns NaN into 0.
  if (getNan() == NanPolicy::Propagate && !getRenormalize() && getScale().isExactlyValue(1.0))
    return getValues();
  return {};
}

//===----------------------------------------------------------------------===//
// Gather of a gather
//===----------------------------------------------------------------------===//

namespace {
/// The rows that one gather copies are read through its plan by the next: a lookup of numbers instead of a copy.
struct GatherOfGather : OpRewritePattern<GatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GatherOp op, PatternRewriter &rewriter) const override {
    // The inner result is ragged, x is plain: there is a cast between them.
    auto cast = op.getX().getDefiningOp<tensor::CastOp>();
    auto inner = cast ? cast.getSource().getDefiningOp<GatherOp>() : GatherOp();
    if (!inner || inner.getThrough() || op.getThrough())
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      op.getXMutable().assign(inner.getX());
      op.getThroughMutable().assign(inner.getPlan());
    });
    return success();
  }
};
} // namespace

void GatherOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<GatherOfGather>(context);
}

//===----------------------------------------------------------------------===//
// Weights that are all 1
//===----------------------------------------------------------------------===//

namespace {
template <typename OpTy> struct DropUnitWeights : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &rewriter) const override {
    if (!isSplatOf(op.getWeights(), 1.0))
      return failure();
    rewriter.modifyOpInPlace(op, [&] { op.getWeightsMutable().clear(); });
    return success();
  }
};
} // namespace

void RaggedMatmulOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<DropUnitWeights<RaggedMatmulOp>>(context);
}

void CombineOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<DropUnitWeights<CombineOp>>(context);
}

//===----------------------------------------------------------------------===//
// Static shapes propagate
//===----------------------------------------------------------------------===//

/// Replaces operands by the more static tensors that they are casts of.
static bool foldOperandCasts(Operation *op) {
  bool changed = false;
  for (OpOperand &operand : op->getOpOperands()) {
    auto cast = operand.get().getDefiningOp<tensor::CastOp>();
    if (!cast)
      continue;
    auto source = dyn_cast<RankedTensorType>(cast.getSource().getType());
    auto target = dyn_cast<RankedTensorType>(cast.getType());
    if (!source || !target || source.getEncoding() != target.getEncoding() || source == target ||
        !tensor::preservesStaticInformation(target, source))
      continue;
    operand.set(cast.getSource());
    changed = true;
  }
  return changed;
}

namespace {
/// Result types take over what is static in the operands' types; other users see a cast to the old type.
struct SharpenTensors : RewritePattern {
  SharpenTensors(StringRef name, MLIRContext *context) : RewritePattern(name, 1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    bool changed = false;
    rewriter.startOpModification(op);
    changed |= foldOperandCasts(op);
    SmallVector<std::pair<Value, RankedTensorType>, 2> sharpened;
    for (auto [index, result] : llvm::enumerate(getResultDims(op))) {
      Value value = op->getResult(index);
      auto type = cast<RankedTensorType>(value.getType());
      SmallVector<int64_t> shape(type.getShape());
      for (auto [size, source] : llvm::zip_equal(shape, result.dims))
        if (ShapedType::isDynamic(size))
          size = source.staticSize();
      if (shape == type.getShape())
        continue;
      value.setType(RankedTensorType::get(shape, type.getElementType(), type.getEncoding()));
      sharpened.emplace_back(value, type);
    }
    changed |= !sharpened.empty();
    if (!changed) {
      rewriter.cancelOpModification(op);
      return failure();
    }
    rewriter.finalizeOpModification(op);
    rewriter.setInsertionPointAfter(op);
    for (auto [value, type] : sharpened) {
      auto cast = tensor::CastOp::create(rewriter, op->getLoc(), type, value);
      rewriter.replaceAllUsesExcept(value, cast, cast);
    }
    return success();
  }
};

/// No user outside the dialect sees a change of the type of a plan or route: the ops of the dialect take dynamic sizes
/// for compatible with any.
bool usersTakeAnyPlan(Value plan) {
  return llvm::all_of(plan.getUsers(), [](Operation *user) { return isa_and_present<MoEDialect>(user->getDialect()); });
}

/// Ends what `startOpModification` began; success if the op was changed.
LogicalResult endModification(Operation *op, bool changed, PatternRewriter &rewriter) {
  if (changed)
    rewriter.finalizeOpModification(op);
  else
    rewriter.cancelOpModification(op);
  return success(changed);
}

struct SharpenPlan : OpRewritePattern<PlanOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PlanOp op, PatternRewriter &rewriter) const override {
    PlanType type = op.getPlan().getType();
    if (!usersTakeAnyPlan(op.getPlan()))
      return failure();
    bool changed = false;
    rewriter.startOpModification(op);
    changed |= foldOperandCasts(op);
    int64_t tokens = type.getTokens(), rows = type.getRows();
    if (ShapedType::isDynamic(tokens))
      tokens = op.getIds().getType().getDimSize(0);
    if (ShapedType::isDynamic(rows))
      rows = op.getCapacity() ? static_cast<int64_t>(*op.getCapacity())
                              : getStaticPlanRows(tokens, type.getTopk(), type.getGroups(), type.getAlign())
                                    .value_or(ShapedType::kDynamic);
    auto sharp = PlanType::get(op.getContext(), type.getGroups(), rows, tokens, type.getTopk(), type.getAlign());
    changed |= sharp != type;
    if (!changed) {
      rewriter.cancelOpModification(op);
      return failure();
    }
    op.getPlan().setType(sharp);
    rewriter.finalizeOpModification(op);
    return success();
  }
};

struct SharpenPlanFromSizes : OpRewritePattern<PlanFromSizesOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PlanFromSizesOp op, PatternRewriter &rewriter) const override {
    PlanType type = op.getPlan().getType();
    bool changed = false;
    rewriter.startOpModification(op);
    changed |= foldOperandCasts(op);
    std::optional<int64_t> rows = op.getRows() ? getConstantIntValue(op.getRows()) : std::nullopt;
    if (rows && *rows >= 0 && usersTakeAnyPlan(op.getPlan())) {
      op.getRowsMutable().clear();
      op.getPlan().setType(
          PlanType::get(op.getContext(), type.getGroups(), *rows, type.getTokens(), type.getTopk(), type.getAlign()));
      changed = true;
    }
    return endModification(op, changed, rewriter);
  }
};

struct SharpenRoute : OpRewritePattern<RouteOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(RouteOp op, PatternRewriter &rewriter) const override {
    RouteType type = op.getRoute().getType();
    rewriter.startOpModification(op);
    bool changed = foldOperandCasts(op);
    int64_t tokens = op.getIds().getType().getDimSize(0);
    if (usersTakeAnyPlan(op.getRoute()) && type.getTokens() != tokens && !ShapedType::isDynamic(tokens)) {
      op.getRoute().setType(RouteType::get(op.getContext(), type.getAxis(), type.getRanks(), type.getGroups(),
                                           type.getTopk(), type.getMaxTokens(), tokens, type.getTransport(),
                                           type.getPairCapacity()));
      changed = true;
    }
    return endModification(op, changed, rewriter);
  }
};

template <typename... Ops> void addSharpenTensors(RewritePatternSet &patterns) {
  (patterns.add<SharpenTensors>(Ops::getOperationName(), patterns.getContext()), ...);
}
} // namespace

void MoEDialect::getCanonicalizationPatterns(RewritePatternSet &patterns) const {
  addSharpenTensors<LogitsOp, ScoresOp, SelectOp, NormalizeOp, PlanGetOp, GatherOp, RaggedMatmulOp, GroupSumOp,
                    GatedActivationOp, CombineOp, RouteIdsOp, DispatchOp, CollectOp, CombineRanksOp, AllToAllOp>(
      patterns);
  patterns.add<SharpenPlan, SharpenPlanFromSizes, SharpenRoute>(patterns.getContext());
}
