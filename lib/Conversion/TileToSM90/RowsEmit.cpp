//===- RowsEmit.cpp - one element of a row vector ------------------------------===//

#include "Rows.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::sm90;
using namespace mlir::tile;

static int64_t widthOf(Value vector) { return cast<VectorType>(vector.getType()).getNumElements(); }
static Type elementOf(Value vector) { return cast<VectorType>(vector.getType()).getElementType(); }
static int64_t offsetOf(ArrayAttr offsets) { return cast<IntegerAttr>(offsets[0]).getInt(); }

Value RowKernel::indexOf(const Column &column) {
  return column.base ? add(column.base, column.offset) : c(column.offset);
}

/// The column with number `factor` times this one's, or, for a negative factor, this one's divided by it.
Column RowKernel::scaled(const Column &column, int64_t factor) {
  Column result = column;
  if (factor > 0)
    result.unit *= factor, result.reach *= factor, result.offset *= factor;
  else
    result.unit /= -factor, result.reach /= -factor, result.offset /= -factor;
  if (!column.base)
    return result;
  Key key{column.base.getAsOpaquePointer(), nullptr, factor};
  for (Memo &memo : llvm::reverse(memos))
    if (auto known = memo.find(key); known != memo.end()) {
      result.base = known->second;
      return result;
    }
  result.base = factor > 0 ? mul(column.base, factor) : div(column.base, -factor);
  memos.back()[key] = result.base;
  return result;
}

Value RowKernel::emit(Value vector, const Column &column) {
  Key key{vector.getAsOpaquePointer(), column.base.getAsOpaquePointer(), column.offset};
  for (Memo &memo : llvm::reverse(memos))
    if (auto known = memo.find(key); known != memo.end())
      return known->second;
  Value result = emitNew(vector, column);
  remember(vector, column, result);
  return result;
}

Value RowKernel::emitNew(Value vector, const Column &column) {
  Operation *inner = vector.getDefiningOp();
  unsigned number = cast<OpResult>(vector).getResultNumber();
  if (auto stored = scratch.find(vector); stored != scratch.end())
    return load(elementOf(vector), at(stored->second, op<arith::ExtUIOp>(i64(), indexOf(column)), elementOf(vector)));
  return llvm::TypeSwitch<Operation *, Value>(inner)
      .Case([&](LoadOp) { return loadElement(vector, sources.find(vector)->second, column); })
      .Case([&](arith::ConstantOp constant) { return emitConstant(constant, column); })
      .Case([&](vector::BroadcastOp broadcast) { return scalars.lookup(broadcast.getSource()); })
      .Case([&](vector::ExtractStridedSliceOp extract) {
        return emit(extract.getSource(), column.shifted(offsetOf(extract.getOffsets())));
      })
      .Case([&](vector::InsertStridedSliceOp insert) { return emitInsert(insert, column); })
      .Case([&](vector::DeinterleaveOp deinterleave) { return emitDeinterleave(deinterleave, column, number); })
      .Case([&](vector::InterleaveOp interleave) { return emitInterleave(interleave, column); })
      .Case([&](vector::StepOp) -> Value { return op<arith::IndexCastOp>(elementOf(vector), indexOf(column)); })
      .Case([&](LookupOp lookup) { return emitLookup(lookup, column); })
      .Default([&](Operation *other) { return emitElementwise(other, &column, number); });
}

/// Loads the element together with its neighbours, as many as are aligned and within the row wherever the thread
/// stands.
Value RowKernel::loadElement(Value vector, const Source &source, const Column &column) {
  int64_t together = std::max<int64_t>(source.alignment / source.view.bytes(), 1);
  auto first = [&] { return column.offset / together * together; };
  while (together > 1 &&
         ((column.base && column.unit % together != 0) || first() + column.reach + together > source.width))
    together /= 2;
  Column begin = column.shifted(first() - column.offset);
  Value address = at(source.row, op<arith::ExtUIOp>(i64(), indexOf(begin)), source.view.element());
  SmallVector<Value> elements = loadConstant(source.view.element(), address, together, source.valid);
  for (auto [i, element] : llvm::enumerate(elements)) {
    if (elementOf(vector).isInteger(1))
      element = op<arith::TruncIOp>(elementOf(vector), element);
    remember(vector, begin.shifted(i), element);
  }
  return elements[column.offset - begin.offset];
}

