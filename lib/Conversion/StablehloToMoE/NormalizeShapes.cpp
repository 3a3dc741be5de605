//===- NormalizeShapes.cpp - reshapes, broadcasts and known integers ------===//

#include "Normalize.h"
#include "Stablehlo.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::moe;
using namespace mlir::moe::stablehlo;

static constexpr StringRef kDims = "broadcast_dimensions";

static Value createBroadcast(PatternRewriter &rewriter, Location loc, Type type, Value source, ArrayRef<int64_t> dims) {
  return create(rewriter, loc, "stablehlo.broadcast_in_dim", type, source,
                rewriter.getNamedAttr(kDims, rewriter.getDenseI64ArrayAttr(dims)))
      ->getResult(0);
}

/// A constant of one number, of another shape.
static Value resplat(PatternRewriter &rewriter, Location loc, Value constant, RankedTensorType type) {
  DenseElementsAttr value;
  if (!matchPattern(constant, m_Constant(&value)) || !value.isSplat() || !type.hasStaticShape())
    return {};
  return arith::ConstantOp::create(rewriter, loc, value.resizeSplat(type));
}

static Value createIota(PatternRewriter &rewriter, Location loc, Type type, int64_t dim) {
  return create(rewriter, loc, "stablehlo.iota", type, {},
                rewriter.getNamedAttr("iota_dimension", rewriter.getI64IntegerAttr(dim)))
      ->getResult(0);
}

/// Reshapes an iota along its only dimension of size other than 1; null if it has more.
static Value reshapeIota(PatternRewriter &rewriter, Operation *iota, RankedTensorType type) {
  auto getOnlyDim = [](ArrayRef<int64_t> shape) -> std::optional<int64_t> {
    auto isWide = [](int64_t size) { return size != 1; };
    if (llvm::count_if(shape, isWide) != 1)
      return std::nullopt;
    return llvm::find_if(shape, isWide) - shape.begin();
  };
  std::optional<int64_t> from = getOnlyDim(getTensor(iota->getResult(0)).getShape()), to = getOnlyDim(type.getShape());
  if (!from || !to || getNumber(iota, "iota_dimension") != *from)
    return {};
  return createIota(rewriter, iota->getLoc(), type, *to);
}

static LogicalResult simplifyReshape(Operation *op, PatternRewriter &rewriter) {
  Value source = op->getOperand(0);
  RankedTensorType type = getTensor(op->getResult(0));
  if (!type || !getTensor(source))
    return failure();
  if (source.getType() == type) {
    rewriter.replaceOp(op, source);
    return success();
  }
  if (Value constant = resplat(rewriter, op->getLoc(), source, type)) {
    rewriter.replaceOp(op, constant);
    return success();
  }
  if (Operation *iota = getProducer(source, "stablehlo.iota"))
    if (Value reshaped = reshapeIota(rewriter, iota, type)) {
      rewriter.replaceOp(op, reshaped);
      return success();
    }
  if (Operation *inner = getProducer(source, "stablehlo.reshape")) {
    rewriter.replaceOp(op, create(rewriter, op->getLoc(), "stablehlo.reshape", type, inner->getOperand(0)));
    return success();
  }
  return failure();
}

