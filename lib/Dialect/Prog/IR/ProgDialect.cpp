//===- ProgDialect.cpp - registration of the prog dialect -------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/DialectImplementation.h"
#include "moe/Dialect/Prog/IR/Prog.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::prog;

#include "moe/Dialect/Prog/IR/ProgDialect.cpp.inc"
#include "moe/Dialect/Prog/IR/ProgEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "moe/Dialect/Prog/IR/ProgAttrs.cpp.inc"

void ProgDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "moe/Dialect/Prog/IR/ProgOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "moe/Dialect/Prog/IR/ProgAttrs.cpp.inc"
      >();
}

Operation *ProgDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}
