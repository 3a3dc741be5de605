//===- Rows.h - tile.rows on threads ------------------------------------------===//
//
// A row has `lanes` threads, neighbours in a block: a part of a warp, a warp, or whole warps where rows are wide. A row
// vector is a value, not a register: it is emitted element by element, on demand of what consumes whole rows (sinks:
// yielded vectors, reductions, and what goes to shared memory for tile.select and tile.lookup). For each sink a thread
// walks its columns: 16 bytes at a time, those of all threads side by side. Rows of few columns a thread are walked
// straight-line and what was emitted is remembered, so that it stays in registers between sinks; wider rows are walked
// by loops, each of which reads again. Columns past the end are computed at the last valid ones and not stored: no
// branch depends on the column, and all threads of a block take the same way.
//
//===----------------------------------------------------------------------===//
#ifndef MOE_LIB_CONVERSION_TILETOSM90_ROWS_H
#define MOE_LIB_CONVERSION_TILETOSM90_ROWS_H

#include "Simt.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"
#include "moe/Dialect/Tile/IR/RowUtils.h"
#include <map>

namespace mlir::sm90 {

/// A column: base + offset, where base (i32) is a multiple of `unit` between 0 and `reach`. Null stands for 0.
struct Column {
  Value base;
  int64_t unit, reach, offset;

  Column shifted(int64_t by) const { return {base, unit, reach, offset + by}; }
};

/// How threads share a row.
struct RowShape {
  int64_t threads; ///< of a block
  int64_t lanes;   ///< of a row: a power of two up to 32, or the block
  int64_t columns; ///< a thread takes in a row, at most: a power of two
  int64_t loads;   ///< of 16 bytes, for so many columns of every row that is read

  static RowShape choose(tile::RowsOp op);
  /// Whether what is loaded in so many turns fits a thread's registers all at once, beside addresses.
  bool fits(int64_t turns) const;
  int64_t rows() const { return threads / lanes; } ///< of a block at a time
};

class RowKernel : Simt {
public:
  RowKernel(tile::RowsOp op, RowShape shape, KernelBuilder &kernel);
  void build();

private:
  /// A row of memory; `valid` (i1, null: always) says whether there is one, otherwise it reads as zeros.
  struct Source {
    Value row, valid;
    View view;
    int64_t width, alignment;
  };
  /// Columns [begin, begin + columns * count), each thread taking `columns` side by side.
  struct Piece {
    int64_t begin, columns, count;
  };
  /// What a thread does at one step of a walk: its first column, how many from there, and whether (i1, null: always) it
  /// has any.
  struct Step {
    Column first;
    int64_t columns;
    Value mask;
  };
  using Key = std::tuple<void *, void *, int64_t>; // value, base, offset
  using Memo = std::map<Key, Value>;
  using StepBody = function_ref<SmallVector<Value>(const Step &, ValueRange)>;

  //--- Rows.cpp: the rows of a block
  void buildRows();
  void findGroup();
  bool isWide(Value operand);
  int64_t alignmentOf(Value operand);
  Value isAligned();

  //--- RowsBody.cpp: ops in program order, sinks
  void emitRow();
  void emitOp(Operation *op);
  void emitLoad(tile::LoadOp op);
  void emitFault(tile::FaultOp op);
  void emitYield(tile::YieldOp op);
  /// Writes the values of a step to the row at `memory`, as many at a time as `alignment` bytes allow.
  void storeStep(Value memory, const Step &step, ArrayRef<Value> values, int64_t alignment);
  Value reduce(vector::ReductionOp op);
  /// One value of all threads of the row.
  Value acrossLanes(Value value, function_ref<Value(Value, Value)> combine);
  SmallVector<Piece> walk(int64_t width, ArrayRef<int64_t> breaks);
  /// All steps of a walk, with values carried from one to the next.
  SmallVector<Value> forSteps(ArrayRef<Piece> pieces, ValueRange carried, StepBody body);
  Step makeStep(const Piece &piece, Value turn, int64_t fixedTurn);
  /// Writes a vector to shared memory at `memory`.
  void spill(Value vector, Value memory);

  //--- RowsEmit.cpp: one element of one vector
  Value emit(Value vector, const Column &column);
  Value emitNew(Value vector, const Column &column);
  Value emitElementwise(Operation *op, const Column *column, unsigned result);
  Value emitConstant(arith::ConstantOp op, const Column &column);
  Value emitInsert(vector::InsertStridedSliceOp op, const Column &column);
  Value emitDeinterleave(vector::DeinterleaveOp op, const Column &column, unsigned result);
  Value emitInterleave(vector::InterleaveOp op, const Column &column);
  Value emitLookup(tile::LookupOp op, const Column &column);
  Value loadElement(Value vector, const Source &source, const Column &column);
  Value indexOf(const Column &column); ///< i32
  Column scaled(const Column &column, int64_t factor);

  //--- RowsSelect.cpp
  void emitSelect(tile::SelectOp op);
  Value sortKey(Value score, Value column, int64_t count, tile::NanOrder order);
  Value largestBelow(Value keys, int64_t count, Value bound);
  void excludeGroups(tile::SelectOp op, Value keys);
  /// for (i = lane; i < count; i += lanes)
  void forOwn(int64_t count, function_ref<void(Value)> body);

  /// So many elements of shared memory for each row of a block: the address of this row's.
  Value allocate(int64_t count, Type element);
  /// All threads of the row have written what the others will read.
  void meet() { shape.lanes > 32 ? barrier() : syncWarp(); }
  void remember(Value vector, const Column &column, Value element) {
    memos.back()[{vector.getAsOpaquePointer(), column.base.getAsOpaquePointer(), column.offset}] = element;
  }

  tile::RowsOp rowsOp;
  RowShape shape;
  bool assumesAligned = true; ///< of the caller's buffers, to 16 bytes

  DenseMap<Value, View> views;
  DenseMap<Operation *, SmallVector<Value, 4>> selectMemory; ///< of a tile.select: keys, ids, group keys
  DenseMap<Value, Value> lookupMemory;                       ///< of the row a tile.lookup reads
  DenseMap<Operation *, Value> constantMemory;               ///< of a constant that is no splat
  tile::RowBreaks breaks;
  Value exchange; ///< shared memory for acrossLanes, if rows have several warps

  Value lane, unit, total;         ///< i32: of the row, of the block; i64
  Value row, inside, group, live;  ///< of the row being emitted: i64, i1, i64, i1 (null: always)
  IRMapping scalars;               ///< scalars of the body -> emitted
  DenseMap<Value, Source> sources; ///< row loads
  DenseMap<Value, Value> scratch;  ///< vectors that lie in shared memory
  SmallVector<Memo, 2> memos;      ///< of the row, and of the loop within
  std::map<std::tuple<int64_t, int64_t, int64_t>, Value> bases; ///< columns, turn, count (0: all are valid) -> base
  std::map<std::pair<int64_t, int64_t>, Value> masks;           ///< turn, count
};

} // namespace mlir::sm90

#endif
