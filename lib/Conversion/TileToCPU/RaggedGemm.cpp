//===- RaggedGemm.cpp - tile.ragged_gemm on a CPU ---===//

#include "Lowering.h"

using namespace mlir;
using namespace mlir::tile;

LogicalResult cpu::lower(RaggedGemmOp op, const Kernel &kernel) { return op.emitError("tile.ragged_gemm is not lowered to the cpu target yet"); }
