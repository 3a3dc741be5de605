//===- RaggedGemmEpilogue.cpp - from accumulators to the outs -------------===//
//
// The region is written for one element. It is cloned for a vector of elements of one row: twice where the result's
// width is not a whole number of vectors, since only the last vector of a row then needs masks.
//
//===----------------------------------------------------------------------===//

#include "RaggedGemm.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;

namespace {

/// A vector of result columns that begins at `column` of the block.
struct Chunk {
  int64_t lanes;
  Value column;
  Value left; ///< columns of the row from here on, if they may be fewer than lanes; otherwise null

  /// Lanes of a vector that begins `skipped` vectors of this width behind the chunk, if each column takes `scale`
  /// lanes.
  Value mask(Emit &emit, int64_t scale, int64_t skipped) const {
    auto type = VectorType::get(lanes, emit.getI1Type());
    Value count = emit.sub(emit.mul(left, scale), emit.index(skipped * lanes));
    return vector::CreateMaskOp::create(emit, type, emit.max(count, emit.index(0)));
  }

  Value load(Emit &emit, Value memref, ValueRange indices, int64_t scale = 1, int64_t skipped = 0) const {
    auto type = VectorType::get(lanes, getElementTypeOrSelf(memref.getType()));
    if (!left)
      return vector::LoadOp::create(emit, type, memref, indices);
    return vector::MaskedLoadOp::create(emit, type, memref, indices, mask(emit, scale, skipped), emit.zero(type));
  }

  void store(Emit &emit, Value value, Value memref, ValueRange indices) const {
    if (!left)
      vector::StoreOp::create(emit, value, memref, indices);
    else
      vector::MaskedStoreOp::create(emit, memref, indices, mask(emit, 1, 0), value);
  }
};

/// Walks the block's columns in vectors.
void forChunks(Emit &emit, const GemmTiling &tiling, int64_t resultColumns, const GemmResult &result,
               llvm::function_ref<void(const Chunk &)> body) {
  Value whole = result.columns;
  bool partial = resultColumns % tiling.lanes != 0;
  if (partial)
    whole = emit.sub(whole, emit.rem(whole, emit.index(tiling.lanes)));
  emit.loop(0, whole, tiling.lanes, [&](Value column) { body({tiling.lanes, column, Value()}); });
  if (partial)
    emit.branch(emit.less(whole, result.columns),
                [&] { body({tiling.lanes, whole, emit.sub(result.columns, whole)}); });
}

class Epilogue {
public:
  Epilogue(Emit &emit, const GemmTiling &tiling, RaggedGemmOp op, const Kernel &kernel, Value c,
           const GemmResult &result)
      : emit(emit), tiling(tiling), op(op), kernel(kernel), c(c), result(result) {}

  void row(Value inBlock) {
    Value global = emit.add(result.firstRow, inBlock);
    readRowExtras(global);
    forChunks(emit, tiling, op.getN() / op.getNumAccumulators(), result,
              [&](const Chunk &chunk) { this->chunk(chunk, inBlock, global); });
  }

private:
  SmallVector<Value> resultIndices(Value row, Value column) {
    SmallVector<Value> indices(result.prefix);
    if (result.hasRow)
      indices.push_back(row);
    indices.push_back(emit.add(result.firstColumn, column));
    return indices;
  }

  /// Two vectors of neighbouring columns: the even ones, the odd ones.
  std::pair<Value, Value> deinterleave(Value first, Value second) {
    SmallVector<int64_t> even, odd;
    for (int64_t i = 0; i < tiling.lanes; ++i) {
      even.push_back(2 * i);
      odd.push_back(2 * i + 1);
    }
    return {vector::ShuffleOp::create(emit, first, second, even), vector::ShuffleOp::create(emit, first, second, odd)};
  }

  /// Values of kinds `row` and `slot`, which a row has one of.
  void readRowExtras(Value row) {
    scalars.assign(op.getExtras().size(), Value());
    Value slot;
    for (auto [i, extra] : llvm::enumerate(op.getExtras())) {
      Value memref = kernel.inRun(extra);
      if (op.getExtraKind(i) == ExtraKind::Row)
        scalars[i] = emit.load(memref, row);
      if (op.getExtraKind(i) != ExtraKind::Slot)
        continue;
      if (!slot)
        slot = emit.toIndex(emit.load(kernel.inRun(op.getSlots()), row));
      Type element = getElementTypeOrSelf(memref.getType());
      // A row without a slot reads nothing.
      auto read = scf::IfOp::create(emit, TypeRange(element), emit.less(slot, emit.index(0)), true);
      OpBuilder::InsertionGuard guard(emit);
      emit.setInsertionPointToStart(read.thenBlock());
      scf::YieldOp::create(emit, emit.zero(element));
      emit.setInsertionPointToStart(read.elseBlock());
      Value width = emit.dim(memref, 1);
      scf::YieldOp::create(emit, emit.load(memref, {emit.div(slot, width), emit.rem(slot, width)}));
      scalars[i] = read.getResult(0);
    }
  }

