//===- Rows.h - the body of tile.rows on a CPU -----------------------------===//
//
// A row vector is a value, not a register: it is emitted piece by piece, on demand of what consumes whole rows (sinks:
// yielded vectors, reductions, and what goes to the stack for tile.select and tile.lookup). For each sink RowBody walks
// the columns in pieces and emits, for each piece, the ops that feed it, on vectors of the piece's width. What two
// sinks share is computed for both (a softmax of a wide row evaluates exp twice and never stores a row), except in
// narrow rows, whose pieces are all emitted straight-line and remembered.
//
//===----------------------------------------------------------------------===//
#ifndef MOE_LIB_CONVERSION_TILETOCPU_ROWS_H
#define MOE_LIB_CONVERSION_TILETOCPU_ROWS_H

#include "Lowering.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "moe/Dialect/Tile/IR/RowUtils.h"
#include <map>

namespace mlir::tile::cpu {

/// Columns [base + offset, base + offset + width) of a row vector.
struct Piece {
  Value base; ///< index; null stands for 0, and then the columns are known
  int64_t offset, width;
  /// All columns that a dynamic piece can cover over its loop are in [low, high); between two iterations the
  /// columns move by a multiple of `step`. For a static piece low = offset, high = offset + width.
  int64_t low, high, step = 0;

  static Piece fixed(int64_t offset, int64_t width) { return {Value(), offset, width, offset, offset + width}; }
  bool isFixed() const { return !base; }
  Piece shifted(int64_t by) const { return {base, offset + by, width, low + by, high + by, step}; }
};

/// How the columns of a row are walked: loops over [first, second) in pieces of the chunk width, then fixed pieces
/// {offset, width} whose widths are powers of two.
struct Walk {
  SmallVector<std::pair<int64_t, int64_t>> loops, pieces;
};

/// Refuses ops that RowBody cannot emit, with an error at the op.
LogicalResult checkRowBody(RowsOp op);

/// Emits the body of a tile.rows (accepted by checkRowBody) for one row.
class RowBody {
public:
  /// Stack and constants that all rows share are emitted at `builder`, which must be at function level.
  RowBody(RowsOp op, const Kernel &kernel, OpBuilder &builder);

  /// Emits row `row` of group `group` (null without bounds) and its stores to the outs.
  void emitRow(Value row, Value group);
  /// Emits zeros for row `row` of every out.
  void emitZeroRow(Value row);

private:
  /// A row of memory: rank-1 memref with stride 1. If `valid` (i1, null: always) does not hold, `memory` is a
  /// chunk of zeros and only column 0 may be addressed.
  struct Source {
    Value memory, valid;
  };
  using Key = std::tuple<void *, void *, int64_t, int64_t>; // value, base, offset, width
  using Memo = std::map<Key, Value>;

  //--- RowsBody.cpp: ops in program order, sinks
  void allocateFor(Operation *op);
  void emitOp(Operation *op);
  void emitLoad(LoadOp op);
  Value reduce(vector::ReductionOp op);
  void emitYield(YieldOp op, Value row);
  /// Row `indices` of a memref: rank-1 memref<?xT, strided<[1], offset: ?>> of its innermost dimension.
  Value rowView(Value memref, ValueRange indices);
  Walk walkOf(int64_t width, ArrayRef<int64_t> breaks);
  void forEachPiece(const Walk &walk, llvm::function_ref<void(const Piece &)> body);
  Piece loopPiece(Value column, std::pair<int64_t, int64_t> range) {
    return {column, 0, chunk, range.first, range.second, chunk};
  }

  //--- RowsEmit.cpp: one piece of one vector
  Value emit(Value vector, const Piece &piece);
  Value emitNew(Value vector, const Piece &piece);
  Value emitElementwise(Operation *op, const Piece *piece, unsigned result);
  Value emitConstant(arith::ConstantOp op, const Piece &piece);
  Value emitInsert(vector::InsertStridedSliceOp op, const Piece &piece);
  Value emitDeinterleave(vector::DeinterleaveOp op, const Piece &piece, unsigned result);
  Value emitInterleave(vector::InterleaveOp op, const Piece &piece);
  Value emitLookup(LookupOp op, const Piece &piece);
  Value loadPiece(const Source &source, const Piece &piece);
  Value column(const Piece &piece);
  Value loadVector(Value memory, Value column, int64_t width);
  void storeVector(Value vector, Value memory, Value column);
  Value slice(Value vector, int64_t offset, int64_t width);

  //--- RowsSelect.cpp
  void emitSelect(SelectOp op);
  Value sortKeys(Value scores, Value firstColumn, int64_t count, NanOrder order);
  Value largestBelow(Value keys, Value first, int64_t count, Value bound);
  void excludeGroups(SelectOp op, Value keys);

  Value index(int64_t value);
  Value integer(int64_t value, unsigned bits);
  Value splat(Attribute value, int64_t width);
  Value allocate(int64_t count, Type element);

  RowsOp op;
  const Kernel &kernel;
  OpBuilder &builder;
  Location loc;
  Block *entry;  ///< of the run function; stack is allocated at its start
  int64_t chunk; ///< widest piece: a power of two

  int64_t numVectorOps = 0, numInterleaves = 0;              ///< in the body
  DenseMap<Type, Value> zeros;                               ///< a chunk of zeros of each element type
  DenseMap<Operation *, SmallVector<Value, 4>> selectMemory; ///< of a tile.select: keys, ids, group scores, group keys
  DenseMap<Value, Value> lookupMemory;                       ///< of the row a tile.lookup reads
  RowBreaks breaks;

  IRMapping scalars;               ///< scalars and ins of the body -> emitted
  DenseMap<Value, Source> sources; ///< row loads
  DenseMap<Value, Value> scratch;  ///< vectors that lie on the stack: rank-1 memref
  SmallVector<Memo, 2> memos;      ///< of the row, and of the column loop within
};

} // namespace mlir::tile::cpu

#endif
