//===- RaggedGemm.h - the parts of a matrix product on a CPU --------------===//
//
// A task is one block of a product, C[m, n] = sum over k of A(m, k) * B(k, n):
//   mode rows          m: rows of the group in the block, k: columns of lhs, n: columns of the weights
//   mode contraction   m: columns of lhs, k: all rows of the group, n: columns of rhs
// For blocks of k it packs A and B into panels of f32 (RaggedGemmPack.cpp), multiplies panels into a block of C held
// in scratch (RaggedGemmKernel.cpp), and at last runs the epilogue on C and stores (RaggedGemmEpilogue.cpp).
// The order of additions into an element depends on nothing but k.
//
//===----------------------------------------------------------------------===//
#ifndef MOE_LIB_CONVERSION_TILETOCPU_RAGGEDGEMM_H
#define MOE_LIB_CONVERSION_TILETOCPU_RAGGEDGEMM_H

#include "Emit.h"
#include "Lowering.h"

namespace mlir::tile::cpu {

/// Sizes of blocks, in elements. All are fixed at compile time.
struct GemmTiling {
  int64_t lanes;        ///< of a vector register
  int64_t mr, nr;       ///< a panel of A is mr rows high, one of B nr columns wide
  int64_t pitch;        ///< floats from one k to the next in a panel of A: mr rounded up to whole vectors
  int64_t mc;           ///< most rows of a block, a multiple of mr
  int64_t kc;           ///< depth of a packed block, a multiple of lanes
  int64_t segments;     ///< 2 for concatenated accumulators: their columns are packed side by side
  int64_t nc;           ///< columns of a segment of the block, a multiple of nr
  int64_t columns;      ///< result columns of a block, a multiple of lanes
  int64_t columnBlocks; ///< blocks that cover the result's columns

  static GemmTiling get(RaggedGemmOp op, const Target &target);
  int64_t panelsOfA() const { return mc / mr; }
  int64_t panelsOfB() const { return nc / nr; } ///< of one segment
};

/// Scratch of a task, on the stack.
struct GemmScratch {
  Value a;     ///< [panel][k][pitch] f32
  Value b;     ///< [segment * panels + panel][k][nr] f32
  Value c;     ///< [mc][segments * nc] f32
  Value stage; ///< [lanes][at least kc, nc and mc + lanes] f32: rows on their way into panels

  static GemmScratch get(Emit &emit, const GemmTiling &tiling);
};

/// Which rows of an operand a block takes, and which columns of them. A row's elements are contiguous.
struct GemmSource {
  Value memref;
  SmallVector<Value> prefix; ///< indices before the row's
  Value firstRow, rows;      ///< the rows that count
  Value firstColumn, columns;
  Value gather; ///< if not null, row i is row gather[firstRow + i] of memref, or zeros if that is negative
};

/// Packs columns of the source into panels `width` wide: panels[firstPanel + p][k][j] = source row k, column p * width
/// + j; zero where the columns end. `pitch` is the panels' last dimension.
void packColumns(Emit &emit, const GemmTiling &tiling, const GemmScratch &scratch, const GemmSource &source,
                 Value panels, int64_t firstPanel, int64_t width, int64_t pitch);

/// Packs rows of the source into panels `width` wide: panels[firstPanel + p][k][j] = source row p * width + j, column
/// k; zero where the rows end.
void packRows(Emit &emit, const GemmTiling &tiling, const GemmScratch &scratch, const GemmSource &source, Value panels,
              int64_t firstPanel, int64_t width);

/// C += A * B for `rows` rows, `columns` columns in each segment, and `depth` of k.
void multiplyPanels(Emit &emit, const GemmTiling &tiling, const GemmScratch &scratch, Value rows, Value columns,
                    Value depth);

/// The rows and columns of the result that a block stores.
struct GemmResult {
  Value group;               ///< of the weights
  SmallVector<Value> prefix; ///< indices of an out before the row's
  bool hasRow;               ///< whether outs have a dimension for rows
  Value firstRow, rows;
  Value firstColumn, columns;
};

/// Runs the epilogue on C and stores to the outs.
void storeEpilogue(Emit &emit, const GemmTiling &tiling, RaggedGemmOp op, const Kernel &kernel, Value c,
                   const GemmResult &result);

/// Stores zeros to the outs.
void storeZeros(Emit &emit, const GemmTiling &tiling, RaggedGemmOp op, const Kernel &kernel, const GemmResult &result);

} // namespace mlir::tile::cpu

#endif
