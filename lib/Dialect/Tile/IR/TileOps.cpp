//===- TileOps.cpp - operations of the tile dialect -------------------------===//

#include "moe/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace mlir::tile;

#define GET_OP_CLASSES
#include "moe/Dialect/Tile/IR/TileOps.cpp.inc"
