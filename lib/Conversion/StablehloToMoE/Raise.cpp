//===- Raise.cpp - moe-raise-stablehlo ------------------------------------===//

#include "Raise.h"
#include "Islands.h"
#include "Normalize.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "moe/Conversion/Passes.h"

namespace mlir::moe {
#define GEN_PASS_DEF_MOERAISESTABLEHLOPASS
#include "moe/Conversion/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;
using namespace mlir::moe;
using namespace mlir::moe::stablehlo;

/// What is left of logistic functions is elementwise work again.
static void expandLogistic(func::FuncOp function) {
  SmallVector<Operation *> ops;
  function.walk([&](Operation *op) {
    if (isOp(op, "stablehlo.logistic") && op->getParentOp() == function)
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    OpBuilder b(op);
    Location loc = op->getLoc();
    RankedTensorType type = getTensor(op->getResult(0));
    Value one =
        arith::ConstantOp::create(b, loc, DenseElementsAttr::get(type, b.getFloatAttr(type.getElementType(), 1)));
    Value exp = math::ExpOp::create(b, loc, arith::NegFOp::create(b, loc, op->getOperand(0)));
    Value sigmoid = arith::DivFOp::create(b, loc, one, arith::AddFOp::create(b, loc, one, exp));
    op->getResult(0).replaceAllUsesWith(sigmoid);
    op->erase();
  }
}

void stablehlo::raiseIdioms(ModuleOp module) {
  MLIRContext *context = module.getContext();
  RewritePatternSet limitPatterns(context), patterns(context);
  populateGroupLimitPatterns(limitPatterns);
  populateRouterPatterns(patterns);
  populatePlanPatterns(patterns);
  populateRowPatterns(patterns);
  populateActivationPatterns(patterns);
  populateShapePatterns(patterns); // idioms leave reshapes of reshapes
  FrozenRewritePatternSet limits(std::move(limitPatterns)), idioms(std::move(patterns));
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!hasStablehlo(function))
      continue;
    // Any top_k by itself is a select: those of a limit must be seen together first.
    (void)applyPatternsGreedily(function, limits);
    // Twice: that two idioms share a plan is known only when equal plans are one.
    for (int round = 0; round < 2; ++round) {
      (void)applyPatternsGreedily(function, idioms);
      IRRewriter rewriter(context);
      DominanceInfo dominance(function);
      eliminateCommonSubExpressions(rewriter, dominance, function);
    }
    expandLogistic(function);
    for (Block &block : function.getBody())
      eraseDead(block);
  }
}

namespace {
struct MoERaiseStablehloPass : moe::impl::MoERaiseStablehloPassBase<MoERaiseStablehloPass> {
  void runOnOperation() override { raiseIdioms(getOperation()); }
};
} // namespace
