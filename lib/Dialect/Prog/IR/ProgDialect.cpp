//===- ProgDialect.cpp - registration of the prog dialect -------------------===//

#include "moe/Dialect/Prog/IR/Prog.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::prog;

#include "moe/Dialect/Prog/IR/ProgDialect.cpp.inc"

void ProgDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "moe/Dialect/Prog/IR/ProgOps.cpp.inc"
      >();
}
