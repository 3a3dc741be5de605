//===- RowsBody.cpp - the ops of a row body in order, and its sinks ------------===//

#include "Rows.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::sm90;
using namespace mlir::tile;

static int64_t widthOf(Value vector) { return cast<VectorType>(vector.getType()).getNumElements(); }
static Type elementOf(Value vector) { return cast<VectorType>(vector.getType()).getElementType(); }

//===----------------------------------------------------------------------===//
// Walking the columns
//===----------------------------------------------------------------------===//

SmallVector<RowKernel::Piece> RowKernel::walk(int64_t width, ArrayRef<int64_t> edges) {
  SmallVector<int64_t> ends(edges);
  ends.push_back(width);
  SmallVector<Piece> pieces;
  int64_t begin = 0;
  for (int64_t end : ends)
    for (int64_t columns = shape.columns; begin < end; columns /= 2)
      if (int64_t count = (end - begin) / columns) {
        pieces.push_back({begin, columns, count});
        begin += columns * count;
      }
  return pieces;
}

/// The thread's step of a piece at turn `fixedTurn`, or, in a loop, at `turn` (i32).
RowKernel::Step RowKernel::makeStep(const Piece &piece, Value turn, int64_t fixedTurn) {
  int64_t columns = piece.columns, reach = (piece.count - 1) * columns;
  if (turn) {
    Value number = add(mul(turn, shape.lanes), lane);
    Value base = mul(min(number, c(piece.count - 1)), columns);
    return {{base, columns, reach, piece.begin}, columns, less(number, c(piece.count))};
  }
  bool all = (fixedTurn + 1) * shape.lanes <= piece.count;
  auto number = [&] { return add(lane, fixedTurn * shape.lanes); };
  Value mask;
  if (!all) {
    Value &known = masks[{fixedTurn, piece.count}];
    if (!known)
      known = less(number(), c(piece.count));
    mask = known;
  }
  // The same columns for all threads.
  if (shape.lanes == 1 || piece.count == 1)
    return {{Value(), 1, 0, piece.begin + fixedTurn * columns}, columns, mask};
  // Walks of one shape share their columns, and so what was emitted for them.
  Value &base = bases[{columns, fixedTurn, all ? 0 : piece.count}];
  if (!base)
    base = mul(all ? number() : min(number(), c(piece.count - 1)), columns);
  return {{base, columns, reach, piece.begin}, columns, mask};
}

SmallVector<Value> RowKernel::forSteps(ArrayRef<Piece> pieces, ValueRange carried, StepBody body) {
  // Straight-line as long as the columns of a thread fit its registers with what is computed from them.
  constexpr int64_t kMostTurns = 8;
  SmallVector<Value> values(carried);
  for (const Piece &piece : pieces) {
    int64_t turns = llvm::divideCeil(piece.count, shape.lanes);
    if (turns <= kMostTurns && shape.fits(turns)) {
      for (int64_t turn = 0; turn < turns; ++turn)
        values = body(makeStep(piece, Value(), turn), values);
      continue;
    }
    values = loop(c(0), c(turns), c(1), values, [&](Value turn, ValueRange state) {
      memos.emplace_back();
      SmallVector<Value> next = body(makeStep(piece, turn, 0), state);
      memos.pop_back();
      return next;
    });
  }
  return values;
}

//===----------------------------------------------------------------------===//
// Sinks
//===----------------------------------------------------------------------===//

Value RowKernel::acrossLanes(Value value, function_ref<Value(Value, Value)> combine) {
  for (int64_t distance = std::min<int64_t>(shape.lanes, 32) / 2; distance > 0; distance /= 2)
    value = combine(value, shuffle(value, distance, NVVM::ShflKind::bfly));
  int64_t warps = shape.lanes / 32;
  if (warps <= 1)
    return value;
  // The warps' values meet in one order, for all threads the same.
  Type type = value.getType(), memory = type.isIndex() ? i64() : type.isInteger(1) ? k.b.getI8Type() : type;
  auto place = [&](Value warp) { return at(exchange, op<arith::ExtUIOp>(i64(), warp), i64()); };
  barrier(); // the values before these were read
  Value stored = type.isIndex()      ? op<arith::IndexCastOp>(memory, value).getResult()
                 : type.isInteger(1) ? op<arith::ExtUIOp>(memory, value).getResult()
                                     : value;
  ifThen(equal(both(lane, 31), 0), [&] { store(stored, place(k.shr(lane, 5))); });
  barrier();
  Value result;
  for (int64_t warp = 0; warp < warps; ++warp) {
    Value part = load(memory, place(c(warp)));
    if (type.isIndex())
      part = op<arith::IndexCastOp>(type, part);
    else if (type.isInteger(1))
      part = op<arith::TruncIOp>(type, part);
    result = result ? combine(result, part) : part;
  }
  return result;
}

