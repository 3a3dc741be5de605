//===- Rows.cpp - tile.rows on a CPU ---===//

#include "Lowering.h"

using namespace mlir;
using namespace mlir::tile;

LogicalResult cpu::lower(RowsOp op, const Kernel &kernel) { return op.emitError("tile.rows is not lowered to the cpu target yet"); }
