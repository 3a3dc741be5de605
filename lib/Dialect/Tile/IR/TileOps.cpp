//===- TileOps.cpp - generated code and effects of the tile dialect's ops ---===//

#include "Effects.h"
#include "moe/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace mlir::tile;

void mlir::tile::getKernelEffects(Operation *op, unsigned firstOut, unsigned numOuts, bool readsOuts,
                                  EffectList &effects) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<BaseMemRefType>(operand.get().getType()))
      continue;
    unsigned number = operand.getOperandNumber();
    bool isOut = number >= firstOut && number - firstOut < numOuts;
    if (!isOut || readsOuts)
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
    if (isOut)
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
  }
}

/// Effects of a kernel op whose outs are the operand group `index`.
template <typename Op>
static void getEffectsOf(Op op, unsigned index, bool readsOuts, EffectList &effects) {
  auto [first, count] = op.getODSOperandIndexAndLength(index);
  getKernelEffects(op, first, count, readsOuts, effects);
}

void OffsetsOp::getEffects(EffectList &effects) { getEffectsOf(*this, odsIndex_outs, false, effects); }
void PlanOp::getEffects(EffectList &effects) { getEffectsOf(*this, odsIndex_outs, false, effects); }
void RowsOp::getEffects(EffectList &effects) { getEffectsOf(*this, odsIndex_outs, false, effects); }
void RaggedGemmOp::getEffects(EffectList &effects) { getEffectsOf(*this, odsIndex_outs, getAccumulate(), effects); }

#define GET_OP_CLASSES
#include "moe/Dialect/Tile/IR/TileOps.cpp.inc"

void LoadOp::getEffects(EffectList &effects) {
  if (isa<BaseMemRefType>(getSource().getType()))
    effects.emplace_back(MemoryEffects::Read::get(), &getSourceMutable());
}

LogicalResult OffsetsOp::verify() { return success(); }
LogicalResult PlanOp::verify() { return success(); }
LogicalResult RowsOp::verify() { return success(); }
LogicalResult LoadOp::verify() { return success(); }
LogicalResult SelectOp::verify() { return success(); }
