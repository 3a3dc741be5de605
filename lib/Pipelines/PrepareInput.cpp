//===- PrepareInput.cpp - moe-prepare-input ---------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "moe/Pipelines/Pipelines.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::moe {
#define GEN_PASS_DEF_MOEPREPAREINPUTPASS
#include "moe/Pipelines/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;

namespace {

/// Bytes beyond which sizes and strides in bytes could wrap; more than any machine addresses.
constexpr int64_t kMaxBytes = int64_t(1) << 56;

/// Whether the static sizes of a tensor stay below kMaxBytes.
static bool isAddressable(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped || !shaped.hasRank())
    return true;
  int64_t bytes = 8; // of the widest element
  bool fits = true;
  for (int64_t size : shaped.getShape()) {
    if (size == 0)
      return true;
    if (!ShapedType::isDynamic(size))
      fits &= !llvm::MulOverflow(bytes, size, bytes) && bytes < kMaxBytes;
  }
  return fits;
}

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
    bool good = true;
    while (!work.empty())
      work.pop_back_val()->walk([&](Operation *op) {
        if (!op->isRegistered()) {
          op->emitError("cannot be compiled: '") << op->getName() << "' is an op of an unknown dialect";
          good = false;
        }
        SmallVector<Type> types(op->getResultTypes());
        for (Region &region : op->getRegions())
          for (Block &block : region)
            llvm::append_range(types, block.getArgumentTypes());
        for (Type type : types)
          if (!isAddressable(type)) {
            op->emitError("cannot be compiled: ") << type << " may take more than 2^56 bytes";
            good = false;
          }
        // Not only calls: any attribute may name a function.
        op->getAttrDictionary().walk([&](SymbolRefAttr symbol) {
          Operation *callee = symbols.lookup(symbol.getRootReference());
          if (callee && reached.insert(callee).second)
            work.push_back(callee);
        });
      });
    if (!good)
      return signalPassFailure();
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (!reached.contains(function))
        function.erase();
  }
};

} // namespace
