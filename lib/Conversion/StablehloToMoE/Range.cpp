//===- Range.cpp - what the values of an integer tensor can be ------------===//
//
// Indices and expert ids are mended, clamped and masked in programs for the case that they are out of range. Where they
// cannot be, all that is left out.
//
//===----------------------------------------------------------------------===//

#include "Stablehlo.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "moe/Dialect/MoE/IR/MoE.h"
#include "moe/Dialect/MoE/IR/Plan.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::moe;
using stablehlo::IntegerRange;

/// A chain of ops longer than this is not followed.
static constexpr int kMaxDepth = 24;

static std::optional<IntegerRange> getRange(Value value, int depth);

static std::optional<IntegerRange> unite(std::optional<IntegerRange> a, std::optional<IntegerRange> b) {
  if (!a || !b)
    return std::nullopt;
  return IntegerRange{std::min(a->min, b->min), std::max(a->max, b->max)};
}

/// The range, if the type holds all of it: nothing wrapped around.
static std::optional<IntegerRange> fit(Type type, int64_t min, int64_t max) {
  unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  if (width < 64 && (min < llvm::minIntN(width) || max > llvm::maxIntN(width)))
    return std::nullopt;
  return IntegerRange{min, max};
}

static std::optional<IntegerRange> getConstantRange(Value value) {
  DenseIntElementsAttr constant;
  if (!matchPattern(value, m_Constant(&constant)) || constant.empty())
    return std::nullopt;
  auto number = [](const APInt &n) { return n.getBitWidth() == 1 ? int64_t(n.getZExtValue()) : n.getSExtValue(); };
  if (constant.isSplat())
    return IntegerRange{number(constant.getSplatValue<APInt>()), number(constant.getSplatValue<APInt>())};
  IntegerRange range{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  for (const APInt &n : constant.getValues<APInt>())
    range = {std::min(range.min, number(n)), std::max(range.max, number(n))};
  return range;
}

static std::optional<IntegerRange> getPlanRange(PlanGetOp op) {
  PlanType plan = op.getPlan().getType();
  if (op.getField() == PlanField::Sizes)
    return IntegerRange{0, plan.getRows() < 0 ? std::numeric_limits<int32_t>::max() : plan.getRows()};
  // Only in a plan that drops nothing is every row a slot, and every slot a row.
  auto made = op.getPlan().getDefiningOp<PlanOp>();
  if (!made || made.getCapacity() || plan.getAlign() != 1 || ShapedType::isDynamic(plan.getRows()))
    return std::nullopt;
  std::optional<IntegerRange> ids = stablehlo::getRange(made.getIds());
  if (!ids || ids->min < 0 || ids->max >= plan.getGroups())
    return std::nullopt;
  int64_t rows = std::max<int64_t>(plan.getRows(), 1), topk = plan.getTopk();
  return IntegerRange{0, op.getField() == PlanField::Token ? (rows - 1) / topk : rows - 1};
}

static std::optional<IntegerRange> getBinaryRange(Operation *op, int depth) {
  std::optional<IntegerRange> a = getRange(op->getOperand(0), depth), b = getRange(op->getOperand(1), depth);
  Type type = op->getResult(0).getType();
  // One side of a minimum or maximum is enough to bound it.
  if (isa<arith::MaxSIOp>(op) && (a || b)) {
    int64_t least = std::max(a ? a->min : b->min, b ? b->min : a->min);
    if (a && b)
      return IntegerRange{least, std::max(a->max, b->max)};
    return fit(type, least, llvm::maxIntN(getElementTypeOrSelf(type).getIntOrFloatBitWidth()));
  }
  if (isa<arith::MinSIOp>(op) && (a || b)) {
    int64_t most = std::min(a ? a->max : b->max, b ? b->max : a->max);
    if (a && b)
      return IntegerRange{std::min(a->min, b->min), most};
    return fit(type, llvm::minIntN(getElementTypeOrSelf(type).getIntOrFloatBitWidth()), most);
  }
  if (!a || !b)
    return std::nullopt;
  int64_t low, high;
  if (isa<arith::AddIOp>(op) && !llvm::AddOverflow(a->min, b->min, low) && !llvm::AddOverflow(a->max, b->max, high))
    return fit(type, low, high);
  if (isa<arith::SubIOp>(op) && !llvm::SubOverflow(a->min, b->max, low) && !llvm::SubOverflow(a->max, b->min, high))
    return fit(type, low, high);
  bool nonNegative = a->min >= 0 && b->min > 0;
  if (stablehlo::isOp(op, "stablehlo.divide") && nonNegative)
    return IntegerRange{a->min / b->max, a->max / b->min};
  if (stablehlo::isOp(op, "stablehlo.remainder") && nonNegative)
    return IntegerRange{0, std::min(a->max, b->max - 1)};
  return std::nullopt;
}

static std::optional<IntegerRange> getRange(Value value, int depth) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  Operation *op = value.getDefiningOp();
  if (!type || !type.getElementType().isSignlessInteger() || !op || depth > kMaxDepth)
    return std::nullopt;
  ++depth;
  if (std::optional<IntegerRange> range = getConstantRange(value))
    return range;
  auto of = [&](unsigned operand) { return getRange(op->getOperand(operand), depth); };
  unsigned result = cast<OpResult>(value).getResultNumber();
  if (!stablehlo::isWellFormed(op))
    return std::nullopt;

  StringRef name = op->getName().getStringRef();
  if (name == "stablehlo.iota") {
    std::optional<int64_t> dim = stablehlo::getNumber(op, "iota_dimension");
    if (type.isDynamicDim(*dim) || type.getDimSize(*dim) == 0)
      return std::nullopt;
    return fit(type, 0, type.getDimSize(*dim) - 1);
  }
  if (stablehlo::isTopK(op) && result == 1) {
    int64_t count = stablehlo::getTensor(op->getOperand(0)).getShape().back();
    return ShapedType::isDynamic(count) ? std::nullopt : std::optional(IntegerRange{0, count - 1});
  }
  // Moved, not changed. A gather takes the nearest element for an index out of range.
  if (llvm::is_contained({"stablehlo.reshape", "stablehlo.broadcast_in_dim", "stablehlo.slice", "stablehlo.transpose",
                          "stablehlo.gather"},
                         name))
    return of(0);
  if (name == "stablehlo.sort")
    return of(result);
  if (llvm::is_contained({"stablehlo.divide", "stablehlo.remainder"}, name))
    return getBinaryRange(op, depth);

  return llvm::TypeSwitch<Operation *, std::optional<IntegerRange>>(op)
      .Case([&](arith::ExtSIOp) { return of(0); })
      .Case([&](arith::ExtUIOp) {
        std::optional<IntegerRange> range = of(0);
        return range && range->min >= 0 ? range : std::nullopt;
      })
      .Case([&](arith::TruncIOp) -> std::optional<IntegerRange> {
        std::optional<IntegerRange> range = of(0);
        return range ? fit(type, range->min, range->max) : std::nullopt;
      })
      .Case([&](arith::SelectOp) { return unite(of(1), of(2)); })
      .Case<arith::AddIOp, arith::SubIOp, arith::MaxSIOp, arith::MinSIOp>(
          [&](Operation *) { return getBinaryRange(op, depth); })
      .Case([](PlanGetOp get) { return getPlanRange(get); })
      .Case([&](SelectOp select) -> std::optional<IntegerRange> {
        return IntegerRange{0, select.getScores().getType().getDimSize(1) - 1};
      })
      .Default([](Operation *) { return std::nullopt; });
}

std::optional<IntegerRange> stablehlo::getRange(Value value) { return ::getRange(value, 0); }
