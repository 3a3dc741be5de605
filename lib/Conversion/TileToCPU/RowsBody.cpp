//===- RowsBody.cpp - the ops of a row body in order, and its sinks --------===//

#include "Rows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;

static int64_t widthOf(Value vector) { return cast<VectorType>(vector.getType()).getNumElements(); }
static Type elementOf(Value vector) { return cast<VectorType>(vector.getType()).getElementType(); }

//===----------------------------------------------------------------------===//
// What can be emitted
//===----------------------------------------------------------------------===//

// The verifier of tile.rows admits only what is emitted here; what it leaves open is how a constant holds its elements.
LogicalResult cpu::checkRowBody(RowsOp op) {
  for (auto constant : op.getBody().front().getOps<arith::ConstantOp>())
    if (isa<VectorType>(constant.getType()) && !isa<DenseElementsAttr>(constant.getValue()))
      return constant.emitOpError("holds ") << constant.getValue() << ", expected dense elements on the cpu target";
  return success();
}

//===----------------------------------------------------------------------===//
// What all rows share
//===----------------------------------------------------------------------===//

RowBody::RowBody(RowsOp op, const Kernel &kernel, OpBuilder &builder)
    : op(op), kernel(kernel), builder(builder), loc(op.getLoc()) {
  // Several registers a piece keep the units busy in spite of latencies; a quarter of the registers leaves room for
  // the temporaries of an exp on each.
  chunk = kernel.target.lanes * (kernel.target.registers >= 32 ? 4 : 2);
  for (auto [argument, operand] : llvm::zip(op.getInArguments(), op.getIns()))
    scalars.map(argument, kernel.inRun(operand));
  for (Operation &inner : op.getBody().front()) {
    numVectorOps += llvm::any_of(inner.getResultTypes(), [](Type type) { return isa<VectorType>(type); });
    numInterleaves += isa<vector::InterleaveOp>(inner);
  }
  for (Operation &inner : op.getBody().front())
    allocateFor(&inner);
}

Value RowBody::allocate(int64_t count, Type element) {
  auto type = MemRefType::get(count, element);
  // Aligned to the widest vector register, so that pieces do not straddle cache lines.
  return memref::AllocaOp::create(builder, loc, type, ValueRange(), builder.getI64IntegerAttr(64));
}

void RowBody::allocateFor(Operation *inner) {
  if (auto load = dyn_cast<LoadOp>(inner)) {
    if (!isa<VectorType>(load.getType()) || load.getIndices().empty())
      return;
    Type element = elementOf(load.getResult());
    if (zeros.count(element))
      return;
    // As wide as the widest piece: a chunk, doubled by every split of pairs, and a pair more where halves meet.
    int64_t widest = 0, limit = chunk * 2;
    for (Operation &other : *inner->getBlock()) {
      if (auto load = dyn_cast<LoadOp>(other);
          load && isa<VectorType>(load.getType()) && elementOf(load.getResult()) == element)
        widest = std::max(widest, widthOf(load.getResult()));
      if (isa<vector::DeinterleaveOp>(other) && limit < (1 << 20))
        limit *= 2;
    }
    widest = std::min(widest, limit);
    Value memory = zeros[element] = allocate(widest, element);
    forEachPiece(walkOf(widest, {}), [&](const Piece &piece) {
      storeVector(splat(builder.getZeroAttr(element), piece.width), memory, column(piece));
    });
  } else if (auto select = dyn_cast<SelectOp>(inner)) {
    Type i64 = builder.getI64Type();
    selectMemory[inner] = {allocate(widthOf(select.getScores()), i64),
                           allocate(widthOf(select.getResult()), builder.getI32Type())};
    if (select.getKeepGroups() < select.getGroups())
      selectMemory[inner].append(
          {allocate(select.getGroups(), builder.getF32Type()), allocate(select.getGroups(), i64)});
  } else if (auto lookup = dyn_cast<LookupOp>(inner)) {
    Value row = lookup.getRow();
    if (!row.getDefiningOp<LoadOp>() && !row.getDefiningOp<SelectOp>() && !lookupMemory.count(row))
      lookupMemory[row] = allocate(widthOf(row), elementOf(row));
  } else if (auto constant = dyn_cast<arith::ConstantOp>(inner)) {
    auto value = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!value || value.isSplat())
      return;
    // Column loops read it from the stack.
    Value memory = allocate(value.getNumElements(), value.getElementType());
    for (int64_t at = 0; at < value.getNumElements(); at += chunk) {
      Piece piece = Piece::fixed(at, std::min(chunk, value.getNumElements() - at));
      storeVector(emitConstant(constant, piece), memory, column(piece));
    }
    scratch[constant.getResult()] = memory;
  }
}

