//===- TileDialect.cpp - registration of the tile dialect -------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectImplementation.h"
#include "moe/Dialect/Tile/IR/Tile.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::tile;

#include "moe/Dialect/Tile/IR/TileDialect.cpp.inc"
#include "moe/Dialect/Tile/IR/TileEnums.cpp.inc"
#include "moe/Dialect/Tile/IR/TileInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "moe/Dialect/Tile/IR/TileAttrs.cpp.inc"

void TileDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "moe/Dialect/Tile/IR/TileOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "moe/Dialect/Tile/IR/TileAttrs.cpp.inc"
      >();
}
