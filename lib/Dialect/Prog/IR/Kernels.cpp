//===- Kernels.cpp - the module of kernels beside a program -----------------===//

#include "moe/Dialect/Prog/IR/Kernels.h"

using namespace mlir;
using namespace mlir::prog;

static constexpr StringLiteral kKernels = "kernels";

ModuleOp prog::findKernels(ModuleOp module) {
  return module.getSymName() == kKernels ? module : module.lookupSymbol<ModuleOp>(kKernels);
}

ModuleOp prog::getOrCreateKernels(ModuleOp top) {
  if (Operation *symbol = SymbolTable::lookupSymbolIn(top, kKernels)) {
    auto module = dyn_cast<ModuleOp>(symbol);
    if (!module)
      symbol->emitError("'") << symbol->getName() << "' is called '" << kKernels
                             << "', expected another name: the module of kernels has that one";
    return module;
  }
  auto builder = OpBuilder::atBlockEnd(top.getBody());
  return ModuleOp::create(builder, top.getLoc(), kKernels);
}

bool prog::isSameKernel(FunctionOpInterface a, FunctionOpInterface b) {
  return a.getFunctionType() == b.getFunctionType() && a.getArgAttrsAttr() == b.getArgAttrsAttr() &&
         OperationEquivalence::isRegionEquivalentTo(&a.getFunctionBody(), &b.getFunctionBody(),
                                                    OperationEquivalence::IgnoreLocations);
}