Value RowBody::rowView(Value memref, ValueRange indices) {
  auto metadata = memref::ExtractStridedMetadataOp::create(builder, loc, memref);
  Value offset = metadata.getOffset();
  for (auto [position, stride] : llvm::zip(indices, metadata.getStrides())) {
    Value step = arith::MulIOp::create(builder, loc, position, stride);
    offset = arith::AddIOp::create(builder, loc, offset, step);
  }
  auto layout = StridedLayoutAttr::get(builder.getContext(), ShapedType::kDynamic, {1});
  auto type = MemRefType::get(ShapedType::kDynamic, cast<MemRefType>(memref.getType()).getElementType(), layout);
  return memref::ReinterpretCastOp::create(builder, loc, type, metadata.getBaseBuffer(), OpFoldResult(offset),
                                           ArrayRef<OpFoldResult>{metadata.getSizes().back()},
                                           ArrayRef<OpFoldResult>{builder.getIndexAttr(1)});
}

//===----------------------------------------------------------------------===//
// Walking the columns
//===----------------------------------------------------------------------===//

Walk RowBody::walkOf(int64_t width, ArrayRef<int64_t> breaks) {
  SmallVector<int64_t> ends(breaks);
  ends.push_back(width);
  Walk walk;
  int64_t begin = 0;
  for (int64_t end : ends) {
    // Straight-line code for narrow rows, whose pieces are then shared by all sinks, as long as it stays small; always
    // where interleaved rows are nested so deeply that a chunk cannot be halved that often.
    int64_t chunks = (end - begin) / chunk;
    bool isNarrow = chunks < 2 || (end - begin <= 256 && chunks * numVectorOps <= 1024) || chunk >> numInterleaves < 2;
    if (!isNarrow) {
      walk.loops.push_back({begin, begin + chunks * chunk});
      begin += chunks * chunk;
    }
    for (int64_t piece = chunk; begin < end; piece /= 2)
      for (; begin + piece <= end; begin += piece)
        walk.pieces.push_back({begin, piece});
  }
  return walk;
}

void RowBody::forEachPiece(const Walk &walk, llvm::function_ref<void(const Piece &)> body) {
  for (auto range : walk.loops) {
    auto loop = scf::ForOp::create(builder, loc, index(range.first), index(range.second), index(chunk));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    memos.emplace_back();
    body(loopPiece(loop.getInductionVar(), range));
    memos.pop_back();
  }
  for (auto [offset, width] : walk.pieces)
    body(Piece::fixed(offset, width));
}

//===----------------------------------------------------------------------===//
// Ops in order
//===----------------------------------------------------------------------===//

void RowBody::emitLoad(LoadOp load) {
  Value memory = scalars.lookup(load.getSource());
  SmallVector<Value> indices;
  for (Value position : load.getIndices())
    indices.push_back(scalars.lookup(position));
  // Unsigned: -1 is outside, and so is any row there is not, which then reads as zero instead of someone's memory.
  Value isInside;
  if (!indices.empty()) {
    Value rows = memref::DimOp::create(builder, loc, memory, index(0));
    isInside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, indices[0], rows);
  }
  Type type = load.getType();
  if (!isa<VectorType>(type)) {
    if (!isInside) {
      scalars.map(load.getResult(), memref::LoadOp::create(builder, loc, memory, indices).getResult());
      return;
    }
    auto branch = scf::IfOp::create(builder, loc, type, isInside, /*withElseRegion=*/true);
    OpBuilder inside = branch.getThenBodyBuilder(), outside = branch.getElseBodyBuilder();
    scf::YieldOp::create(inside, loc, memref::LoadOp::create(inside, loc, memory, indices).getResult());
    scf::YieldOp::create(outside, loc, arith::ConstantOp::create(outside, loc, builder.getZeroAttr(type)).getResult());
    scalars.map(load.getResult(), branch.getResult(0));
    return;
  }
  Value view = rowView(memory, indices);
  if (isInside) {
    // No branch for each piece: a row that is not there is a chunk of zeros, always read at column 0.
    Value nothing = memref::CastOp::create(builder, loc, view.getType(), zeros.lookup(elementOf(load.getResult())));
    view = arith::SelectOp::create(builder, loc, isInside, view, nothing);
  }
  sources[load.getResult()] = {view, isInside};
}

