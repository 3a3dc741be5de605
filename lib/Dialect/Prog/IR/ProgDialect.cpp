//===- ProgDialect.cpp - registration of the prog dialect -------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "moe/Dialect/Prog/IR/Prog.h"

using namespace mlir;
using namespace mlir::prog;

#include "moe/Dialect/Prog/IR/ProgDialect.cpp.inc"

void ProgDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "moe/Dialect/Prog/IR/ProgOps.cpp.inc"
      >();
}

Operation *ProgDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}
