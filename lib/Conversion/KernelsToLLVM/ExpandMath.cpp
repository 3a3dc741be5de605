//===- ExpandMath.cpp - math without a math library -----------------------===//

#include "ExpandMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace {

struct ExpandMath : PassWrapper<ExpandMath, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandMath)

  StringRef getArgument() const override { return "expand-kernel-math"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, math::MathDialect, vector::VectorDialect>();
  }

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    // Ops with an instruction on every level stay; the others must not reach LLVM, which would call libm.
    static constexpr StringRef kInstructions[] = {
        math::AbsFOp::getOperationName(),      math::AbsIOp::getOperationName(),  math::CeilOp::getOperationName(),
        math::CopySignOp::getOperationName(),  math::FloorOp::getOperationName(), math::FmaOp::getOperationName(),
        math::RoundEvenOp::getOperationName(), math::SqrtOp::getOperationName(),  math::TruncOp::getOperationName(),
        math::RsqrtOp::getOperationName()};
    auto needsExpansion = [](StringRef name) { return !llvm::is_contained(kInstructions, name); };
    SmallVector<StringRef> expanded = {"clampf", "cosh", "exp2",  "fpowi", "powf", "round",
                                       "sinh",   "tan",  "acosh", "asinh", "atanh"};
    math::populateExpansionPatterns(patterns, expanded);
    populateMathF32ExpansionPatterns(patterns, needsExpansion);
    populateMathPolynomialApproximationPatterns(patterns, needsExpansion);
    arith::populateArithExpandOpsPatterns(patterns);
    arith::populateExpandBFloat16Patterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

std::unique_ptr<Pass> moe::createExpandMathPass() { return std::make_unique<ExpandMath>(); }
