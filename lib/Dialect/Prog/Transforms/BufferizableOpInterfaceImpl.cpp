//===- BufferizableOpInterfaceImpl.cpp - bufferization of prog ops ----------===//

#include "moe/Dialect/Prog/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "moe/Dialect/Prog/IR/Prog.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace mlir::prog;

namespace {

struct AllToAllInterface : DstBufferizableOpInterfaceExternalModel<AllToAllInterface, AllToAllOp> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand, const AnalysisState &) const {
    return !cast<DestinationStyleOpInterface>(op).isDpsInit(&operand);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter, const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto exchange = cast<AllToAllOp>(op);
    SmallVector<Value> buffers;
    for (Value tensor : {exchange.getSource(), exchange.getSend(), exchange.getReceive(), exchange.getTarget()}) {
      FailureOr<Value> buffer = tensor ? getBuffer(rewriter, tensor, options, state) : FailureOr<Value>(Value());
      if (failed(buffer))
        return failure();
      buffers.push_back(*buffer);
    }
    AllToAllOp::create(rewriter, op->getLoc(), Type(), buffers[0], buffers[1], buffers[2], buffers[3],
                       exchange.getAxis(), exchange.getRanks(), exchange.getTransport(), exchange.getKernelAttr());
    replaceOpWithBufferizedValues(rewriter, op, buffers[3]);
    return success();
  }
};

} // namespace

void mlir::prog::registerBufferizableOpInterfaceExternalModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, ProgDialect *) {
    AllToAllOp::attachInterface<AllToAllInterface>(*context);
    context->getOrLoadDialect<BufferizationDialect>();
  });
}