Value RowKernel::emitConstant(arith::ConstantOp constant, const Column &column) {
  auto value = cast<DenseElementsAttr>(constant.getValue());
  if (value.isSplat())
    return op<arith::ConstantOp>(cast<TypedAttr>(value.getSplatValue<Attribute>()));
  if (!column.base)
    return op<arith::ConstantOp>(cast<TypedAttr>(value.getValues<Attribute>()[column.offset]));
  // Elements that threads choose lie in memory, an i1 as a byte.
  Type element = value.getElementType(), memory = element.isInteger(1) ? k.b.getI8Type() : element;
  Value &table = constantMemory[constant];
  if (!table)
    table = k.table(value, memory);
  Value loaded = load(memory, at(table, op<arith::ExtUIOp>(i64(), indexOf(column)), memory));
  return element == memory ? loaded : op<arith::TruncIOp>(element, loaded).getResult();
}

Value RowKernel::emitInsert(vector::InsertStridedSliceOp insert, const Column &column) {
  // A walk ends its pieces at the edges (RowBreaks): all columns of this one are on one side.
  int64_t begin = offsetOf(insert.getOffsets()), end = begin + widthOf(insert.getValueToStore());
  if (column.offset >= begin && column.offset + column.reach < end)
    return emit(insert.getValueToStore(), column.shifted(-begin));
  return emit(insert.getDest(), column);
}

Value RowKernel::emitDeinterleave(vector::DeinterleaveOp deinterleave, const Column &column, unsigned result) {
  return emit(deinterleave.getSource(), scaled(column, 2).shifted(result));
}

Value RowKernel::emitInterleave(vector::InterleaveOp interleave, const Column &column) {
  if (!column.base || column.unit % 2 == 0) {
    Value side = column.offset % 2 ? interleave.getRhs() : interleave.getLhs();
    return emit(side, scaled(column.shifted(-(column.offset % 2)), -2));
  }
  // The thread decides which side its column is from.
  Value index = indexOf(column);
  int64_t least = column.offset / 2;
  Column half{sub(div(index, 2), c(least)), 1, (column.offset + column.reach) / 2 - least, least};
  Value isOdd = equal(both(index, 1), 1);
  return select(isOdd, emit(interleave.getRhs(), half), emit(interleave.getLhs(), half));
}

Value RowKernel::emitLookup(LookupOp lookup, const Column &column) {
  Value from = lookup.getRow(), id = emit(lookup.getIds(), column);
  // Ids of a selection are in range by construction; others are kept there.
  if (!lookup.getIds().getDefiningOp<SelectOp>())
    id = op<arith::MinUIOp>(id, c(widthOf(from) - 1));
  Value place = op<arith::ExtUIOp>(i64(), id);
  if (auto stored = scratch.find(from); stored != scratch.end())
    return load(elementOf(from), at(stored->second, place, elementOf(from)));
  const Source &source = sources.find(from)->second;
  return loadConstant(elementOf(from), at(source.row, place, elementOf(from)), 1, source.valid)[0];
}

Value RowKernel::emitElementwise(Operation *inner, const Column *column, unsigned result) {
  bool isExact = isExactOnNarrow(inner);
  SmallVector<Value> operands;
  for (Value operand : inner->getOperands()) {
    Value value = isa<VectorType>(operand.getType()) ? emit(operand, *column) : scalars.lookup(operand);
    Type type = isExact ? value.getType() : getComputeType(value.getType());
    operands.push_back(type == value.getType() ? value : op<arith::ExtFOp>(type, value).getResult());
  }
  Operation *clone = inner->cloneWithoutRegions();
  clone->setOperands(operands);
  for (Value value : clone->getResults()) {
    Type element = getElementTypeOrSelf(value.getType());
    value.setType(isExact ? element : getComputeType(element));
  }
  clone->setLoc(k.loc);
  k.b.insert(clone);
  Value wanted;
  for (auto [i, old] : llvm::enumerate(inner->getResults())) {
    Value value = clone->getResult(i);
    if (Type narrow = getElementTypeOrSelf(old.getType()); narrow != value.getType())
      value = op<arith::TruncFOp>(narrow, value);
    if (column)
      remember(old, *column, value);
    else
      scalars.map(old, value);
    if (i == result)
      wanted = value;
  }
  return wanted;
}