Value RowKernel::reduce(vector::ReductionOp reduction) {
  Value vector = reduction.getVector();
  Type element = elementOf(vector), type = getComputeType(element);
  auto combine = [&](Value a, Value b) { return vector::makeArithReduction(k.b, k.loc, reduction.getKind(), a, b); };
  Value neutral = op<arith::ConstantOp>(getNeutral(k.b, reduction.getKind(), type));
  Value partial = forSteps(walk(widthOf(vector), breaks.of(vector)), neutral, [&](const Step &step, ValueRange state) {
    Value sum = state[0];
    for (int64_t i = 0; i < step.columns; ++i) {
      Value value = emit(vector, step.first.shifted(i));
      if (type != element)
        value = op<arith::ExtFOp>(type, value);
      sum = combine(sum, step.mask ? select(step.mask, value, neutral) : value);
    }
    return SmallVector<Value>{sum};
  })[0];
  Value result = acrossLanes(partial, combine);
  if (Value start = reduction.getAcc()) {
    Value value = scalars.lookup(start);
    result = combine(type != element ? op<arith::ExtFOp>(type, value).getResult() : value, result);
  }
  return type != element ? op<arith::TruncFOp>(element, result).getResult() : result;
}

void RowKernel::spill(Value vector, Value memory) {
  forSteps(walk(widthOf(vector), breaks.of(vector)), {}, [&](const Step &step, ValueRange) {
    SmallVector<Value> values;
    for (int64_t i = 0; i < step.columns; ++i)
      values.push_back(emit(vector, step.first.shifted(i)));
    auto write = [&] {
      for (auto [i, value] : llvm::enumerate(values))
        store(value, at(memory, op<arith::ExtUIOp>(i64(), indexOf(step.first.shifted(i))), value.getType()));
    };
    step.mask ? ifThen(step.mask, write) : write();
    return SmallVector<Value>();
  });
}

void RowKernel::emitYield(tile::YieldOp yield) {
  auto guarded = [&](Value condition, function_ref<void()> body) {
    if (inside)
      condition = condition ? both(inside, condition) : inside;
    condition ? ifThen(condition, body) : body();
  };
  // Rows outside the groups are zero.
  auto shown = [&](Value value) {
    return live ? select(live, value, op<arith::ConstantOp>(k.b.getZeroAttr(value.getType()))) : value;
  };
  // Outs of one width share their walk, and with it whatever feeds both.
  std::map<int64_t, SmallVector<std::pair<Value, Value>>> byWidth; // width -> {vector, out}
  for (auto [value, out] : llvm::zip(yield.getValues(), rowsOp.getOuts())) {
    if (isa<VectorType>(value.getType())) {
      byWidth[widthOf(value)].push_back({value, out});
      continue;
    }
    const View &view = views[out];
    Value result = shown(scalars.lookup(value));
    if (value.getType().isInteger(1))
      result = op<arith::ExtUIOp>(view.element(), result);
    guarded(shape.lanes > 1 ? equal(lane, 0) : Value(), [&] { store(result, address(view, {row})); });
  }
  for (auto &[width, stores] : byWidth) {
    SmallVector<int64_t> edges;
    for (auto &[vector, out] : stores)
      llvm::append_range(edges, breaks.of(vector));
    llvm::sort(edges);
    edges.erase(llvm::unique(edges), edges.end());
    SmallVector<Value> starts;
    for (auto &[vector, out] : stores)
      starts.push_back(address(views[out], {row, c64(0)}));
    forSteps(walk(width, edges), {}, [&, &stores = stores](const Step &step, ValueRange) {
      SmallVector<SmallVector<Value>> values;
      for (auto &[vector, out] : stores) {
        SmallVector<Value> &own = values.emplace_back();
        for (int64_t i = 0; i < step.columns; ++i)
          own.push_back(shown(emit(vector, step.first.shifted(i))));
      }
      guarded(step.mask, [&] {
        for (auto [i, start] : llvm::enumerate(starts))
          storeStep(start, step, values[i], alignmentOf(stores[i].second));
      });
      return SmallVector<Value>();
    });
  }
}

