//===- NormalizeElementwise.cpp - StableHLO to arith and math -------------===//

#include "Normalize.h"
#include "Stablehlo.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::moe;
using namespace mlir::moe::stablehlo;

/// An op of the same name on floats and on integers; empty where it means something else.
struct Names {
  StringRef stablehlo, onFloats, onIntegers;
};
static constexpr Names kNames[] = {
    {"stablehlo.abs", "math.absf", ""},
    {"stablehlo.add", "arith.addf", "arith.addi"},
    {"stablehlo.and", "", "arith.andi"},
    {"stablehlo.divide", "arith.divf", ""}, // of integers: by 0 it is undefined in arith
    {"stablehlo.exponential", "math.exp", ""},
    {"stablehlo.log", "math.log", ""},
    {"stablehlo.maximum", "arith.maximumf", "arith.maxsi"},
    {"stablehlo.minimum", "arith.minimumf", "arith.minsi"},
    {"stablehlo.multiply", "arith.mulf", "arith.muli"},
    {"stablehlo.negate", "arith.negf", ""},
    {"stablehlo.or", "", "arith.ori"},
    {"stablehlo.rsqrt", "math.rsqrt", ""},
    {"stablehlo.sqrt", "math.sqrt", ""},
    {"stablehlo.subtract", "arith.subf", "arith.subi"},
    {"stablehlo.tanh", "math.tanh", ""},
    {"stablehlo.xor", "", "arith.xori"},
};

static Type getElement(Value value) { return getElementTypeOrSelf(value.getType()); }

/// Attributes that do not change what an elementwise op means.
static bool hasOnlyKnownAttributes(Operation *op, ArrayRef<StringRef> known = {}) {
  return llvm::all_of(getAllAttributes(op), [&](NamedAttribute attr) {
    if (attr.getName() == "result_accuracy") {
      auto accuracy = dyn_cast<OpaqueAttr>(attr.getValue());
      return accuracy && accuracy.getAttrData().contains("DEFAULT");
    }
    return llvm::is_contained(known, attr.getName().getValue());
  });
}

static LogicalResult convertNamed(Operation *op, PatternRewriter &rewriter) {
  const Names *names = llvm::find_if(kNames, [&](const Names &n) { return isOp(op, n.stablehlo); });
  if (op->getNumResults() != 1 || !getTensor(op->getResult(0)) || !hasOnlyKnownAttributes(op))
    return failure();
  Type type = op->getResult(0).getType(), element = getElementTypeOrSelf(type);
  if (llvm::any_of(op->getOperandTypes(), [&](Type other) { return other != type; }))
    return failure();
  StringRef name;
  if (isa<FloatType>(element))
    name = names->onFloats;
  else if (element.isSignlessInteger())
    name = names->onIntegers;
  // In StableHLO an i1 is a truth value, in arith a number of one bit.
  bool isLogic = isOp(op, "stablehlo.and") || isOp(op, "stablehlo.or") || isOp(op, "stablehlo.xor");
  if (name.empty() || (element.isInteger(1) && !isLogic))
    return failure();
  OperationState state(op->getLoc(), name, op->getOperands(), type);
  rewriter.replaceOp(op, rewriter.create(state));
  return success();
}

template <typename Predicate> struct Direction {
  StringRef name;
  Predicate predicate;
};

template <typename Predicate, size_t n>
static std::optional<Predicate> lookup(const Direction<Predicate> (&directions)[n], StringRef name) {
  for (const Direction<Predicate> &direction : directions)
    if (direction.name == name)
      return direction.predicate;
  return std::nullopt;
}

static LogicalResult convertCompare(Operation *op, PatternRewriter &rewriter) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  static constexpr Direction<F> kFloat[] = {{"EQ", F::OEQ}, {"NE", F::UNE}, {"LT", F::OLT},
                                            {"LE", F::OLE}, {"GT", F::OGT}, {"GE", F::OGE}};
  static constexpr Direction<I> kSigned[] = {{"EQ", I::eq},  {"NE", I::ne},  {"LT", I::slt},
                                             {"LE", I::sle}, {"GT", I::sgt}, {"GE", I::sge}};
  if (!hasOnlyKnownAttributes(op, {"compare_type", "comparison_direction"}) || !getTensor(op->getOperand(0)) ||
      op->getOperand(0).getType() != op->getOperand(1).getType())
    return failure();
  Type element = getElement(op->getOperand(0));
  StringRef kind = getEnum(op, "compare_type"), direction = getEnum(op, "comparison_direction");
  Value lhs = op->getOperand(0), rhs = op->getOperand(1);
  if (isa<FloatType>(element) && (kind.empty() || kind == "FLOAT")) {
    if (auto predicate = lookup(kFloat, direction)) {
      rewriter.replaceOpWithNewOp<arith::CmpFOp>(op, *predicate, lhs, rhs);
      return success();
    }
  }
  if (element.isSignlessInteger() && !element.isInteger(1) && (kind.empty() || kind == "SIGNED")) {
    if (auto predicate = lookup(kSigned, direction)) {
      rewriter.replaceOpWithNewOp<arith::CmpIOp>(op, *predicate, lhs, rhs);
      return success();
    }
  }
  return failure();
}

