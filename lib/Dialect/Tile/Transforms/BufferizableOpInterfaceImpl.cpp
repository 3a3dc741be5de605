//===- BufferizableOpInterfaceImpl.cpp - bufferization of tile ops ----------===//

#include "moe/Dialect/Tile/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "moe/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace mlir::tile;

/// Builds `op` again with buffers for its tensors and without results, and moves its regions over.
/// Returns null after an error.
static Operation *rebuildOnBuffers(RewriterBase &rewriter, Operation *op, const BufferizationOptions &options,
                                   BufferizationState &state) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    if (!isa<TensorType>(operand.getType())) {
      operands.push_back(operand);
      continue;
    }
    FailureOr<Value> buffer = getBuffer(rewriter, operand, options, state);
    if (failed(buffer))
      return nullptr;
    operands.push_back(*buffer);
  }
  OperationState newState(op->getLoc(), op->getName(), operands, TypeRange(), op->getAttrs());
  for (unsigned i = 0, e = op->getNumRegions(); i < e; ++i)
    newState.addRegion();
  rewriter.setInsertionPoint(op);
  Operation *newOp = rewriter.create(newState);
  for (auto [from, to] : llvm::zip(op->getRegions(), newOp->getRegions()))
    rewriter.inlineRegionBefore(from, to, to.begin());
  return newOp;
}

/// Replaces the results of a destination-style op by the buffers of its outs.
static void replaceByOuts(RewriterBase &rewriter, Operation *op, Operation *newOp) {
  SmallVector<Value> outs(cast<DestinationStyleOpInterface>(newOp).getDpsInits());
  replaceOpWithBufferizedValues(rewriter, op, outs);
}

namespace {

template <typename Op> struct KernelInterface : DstBufferizableOpInterfaceExternalModel<KernelInterface<Op>, Op> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand, const AnalysisState &) const {
    if (!cast<DestinationStyleOpInterface>(op).isDpsInit(&operand))
      return true;
    auto gemm = dyn_cast<RaggedGemmOp>(op);
    return gemm && gemm.getAccumulate();
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter, const BufferizationOptions &options,
                          BufferizationState &state) const {
    OpBuilder::InsertionGuard guard(rewriter);
    Operation *newOp = rebuildOnBuffers(rewriter, op, options, state);
    if (!newOp)
      return failure();
    replaceByOuts(rewriter, op, newOp);
    return success();
  }
};

/// The body's arguments for `ins` become memrefs along with the operands.
struct RowsInterface : DstBufferizableOpInterfaceExternalModel<RowsInterface, RowsOp> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand, const AnalysisState &) const {
    return !cast<DestinationStyleOpInterface>(op).isDpsInit(&operand);
  }

  FailureOr<BufferLikeType> getBufferType(Operation *op, Value value, const BufferizationOptions &options,
                                          const BufferizationState &state, SmallVector<Value> &invocationStack) const {
    auto rows = cast<RowsOp>(op);
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument)
      return bufferization::detail::defaultGetBufferType(value, options, state, invocationStack);
    unsigned first = rows.getInArguments().front().getArgNumber();
    return bufferization::getBufferType(rows.getIns()[argument.getArgNumber() - first], options, state,
                                        invocationStack);
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter, const BufferizationOptions &options,
                          BufferizationState &state) const {
    OpBuilder::InsertionGuard guard(rewriter);
    auto newOp = cast_or_null<RowsOp>(rebuildOnBuffers(rewriter, op, options, state));
    if (!newOp)
      return failure();
    // Loads that were or will be bufferized go through to_tensor/to_buffer pairs, which the driver folds away.
    rewriter.setInsertionPointToStart(&newOp.getBody().front());
    for (auto it : llvm::zip(newOp.getInArguments(), newOp.getIns())) {
      BlockArgument memref = std::get<0>(it);
      Type tensor = memref.getType(), type = std::get<1>(it).getType();
      if (tensor == type)
        continue;
      rewriter.modifyOpInPlace(newOp, [&] { memref.setType(type); });
      auto toTensor = ToTensorOp::create(rewriter, newOp.getLoc(), tensor, memref);
      rewriter.replaceAllUsesExcept(memref, toTensor.getResult(), toTensor);
    }
    replaceByOuts(rewriter, op, newOp);
    return success();
  }
};

struct LoadInterface : BufferizableOpInterface::ExternalModel<LoadInterface, LoadOp> {
  bool bufferizesToMemoryRead(Operation *, OpOperand &, const AnalysisState &) const { return true; }
  bool bufferizesToMemoryWrite(Operation *, OpOperand &, const AnalysisState &) const { return false; }
  AliasingValueList getAliasingValues(Operation *, OpOperand &, const AnalysisState &) const { return {}; }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter, const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto load = cast<LoadOp>(op);
    FailureOr<Value> source = getBuffer(rewriter, load.getSource(), options, state);
    if (failed(source))
      return failure();
    rewriter.modifyOpInPlace(load, [&] { load.getSourceMutable().assign(*source); });
    return success();
  }
};

} // namespace

void mlir::tile::registerBufferizableOpInterfaceExternalModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, TileDialect *) {
    OffsetsOp::attachInterface<KernelInterface<OffsetsOp>>(*context);
    PlanOp::attachInterface<KernelInterface<PlanOp>>(*context);
    RaggedGemmOp::attachInterface<KernelInterface<RaggedGemmOp>>(*context);
    RowsOp::attachInterface<RowsInterface>(*context);
    LoadOp::attachInterface<LoadInterface>(*context);
    context->getOrLoadDialect<BufferizationDialect>();
  });
}
