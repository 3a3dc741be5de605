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
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "moe/Dialect/Prog/IR/ProgDialect.h.inc"
#define GET_OP_CLASSES
#include "moe/Dialect/Prog/IR/ProgOps.h.inc"

#endif
