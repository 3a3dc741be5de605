//===- SM90.h - the sm90 dialect -------------------------------------------===//
#ifndef MOE_DIALECT_SM90_IR_SM90_H
#define MOE_DIALECT_SM90_IR_SM90_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "moe/Dialect/SM90/IR/Chip.h"

namespace mlir::sm90 {

/// Bytes of shared memory that sm90.turns takes: a barrier for each of two warpgroups.
constexpr int64_t kTurnsBytes = 16;

/// A queue of tiles is a ring of so many numbers, each in a stage of so many bytes.
constexpr int64_t kQueueStages = 4, kQueueBytes = 16;

/// Threads that gather rows, and the warps that they are.
constexpr int64_t kGatherThreads = 64, kGatherWarps = kGatherThreads / 32;

/// Boxes of rows that end where their group ends, by hardware. The tensor map has a dimension of so many rows, in which
/// the end lies at the dimension's: what is past it is out of bounds and is read as zero. A box at row r of
/// a group that ends before row `end` has coordinates (column, kEndedRows + r - e, e, kEndedRows), where e is the first
/// of `end` and the box's own end. The third dimension, of a row's stride, and the fourth, of that of -kEndedRows rows
/// modulo 2^64, bring the address back to that of row r.
constexpr int64_t kEndedRows = 1 << 30;

/// The attribute of a tile.ragged_gemm that holds its ScheduleAttr.
constexpr llvm::StringLiteral kScheduleName = "sm90.schedule";

/// After `convert-sm90-to-nvvm` a kernel is an llvm.func with these attributes: an array of parameter attributes, a
/// LaunchAttr, and a FlatSymbolRefAttr if there is a fallback.
constexpr llvm::StringLiteral kParamsName = "sm90.params", kLaunchName = "sm90.launch", kFallbackName = "sm90.fallback";

} // namespace mlir::sm90

#include "moe/Dialect/SM90/IR/SM90Dialect.h.inc"
#include "moe/Dialect/SM90/IR/SM90Enums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "moe/Dialect/SM90/IR/SM90Attrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "moe/Dialect/SM90/IR/SM90Types.h.inc"
#define GET_OP_CLASSES
#include "moe/Dialect/SM90/IR/SM90Ops.h.inc"

namespace mlir::sm90 {

/// Bytes of shared memory that the op takes for itself, from a multiple of kChip.sharedAlignment on; 0 for most.
int64_t getSharedBytes(Operation *op);

} // namespace mlir::sm90

#endif