  /// The accumulators of a chunk.
  void readAccumulators(const Chunk &chunk, Value row) {
    auto type = VectorType::get(tiling.lanes, emit.getF32Type());
    auto read = [&](Value column) -> Value { return vector::LoadOp::create(emit, type, c, ValueRange{row, column}); };
    switch (op.getAccs()) {
    case Accumulators::Single:
      arguments.push_back(read(chunk.column));
      break;
    case Accumulators::Concatenated:
      arguments.push_back(read(chunk.column));
      arguments.push_back(read(emit.add(chunk.column, tiling.nc)));
      break;
    case Accumulators::Interleaved: {
      Value column = emit.mul(chunk.column, 2);
      auto [even, odd] = deinterleave(read(column), read(emit.add(column, tiling.lanes)));
      arguments.append({even, odd});
      break;
    }
    }
  }

  /// A value a group and column of the product: one argument for each accumulator.
  void readGroupExtra(const Chunk &chunk, Value memref) {
    SmallVector<Value> indices;
    if (cast<MemRefType>(memref.getType()).getRank() == 2)
      indices.push_back(result.group);
    auto read = [&](Value column, int64_t scale = 1, int64_t skipped = 0) {
      SmallVector<Value> all(indices);
      all.push_back(column);
      return chunk.load(emit, memref, all, scale, skipped);
    };
    Value column = emit.add(result.firstColumn, chunk.column);
    switch (op.getAccs()) {
    case Accumulators::Single:
      arguments.push_back(read(column));
      break;
    case Accumulators::Concatenated:
      arguments.push_back(read(column));
      arguments.push_back(read(emit.add(column, op.getN() / 2)));
      break;
    case Accumulators::Interleaved: {
      column = emit.mul(column, 2);
      Value second = emit.add(column, tiling.lanes);
      auto [even, odd] = deinterleave(read(column, 2, 0), read(second, 2, 1));
      arguments.append({even, odd});
      break;
    }
    }
  }

  void chunk(const Chunk &chunk, Value inBlock, Value row) {
    arguments.clear();
    readAccumulators(chunk, inBlock);
    SmallVector<Value> indices = resultIndices(row, chunk.column);
    for (auto [i, extra] : llvm::enumerate(op.getExtras())) {
      Value memref = kernel.inRun(extra);
      if (scalars[i])
        arguments.push_back(
            vector::BroadcastOp::create(emit, VectorType::get(tiling.lanes, scalars[i].getType()), scalars[i]));
      else if (op.getExtraKind(i) == ExtraKind::Group)
        readGroupExtra(chunk, memref);
      else
        arguments.push_back(chunk.load(emit, memref, indices));
    }
    if (op.getAccumulate())
      for (Value out : op.getOuts())
        arguments.push_back(chunk.load(emit, kernel.inRun(out), indices));

    IRMapping mapping;
    Block &block = op.getEpilogue().front();
    for (auto [argument, value] : llvm::zip_equal(block.getArguments(), arguments))
      mapping.map(argument, emit.castFloat(value, argument.getType()));
    for (Operation &inner : block.without_terminator())
      cloneOnVectors(inner, mapping);
    for (auto [value, out] : llvm::zip_equal(block.getTerminator()->getOperands(), op.getOuts()))
      chunk.store(emit, mapping.lookup(value), kernel.inRun(out), indices);
  }

  void cloneOnVectors(Operation &inner, IRMapping &mapping) {
    SmallVector<Type> types;
    for (Type type : inner.getResultTypes())
      types.push_back(VectorType::get(tiling.lanes, type));
    if (auto constant = dyn_cast<arith::ConstantOp>(inner)) {
      auto splat = DenseElementsAttr::get(cast<ShapedType>(types.front()), Attribute(constant.getValue()));
      mapping.map(constant.getResult(), arith::ConstantOp::create(emit, splat).getResult());
      return;
    }
    SmallVector<Value> operands;
    for (Value operand : inner.getOperands())
      operands.push_back(mapping.lookup(operand));
    Operation *clone =
        emit.insert(Operation::create(inner.getLoc(), inner.getName(), types, operands,
                                      inner.getDiscardableAttrDictionary(), inner.getPropertiesStorage(), {}, 0));
    mapping.map(inner.getResults(), clone->getResults());
  }

  Emit &emit;
  const GemmTiling &tiling;
  RaggedGemmOp op;
  const Kernel &kernel;
  Value c;
  const GemmResult &result;
  SmallVector<Value> scalars;   ///< by extra: its value in this row, or null
  SmallVector<Value> arguments; ///< of the region, in this chunk
};

} // namespace

void cpu::storeEpilogue(Emit &emit, const GemmTiling &tiling, RaggedGemmOp op, const Kernel &kernel, Value c,
                        const GemmResult &result) {
  Epilogue epilogue(emit, tiling, op, kernel, c, result);
  emit.loop(0, result.rows, 1, [&](Value row) { epilogue.row(row); });
}

void cpu::storeZeros(Emit &emit, const GemmTiling &tiling, RaggedGemmOp op, const Kernel &kernel,
                     const GemmResult &result) {
  emit.loop(0, result.rows, 1, [&](Value row) {
    forChunks(emit, tiling, op.getN() / op.getNumAccumulators(), result, [&](const Chunk &chunk) {
      SmallVector<Value> indices(result.prefix);
      indices.append({emit.add(result.firstRow, row), emit.add(result.firstColumn, chunk.column)});
      for (Value out : op.getOuts()) {
        Value memref = kernel.inRun(out);
        chunk.store(emit, emit.zero(VectorType::get(tiling.lanes, getElementTypeOrSelf(memref.getType()))), memref,
                    indices);
      }
    });
  });
}
