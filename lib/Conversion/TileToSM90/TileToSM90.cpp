//===- TileToSM90.cpp - kernels of tile ops become sm90 kernels ---------------===//

#include "../KernelsToLLVM/ExpandMath.h"
#include "Lowering.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "moe/Conversion/Passes.h"
#include "moe/Dialect/Prog/IR/Kernels.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::moe {
#define GEN_PASS_DEF_CONVERTTILETOSM90PASS
#include "moe/Conversion/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;
using namespace mlir::tile;

namespace {

/// The only op of a kernel function, of tile or an exchange, or null after an error.
Operation *getKernelOp(func::FuncOp function) {
  if (function.getBody().hasOneBlock() && function.front().getOperations().size() == 2) {
    Operation *op = &function.front().front();
    if (isa<prog::AllToAllOp>(op) || isa<TileDialect>(op->getDialect()))
      return op;
  }
  function.emitError("kernel '") << function.getName() << "' must hold one tile op and a return without values";
  return nullptr;
}

/// Makes a body one that the chip can compute. Epilogues mostly round to 16 bits and stand beside products: they take
/// the chip's approximations of exponentials and quotients. Bodies of rows, which a router's are, are computed as on a
/// CPU.
LogicalResult prepareBody(Operation *op) {
  static constexpr StringRef kApproximated[] = {"exp", "exp2", "log", "log2", "tanh"};
  bool isProduct = isa<RaggedGemmOp>(op);
  if (isProduct)
    op->walk([](arith::DivFOp quotient) { quotient.setFastmath(quotient.getFastmath() | arith::FastMathFlags::arcp); });
  return moe::expandMath(op, {"cuda", isProduct ? ArrayRef<StringRef>(kApproximated) : ArrayRef<StringRef>()});
}

struct ConvertTileToSM90 : moe::impl::ConvertTileToSM90PassBase<ConvertTileToSM90> {
  void runOnOperation() override {
    auto kernels = prog::findKernels(getOperation());
    if (!kernels)
      return;
    SmallVector<func::FuncOp> functions(kernels.getOps<func::FuncOp>());
    if (functions.empty())
      return;
    auto builder = OpBuilder::atBlockEnd(kernels.getBody());
    MLIRContext *context = &getContext();
    // LLVM at O2: O0 puts moves between wgmmas, which ptxas then serialises; O3 unrolls the loops of the producer.
    // PTX 8.6 is the first with a TMA load into the own block.
    auto target = NVVM::NVVMTargetAttr::get(context, /*optLevel=*/2, "nvptx64-nvidia-cuda", sm90::kChip.arch, "+ptx88");
    auto module = gpu::GPUModuleOp::create(builder, kernels.getLoc(), "kernels", builder.getArrayAttr(target));
    for (func::FuncOp function : functions) {
      Operation *op = getKernelOp(function);
      builder.setInsertionPointToEnd(module.getBody());
      if (!op || failed(prepareBody(op)) || failed(convert(op, builder, function.getName())))
        return signalPassFailure();
      function.erase();
    }
  }

  LogicalResult convert(Operation *op, OpBuilder &builder, StringRef name) {
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case<OffsetsOp, PlanOp, RaggedGemmOp, RowsOp, prog::AllToAllOp>(
            [&](auto typed) { return sm90::lower(typed, builder, name); })
        .Default([](Operation *) -> LogicalResult { llvm_unreachable("every kernel op is above"); });
  }
};

} // namespace
