//===- TileOps.cpp - operations of the tile dialect without a region --------===//

#include "OpUtils.h"
#include "moe/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace mlir::tile;

static constexpr int64_t kAny = ShapedType::kDynamic;

//===----------------------------------------------------------------------===//
// tile.offsets, tile.plan
//===----------------------------------------------------------------------===//

void OffsetsOp::getEffects(EffectList &effects) { getKernelEffects(*this, getOuts(), false, effects); }
void PlanOp::getEffects(EffectList &effects) { getKernelEffects(*this, getOuts(), false, effects); }

static LogicalResult verifyAlign(Operation *op, int64_t align) {
  if (align >= 1)
    return success();
  return op->emitOpError() << "align is " << align << ", expected at least 1";
}

LogicalResult OffsetsOp::verify() {
  if (failed(verifyOneSemantics(*this))) // (K1)
    return failure();
  if (getOuts().size() != 1) // (C1)
    return emitOpError() << "has " << getOuts().size() << " outs, expected 1";
  if (failed(verifyRank(*this, "sizes", getSizes(), 1)) || failed(verifyStatic(*this, "sizes", getSizes(), 0)))
    return failure();
  int64_t groups = cast<ShapedType>(getSizes().getType()).getDimSize(0);
  if (failed(verifyShape(*this, "out", getOuts().front(), {groups, 2})))
    return failure();
  return verifyAlign(*this, getAlign()); // (C2)
}

LogicalResult PlanOp::verify() {
  if (failed(verifyOneSemantics(*this))) // (K1)
    return failure();
  if (getOuts().size() != 6) // (C1)
    return emitOpError() << "has " << getOuts().size() << " outs, expected 6";
  if (failed(verifyRank(*this, "ids", getIds(), 2)) || failed(verifyStatic(*this, "ids", getIds(), 1)))
    return failure();
  Value sizes = getOuts().front();
  if (failed(verifyRank(*this, "sizes", sizes, 1)) || failed(verifyStatic(*this, "sizes", sizes, 0)))
    return failure();
  auto ids = cast<ShapedType>(getIds().getType());
  int64_t groups = cast<ShapedType>(sizes.getType()).getDimSize(0);
  auto permutation = dyn_cast<ShapedType>(getOuts()[2].getType());
  int64_t rows = permutation.getRank() == 1 ? permutation.getDimSize(0) : kAny;

  Type i32 = IntegerType::get(getContext(), 32), i64 = IntegerType::get(getContext(), 64);
  struct {
    StringRef name;
    SmallVector<int64_t, 2> shape;
    Type type;
  } expected[] = {{"sizes", {groups}, i32},
                  {"bounds", {groups, 2}, i64},
                  {"permutation", {rows}, i32},
                  {"token", {rows}, i32},
                  {"inverse", {ids.getDimSize(0), ids.getDimSize(1)}, i32},
                  {"dropped", {1}, i64}};
  for (auto [out, e] : llvm::zip_equal(getOuts(), expected))
    if (failed(verifyShape(*this, e.name, out, e.shape)) || failed(verifyElementType(*this, e.name, out, e.type)))
      return failure();
  if (failed(verifyAlign(*this, getAlign()))) // (C2)
    return failure();
  if (!getEqualBlocks()) // (C3)
    return success();
  if (getAlign() != 1)
    return emitOpError() << "align is " << getAlign() << ", expected 1 with equal_blocks";
  if (failed(verifyStatic(*this, "permutation", getOuts()[2], 0)))
    return failure();
  if (groups == 0 || permutation.getDimSize(0) % groups != 0)
    return emitOpError() << "has " << permutation.getDimSize(0) << " rows, expected a multiple of " << groups
                         << " groups with equal_blocks";
  return success();
}

int64_t PlanOp::getBlockRows() {
  auto size = [&](unsigned out) { return cast<ShapedType>(getOuts()[out].getType()).getDimSize(0); };
  return getEqualBlocks() ? size(2) / size(0) : 0;
}

//===----------------------------------------------------------------------===//
// tile.load
//===----------------------------------------------------------------------===//

void LoadOp::getEffects(EffectList &effects) {
  if (isa<BaseMemRefType>(getSource().getType()))
    effects.emplace_back(MemoryEffects::Read::get(), &getSourceMutable());
}

LogicalResult LoadOp::verify() {
  // (C2)
  auto argument = dyn_cast<BlockArgument>(getSource());
  if (!argument || argument.getOwner() != (*this)->getBlock())
    return emitOpError("source is not an argument of the body, expected one of the arguments for ins");
  // (C1)
  auto source = cast<ShapedType>(getSource().getType());
  int64_t rank = source.getRank(), indices = getIndices().size();
  if (indices != rank && indices != rank - 1)
    return emitOpError() << "has " << indices << " indices, expected " << rank << " for an element or " << rank - 1
                         << " for a row";
  Type expected = source.getElementType();
  if (indices == rank - 1) {
    int64_t width = source.getShape().back();
    if (ShapedType::isDynamic(width) || width < 1)
      return emitOpError() << "reads a row of " << source << ", expected a static width of at least 1";
    expected = VectorType::get({width}, expected);
  }
  if (getResult().getType() != expected)
    return emitOpError() << "result is " << getResult().getType() << ", expected " << expected;
  return success();
}

//===----------------------------------------------------------------------===//
// tile.select, tile.lookup
//===----------------------------------------------------------------------===//

LogicalResult SelectOp::verify() { // (C1)
  int64_t width = getScores().getType().getDimSize(0), k = getIds().getType().getDimSize(0);
  int64_t groups = getGroups(), keep = getKeepGroups(), top = getGroupTop();
  if (k > width)
    return emitOpError() << "selects " << k << " ids, expected at most " << width << ", the number of scores";
  if (groups < 1 || width % groups != 0)
    return emitOpError() << "groups is " << groups << ", expected a divisor of " << width << ", the number of scores";
  if (keep < 1 || keep > groups)
    return emitOpError() << "keep_groups is " << keep << ", expected 1 to " << groups;
  if (top < 1 || top > width / groups)
    return emitOpError() << "group_top is " << top << ", expected 1 to " << width / groups << ", the size of a group";
  if (keep * (width / groups) < k)
    return emitOpError() << "keep_groups is " << keep << " with groups of " << width / groups
                         << ", expected enough for " << k << " ids";
  return success();
}

LogicalResult LookupOp::verify() { // (C1)
  auto expected = VectorType::get(getIds().getType().getShape(), getRow().getType().getElementType());
  if (getResult().getType() != expected)
    return emitOpError() << "result is " << getResult().getType() << ", expected " << expected;
  return success();
}

#define GET_OP_CLASSES
#include "moe/Dialect/Tile/IR/TileOps.cpp.inc"
