//===- RowsEmit.cpp - one piece of a row vector ----------------------------===//

#include "Rows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;

//===----------------------------------------------------------------------===//
// Small things
//===----------------------------------------------------------------------===//

Value RowBody::index(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }

Value RowBody::integer(int64_t value, unsigned bits) { return arith::ConstantIntOp::create(builder, loc, value, bits); }

Value RowBody::splat(Attribute value, int64_t width) {
  auto type = VectorType::get(width, cast<TypedAttr>(value).getType());
  return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, value));
}

Value RowBody::column(const Piece &piece) {
  if (piece.isFixed())
    return index(piece.offset);
  return piece.offset == 0 ? piece.base : Value(arith::AddIOp::create(builder, loc, piece.base, index(piece.offset)));
}

Value RowBody::slice(Value vector, int64_t offset, int64_t width) {
  if (cast<VectorType>(vector.getType()).getNumElements() == width)
    return vector;
  return vector::ExtractStridedSliceOp::create(builder, loc, vector, offset, width, 1);
}

// In memory an i1 takes a byte, in a vector a bit: vectors of i1 move one element at a time.

Value RowBody::loadVector(Value memory, Value column, int64_t width) {
  Type element = cast<MemRefType>(memory.getType()).getElementType();
  auto type = VectorType::get(width, element);
  if (!element.isInteger(1))
    return vector::LoadOp::create(builder, loc, type, memory, column);
  SmallVector<Value> elements;
  for (int64_t i = 0; i < width; ++i)
    elements.push_back(
        memref::LoadOp::create(builder, loc, memory, Value(arith::AddIOp::create(builder, loc, column, index(i)))));
  return vector::FromElementsOp::create(builder, loc, type, elements);
}

void RowBody::storeVector(Value vector, Value memory, Value column) {
  auto type = cast<VectorType>(vector.getType());
  if (!type.getElementType().isInteger(1)) {
    vector::StoreOp::create(builder, loc, vector, memory, column);
    return;
  }
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    Value element = vector::ExtractOp::create(builder, loc, vector, i);
    memref::StoreOp::create(builder, loc, element, memory,
                            Value(arith::AddIOp::create(builder, loc, column, index(i))));
  }
}

//===----------------------------------------------------------------------===//
// Pieces
//===----------------------------------------------------------------------===//

Value RowBody::emit(Value vector, const Piece &piece) {
  if (auto stored = scratch.find(vector); stored != scratch.end())
    return loadVector(stored->second, column(piece), piece.width);
  Key key{vector.getAsOpaquePointer(), piece.base.getAsOpaquePointer(), piece.offset, piece.width};
  for (Memo &memo : llvm::reverse(memos))
    if (auto known = memo.find(key); known != memo.end())
      return known->second;
  Value result = emitNew(vector, piece);
  memos.back()[key] = result;
  return result;
}

Value RowBody::emitNew(Value vector, const Piece &piece) {
  Operation *op = vector.getDefiningOp();
  unsigned result = cast<OpResult>(vector).getResultNumber();
  Type element = cast<VectorType>(vector.getType()).getElementType();
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case([&](LoadOp) { return loadPiece(sources.lookup(vector), piece); })
      .Case([&](arith::ConstantOp constant) { return emitConstant(constant, piece); })
      .Case([&](vector::BroadcastOp broadcast) -> Value {
        return vector::BroadcastOp::create(builder, loc, VectorType::get(piece.width, element),
                                           scalars.lookup(broadcast.getSource()));
      })
      .Case([&](vector::ExtractStridedSliceOp extract) {
        int64_t offset = cast<IntegerAttr>(extract.getOffsets()[0]).getInt();
        return emit(extract.getSource(), piece.shifted(offset));
      })
      .Case([&](vector::InsertStridedSliceOp insert) { return emitInsert(insert, piece); })
      .Case([&](vector::DeinterleaveOp deinterleave) { return emitDeinterleave(deinterleave, piece, result); })
      .Case([&](vector::InterleaveOp interleave) { return emitInterleave(interleave, piece); })
      .Case([&](vector::StepOp) -> Value {
        auto type = VectorType::get(piece.width, element);
        Value first = vector::BroadcastOp::create(builder, loc, type, column(piece));
        return arith::AddIOp::create(builder, loc, first, Value(vector::StepOp::create(builder, loc, type)));
      })
      .Case([&](LookupOp lookup) { return emitLookup(lookup, piece); })
      .Default([&](Operation *op) { return emitElementwise(op, &piece, result); });
}

Value RowBody::loadPiece(const Source &source, const Piece &piece) {
  Value at = column(piece);
  if (source.valid)
    at = arith::SelectOp::create(builder, loc, source.valid, at, index(0));
  return loadVector(source.memory, at, piece.width);
}

Value RowBody::emitConstant(arith::ConstantOp op, const Piece &piece) {
  auto value = cast<DenseElementsAttr>(op.getValue());
  if (value.isSplat())
    return splat(value.getSplatValue<Attribute>(), piece.width);
  // Only allocateFor asks for this; the columns of a loop read what it stored.
  auto all = llvm::to_vector(value.getValues<Attribute>());
  auto type = VectorType::get(piece.width, value.getElementType());
  return arith::ConstantOp::create(builder, loc,
                                   DenseElementsAttr::get(type, ArrayRef(all).slice(piece.offset, piece.width)));
}

