//===- RaggedGemmOp.cpp - accessors, effects, verifier of tile.ragged_gemm --------===//

#include "OpUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "moe/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace mlir::tile;

int64_t RaggedGemmOp::getNumGroups() {
  if (getMode() == GemmMode::Contraction)
    return cast<ShapedType>(getOuts().front().getType()).getDimSize(0);
  auto type = cast<ShapedType>(getRhs().getType());
  return type.getRank() == 3 ? type.getDimSize(0) : 1;
}

int64_t RaggedGemmOp::getK() {
  Value lhs = getLhs();
  return lhs ? cast<ShapedType>(lhs.getType()).getShape().back() : 1;
}

int64_t RaggedGemmOp::getN() {
  auto type = cast<ShapedType>(getRhs().getType());
  bool transposed = getMode() == GemmMode::Rows && getLayout() == RhsLayout::NK;
  return type.getDimSize(type.getRank() - (transposed ? 2 : 1));
}

ExtraKind RaggedGemmOp::getExtraKind(unsigned i) { return cast<ExtraKindAttr>(getExtraKinds()[i]).getValue(); }

ArrayRef<BlockArgument> RaggedGemmOp::getExtraArguments(unsigned i) {
  auto argumentsOf = [&](unsigned extra) { return getExtraKind(extra) == ExtraKind::Group ? getNumAccumulators() : 1; };
  unsigned first = getNumAccumulators();
  for (unsigned extra = 0; extra < i; ++extra)
    first += argumentsOf(extra);
  return ArrayRef<BlockArgument>(getEpilogue().getArguments()).slice(first, argumentsOf(i));
}

void RaggedGemmOp::getEffects(EffectList &effects) { getKernelEffects(*this, getOuts(), getAccumulate(), effects); }

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

static constexpr int64_t kAny = ShapedType::kDynamic;

static ArrayRef<int64_t> getShape(Value value) { return cast<ShapedType>(value.getType()).getShape(); }

/// Dimensions of `value` from `first` on are static.
static LogicalResult verifyStaticFrom(Operation *op, StringRef name, Value value, int64_t first) {
  for (int64_t dim = first, e = getShape(value).size(); dim < e; ++dim)
    if (failed(verifyStatic(op, name, value, dim)))
      return failure();
  return success();
}

/// (C1), mode rows: ranks and shapes of lhs and rhs; (C2), (C3), (C4) on the way.
static LogicalResult verifyRowsMode(RaggedGemmOp op) {
  Value lhs = op.getLhs(), rhs = op.getRhs();
  if (!lhs) // (C4)
    return op.emitOpError("has no lhs in mode rows, expected one");
  int64_t lhsRank = getShape(lhs).size(), rhsRank = getShape(rhs).size();
  bool ranksFit = op.getBounds() ? lhsRank == 2 && rhsRank == 3 : lhsRank == rhsRank && (lhsRank == 2 || lhsRank == 3);
  if (!ranksFit)
    return op.emitOpError() << "lhs has rank " << lhsRank << " and rhs has rank " << rhsRank << ", expected "
                            << (op.getBounds() ? "2 and 3 with bounds" : "2 and 2, or 3 and 3 without bounds");
  if (failed(verifyStatic(op, "lhs", lhs, lhsRank - 1)) || failed(verifyStaticFrom(op, "rhs", rhs, 0)))
    return failure();
  if (lhsRank == 3 && failed(verifyStatic(op, "lhs", lhs, 0)))
    return failure();
  bool kn = op.getLayout() == RhsLayout::KN;
  SmallVector<int64_t> expected = {kn ? op.getK() : kAny, kn ? kAny : op.getK()};
  if (rhsRank == 3)
    expected.insert(expected.begin(), lhsRank == 3 ? getShape(lhs)[0] : kAny);
  if (failed(verifyShape(op, "rhs", rhs, expected)))
    return failure();
  if (Value gather = op.getGather()) { // (C3)
    if (lhsRank != 2)
      return op.emitOpError() << "has a gather with an lhs of rank " << lhsRank << ", expected rank 2";
    return verifyRank(op, "gather", gather, 1);
  }
  return success();
}

