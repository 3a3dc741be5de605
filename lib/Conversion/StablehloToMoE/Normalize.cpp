//===- Normalize.cpp - moe-normalize-stablehlo ----------------------------===//

#include "Normalize.h"
#include "Stablehlo.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "moe/Conversion/Passes.h"

namespace mlir::moe {
#define GEN_PASS_DEF_MOENORMALIZESTABLEHLOPASS
#include "moe/Conversion/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;
using namespace mlir::moe;
using namespace mlir::moe::stablehlo;

LogicalResult NamedPattern::matchAndRewrite(Operation *op, PatternRewriter &rewriter) const {
  return isa<func::FuncOp>(op->getParentOp()) ? rewrite(op, rewriter) : failure();
}

/// Replaces a call by the body of a private function of one block. MLIR's inliner asks the ops' dialects.
static bool inlineCall(func::CallOp call, SymbolTable &symbols) {
  auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
  if (!callee || !callee.isPrivate() || callee.isExternal() || !callee.getBody().hasOneBlock() ||
      callee == call->getParentOfType<func::FuncOp>() || callee.getFunctionType() != call.getCalleeType())
    return false;
  IRMapping mapping;
  mapping.map(callee.getArguments(), call.getOperands());
  OpBuilder builder(call);
  Block &body = callee.getBody().front();
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  for (auto [result, value] : llvm::zip_equal(call.getResults(), body.getTerminator()->getOperands()))
    result.replaceAllUsesWith(mapping.lookup(value));
  call.erase();
  return true;
}

/// Ends for recursive functions too: only so many calls are followed into each other.
static void inlineCalls(func::FuncOp function, SymbolTable &symbols) {
  constexpr int kMaxDepth = 8;
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    bool changed = false;
    for (Block &block : function.getBody())
      for (auto call : llvm::make_early_inc_range(block.getOps<func::CallOp>()))
        changed |= inlineCall(call, symbols);
    if (!changed)
      return;
  }
}

namespace {
struct MoENormalizeStablehloPass : moe::impl::MoENormalizeStablehloPassBase<MoENormalizeStablehloPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    RewritePatternSet patterns(&getContext());
    populateElementwisePatterns(patterns);
    populateShapePatterns(patterns);
    FrozenRewritePatternSet frozen(std::move(patterns));
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      // Functions without StableHLO are none of this pass's business.
      if (!function
               .walk([](Operation *op) { return isStablehlo(op) ? WalkResult::interrupt() : WalkResult::advance(); })
               .wasInterrupted())
        continue;
      inlineCalls(function, symbols);
      if (failed(applyPatternsGreedily(function, frozen)))
        return signalPassFailure();
      for (Block &block : function.getBody())
        eraseDead(block);
    }
  }
};
} // namespace
