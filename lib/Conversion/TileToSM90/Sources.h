//===- Sources.h - how the operands of a product reach a stage ----------------===//
#ifndef MOE_LIB_CONVERSION_TILETOSM90_SOURCES_H
#define MOE_LIB_CONVERSION_TILETOSM90_SOURCES_H

#include "Lowering.h"
#include <memory>

namespace mlir::sm90 {

/// A tile as `sm90.for_tiles` gives it (i32; live and pair i1). Without a cluster there is no `pair`.
struct Tile {
  Value row, column, group, begin, end, live, pair;
};

/// Where a load goes: a stage of the ring, from `offset` bytes on; `block` is the number of the block of k.
struct Stage {
  Value ring, cursor, block;
  int64_t offset;
};

/// The type in which wgmma takes an operand: f32 is rounded to TF32 on the way.
Type getLoadedType(Value operand);

/// Elements of 128 bytes: the block of k that a stage has.
int64_t getBlock(Value operand);

/// An operand of the product: one side of a tile, a block of k a stage.
class Source {
public:
  virtual ~Source() = default;
  /// How wgmma finds it in the stage.
  virtual Major major() const = 0;
  /// Loads its part of a stage, by one thread of the producer. With `half` (i32, 0 or 1) only that half of it, but into
  /// both blocks of the cluster.
  virtual void load(KernelBuilder &k, const Tile &tile, const Stage &stage, Value half = {}) = 0;
};

/// Sources that TMA brings come in boxes. `cut` says that the boxes must fall into two halves.

/// Rows of lhs, from the tile's row on. Past the end of the tile's group they are those of the next, or with `zeros`
/// zeros, which cost less power to load and multiply.
std::unique_ptr<Source> createRows(KernelBuilder &k, Value lhs, int64_t rows, bool cut, bool zeros);

/// Rows that come by `sm90.gather_load`, of other warps than the thread that loads.
std::unique_ptr<Source> createGathered();

/// `columns` columns of the weights of the tile's group, from the tile's column on: half of them from each
/// accumulator's part of all columns, or neighbours if the accumulators are interleaved.
std::unique_ptr<Source> createWeights(KernelBuilder &k, tile::RaggedGemmOp op, int64_t columns, bool cut);

/// Columns of a matrix whose rows are summed over: 64 rows of the tile's group a stage, zeros past its end. `side` says
/// whether the tile's row or column picks the columns. A multiple of 128 columns falls into two halves.
enum class Side { Row, Column };
std::unique_ptr<Source> createGroupRows(KernelBuilder &k, Value matrix, int64_t columns, Side side);

} // namespace mlir::sm90

#endif