/// (C1), mode contraction: ranks and shapes of lhs and rhs; (C2), (C3), (C5), (C6) on the way.
static LogicalResult verifyContractionMode(RaggedGemmOp op) {
  Value lhs = op.getLhs(), rhs = op.getRhs();
  if (!op.getBounds()) // (C2)
    return op.emitOpError("has no bounds in mode contraction, expected some");
  if (op.getGather()) // (C3)
    return op.emitOpError("has a gather in mode contraction, expected none");
  if (op.getSlots() || !op.getExtras().empty()) // (C5)
    return op.emitOpError("has slots or extras in mode contraction, expected none");
  if (op.getAccs() != Accumulators::Single) // (C6)
    return op.emitOpError() << "accs is " << stringifyEnum(op.getAccs()) << " in mode contraction, expected single";
  if (op.getLayout() != RhsLayout::KN)
    return op.emitOpError() << "layout is " << stringifyEnum(op.getLayout()) << " in mode contraction, expected kn";
  if (failed(verifyRank(op, "rhs", rhs, 2)) || failed(verifyStatic(op, "rhs", rhs, 1)))
    return failure();
  if (!lhs)
    return success();
  if (failed(verifyShape(op, "lhs", lhs, {getShape(rhs)[0], kAny})))
    return failure();
  return verifyStatic(op, "lhs", lhs, 1);
}

/// (C8) Outs have the product's shape, with N divided by the number of accumulators.
static LogicalResult verifyOuts(RaggedGemmOp op, int64_t rows) {
  if (op.getOuts().empty())
    return op.emitOpError("has no outs, expected at least 1");
  SmallVector<int64_t> expected;
  std::optional<int64_t> rowsDim; // the only dimension that may be dynamic
  if (op.getMode() == GemmMode::Contraction) {
    expected = {kAny, op.getN()};
    if (op.getLhs())
      expected.insert(expected.begin() + 1, op.getK());
  } else {
    expected = {rows, op.getN() / op.getNumAccumulators()};
    if (getShape(op.getLhs()).size() == 3)
      expected.insert(expected.begin(), op.getNumGroups());
    rowsDim = expected.size() - 2;
  }
  for (auto [i, out] : llvm::enumerate(op.getOuts())) {
    std::string name = ("out #" + Twine(i)).str();
    if (failed(verifyShape(op, name, out, expected)))
      return failure();
    for (int64_t dim = 0, e = expected.size(); dim < e; ++dim)
      if (dim != rowsDim && failed(verifyStatic(op, name, out, dim)))
        return failure();
    if (!rowsDim)
      expected[0] = op.getNumGroups();
  }
  return success();
}

/// (C2) bounds is [G, 2] and group_offset + g <= G.
static LogicalResult verifyGroups(RaggedGemmOp op) {
  int64_t offset = op.getGroupOffset(), groups = op.getNumGroups();
  if (!op.getBounds()) {
    if (offset != 0)
      return op.emitOpError() << "group_offset is " << offset << " without bounds, expected 0";
    return success();
  }
  if (failed(verifyBounds(op, op.getBounds())))
    return failure();
  int64_t total = getShape(op.getBounds())[0];
  if (offset < 0 || groups > total || offset > total - groups)
    return op.emitOpError() << "group_offset is " << offset << " for " << groups << " groups of " << total
                            << " in bounds, expected 0 to " << std::max<int64_t>(total - groups, 0);
  return success();
}

