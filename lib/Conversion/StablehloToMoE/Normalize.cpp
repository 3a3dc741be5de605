//===- Normalize.cpp - moe-normalize-stablehlo ----------------------------===//

#include "Normalize.h"
#include "Islands.h"
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
  return isa<func::FuncOp>(op->getParentOp()) && isWellFormed(op) ? rewrite(op, rewriter) : failure();
}

bool stablehlo::inlineCall(func::CallOp call, SymbolTable &symbols) {
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

bool stablehlo::hasStablehlo(func::FuncOp function) {
  return function.walk([](Operation *op) { return isStablehlo(op) ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted();
}

void stablehlo::normalize(ModuleOp module) {
  SymbolTable symbols(module);
  RewritePatternSet patterns(module.getContext());
  populateElementwisePatterns(patterns);
  populateShapePatterns(patterns);
  FrozenRewritePatternSet frozen(std::move(patterns));
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!hasStablehlo(function))
      continue;
    inlineCalls(function, symbols);
    // What is not brought to its form in so many rounds is matched as it is.
    (void)applyPatternsGreedily(function, frozen);
    for (Block &block : function.getBody())
      eraseDead(block);
  }
}

namespace {
struct MoENormalizeStablehloPass : moe::impl::MoENormalizeStablehloPassBase<MoENormalizeStablehloPass> {
  void runOnOperation() override { normalize(getOperation()); }
};
} // namespace
