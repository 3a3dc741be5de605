//===- PrepareInput.cpp - moe-prepare-input ---------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "moe/Pipelines/Pipelines.h"

namespace mlir::moe {
#define GEN_PASS_DEF_MOEPREPAREINPUTPASS
#include "moe/Pipelines/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;

namespace {

struct PrepareInput : moe::impl::MoEPrepareInputPassBase<PrepareInput> {
  void runOnOperation() override {
    llvm::SmallPtrSet<Operation *, 8> reached;
    SmallVector<Operation *> work;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.isPublic() && !function.isExternal() && reached.insert(function).second)
        work.push_back(function);
    if (work.empty()) {
      getOperation().emitError("cannot be compiled: no public function with a body");
      return signalPassFailure();
    }
    SymbolTable symbols(getOperation());
    bool known = true;
    while (!work.empty())
      work.pop_back_val()->walk([&](Operation *op) {
        if (!op->isRegistered()) {
          op->emitError("cannot be compiled: '") << op->getName() << "' is an op of an unknown dialect";
          known = false;
        }
        // Not only calls: any attribute may name a function.
        op->getAttrDictionary().walk([&](SymbolRefAttr symbol) {
          Operation *callee = symbols.lookup(symbol.getRootReference());
          if (callee && reached.insert(callee).second)
            work.push_back(callee);
        });
      });
    if (!known)
      return signalPassFailure();
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (!reached.contains(function))
        function.erase();
  }
};

} // namespace
