//===- Epilogue.cpp - from accumulators to memory ------------------------------===//
//
// In the accumulator of 64 rows, register 4 j + 2 q + e of thread (warp w, lane l) of the warpgroup is row
// 16 w + 8 q + l / 4, column 8 j + 2 (l % 4) + e. So a warp has 16 rows, and a thread pairs of columns: the epilogue's
// region is cloned on vector<2> for each pair. Interleaved accumulators meet within a thread: register e is of
// accumulator e, and the thread's result columns are l % 4 of each four, so that a pair are columns c and c + 4.
//
// 64 result columns of the warp's 16 rows at a time go to a buffer in shared memory (128 bytes a row, in the pattern of
// TMA's 128-byte swizzle) and from there by TMA, or, where fewer than 16 rows belong to the group, by masked stores.
//
//===----------------------------------------------------------------------===//

#include "Emit.h"
#include "Patterns.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::sm90;

namespace {

constexpr int64_t kChunk = 64;         // result columns at a time
constexpr int64_t kBufferBytes = 2048; // 16 rows of 128 bytes

class EpilogueLowering {
public:
  EpilogueLowering(EpilogueOp op, EpilogueOp::Adaptor adaptor, ConversionPatternRewriter &rewriter)
      : op(op), adaptor(adaptor), rewriter(rewriter), emit(rewriter, op.getLoc()) {
    for (auto [i, kind] : llvm::enumerate(op.getExtraKinds()))
      extras.push_back({adaptor.getExtras()[i], adaptor.getExtraPitches()[i],
                        cast<TypeAttr>(op.getExtraTypes()[i]).getValue(), static_cast<ExtraKind>(kind)});
    for (Attribute type : op.getTypes())
      types.push_back(cast<TypeAttr>(type).getValue());
  }

  void build() {
    lane = emit.lane();
    Value warpInGroup = emit.both(adaptor.getWarp(), 3);
    staging = emit.gep(adaptor.getStaging(), emit.mul(adaptor.getWarp(), kBufferBytes * op.getBuffers()));
    laneRow = emit.shr(lane, 2);
    laneColumn = emit.both(lane, 3);
    if (!op.getInterleaved())
      laneColumn = emit.shl(laneColumn, 1);
    int64_t width = cast<AccType>(op.getAccs().front().getType()).getColumns() / op.getParts();
    for (Type type : types)
      strips += adaptor.getAccs().size() * (width / kChunk) * (type.getIntOrFloatBitWidth() == 16 ? 1 : 2);
    for (auto [i, acc] : llvm::enumerate(adaptor.getAccs())) {
      stripRow = emit.add(emit.add(adaptor.getRow(), 64 * i), emit.shl(warpInGroup, 4));
      rowsLeft = emit.sub(adaptor.getEnd(), stripRow);
      isFull = emit.compare(arith::CmpIPredicate::sge, rowsLeft, 16);
      prepareRows();
      for (int64_t column = 0; column < width; column += kChunk)
        buildChunk(acc, column);
    }
    rewriter.eraseOp(op);
  }

private:
  struct Extra {
    Value pointer, pitch;
    Type type;
    ExtraKind kind;
  };

  /// What of the extras and outs depends on the row alone, for the two rows of the thread.
  void prepareRows() {
    for (int q = 0; q < 2; ++q) {
      // Rows past the group's end are computed but not stored; their operands are read within the group.
      Value row = emit.min(emit.add(stripRow, emit.add(laneRow, 8 * q)), emit.sub(adaptor.getEnd(), emit.c(1)));
      row = emit.ext64(emit.max(row, emit.c(0)));
      rowBases[q].clear();
      for (Extra &extra : extras)
        rowBases[q].push_back(rowBase(extra, row));
      oldBases[q].clear();
      if (op.getAccumulate())
        for (auto [i, out] : llvm::enumerate(adaptor.getOuts()))
          oldBases[q].push_back(element(out, emit.mul(row, adaptor.getPitches()[i]), types[i]));
    }
  }

