//===- MoE.h - the moe dialect -------------------------------------------===//
#ifndef MOE_DIALECT_MOE_IR_MOE_H
#define MOE_DIALECT_MOE_IR_MOE_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/TensorEncoding.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "moe/Dialect/KnownAttributes.h"

#include "moe/Dialect/MoE/IR/MoEDialect.h.inc"
#include "moe/Dialect/MoE/IR/MoEEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "moe/Dialect/MoE/IR/MoEAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "moe/Dialect/MoE/IR/MoETypes.h.inc"

namespace mlir::moe::detail {
/// Dimensions of all results of a moe op with tensor results (ReifyRankedShapedTypeOpInterface).
LogicalResult reifyResultDims(Operation *op, OpBuilder &builder, ReifiedRankedShapedTypeDims &shapes);
} // namespace mlir::moe::detail

#define GET_OP_CLASSES
#include "moe/Dialect/MoE/IR/MoEOps.h.inc"

#endif
