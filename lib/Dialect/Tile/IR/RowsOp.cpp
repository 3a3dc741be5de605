//===- RowsOp.cpp - effects and verifier of tile.rows -----------------------===//

#include "OpUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "moe/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace mlir::tile;

void RowsOp::getEffects(EffectList &effects) { getKernelEffects(*this, getOuts(), false, effects); }

LogicalResult RowsOp::verify() {
  if (failed(verifyOneSemantics(*this))) // (K1)
    return failure();
  // (C1)
  if (getOuts().empty())
    return emitOpError("has no outs, expected at least 1");
  int64_t rows = ShapedType::kDynamic;
  for (auto [i, out] : llvm::enumerate(getOuts())) {
    auto type = cast<ShapedType>(out.getType());
    if (type.getRank() != 1 && type.getRank() != 2)
      return emitOpError() << "out #" << i << " has rank " << type.getRank() << ", expected 1 or 2";
    if (type.getRank() == 2 && (type.isDynamicDim(1) || type.getDimSize(1) < 1))
      return emitOpError() << "out #" << i << " is " << type << ", expected a static width of at least 1";
    if (type.isDynamicDim(0))
      continue;
    if (!ShapedType::isDynamic(rows) && type.getDimSize(0) != rows)
      return emitOpError() << "out #" << i << " has " << type.getDimSize(0) << " rows, expected " << rows
                           << " as in the outs before it";
    rows = type.getDimSize(0);
  }
  if (getOrder()) { // (C5)
    auto type = cast<ShapedType>(getOrder().getType());
    if (type.getRank() != 1 && (type.getRank() != 2 || type.isDynamicDim(1) || type.getDimSize(1) < 1))
      return emitOpError() << "order is " << type << ", expected rank 1, or rank 2 and a static width of at least 1";
    if (getBounds())
      return emitOpError("has order and bounds, expected at most one of them");
  }
  return getBounds() ? verifyBounds(*this, getBounds()) : success();
}

/// A value that a body may compute: a scalar, or a row vector.
static bool isBodyType(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getRank() == 1 && !vector.isScalable();
  return isScalar(type);
}

/// (C4)
static LogicalResult verifyBodyOp(Operation &op, RowsOp rows) {
  bool allowed =
      isElementwise(&op) || isa<arith::ConstantOp, vector::BroadcastOp, vector::ReductionOp, vector::ExtractOp,
                                vector::ExtractStridedSliceOp, vector::InsertStridedSliceOp, vector::DeinterleaveOp,
                                vector::InterleaveOp, vector::StepOp, LoadOp, SelectOp, LookupOp, FaultOp, YieldOp>(op);
  if (!allowed) {
    InFlightDiagnostic diagnostic = op.emitOpError(
        "is in the body of tile.rows, expected elementwise arith or math, arith.constant, "
        "vector.broadcast, reduction, extract, extract_strided_slice, insert_strided_slice, deinterleave, "
        "interleave or step, or a tile op for bodies");
    diagnostic.attachNote(rows.getLoc()) << "the body belongs to this op";
    return diagnostic;
  }
  for (Type type : op.getResultTypes())
    if (!isBodyType(type))
      return op.emitOpError() << "has a result of type " << type << " in the body of tile.rows, expected a scalar or a "
                              << "vector of rank 1 and fixed length";
  if (auto broadcast = dyn_cast<vector::BroadcastOp>(op); broadcast && !isScalar(broadcast.getSourceType()))
    return op.emitOpError() << "broadcasts " << broadcast.getSourceType()
                            << " in the body of tile.rows, expected a scalar";
  // An empty position gives the whole vector and -1 gives poison; neither is an element.
  if (auto extract = dyn_cast<vector::ExtractOp>(op); extract && extract.hasDynamicPosition())
    return op.emitOpError("has a dynamic position in the body of tile.rows, expected a static one");
  if (auto extract = dyn_cast<vector::ExtractOp>(op);
      extract && (extract.getStaticPosition().size() != 1 || extract.getStaticPosition()[0] < 0))
    return op.emitOpError("takes no element in the body of tile.rows, expected one position of at least 0");
  return success();
}

LogicalResult RowsOp::verifyRegions() {
  // (C2)
  Type index = IndexType::get(getContext());
  SmallVector<Type> arguments(getBounds() ? 2 : 1, index), yields;
  llvm::append_range(arguments, getIns().getTypes());
  if (failed(verifyArguments(*this, "body", getBody(), arguments)))
    return failure();
  // (C3)
  for (Type type : getOuts().getTypes()) {
    auto out = cast<ShapedType>(type);
    Type element = out.getElementType();
    yields.push_back(out.getRank() == 1 ? element : VectorType::get({out.getDimSize(1)}, element));
  }
  if (failed(verifyYields(*this, "body", getBody(), yields)))
    return failure();
  for (Operation &op : getBody().front())
    if (failed(verifyBodyOp(op, *this)))
      return failure();
  return success();
}