void RowKernel::storeStep(Value memory, const Step &step, ArrayRef<Value> values, int64_t alignment) {
  Type type = values.front().getType();
  Type element = type.isInteger(1) ? k.b.getI8Type() : type;
  int64_t bytes = element.getIntOrFloatBitWidth() / 8, together = std::min(alignment / bytes, step.columns);
  while (step.first.offset % together != 0)
    together /= 2;
  for (int64_t i = 0; i < step.columns; i += together) {
    Value target = at(memory, op<arith::ExtUIOp>(i64(), indexOf(step.first.shifted(i))), element);
    Value data;
    for (int64_t e = 0; e < together; ++e) {
      Value value = type == element ? values[i + e] : op<arith::ExtUIOp>(element, values[i + e]).getResult();
      if (together == 1) {
        data = value;
        break;
      }
      if (!data)
        data = op<LLVM::PoisonOp>(VectorType::get(together, element));
      data = op<LLVM::InsertElementOp>(data, value, c(e));
    }
    op<LLVM::StoreOp>(data, target, together * bytes);
  }
}

//===----------------------------------------------------------------------===//
// Ops in order
//===----------------------------------------------------------------------===//

void RowKernel::emitLoad(LoadOp load) {
  auto argument = cast<BlockArgument>(load.getSource());
  Value operand = rowsOp.getIns()[argument.getArgNumber() - (rowsOp.getBounds() ? 2 : 1)];
  const View &view = views[operand];
  SmallVector<Value> indices;
  for (Value position : load.getIndices())
    indices.push_back(op<arith::IndexCastOp>(i64(), scalars.lookup(position)));
  // Unsigned: -1 is outside, and so is any row there is not, which then reads as zero instead of someone's memory.
  // Nothing is read for a row outside the groups.
  Value valid = live;
  if (!indices.empty()) {
    Value there = below(indices[0], k.size(operand, 0, 64));
    valid = valid ? both(valid, there) : there;
  }
  bool isRow = isa<VectorType>(load.getType());
  if (isRow)
    indices.push_back(c64(0));
  Value start = address(view, indices);
  if (isRow) {
    sources[load.getResult()] = {start, valid, view, widthOf(load.getResult()), alignmentOf(operand)};
    return;
  }
  Value value = loadConstant(view.element(), start, 1, valid)[0];
  if (load.getType().isInteger(1))
    value = op<arith::TruncIOp>(load.getType(), value);
  scalars.map(load.getResult(), value);
}

void RowKernel::emitFault(FaultOp fault) {
  Value condition = scalars.lookup(fault.getCondition());
  for (Value other : {inside, live, shape.lanes > 1 ? equal(lane, 0) : Value()})
    if (other)
      condition = both(condition, other);
  ifThen(condition, [&] {
    Value index = op<arith::IndexCastOp>(i64(), scalars.lookup(fault.getRow()));
    report(fault.getKind(), index, scalars.lookup(fault.getValue()), scalars.lookup(fault.getLimit()));
  });
}

void RowKernel::emitOp(Operation *inner) {
  llvm::TypeSwitch<Operation *>(inner)
      .Case([&](LoadOp load) { emitLoad(load); })
      .Case([&](SelectOp select) { emitSelect(select); })
      .Case([&](vector::ReductionOp reduction) { scalars.map(reduction.getDest(), reduce(reduction)); })
      .Case([&](vector::ExtractOp extract) {
        Column column{Value(), 1, 0, extract.getStaticPosition()[0]};
        scalars.map(extract.getResult(), emit(extract.getSource(), column));
      })
      .Case([&](LookupOp lookup) {
        Value memory = lookupMemory.lookup(lookup.getRow());
        if (!memory || scratch.count(lookup.getRow()))
          return;
        meet(); // the row before was read
        spill(lookup.getRow(), memory);
        meet();
        scratch[lookup.getRow()] = memory;
      })
      .Case([&](FaultOp fault) { emitFault(fault); })
      .Default([&](Operation *other) {
        // Vectors are emitted when something asks for them.
        if (llvm::none_of(other->getResultTypes(), llvm::IsaPred<VectorType>))
          emitElementwise(other, nullptr, 0);
      });
}

void RowKernel::emitRow() {
  Block &body = rowsOp.getBody().front();
  Type index = k.b.getIndexType();
  scalars.clear();
  sources.clear();
  scratch.clear();
  bases.clear();
  masks.clear();
  memos.assign(1, {});
  scalars.map(body.getArgument(0), op<arith::IndexCastOp>(index, row).getResult());
  if (group)
    scalars.map(body.getArgument(1), op<arith::IndexCastOp>(index, group).getResult());
  for (Operation &inner : body.without_terminator())
    emitOp(&inner);
  emitYield(cast<tile::YieldOp>(body.getTerminator()));
}