static LogicalResult convertConvert(Operation *op, PatternRewriter &rewriter) {
  if (!hasOnlyKnownAttributes(op))
    return failure();
  Value source = op->getOperand(0);
  Type type = op->getResult(0).getType(), from = getElement(source), to = getElementTypeOrSelf(type);
  if (from == to) {
    rewriter.replaceOp(op, source);
    return success();
  }
  if (!from.isIntOrFloat() || !to.isIntOrFloat())
    return failure();
  unsigned fromWidth = from.getIntOrFloatBitWidth(), toWidth = to.getIntOrFloatBitWidth();
  StringRef name;
  if (isa<FloatType>(from) && isa<FloatType>(to) && fromWidth != toWidth)
    name = fromWidth < toWidth ? "arith.extf" : "arith.truncf";
  else if (from.isSignlessInteger() && isa<FloatType>(to))
    name = from.isInteger(1) ? "arith.uitofp" : "arith.sitofp";
  else if (from.isSignlessInteger() && to.isSignlessInteger() && !to.isInteger(1))
    name = fromWidth > toWidth ? "arith.trunci" : from.isInteger(1) ? "arith.extui" : "arith.extsi";
  if (name.empty())
    return failure();
  OperationState state(op->getLoc(), name, source, type);
  rewriter.replaceOp(op, rewriter.create(state));
  return success();
}

static LogicalResult convertSelect(Operation *op, PatternRewriter &rewriter) {
  RankedTensorType condition = getTensor(op->getOperand(0)), type = getTensor(op->getResult(0));
  if (!hasOnlyKnownAttributes(op) || !condition || !type || condition.getShape() != type.getShape() ||
      op->getOperand(1).getType() != type || op->getOperand(2).getType() != type)
    return failure();
  rewriter.replaceOpWithNewOp<arith::SelectOp>(op, op->getOperand(0), op->getOperand(1), op->getOperand(2));
  return success();
}

static LogicalResult convertConstant(Operation *op, PatternRewriter &rewriter) {
  auto value = dyn_cast_or_null<DenseElementsAttr>(op->getAttr("value"));
  if (!value || !value.getElementType().isSignlessIntOrFloat())
    return failure();
  rewriter.replaceOpWithNewOp<arith::ConstantOp>(op, value);
  return success();
}

/// clamp(low, x, high) is min(max(x, low), high); the limits may be scalars.
static LogicalResult convertClamp(Operation *op, PatternRewriter &rewriter) {
  RankedTensorType type = getTensor(op->getResult(0));
  if (!type || !hasOnlyKnownAttributes(op))
    return failure();
  auto apply = [&](StringRef name, Value value, Value limit) {
    if (limit.getType() != type)
      limit = create(rewriter, op->getLoc(), "stablehlo.broadcast_in_dim", type, limit,
                     rewriter.getNamedAttr("broadcast_dimensions", rewriter.getDenseI64ArrayAttr({})))
                  ->getResult(0);
    return create(rewriter, op->getLoc(), name, type, {value, limit})->getResult(0);
  };
  rewriter.replaceOp(op, apply("stablehlo.minimum", apply("stablehlo.maximum", op->getOperand(1), op->getOperand(0)),
                               op->getOperand(2)));
  return success();
}

/// 1 / (1 + exp(-x)).
struct FormLogistic : OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::DivFOp op, PatternRewriter &rewriter) const override {
    auto sum = op.getRhs().getDefiningOp<arith::AddFOp>();
    if (!matchPattern(op.getLhs(), m_OneFloat()) || !sum)
      return failure();
    Value other = sum.getRhs();
    if (matchPattern(other, m_OneFloat()))
      other = sum.getLhs();
    else if (!matchPattern(sum.getLhs(), m_OneFloat()))
      return failure();
    auto exp = other.getDefiningOp<math::ExpOp>();
    auto negated = exp ? exp.getOperand().getDefiningOp<arith::NegFOp>() : nullptr;
    if (!negated || !getTensor(op))
      return failure();
    rewriter.replaceOp(
        op, stablehlo::create(rewriter, op.getLoc(), "stablehlo.logistic", op.getType(), negated.getOperand()));
    return success();
  }
};

void stablehlo::populateElementwisePatterns(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  for (const Names &names : kNames)
    patterns.add<NamedPattern>(context, names.stablehlo, convertNamed);
  patterns.add<NamedPattern>(context, "stablehlo.compare", convertCompare);
  patterns.add<NamedPattern>(context, "stablehlo.convert", convertConvert);
  patterns.add<NamedPattern>(context, "stablehlo.select", convertSelect);
  patterns.add<NamedPattern>(context, "stablehlo.constant", convertConstant);
  patterns.add<NamedPattern>(context, "stablehlo.clamp", convertClamp);
  patterns.add<FormLogistic>(context);
}
