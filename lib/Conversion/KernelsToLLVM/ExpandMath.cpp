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
    // Ops with an instruction on every level stay.
    static constexpr StringRef kInstructions[] = {"absf", "absi",      "ceil", "copysign", "floor",
                                                  "fma",  "roundeven", "sqrt", "trunc",    "rsqrt"};
    // Ops whose expansion is within a few units in the last place of f32 (atan: 5e-6); the rest of the dialect would
    // be wrong somewhere (sin near its zeros, sinh near 0, asinh of large values) or would call libm.
    static constexpr StringRef kExpanded[] = {"acos",  "asin", "atan", "clampf", "cosh", "erf",   "exp",  "exp2",
                                              "expm1", "log",  "log2", "log1p",  "tanh", "round", "fpowi"};
    WalkResult result = getOperation()->walk([&](Operation *op) {
      StringRef name = op->getName().stripDialect();
      if (!isa<math::MathDialect>(op->getDialect()) || llvm::is_contained(kInstructions, name) ||
          llvm::is_contained(kExpanded, name))
        return WalkResult::advance();
      InFlightDiagnostic error =
          op->emitOpError("has no accurate form without a math library; the cpu target has math.");
      llvm::interleave(kInstructions, error, ", ");
      error << ", ";
      llvm::interleave(kExpanded, error, ", ");
      return WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      return signalPassFailure();

    RewritePatternSet patterns(&getContext());
    auto needsExpansion = [](StringRef name) {
      return !llvm::is_contained(kInstructions, name.substr(name.find('.') + 1));
    };
    math::populateExpansionPatterns(patterns, {"clampf", "cosh", "exp2", "fpowi", "round"});
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