  /// Address of element `index` (i64) behind `pointer`.
  Value element(Value pointer, Value index, Type type) {
    return emit.gep(pointer, emit.mul(index, type.getIntOrFloatBitWidth() / 8));
  }

  Value load(Value address, Type type) {
    return emit.op<LLVM::LoadOp>(type, address, type.getIntOrFloatBitWidth() / 8);
  }

  /// The row's value (kinds row and slot), or the address of the row's first element.
  Value rowBase(Extra &extra, Value row) {
    switch (extra.kind) {
    case ExtraKind::Row:
      return load(element(extra.pointer, emit.mul(row, extra.pitch), extra.type), extra.type);
    case ExtraKind::Slot: {
      Value slot = load(element(adaptor.getSlots(), row, emit.i32()), emit.i32());
      // A row without a slot reads nothing.
      auto read = [&](OpBuilder &, Location) {
        Value k = emit.c(op.getSlotsPerToken()), token = emit.div(slot, k);
        Value place = emit.sub(slot, emit.mul(token, k));
        Value index = emit.add(emit.mul(emit.ext64(token), extra.pitch), emit.ext64(place));
        emit.op<scf::YieldOp>(load(element(extra.pointer, index, extra.type), extra.type));
      };
      auto none = [&](OpBuilder &, Location) { emit.op<scf::YieldOp>(emit.op<LLVM::ZeroOp>(extra.type).getResult()); };
      return emit.op<scf::IfOp>(emit.compare(arith::CmpIPredicate::sge, slot, 0), read, none).getResult(0);
    }
    case ExtraKind::Group:
      return element(extra.pointer, emit.mul(emit.ext64(adaptor.getGroup()), extra.pitch), extra.type);
    case ExtraKind::Elem:
      return element(extra.pointer, emit.mul(row, extra.pitch), extra.type);
    }
    llvm_unreachable("unknown kind");
  }

  Value pairOf(Value first, Value second) {
    auto type = VectorType::get(2, first.getType());
    Value pair = emit.op<LLVM::UndefOp>(type);
    pair = emit.op<LLVM::InsertElementOp>(pair, first, emit.c(0));
    return emit.op<LLVM::InsertElementOp>(pair, second, emit.c(1));
  }

  /// How far the second column of a pair is from the first.
  int64_t step() { return op.getInterleaved() ? 4 : 1; }

  /// Elements at a pair of columns behind a row's address; columns past the edge are read at the edge.
  Value loadPair(Value base, Type type, Value column, int64_t columns, int64_t scale, int64_t shift) {
    auto at = [&](int64_t offset) {
      Value index = emit.min(emit.add(column, offset), emit.c(columns - 1));
      if (scale != 1)
        index = emit.mul(index, scale);
      index = emit.add(index, shift);
      return load(element(base, emit.ext64(index), type), type);
    };
    return pairOf(at(0), at(step()));
  }

  /// The thread's pair of accumulator `part` among result columns 8 piece to 8 piece + 7.
  Value accumulators(Value acc, int64_t piece, int q, int64_t part) {
    int64_t registers = cast<AccType>(op.getAccs().front().getType()).getRegisters();
    int64_t first = 4 * piece + 2 * q + part * registers / op.getParts(), second = first + 1;
    if (op.getInterleaved()) {
      first = 8 * piece + 2 * q + part;
      second = first + 4;
    }
    return pairOf(emit.extract(acc, first), emit.extract(acc, second));
  }

