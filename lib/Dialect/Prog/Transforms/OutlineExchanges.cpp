//===- OutlineExchanges.cpp - prog-outline-exchanges ------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "moe/Dialect/Prog/IR/Kernels.h"
#include "moe/Dialect/Prog/IR/Prog.h"
#include "moe/Dialect/Prog/Transforms/Passes.h"

namespace mlir::prog {
#define GEN_PASS_DEF_PROGOUTLINEEXCHANGESPASS
#include "moe/Dialect/Prog/Transforms/Passes.h.inc"
} // namespace mlir::prog

using namespace mlir;
using namespace mlir::prog;

namespace {

struct OutlineExchanges : prog::impl::ProgOutlineExchangesPassBase<OutlineExchanges> {
  void runOnOperation() override {
    SmallVector<AllToAllOp> exchanges;
    getOperation().walk([&](AllToAllOp op) {
      if (op.getTransport() == Transport::Peer && !op.getKernel() && isa<ProgramOp>(op->getParentOp()))
        exchanges.push_back(op);
    });
    if (exchanges.empty())
      return;
    ModuleOp kernels = getOrCreateKernels(getOperation());
    if (!kernels)
      return signalPassFailure();
    SymbolTable symbols(kernels);
    SmallVector<func::FuncOp> made;
    for (AllToAllOp exchange : exchanges) {
      func::FuncOp kernel = build(exchange);
      auto same = llvm::find_if(made, [&](func::FuncOp other) { return isSameKernel(other, kernel); });
      if (same == made.end()) {
        symbols.insert(kernel);
        made.push_back(kernel);
      } else {
        kernel.erase();
        kernel = *same;
      }
      exchange.setKernelAttr(
          SymbolRefAttr::get(kernels.getSymNameAttr(), {FlatSymbolRefAttr::get(kernel.getSymNameAttr())}));
    }
  }

  /// The exchange alone, as a function of its operands.
  static func::FuncOp build(AllToAllOp exchange) {
    OpBuilder builder(exchange.getContext());
    SmallVector<DictionaryAttr> attributes;
    for (Value operand : exchange.getOperands()) {
      StringRef access = operand == exchange.getTarget() ? "write" : "read";
      attributes.push_back(builder.getDictionaryAttr(builder.getNamedAttr(kAccessAttr, builder.getStringAttr(access))));
    }
    std::string name = (cast<ProgramOp>(exchange->getParentOp()).getSymName() + "_exchange").str();
    auto kernel = func::FuncOp::create(exchange.getLoc(), name,
                                       builder.getFunctionType(TypeRange(exchange.getOperands()), {}), {}, attributes);
    builder.setInsertionPointToStart(kernel.addEntryBlock());
    builder.clone(*exchange)->setOperands(kernel.getArguments());
    func::ReturnOp::create(builder, exchange.getLoc());
    return kernel;
  }
};

} // namespace
