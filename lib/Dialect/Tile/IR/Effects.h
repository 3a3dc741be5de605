//===- Effects.h - memory effects of kernel ops ----------------------------===//
#ifndef MOE_LIB_DIALECT_TILE_IR_EFFECTS_H
#define MOE_LIB_DIALECT_TILE_IR_EFFECTS_H

#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::tile {

using EffectList = SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

/// Effects of a kernel op: each memref that is not an out is read, each out is written, and read too if `readsOuts`.
/// Tensors have no effect. `firstOut` and `numOuts` say which operands are outs.
void getKernelEffects(Operation *op, unsigned firstOut, unsigned numOuts, bool readsOuts, EffectList &effects);

} // namespace mlir::tile

#endif
