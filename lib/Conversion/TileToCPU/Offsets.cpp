//===- Offsets.cpp - tile.offsets on a CPU ---===//

#include "Lowering.h"

using namespace mlir;
using namespace mlir::tile;

LogicalResult cpu::lower(OffsetsOp op, const Kernel &kernel) { return op.emitError("tile.offsets is not lowered to the cpu target yet"); }