/// (C5) One kind for each extra operand, shaped as the kind says.
static LogicalResult verifyExtras(RaggedGemmOp op, int64_t rows) {
  if (op.getExtraKinds().size() != op.getExtras().size())
    return op.emitOpError() << "extra_kinds has " << op.getExtraKinds().size() << " entries, expected "
                            << op.getExtras().size() << ", one for each extra operand";
  if (op.getMode() == GemmMode::Contraction)
    return success();
  if ((op.getSlots() || !op.getExtras().empty()) && getShape(op.getLhs()).size() != 2)
    return op.emitOpError() << "has slots or extras with an lhs of rank " << getShape(op.getLhs()).size()
                            << ", expected rank 2";
  if (Value slots = op.getSlots(); slots && failed(verifyShape(op, "slots", slots, {rows})))
    return failure();
  for (auto [i, extra] : llvm::enumerate(op.getExtras())) {
    SmallVector<int64_t> expected;
    ExtraKind kind = op.getExtraKind(i);
    switch (kind) {
    case ExtraKind::Row:
      expected = {rows};
      break;
    case ExtraKind::Slot:
      if (!op.getSlots())
        return op.emitOpError() << "extra #" << i << " has kind slot without slots, expected slots";
      expected = {kAny, kAny};
      break;
    case ExtraKind::Group:
      expected = {op.getN()};
      if (getShape(op.getRhs()).size() == 3)
        expected.insert(expected.begin(), op.getNumGroups());
      break;
    case ExtraKind::Elem:
      expected = {rows, op.getN() / op.getNumAccumulators()};
      break;
    }
    std::string name = ("extra #" + Twine(i) + " of kind " + stringifyEnum(kind)).str();
    if (failed(verifyShape(op, name, extra, expected)))
      return failure();
    if (kind != ExtraKind::Row && failed(verifyStaticFrom(op, name, extra, kind == ExtraKind::Group ? 0 : 1)))
      return failure();
  }
  return success();
}

LogicalResult RaggedGemmOp::verify() {
  if (failed(verifyOneSemantics(*this))) // (K1)
    return failure();
  bool rowsMode = getMode() == GemmMode::Rows;
  if (failed(rowsMode ? verifyRowsMode(*this) : verifyContractionMode(*this)))
    return failure();
  if (Value lhs = getLhs(); lhs && failed(verifyElementType(*this, "lhs", lhs, getElementTypeOrSelf(getRhs())))) // (C1)
    return failure();
  if (getN() % getNumAccumulators() != 0) // (C6)
    return emitOpError() << "rhs has " << getN() << " columns, expected a multiple of " << getNumAccumulators()
                         << ", the number of accumulators";
  // Rows of the product, where known.
  int64_t rows = kAny;
  if (rowsMode)
    rows = getGather() ? getShape(getGather())[0] : getShape(getLhs())[getShape(getLhs()).size() - 2];
  if (failed(verifyOuts(*this, rows)) || failed(verifyGroups(*this)))
    return failure();
  return verifyExtras(*this, rows);
}

LogicalResult RaggedGemmOp::verifyRegions() { // (C7)
  SmallVector<Type> arguments(getNumAccumulators(), Float32Type::get(getContext())), yields;
  for (auto [i, extra] : llvm::enumerate(getExtras()))
    arguments.append(getExtraKind(i) == ExtraKind::Group ? getNumAccumulators() : 1,
                     getElementTypeOrSelf(extra.getType()));
  for (Type out : getOuts().getTypes())
    yields.push_back(getElementTypeOrSelf(out));
  if (getAccumulate())
    llvm::append_range(arguments, yields);
  if (failed(verifyArguments(*this, "epilogue", getEpilogue(), arguments)) ||
      failed(verifyYields(*this, "epilogue", getEpilogue(), yields)))
    return failure();
  for (Operation &op : getEpilogue().front().without_terminator()) {
    bool allowed = (isElementwise(&op) || isa<arith::ConstantOp>(op)) &&
                   llvm::all_of(op.getResultTypes(), tile::isScalar) &&
                   llvm::all_of(op.getOperandTypes(), tile::isScalar);
    if (allowed)
      continue;
    InFlightDiagnostic diagnostic =
        op.emitOpError("is in the epilogue of tile.ragged_gemm, expected elementwise arith or "
                       "math, or arith.constant, on scalars");
    diagnostic.attachNote(getLoc()) << "the epilogue belongs to this op";
    return diagnostic;
  }
  return success();
}
