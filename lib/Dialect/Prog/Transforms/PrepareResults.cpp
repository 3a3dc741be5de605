//===- PrepareResults.cpp - prog-prepare-results ----------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "moe/Dialect/Prog/IR/Prog.h"
#include "moe/Dialect/Prog/Transforms/Passes.h"
#include "moe/Dialect/Tile/IR/Tile.h"

namespace mlir::prog {
#define GEN_PASS_DEF_PROGPREPARERESULTSPASS
#include "moe/Dialect/Prog/Transforms/Passes.h.inc"
} // namespace mlir::prog

using namespace mlir;
using namespace mlir::prog;

static Value skipCasts(Value value) {
  while (auto cast = value.getDefiningOp<memref::CastOp>())
    value = cast.getSource();
  return value;
}

/// Whether some user of the buffer, seen through casts, derives a type from its layout or needs it without padding.
static bool isReshaped(Value buffer) {
  return llvm::any_of(buffer.getUsers(), [](Operation *user) {
    if (auto cast = dyn_cast<memref::CastOp>(user))
      return isReshaped(cast.getResult());
    return isa<ViewLikeOpInterface, AllToAllOp>(user);
  });
}

namespace {

struct PrepareResults : prog::impl::ProgPrepareResultsPassBase<PrepareResults> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.isPublic() && !function.isExternal() && failed(prepare(function)))
        return signalPassFailure();
  }

  LogicalResult prepare(func::FuncOp function) {
    if (!function.getBody().hasOneBlock())
      return function.emitError("function '") << function.getName() << "' has " << function.getBody().getBlocks().size()
                                              << " blocks, expected straight-line code";
    auto terminator = cast<func::ReturnOp>(function.front().getTerminator());
    llvm::SmallDenseSet<Value> returned;
    for (OpOperand &operand : terminator->getOpOperands()) {
      auto type = dyn_cast<MemRefType>(operand.get().getType());
      if (!type)
        return terminator.emitError("result ")
               << operand.getOperandNumber() << " is " << operand.get().getType() << ", expected a ranked memref";
      Value root = skipCasts(operand.get());
      auto alloc = root.getDefiningOp<memref::AllocOp>();
      bool own = alloc && alloc->getBlock() == terminator->getBlock() && alloc.getType().getLayout().isIdentity() &&
                 !isReshaped(root) && returned.insert(root).second;
      operand.set(own ? castToCallerBuffer(alloc) : copyToCallerBuffer(terminator, root));
    }
    function.setFunctionType(
        FunctionType::get(&getContext(), function.getArgumentTypes(), terminator.getOperandTypes()));
    return success();
  }

  /// The allocation as a caller's buffer, which replaces it everywhere.
  static Value castToCallerBuffer(memref::AllocOp alloc) {
    MemRefType type = getCallerBufferType(alloc.getType().getShape(), alloc.getType().getElementType());
    if (type == alloc.getType())
      return alloc;
    OpBuilder builder(alloc->getContext());
    builder.setInsertionPointAfter(alloc);
    auto cast = memref::CastOp::create(builder, alloc.getLoc(), type, alloc);
    alloc.getResult().replaceAllUsesExcept(cast, cast);
    for (Operation *user : cast->getUsers())
      if (auto rows = dyn_cast<tile::RowsOp>(user)) // its body sees the inputs with their types
        for (auto [argument, input] : llvm::zip(rows.getInArguments(), rows.getIns()))
          BlockArgument(argument).setType(input.getType());
    return cast;
  }

  /// A new allocation with the value's contents, as a caller's buffer.
  static Value copyToCallerBuffer(func::ReturnOp terminator, Value value) {
    OpBuilder builder(terminator);
    auto type = cast<MemRefType>(value.getType());
    SmallVector<Value> sizes;
    for (int64_t d = 0; d < type.getRank(); ++d)
      if (type.isDynamicDim(d))
        sizes.push_back(memref::DimOp::create(builder, terminator.getLoc(), value, d));
    auto alloc = memref::AllocOp::create(builder, terminator.getLoc(),
                                         MemRefType::get(type.getShape(), type.getElementType()), sizes);
    memref::CopyOp::create(builder, terminator.getLoc(), value, alloc);
    return castToCallerBuffer(alloc);
  }
};

} // namespace