/// A broadcast repeats its source and no dimension of it, and is no constant, iota, reshape or other broadcast.
static LogicalResult simplifyBroadcast(Operation *op, PatternRewriter &rewriter) {
  Value source = op->getOperand(0);
  RankedTensorType from = getTensor(source), type = getTensor(op->getResult(0));
  std::optional<SmallVector<int64_t>> dims = getNumbers(op, kDims);
  if (!type || !from || !dims || !from.hasStaticShape() || !type.hasStaticShape() ||
      static_cast<int64_t>(dims->size()) != from.getRank())
    return failure();
  if (Value constant = resplat(rewriter, op->getLoc(), source, type)) {
    rewriter.replaceOp(op, constant);
    return success();
  }
  if (from.getNumElements() == type.getNumElements() && llvm::is_sorted(*dims)) {
    rewriter.replaceOp(op, create(rewriter, op->getLoc(), "stablehlo.reshape", type, source));
    return success();
  }
  SmallVector<int64_t> shape, kept;
  for (auto [size, dim] : llvm::zip_equal(from.getShape(), *dims))
    if (size == type.getDimSize(dim)) {
      shape.push_back(size);
      kept.push_back(dim);
    }
  if (shape.size() < dims->size()) {
    Value squeezed = createReshape(rewriter, op->getLoc(), source, shape);
    rewriter.replaceOp(op, createBroadcast(rewriter, op->getLoc(), type, squeezed, kept));
    return success();
  }
  if (Operation *iota = getProducer(source, "stablehlo.iota"))
    if (std::optional<int64_t> dim = getNumber(iota, "iota_dimension")) {
      rewriter.replaceOp(op, createIota(rewriter, op->getLoc(), type, (*dims)[*dim]));
      return success();
    }
  if (Operation *inner = getProducer(source, "stablehlo.broadcast_in_dim")) {
    std::optional<SmallVector<int64_t>> innerDims = getNumbers(inner, kDims);
    if (!innerDims)
      return failure();
    SmallVector<int64_t> both = llvm::map_to_vector(*innerDims, [&](int64_t dim) { return (*dims)[dim]; });
    rewriter.replaceOp(op, createBroadcast(rewriter, op->getLoc(), type, inner->getOperand(0), both));
    return success();
  }
  return failure();
}

static LogicalResult simplifySlice(Operation *op, PatternRewriter &rewriter) {
  if (op->getOperand(0).getType() != op->getResult(0).getType())
    return failure();
  rewriter.replaceOp(op, op->getOperand(0));
  return success();
}

/// A conjunction of nothing but true.
static LogicalResult simplifyReduce(Operation *op, PatternRewriter &rewriter) {
  if (op->getNumOperands() != 2 || getBinaryRegion(op) != "stablehlo.and")
    return failure();
  RankedTensorType type = getTensor(op->getResult(0));
  if (!type || !type.getElementType().isInteger(1) || !matchPattern(op->getOperand(0), m_One()) ||
      !matchPattern(op->getOperand(1), m_One()))
    return failure();
  Value constant = resplat(rewriter, op->getLoc(), op->getOperand(0), type);
  if (!constant)
    return failure();
  rewriter.replaceOp(op, constant);
  return success();
}

namespace {

/// What is done to every element is done before the reshape.
struct SinkReshape : RewritePattern {
  explicit SinkReshape(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    bool isLogistic = isOp(op, "stablehlo.logistic");
    if (!isLogistic && !(isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect()) &&
                         OpTrait::hasElementwiseMappableTraits(op)))
      return failure();
    if (op->getNumResults() != 1 || !getTensor(op->getResult(0)))
      return failure();
    std::optional<ArrayRef<int64_t>> shape;
    for (Value operand : op->getOperands()) {
      if (Operation *reshape = getProducer(operand, "stablehlo.reshape")) {
        RankedTensorType source = getTensor(reshape->getOperand(0));
        if (!source || (shape && *shape != source.getShape()))
          return failure();
        shape = source.getShape();
      } else if (DenseElementsAttr value; !matchPattern(operand, m_Constant(&value)) || !value.isSplat()) {
        return failure();
      }
    }
    if (!shape)
      return failure();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      if (Operation *reshape = getProducer(operand, "stablehlo.reshape"))
        operands.push_back(reshape->getOperand(0));
      else
        operands.push_back(
            resplat(rewriter, op->getLoc(), operand, RankedTensorType::get(*shape, getElementTypeOrSelf(operand))));
    }
    RankedTensorType type = getTensor(op->getResult(0));
    Operation *clone = rewriter.clone(*op);
    rewriter.modifyOpInPlace(clone, [&] {
      clone->setOperands(operands);
      clone->getResult(0).setType(RankedTensorType::get(*shape, type.getElementType()));
    });
    rewriter.replaceOp(op, createReshape(rewriter, op->getLoc(), clone->getResult(0), type.getShape()));
    return success();
  }
};