  /// Runs the region on the thread's pair among result columns 8 piece on, which begins at result column `column`.
  SmallVector<Value> evaluate(Value acc, int64_t piece, int q, Value column) {
    int64_t parts = op.getParts(), columns = op.getColumns();
    SmallVector<Value> arguments;
    for (int64_t part = 0; part < parts; ++part)
      arguments.push_back(accumulators(acc, piece, q, part));
    for (auto [i, extra] : llvm::enumerate(extras)) {
      Value base = rowBases[q][i];
      if (extra.kind == ExtraKind::Row || extra.kind == ExtraKind::Slot)
        arguments.push_back(pairOf(base, base));
      else if (extra.kind == ExtraKind::Elem)
        arguments.push_back(loadPair(base, extra.type, column, columns, 1, 0));
      else
        for (int64_t part = 0; part < parts; ++part)
          arguments.push_back(op.getInterleaved() ? loadPair(base, extra.type, column, columns, parts, part)
                                                  : loadPair(base, extra.type, column, columns, 1, part * columns));
    }
    if (op.getAccumulate())
      for (auto [i, type] : llvm::enumerate(types))
        arguments.push_back(loadPair(oldBases[q][i], type, column, columns, 1, 0));

    IRMapping mapping;
    Block &body = op.getBody().front();
    mapping.map(body.getArguments(), arguments);
    for (Operation &inner : body.without_terminator()) {
      if (auto constant = dyn_cast<arith::ConstantOp>(inner)) {
        auto type = VectorType::get(2, constant.getType());
        Value splat = emit.op<arith::ConstantOp>(DenseElementsAttr::get(type, constant.getValue()));
        mapping.map(constant.getResult(), splat);
        continue;
      }
      Operation *clone = rewriter.clone(inner, mapping);
      for (Value result : clone->getResults())
        result.setType(VectorType::get(2, result.getType()));
    }
    SmallVector<Value> results;
    for (Value value : body.getTerminator()->getOperands())
      results.push_back(mapping.lookup(value));
    return results;
  }

  void buildChunk(Value acc, int64_t start) {
    // pairs[out][8-column piece][q]
    SmallVector<std::array<std::array<Value, 2>, 8>> pairs(types.size());
    for (int64_t piece = 0; piece < 8; ++piece)
      for (int q = 0; q < 2; ++q) {
        Value column = emit.add(emit.add(adaptor.getColumn(), start + 8 * piece), laneColumn);
        SmallVector<Value> values = evaluate(acc, start / 8 + piece, q, column);
        for (auto [i, value] : llvm::enumerate(values))
          pairs[i][piece][q] = value;
      }
    for (auto [i, type] : llvm::enumerate(types)) {
      if (type.getIntOrFloatBitWidth() == 16) {
        Value buffer = takeBuffer();
        stageHalf(buffer, pairs[i]);
        storeBuffer(buffer, i, start);
        continue;
      }
      for (int64_t half = 0; half < 2; ++half) {
        Value buffer = takeBuffer();
        stageFloat(buffer, ArrayRef(pairs[i]).slice(4 * half, 4));
        storeBuffer(buffer, i, start + 32 * half);
      }
    }
  }

  /// The warp's next staging buffer, once TMA has read what was in it. Each tile begins with the first buffer: its last
  /// use may be fewer stores ago than there are buffers.
  Value takeBuffer() {
    int64_t buffers = op.getBuffers(), buffer = taken % buffers, since = buffers - 1;
    if (taken < buffers)
      since = std::min(since, taken + (strips - 1 - buffer) % buffers);
    ++taken;
    Value address = emit.gep(staging, kBufferBytes * buffer);
    emit.op<NVVM::CpAsyncBulkWaitGroupOp>(rewriter.getI32IntegerAttr(since), rewriter.getUnitAttr());
    emit.syncWarp();
    return address;
  }

  /// 16-byte unit `unit` of row `row` in the 128-byte swizzle.
  Value swizzled(Value buffer, Value row, Value unit) {
    Value place = emit.differing(unit, emit.both(row, 7));
    return emit.gep(buffer, emit.add(emit.shl(row, 7), emit.shl(place, 4)));
  }

