//===- TileDialect.td - the tile dialect ---------------------------------===//

#ifndef MOE_DIALECT_TILE_IR_TILEDIALECT_TD
#define MOE_DIALECT_TILE_IR_TILEDIALECT_TD

include "mlir/IR/DialectBase.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::mlir::tile";
  let summary = "which kernels run: one structured op each";
  let description = [{
    Every op is one kernel, in destination-passing style, first on tensors and after bufferization on memrefs. All targets
    start from these ops, so that what is fused is the same for all of them. `docs/tile.md` says why it is so.

    Ragged operands come with `bounds`, `[G, 2]` i64: rows [begin, end) of each group, ascending and not overlapping, within
    the operand. Rows outside every group are written as zero and never read.

    Constraint of every kernel op:
    - (K1) its shaped operands are all tensors, or all memrefs.
  }];
  let useDefaultAttributePrinterParser = 1;
}

#endif