/// A comparison that the ranges of its operands decide.
struct DecideCompare : OpRewritePattern<arith::CmpIOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::CmpIOp op, PatternRewriter &rewriter) const override {
    RankedTensorType type = getTensor(op);
    std::optional<IntegerRange> a = getRange(op.getLhs()), b = getRange(op.getRhs());
    if (!type || !type.hasStaticShape() || !a || !b)
      return failure();
    std::optional<bool> result;
    switch (op.getPredicate()) {
    case arith::CmpIPredicate::slt:
    case arith::CmpIPredicate::sge:
      if (a->max < b->min || a->min >= b->max)
        result = (a->max < b->min) == (op.getPredicate() == arith::CmpIPredicate::slt);
      break;
    case arith::CmpIPredicate::sgt:
    case arith::CmpIPredicate::sle:
      if (a->min > b->max || a->max <= b->min)
        result = (a->min > b->max) == (op.getPredicate() == arith::CmpIPredicate::sgt);
      break;
    default:
      break;
    }
    if (!result)
      return failure();
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(op, DenseElementsAttr::get(type, *result));
    return success();
  }
};

/// A limit that the other operand keeps anyway.
template <typename Op> struct DropLimit : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    std::optional<IntegerRange> a = getRange(op.getLhs()), b = getRange(op.getRhs());
    if (!a || !b)
      return failure();
    constexpr bool isMax = std::is_same_v<Op, arith::MaxSIOp>;
    if (isMax ? a->min >= b->max : a->max <= b->min)
      rewriter.replaceOp(op, op.getLhs());
    else if (isMax ? b->min >= a->max : b->max <= a->min)
      rewriter.replaceOp(op, op.getRhs());
    else
      return failure();
    return success();
  }
};

/// A floor division corrects the quotient where the signs differ and something remains. With x >= 0 and a divisor > 0
/// the signs differ for x = 0 only, of which nothing remains.
struct DropFloorCorrection : OpRewritePattern<arith::AndIOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::AndIOp op, PatternRewriter &rewriter) const override {
    RankedTensorType type = getTensor(op);
    auto signs = op.getLhs().getDefiningOp<arith::CmpIOp>(), rest = op.getRhs().getDefiningOp<arith::CmpIOp>();
    if (!type || !signs || !rest || signs.getPredicate() != arith::CmpIPredicate::ne ||
        rest.getPredicate() != arith::CmpIPredicate::ne || !matchPattern(rest.getRhs(), m_Zero()))
      return failure();
    Operation *sign = getProducer(signs.getLhs(), "stablehlo.sign"),
              *remainder = getProducer(rest.getLhs(), "stablehlo.remainder");
    if (!sign || !remainder || sign->getOperand(0) != remainder->getOperand(0) ||
        !matchPattern(signs.getRhs(), m_One()))
      return failure();
    std::optional<IntegerRange> x = getRange(sign->getOperand(0)), divisor = getRange(remainder->getOperand(1));
    if (!x || x->min < 0 || !divisor || divisor->min <= 0)
      return failure();
    rewriter.replaceOpWithNewOp<arith::ConstantOp>(op, DenseElementsAttr::get(type, false));
    return success();
  }
};

} // namespace

/// The sign of a constant.
static LogicalResult simplifySign(Operation *op, PatternRewriter &rewriter) {
  std::optional<IntegerRange> range = getRange(op->getOperand(0));
  RankedTensorType type = getTensor(op->getResult(0));
  if (!range || range->min <= 0 || !type || !type.hasStaticShape())
    return failure();
  rewriter.replaceOpWithNewOp<arith::ConstantOp>(
      op, DenseElementsAttr::get(type, rewriter.getIntegerAttr(type.getElementType(), 1)));
  return success();
}

void stablehlo::populateShapePatterns(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<NamedPattern>(context, "stablehlo.reshape", simplifyReshape);
  patterns.add<NamedPattern>(context, "stablehlo.broadcast_in_dim", simplifyBroadcast);
  patterns.add<NamedPattern>(context, "stablehlo.slice", simplifySlice);
  patterns.add<NamedPattern>(context, "stablehlo.reduce", simplifyReduce);
  patterns.add<NamedPattern>(context, "stablehlo.sign", simplifySign);
  patterns.add<SinkReshape, DecideCompare, DropLimit<arith::MaxSIOp>, DropLimit<arith::MinSIOp>, DropFloorCorrection>(
      context);
}