Value RowBody::emitInsert(vector::InsertStridedSliceOp op, const Piece &piece) {
  Value part = op.getValueToStore(), rest = op.getDest();
  int64_t begin = cast<IntegerAttr>(op.getOffsets()[0]).getInt();
  int64_t end = begin + cast<VectorType>(part.getType()).getNumElements();
  if (piece.low >= begin && piece.high <= end)
    return emit(part, piece.shifted(-begin));
  if (piece.high <= begin || piece.low >= end)
    return emit(rest, piece);
  // Only a fixed piece reaches over an edge: column loops end at the edges (RowBreaks).
  int64_t cuts[] = {piece.low, std::max(piece.low, begin), std::min(piece.high, end), piece.high};
  Type element = cast<VectorType>(op.getType()).getElementType();
  Value result = splat(builder.getZeroAttr(element), piece.width);
  for (int i = 0; i < 3; ++i) {
    int64_t width = cuts[i + 1] - cuts[i];
    if (width == 0)
      continue;
    Value range = i == 1 ? emit(part, Piece::fixed(cuts[i] - begin, width)) : emit(rest, Piece::fixed(cuts[i], width));
    result = vector::InsertStridedSliceOp::create(builder, loc, range, result, cuts[i] - piece.low, 1);
  }
  return result;
}

Value RowBody::emitDeinterleave(vector::DeinterleaveOp op, const Piece &piece, unsigned result) {
  Piece both = piece;
  if (!piece.isFixed())
    both.base = arith::MulIOp::create(builder, loc, piece.base, index(2));
  both.offset *= 2, both.width *= 2, both.low *= 2, both.high *= 2, both.step *= 2;
  auto split = vector::DeinterleaveOp::create(builder, loc, emit(op.getSource(), both));
  for (unsigned i = 0; i < 2; ++i)
    memos.back()[{op.getResult(i).getAsOpaquePointer(), piece.base.getAsOpaquePointer(), piece.offset, piece.width}] =
        split.getResult(i);
  return split.getResult(result);
}

Value RowBody::emitInterleave(vector::InterleaveOp op, const Piece &piece) {
  // The pairs that hold the piece's columns; walkOf keeps `step` even.
  int64_t before = piece.low & 1;
  Piece pairs = piece.shifted(-before);
  pairs.width = (piece.width + before + 1) / 2 * 2;
  pairs.high = (piece.high + 1) / 2 * 2;
  Piece half;
  if (pairs.isFixed()) {
    half = Piece::fixed(pairs.offset / 2, pairs.width / 2);
  } else {
    Value first = arith::DivUIOp::create(builder, loc, column(pairs), index(2));
    half = {first, 0, pairs.width / 2, pairs.low / 2, pairs.high / 2, pairs.step / 2};
  }
  Value even = emit(op.getLhs(), half), odd = emit(op.getRhs(), half);
  return slice(vector::InterleaveOp::create(builder, loc, even, odd), before, piece.width);
}

Value RowBody::emitLookup(LookupOp op, const Piece &piece) {
  Value row = op.getRow(), ids = emit(op.getIds(), piece);
  auto rowType = cast<VectorType>(row.getType());
  auto idsType = cast<VectorType>(ids.getType());
  Value zeroIds = splat(builder.getI32IntegerAttr(0), piece.width);
  Value memory = scratch.lookup(row);
  if (!memory) {
    Source source = sources.lookup(row);
    memory = source.memory;
    if (source.valid)
      ids = arith::SelectOp::create(builder, loc, source.valid, ids, zeroIds);
  }
  // Ids of a selection are in range by construction; others are kept there.
  if (!op.getIds().getDefiningOp<SelectOp>()) {
    Value last = splat(builder.getI32IntegerAttr(rowType.getNumElements() - 1), piece.width);
    ids = arith::MinUIOp::create(builder, loc, ids, last);
  }
  Type element = rowType.getElementType();
  Value all = splat(builder.getBoolAttr(true), piece.width);
  Value unused = splat(builder.getZeroAttr(element), piece.width);
  return vector::GatherOp::create(builder, loc, VectorType::get(idsType.getShape(), element), memory, index(0), ids,
                                  all, unused);
}

Value RowBody::emitElementwise(Operation *op, const Piece *piece, unsigned result) {
  bool isExact = isExactOnNarrow(op);
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    Value value = isa<VectorType>(operand.getType()) ? emit(operand, *piece) : scalars.lookup(operand);
    Type type = isExact ? value.getType() : getComputeType(value.getType());
    operands.push_back(type == value.getType() ? value : Value(arith::ExtFOp::create(builder, loc, type, value)));
  }
  SmallVector<Type> types;
  for (Type type : op->getResultTypes()) {
    Type own = isa<VectorType>(type) ? VectorType::get(piece->width, getElementTypeOrSelf(type)) : type;
    types.push_back(isExact ? own : getComputeType(own));
  }
  Operation *clone = op->cloneWithoutRegions();
  clone->setOperands(operands);
  for (auto [value, type] : llvm::zip(clone->getResults(), types))
    value.setType(type);
  clone->setLoc(loc);
  builder.insert(clone);
  Value wanted;
  for (auto [i, old] : llvm::enumerate(op->getResults())) {
    Value value = clone->getResult(i);
    if (Type narrow = getElementTypeOrSelf(old.getType()); narrow != getElementTypeOrSelf(value.getType())) {
      Type type = isa<VectorType>(value.getType()) ? Type(cast<VectorType>(value.getType()).clone(narrow)) : narrow;
      value = arith::TruncFOp::create(builder, loc, type, value);
    }
    if (piece)
      memos.back()[{old.getAsOpaquePointer(), piece->base.getAsOpaquePointer(), piece->offset, piece->width}] = value;
    else
      scalars.map(old, value);
    if (i == result)
      wanted = value;
  }
  return wanted;
}
