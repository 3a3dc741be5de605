//===- RowUtils.h - what lowerings of tile.rows share -----------------------===//
#ifndef MOE_DIALECT_TILE_IR_ROWUTILS_H
#define MOE_DIALECT_TILE_IR_ROWUTILS_H

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"

namespace mlir::tile {

/// Columns within each row vector where the op that gives its elements changes, ascending: a lowering that walks the
/// columns in pieces ends a piece there.
class RowBreaks {
public:
  const SmallVector<int64_t> &of(Value vector);

private:
  DenseMap<Value, SmallVector<int64_t>> known;
};

/// The value that leaves everything it is combined with as it is.
TypedAttr getNeutral(Builder &builder, vector::CombiningKind kind, Type type);

/// Bodies compute bf16 and f16 in f32: that type (a scalar or a vector), or the type itself.
Type getComputeType(Type type);

/// Whether an op moves or converts bits; every other op on narrow floats is one operation in f32 and one rounding.
bool isExactOnNarrow(Operation *op);

} // namespace mlir::tile

#endif
