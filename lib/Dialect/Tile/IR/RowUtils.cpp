//===- RowUtils.cpp - what lowerings of tile.rows share ----------------------===//

#include "moe/Dialect/Tile/IR/RowUtils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"
#include "moe/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace mlir::tile;

static int64_t getWidth(Value vector) { return cast<VectorType>(vector.getType()).getNumElements(); }

const SmallVector<int64_t> &RowBreaks::of(Value vector) {
  if (auto found = known.find(vector); found != known.end())
    return found->second;
  SmallVector<int64_t> result;
  auto add = [&](Value source, llvm::function_ref<void(int64_t)> map) {
    for (int64_t at : SmallVector<int64_t>(of(source)))
      map(at);
  };
  Operation *inner = vector.getDefiningOp();
  if (auto extract = dyn_cast<vector::ExtractStridedSliceOp>(inner)) {
    int64_t offset = cast<IntegerAttr>(extract.getOffsets()[0]).getInt();
    add(extract.getSource(), [&](int64_t at) { result.push_back(at - offset); });
  } else if (auto insert = dyn_cast<vector::InsertStridedSliceOp>(inner)) {
    int64_t offset = cast<IntegerAttr>(insert.getOffsets()[0]).getInt();
    result = {offset, offset + getWidth(insert.getValueToStore())};
    add(insert.getValueToStore(), [&](int64_t at) { result.push_back(at + offset); });
    add(insert.getDest(), [&](int64_t at) { result.push_back(at); });
  } else if (auto deinterleave = dyn_cast<vector::DeinterleaveOp>(inner)) {
    // An odd break lies within a pair, which becomes a piece of its own.
    add(deinterleave.getSource(), [&](int64_t at) { result.append({at / 2, (at + 1) / 2}); });
  } else if (auto interleave = dyn_cast<vector::InterleaveOp>(inner)) {
    for (Value operand : interleave->getOperands())
      add(operand, [&](int64_t at) { result.push_back(2 * at); });
  } else if (auto lookup = dyn_cast<LookupOp>(inner)) {
    add(lookup.getIds(), [&](int64_t at) { result.push_back(at); });
  } else if (!isa<LoadOp, SelectOp, vector::BroadcastOp>(inner)) {
    for (Value operand : inner->getOperands())
      if (isa<VectorType>(operand.getType()))
        add(operand, [&](int64_t at) { result.push_back(at); });
  }
  int64_t width = getWidth(vector);
  llvm::erase_if(result, [&](int64_t at) { return at <= 0 || at >= width; });
  llvm::sort(result);
  result.erase(llvm::unique(result), result.end());
  return known[vector] = result;
}

TypedAttr mlir::tile::getNeutral(Builder &builder, vector::CombiningKind kind, Type type) {
  using vector::CombiningKind;
  if (auto floating = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &semantics = floating.getFloatSemantics();
    switch (kind) {
    case CombiningKind::MUL:
      return builder.getFloatAttr(type, 1.0);
    case CombiningKind::MINIMUMF:
      return builder.getFloatAttr(type, APFloat::getInf(semantics));
    case CombiningKind::MAXIMUMF:
      return builder.getFloatAttr(type, APFloat::getInf(semantics, /*Negative=*/true));
    case CombiningKind::MINNUMF:
    case CombiningKind::MAXNUMF:
      return builder.getFloatAttr(type, APFloat::getNaN(semantics)); // a row of NaN stays NaN
    default:
      return builder.getFloatAttr(type,
                                  APFloat::getZero(semantics, /*Negative=*/true)); // keeps the sign of a sum of -0
    }
  }
  unsigned bits = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  switch (kind) {
  case CombiningKind::MUL:
    return builder.getIntegerAttr(type, APInt(bits, 1));
  case CombiningKind::MINUI:
  case CombiningKind::AND:
    return builder.getIntegerAttr(type, APInt::getAllOnes(bits));
  case CombiningKind::MINSI:
    return builder.getIntegerAttr(type, APInt::getSignedMaxValue(bits));
  case CombiningKind::MAXSI:
    return builder.getIntegerAttr(type, APInt::getSignedMinValue(bits));
  default:
    return builder.getIntegerAttr(type, APInt::getZero(bits));
  }
}

Type mlir::tile::getComputeType(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (!element.isBF16() && !element.isF16())
    return type;
  Type f32 = Float32Type::get(type.getContext());
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.clone(f32);
  return f32;
}

bool mlir::tile::isExactOnNarrow(Operation *op) {
  return isa<arith::ExtFOp, arith::TruncFOp, arith::SelectOp, arith::BitcastOp, arith::ConstantOp>(op);
}
