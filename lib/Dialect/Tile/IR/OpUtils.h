//===- OpUtils.h - what the verifiers and effects of tile ops share --------===//
#ifndef MOE_LIB_DIALECT_TILE_IR_OPUTILS_H
#define MOE_LIB_DIALECT_TILE_IR_OPUTILS_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::tile {

using EffectList = SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

/// Effects of a kernel op: each memref that is not an out is read, each out is written, and read too if `readsOuts`.
/// Tensors have no effect.
void getKernelEffects(Operation *op, OperandRange outs, bool readsOuts, EffectList &effects);

/// (K1) All shaped operands are tensors, or all are memrefs.
LogicalResult verifyOneSemantics(Operation *op);

/// The value called `name` has this shape. kDynamic is expected of a size that may be anything; a dynamic size fits
/// any expectation.
LogicalResult verifyShape(Operation *op, const Twine &name, Value value, ArrayRef<int64_t> expected);

/// The value called `name` has this rank.
LogicalResult verifyRank(Operation *op, const Twine &name, Value value, int64_t rank);

/// Dimension `dim` of the value called `name` is static.
LogicalResult verifyStatic(Operation *op, const Twine &name, Value value, int64_t dim);

/// The value called `name` has this element type.
LogicalResult verifyElementType(Operation *op, const Twine &name, Value value, Type expected);

/// `bounds` is [G, 2] with a static G.
LogicalResult verifyBounds(Operation *op, Value bounds);

/// The arguments of a region's only block have these types; `name` says which region.
LogicalResult verifyArguments(Operation *op, StringRef name, Region &region, ArrayRef<Type> expected);

/// The region's terminator yields these types; `name` says which region.
LogicalResult verifyYields(Operation *op, StringRef name, Region &region, ArrayRef<Type> expected);

/// An op of arith or math that works element by element.
bool isElementwise(Operation *op);

/// An integer, index or float.
bool isScalar(Type type);

} // namespace mlir::tile

#endif
