//===- ProgOps.cpp - operations of the prog dialect -------------------------===//

#include "moe/Dialect/Prog/IR/Prog.h"

using namespace mlir;
using namespace mlir::prog;

#define GET_OP_CLASSES
#include "moe/Dialect/Prog/IR/ProgOps.cpp.inc"
