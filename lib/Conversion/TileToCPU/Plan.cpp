//===- Plan.cpp - tile.plan on a CPU ---===//

#include "Lowering.h"

using namespace mlir;
using namespace mlir::tile;

LogicalResult cpu::lower(PlanOp op, const Kernel &kernel) { return op.emitError("tile.plan is not lowered to the cpu target yet"); }