  void stageHalf(Value buffer, ArrayRef<std::array<Value, 2>> pairs) {
    if (op.getInterleaved())
      return stageApart(buffer, pairs, 2);
    // Lane l gives the address of row l % 16 of columns 8 (l / 16) on of the 16 columns that one stmatrix stores.
    Value row = emit.both(lane, 15), side = emit.shr(lane, 4);
    for (int64_t i = 0; i < 4; ++i) {
      SmallVector<Value> registers;
      for (int64_t piece : {2 * i, 2 * i + 1})
        for (int q = 0; q < 2; ++q)
          registers.push_back(emit.op<LLVM::BitcastOp>(emit.i32(), pairs[piece][q]));
      Value address = swizzled(buffer, row, emit.add(side, 2 * i));
      emit.op<NVVM::StMatrixOp>(address, registers, NVVM::MMALayout::row,
                                NVVM::LdStMatrixShapeAttr::get(rewriter.getContext(), 8, 8),
                                NVVM::LdStMatrixEltType::B16);
    }
  }

  void stageFloat(Value buffer, ArrayRef<std::array<Value, 2>> pairs) {
    if (op.getInterleaved())
      return stageApart(buffer, pairs, 4);
    for (auto [piece, rows] : llvm::enumerate(pairs))
      for (int q = 0; q < 2; ++q) {
        Value unit = emit.add(emit.shr(laneColumn, 2), 2 * piece);
        Value address = swizzled(buffer, emit.add(laneRow, 8 * q), unit);
        address = emit.gep(address, emit.shl(emit.both(laneColumn, 2), 2));
        emit.op<LLVM::StoreOp>(rows[q], address, 8);
      }
  }

  /// Pairs whose columns are 4 apart, of elements of `bytes` bytes.
  void stageApart(Value buffer, ArrayRef<std::array<Value, 2>> pairs, int64_t bytes) {
    for (auto [piece, rows] : llvm::enumerate(pairs))
      for (int q = 0; q < 2; ++q)
        for (int64_t i = 0; i < 2; ++i) {
          int64_t offset = (8 * piece + 4 * i) * bytes;
          Value address = swizzled(buffer, emit.add(laneRow, 8 * q), emit.c(offset / 16));
          address = emit.gep(address, emit.add(emit.mul(laneColumn, bytes), offset % 16));
          Value value = emit.op<LLVM::ExtractElementOp>(rows[q], emit.c(i));
          emit.op<LLVM::StoreOp>(value, address, bytes);
        }
  }

  /// Sends a buffer of 16 rows to out `i` at column `start` of the tile.
  void storeBuffer(Value buffer, unsigned i, int64_t start) {
    Value column = emit.add(adaptor.getColumn(), start);
    auto byTma = [&] {
      emit.fenceAsync();
      emit.syncWarp();
      Value elected = emit.op<NVVM::ElectSyncOp>(emit.i1(), Value());
      emit.ifThen(elected, [&] {
        SmallVector<Value> at{column, stripRow};
        if (op.getPlane())
          at.push_back(adaptor.getGroup());
        if (op.getReduce())
          emit.op<NVVM::CpAsyncBulkTensorReduceOp>(adaptor.getMaps()[i], buffer, NVVM::TMAReduxKind::ADD,
                                                   NVVM::TMAStoreMode::TILE, at, Value());
        else
          emit.op<NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp>(adaptor.getMaps()[i], buffer, at, Value(),
                                                              NVVM::TMAStoreMode::TILE, Value());
      });
    };
    if (op.getPlane())
      byTma();
    else
      emit.ifElse(isFull, byTma, [&] { storeMasked(buffer, i, column); });
    // On every path and by every lane: the wait counts groups.
    emit.op<NVVM::CpAsyncBulkCommitGroupOp>();
  }

