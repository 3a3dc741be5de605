//===- Passes.h - passes within the tile dialect ---------------------------===//
#ifndef MOE_DIALECT_TILE_TRANSFORMS_PASSES_H
#define MOE_DIALECT_TILE_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"

namespace mlir::tile {

/// createTileFusePass, createTileOutlineKernelsPass, their options, and registerTilePasses.
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "moe/Dialect/Tile/Transforms/Passes.h.inc"

} // namespace mlir::tile

#endif
