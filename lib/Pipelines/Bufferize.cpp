//===- Bufferize.cpp - moe-bufferize ----------------------------------------===//

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotModuleBufferize.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "moe/Dialect/Prog/IR/Prog.h"
#include "moe/Pipelines/Pipelines.h"

namespace mlir::moe {
#define GEN_PASS_DEF_MOEBUFFERIZEPASS
#include "moe/Pipelines/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;
using namespace mlir::bufferization;

/// A function's argument is as a caller passes it.
static BufferLikeType getArgumentType(TensorLikeType type, Attribute, func::FuncOp, const BufferizationOptions &) {
  auto tensor = cast<RankedTensorType>(type);
  return cast<BufferLikeType>(prog::getCallerBufferType(tensor.getShape(), tensor.getElementType()));
}

namespace {

struct Bufferize : moe::impl::MoEBufferizePassBase<Bufferize> {
  void runOnOperation() override {
    Builder builder(&getContext());
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (BlockArgument argument : function.getArguments()) {
        if (!isa<RankedTensorType>(argument.getType())) {
          function.emitError("argument ") << argument.getArgNumber() << " of function '" << function.getName()
                                          << "' is " << argument.getType() << ", expected a ranked tensor";
          return signalPassFailure();
        }
        // A caller's input is read only; what would be written in place is copied first.
        function.setArgAttr(argument.getArgNumber(), BufferizationDialect::kWritableAttrName,
                            builder.getBoolAttr(false));
      }

    OneShotBufferizationOptions options;
    options.bufferizeFunctionBoundaries = true;
    options.functionArgTypeConverterFn = getArgumentType;
    options.inferFunctionResultLayout = true;
    BufferizationState state;
    if (failed(runOneShotModuleBufferize(getOperation(), options, state)))
      return signalPassFailure();
    removeBufferizationAttributesInModule(getOperation());
  }
};

} // namespace
