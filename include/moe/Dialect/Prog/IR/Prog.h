//===- Prog.h - the prog dialect -------------------------------------------===//
#ifndef MOE_DIALECT_PROG_IR_PROG_H
#define MOE_DIALECT_PROG_IR_PROG_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "moe/Dialect/KnownAttributes.h"

#include "moe/Dialect/Prog/IR/ProgDialect.h.inc"
#include "moe/Dialect/Prog/IR/ProgEnums.h.inc"

namespace mlir::prog {
/// The largest rank of a buffer (MOE_MAX_RANK of the C API).
constexpr int64_t kMaxRank = 8;

/// Whether a .moe file can hold buffers of this element type.
bool isBufferElementType(Type type);

/// The type of a buffer that the caller passes: identity for rank 0 and 1, else strided<[?, ..., 1]>.
MemRefType getCallerBufferType(ArrayRef<int64_t> shape, Type elementType);

/// What a kernel does with an argument.
enum class Access { Read, Write, ReadWrite };

/// The argument attribute of kernels that says it: "read", "write" or "readwrite".
constexpr llvm::StringLiteral kAccessAttr = "prog.access";

/// What function `kernel` does with argument i; ReadWrite if it does not say.
Access getAccess(FunctionOpInterface kernel, unsigned i);
} // namespace mlir::prog

#define GET_ATTRDEF_CLASSES
#include "moe/Dialect/Prog/IR/ProgAttrs.h.inc"
#define GET_OP_CLASSES
#include "moe/Dialect/Prog/IR/ProgOps.h.inc"

#endif