Value RowBody::reduce(vector::ReductionOp reduction) {
  Value vector = reduction.getVector();
  Type element = elementOf(vector);
  bool isNarrow = element.isBF16() || element.isF16(); // accumulates in f32
  Type type = isNarrow ? Type(builder.getF32Type()) : element;
  auto combine = [&](Value a, Value b) { return vector::makeArithReduction(builder, loc, reduction.getKind(), a, b); };
  auto read = [&](const Piece &piece) -> Value {
    Value value = emit(vector, piece);
    return isNarrow ? arith::ExtFOp::create(builder, loc, VectorType::get(piece.width, type), value).getResult()
                    : value;
  };
  // One partial result for each width of pieces; the order in which they meet depends on the width of the row alone.
  std::map<int64_t, Value> partial;
  auto meet = [&](int64_t width, Value value) {
    Value &slot = partial[width];
    slot = slot ? combine(slot, value) : value;
  };
  Walk walk = walkOf(widthOf(vector), breaks.of(vector));
  for (auto range : walk.loops) {
    Value start = splat(getNeutral(builder, reduction.getKind(), type), chunk);
    auto loop = scf::ForOp::create(builder, loc, index(range.first), index(range.second), index(chunk), start);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(loop.getBody());
      memos.emplace_back();
      Value value = combine(loop.getRegionIterArg(0), read(loopPiece(loop.getInductionVar(), range)));
      memos.pop_back();
      scf::YieldOp::create(builder, loc, value);
    }
    meet(chunk, loop.getResult(0));
  }
  for (auto [offset, width] : walk.pieces)
    meet(width, read(Piece::fixed(offset, width)));
  for (int64_t width = chunk; width > 1; width /= 2)
    if (Value value = partial[width])
      meet(width / 2, combine(slice(value, 0, width / 2), slice(value, width / 2, width / 2)));
  Value result = vector::ExtractOp::create(builder, loc, partial[1], 0);
  if (Value start = reduction.getAcc()) {
    Value value = scalars.lookup(start);
    result = combine(isNarrow ? arith::ExtFOp::create(builder, loc, type, value).getResult() : value, result);
  }
  return isNarrow ? arith::TruncFOp::create(builder, loc, element, result).getResult() : result;
}

void RowBody::emitYield(YieldOp yield, Value row) {
  // Outs of one width share their walk, and with it whatever feeds both.
  std::map<int64_t, SmallVector<std::pair<Value, Value>>> byWidth; // width -> {vector, view of its row of the out}
  for (auto [value, out] : llvm::zip(yield.getValues(), op.getOuts())) {
    Value memory = kernel.inRun(out);
    if (isa<VectorType>(value.getType()))
      byWidth[widthOf(value)].push_back({value, rowView(memory, row)});
    else
      memref::StoreOp::create(builder, loc, scalars.lookup(value), memory, row);
  }
  for (auto &entry : byWidth) {
    auto &group = entry.second;
    SmallVector<int64_t> edges;
    for (auto &store : group)
      edges.append(breaks.of(store.first));
    llvm::sort(edges);
    edges.erase(llvm::unique(edges), edges.end());
    forEachPiece(walkOf(entry.first, edges), [&](const Piece &piece) {
      for (auto &store : group)
        storeVector(emit(store.first, piece), store.second, column(piece));
    });
  }
}

void RowBody::emitOp(Operation *inner) {
  llvm::TypeSwitch<Operation *>(inner)
      .Case([&](LoadOp load) { emitLoad(load); })
      .Case([&](SelectOp select) { emitSelect(select); })
      .Case([&](vector::ReductionOp reduction) { scalars.map(reduction.getDest(), reduce(reduction)); })
      .Case([&](vector::ExtractOp extract) {
        Value piece = emit(extract.getSource(), Piece::fixed(extract.getStaticPosition()[0], 1));
        scalars.map(extract.getResult(), vector::ExtractOp::create(builder, loc, piece, 0));
      })
      .Case([&](LookupOp lookup) {
        Value row = lookup.getRow(), memory = lookupMemory.lookup(row);
        if (!memory || scratch.count(row))
          return;
        forEachPiece(walkOf(widthOf(row), breaks.of(row)),
                     [&](const Piece &piece) { storeVector(emit(row, piece), memory, column(piece)); });
        scratch[row] = memory;
      })
      .Case([&](FaultOp fault) {
        auto branch = scf::IfOp::create(builder, loc, scalars.lookup(fault.getCondition()), /*withElseRegion=*/false);
        OpBuilder inside = branch.getThenBodyBuilder();
        emitFault(inside, loc, kernel.context(), fault.getKind(), scalars.lookup(fault.getRow()),
                  scalars.lookup(fault.getValue()), scalars.lookup(fault.getLimit()));
      })
      .Default([&](Operation *other) {
        // Vectors are emitted when something asks for them.
        if (llvm::none_of(other->getResultTypes(), [](Type type) { return isa<VectorType>(type); }))
          emitElementwise(other, nullptr, 0);
      });
}

void RowBody::emitRow(Value row, Value group) {
  Block &body = op.getBody().front();
  scalars.map(body.getArgument(0), row);
  if (group)
    scalars.map(body.getArgument(1), group);
  memos.assign(1, {});
  for (Operation &inner : body.without_terminator())
    emitOp(&inner);
  emitYield(cast<YieldOp>(body.getTerminator()), row);
  memos.clear();
}

void RowBody::emitZeroRow(Value row) {
  for (Value out : op.getOuts()) {
    Value memory = kernel.inRun(out);
    auto type = cast<MemRefType>(memory.getType());
    TypedAttr zero = builder.getZeroAttr(type.getElementType());
    if (type.getRank() == 1) {
      memref::StoreOp::create(builder, loc, arith::ConstantOp::create(builder, loc, zero), memory, row);
      continue;
    }
    Value view = rowView(memory, row);
    forEachPiece(walkOf(type.getShape().back(), {}),
                 [&](const Piece &piece) { storeVector(splat(zero, piece.width), view, column(piece)); });
  }
}
