//===- Tile.h - the tile dialect -------------------------------------------===//
#ifndef MOE_DIALECT_TILE_IR_TILE_H
#define MOE_DIALECT_TILE_IR_TILE_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "moe/Dialect/KnownAttributes.h"

#include "moe/Dialect/Tile/IR/TileDialect.h.inc"
#include "moe/Dialect/Tile/IR/TileEnums.h.inc"

namespace mlir::tile {

/// What one run of a kernel costs, as values of index type: operations on floats, and bytes that it must read and write
/// if nothing but its operands is in memory, each of them once.
struct Cost {
  Value flops, bytes;
};

} // namespace mlir::tile

#include "moe/Dialect/Tile/IR/TileInterfaces.h.inc"
#define GET_ATTRDEF_CLASSES
#include "moe/Dialect/Tile/IR/TileAttrs.h.inc"
#define GET_OP_CLASSES
#include "moe/Dialect/Tile/IR/TileOps.h.inc"

#endif
