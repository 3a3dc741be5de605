//===- Fusion.h - the fusions of tile-fuse ---------------------------------===//
//
// Each fusion looks at one tile.rows. It does nothing where it does not apply; where it applies but cannot be done,
// it emits a remark that says why. A new fusion is one more function here, called by Fuse.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef MOE_LIB_DIALECT_TILE_TRANSFORMS_FUSION_H
#define MOE_LIB_DIALECT_TILE_TRANSFORMS_FUSION_H

#include "mlir/IR/PatternMatch.h"
#include "moe/Dialect/Tile/IR/Tile.h"

namespace mlir::tile {

/// Moves a body that is elementwise on the row of a product's only use into the product's epilogue. May erase `rows`.
void fuseEpilogue(RowsOp rows, RewriterBase &rewriter);

/// Turns a copy of rows index[r] that feeds products into their `gather`. May erase `rows`.
void fuseGather(RowsOp rows, RewriterBase &rewriter);

/// Moves the op that gives a body its own row into the body. May erase `rows` and that op.
void fuseRows(RowsOp rows, RewriterBase &rewriter);

} // namespace mlir::tile

#endif