  void storeMasked(Value buffer, unsigned i, Value column) {
    emit.syncWarp();
    int64_t bytes = types[i].getIntOrFloatBitWidth() / 8, elements = 16 / bytes, columns = op.getColumns();
    Value unit = emit.both(lane, 7), at = emit.add(column, emit.mul(unit, elements));
    auto vector = VectorType::get(4, emit.i32());
    for (int64_t step = 0; step < 4; ++step) {
      Value row = emit.add(emit.shr(lane, 3), 4 * step);
      Value inside = emit.both(emit.less(row, rowsLeft), emit.less(at, emit.c(columns)));
      emit.ifThen(inside, [&] {
        Value source = swizzled(buffer, row, unit);
        Value index = emit.add(emit.mul(emit.ext64(emit.add(stripRow, row)), adaptor.getPitches()[i]), emit.ext64(at));
        Value target = element(adaptor.getOuts()[i], index, types[i]);
        auto whole = [&] {
          Value data = emit.op<LLVM::LoadOp>(vector, source, 16);
          emit.op<LLVM::StoreOp>(data, target, 16);
        };
        if (columns % elements == 0)
          return whole();
        emit.ifElse(emit.compare(arith::CmpIPredicate::sle, at, columns - elements), whole, [&] {
          for (int64_t e = 0; e < columns % elements; ++e) {
            Value value = emit.op<LLVM::LoadOp>(types[i], emit.gep(source, e * bytes), bytes);
            emit.op<LLVM::StoreOp>(value, emit.gep(target, e * bytes), bytes);
          }
        });
      });
    }
  }

  EpilogueOp op;
  EpilogueOp::Adaptor adaptor;
  ConversionPatternRewriter &rewriter;
  Emit emit;
  SmallVector<Extra> extras;
  SmallVector<Type> types;
  Value lane, laneRow, laneColumn, staging, stripRow, rowsLeft, isFull;
  SmallVector<Value> rowBases[2], oldBases[2];
  int64_t taken = 0, strips = 0; ///< staging buffers of a tile that were taken, and all that will be
};

struct LowerEpilogue : OpConversionPattern<EpilogueOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(EpilogueOp op, OpAdaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    EpilogueLowering(op, adaptor, rewriter).build();
    return success();
  }
};

struct LowerStoreZeros : OpConversionPattern<StoreZerosOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(StoreZerosOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emit emit(rewriter, op.getLoc());
    int64_t bytes = op.getElement().getIntOrFloatBitWidth() / 8, elements = 16 / bytes, columns = op.getColumns();
    Value lane = emit.lane(), warp = emit.both(emit.shr(emit.thread(), 5), 3);
    Value first = emit.add(adaptor.getRow(), warp);
    Value end = emit.min(adaptor.getEnd(), emit.add(adaptor.getRow(), op.getHeight()));
    Value columnsEnd = emit.min(emit.add(adaptor.getColumn(), op.getWidth()), emit.c(columns));
    Value firstColumn = emit.add(adaptor.getColumn(), emit.mul(lane, elements));
    Value zeros = emit.op<LLVM::ZeroOp>(VectorType::get(4, emit.i32())), zero = emit.op<LLVM::ZeroOp>(op.getElement());
    emit.loop(first, end, emit.c(4), [&](Value row) {
      Value base = emit.gep(adaptor.getOut(), emit.mul(emit.mul(emit.ext64(row), adaptor.getPitch()), bytes));
      emit.loop(firstColumn, columnsEnd, emit.c(32 * elements), [&](Value column) {
        Value target = emit.gep(base, emit.mul(emit.ext64(column), bytes));
        auto whole = [&] { emit.op<LLVM::StoreOp>(zeros, target, 16); };
        if (columns % elements == 0)
          return whole();
        emit.ifElse(emit.compare(arith::CmpIPredicate::sle, column, columns - elements), whole, [&] {
          for (int64_t e = 0; e < columns % elements; ++e)
            emit.op<LLVM::StoreOp>(zero, emit.gep(target, e * bytes), bytes);
        });
      });
    });
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void mlir::sm90::populateEpiloguePatterns(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerEpilogue, LowerStoreZeros>(converter, patterns.getContext());
}
