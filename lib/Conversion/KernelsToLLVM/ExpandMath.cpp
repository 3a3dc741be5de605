//===- ExpandMath.cpp - math without a math library -----------------------===//

#include "ExpandMath.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

/// Integer division by 0 and of the least number by -1 is undefined, but traps on x86: data must not end the process.
/// Divides by 1 there.
static void guardDivision(Operation *op) {
  Type type = op->getResult(0).getType();
  unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  bool isSigned = isa<arith::DivSIOp, arith::RemSIOp>(op);
  Value dividend = op->getOperand(0), divisor = op->getOperand(1);
  APInt constant;
  if (matchPattern(divisor, m_ConstantInt(&constant)) && !constant.isZero() && !constant.isAllOnes())
    return;
  ImplicitLocOpBuilder b(op->getLoc(), op);
  auto number = [&](const APInt &value) -> Value {
    TypedAttr attr = b.getIntegerAttr(getElementTypeOrSelf(type), value);
    if (auto vector = dyn_cast<VectorType>(type))
      attr = DenseElementsAttr::get(vector, Attribute(attr));
    return arith::ConstantOp::create(b, attr);
  };
  auto is = [&](Value value, const APInt &other) -> Value {
    return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, value, number(other));
  };
  Value traps = is(divisor, APInt::getZero(width));
  if (isSigned)
    traps = arith::OrIOp::create(
        b, traps,
        arith::AndIOp::create(b, is(divisor, APInt::getAllOnes(width)), is(dividend, APInt::getSignedMinValue(width))));
  op->setOperand(1, arith::SelectOp::create(b, traps, number(APInt(width, 1)), divisor));
}

// Ops with an instruction on every level of every target stay.
static constexpr StringRef kInstructions[] = {"absf", "absi",      "ceil", "copysign", "floor",
                                              "fma",  "roundeven", "sqrt", "trunc",    "rsqrt"};
// Ops whose expansion is within a few units in the last place of f32 (atan: 5e-6); the rest of the dialect would
// be wrong somewhere (sin near its zeros, sinh near 0, asinh of large values) or would call libm.
static constexpr StringRef kExpanded[] = {"acos",  "asin", "atan", "clampf", "cosh", "erf",   "exp",  "exp2",
                                          "expm1", "log",  "log2", "log1p",  "tanh", "round", "fpowi"};

LogicalResult moe::expandMath(Operation *root, const MathTarget &target) {
  auto stays = [&](StringRef name) {
    return llvm::is_contained(kInstructions, name) || llvm::is_contained(target.instructions, name);
  };
  WalkResult result = root->walk([&](Operation *op) {
    StringRef name = op->getName().stripDialect();
    if (!isa<math::MathDialect>(op->getDialect()) || stays(name) || llvm::is_contained(kExpanded, name))
      return WalkResult::advance();
    InFlightDiagnostic error = op->emitOpError("has no accurate form without a math library; the ")
                               << target.name << " target has math.";
    llvm::interleave(kInstructions, error, ", ");
    error << ", ";
    llvm::interleave(kExpanded, error, ", ");
    return WalkResult::interrupt();
  });
  if (result.wasInterrupted())
    return failure();

  RewritePatternSet patterns(root->getContext());
  auto needsExpansion = [&](StringRef name) { return !stays(name.substr(name.find('.') + 1)); };
  // Narrow types have an instruction nowhere but for these.
  auto isNarrow = [](StringRef name) {
    return !llvm::is_contained({"absf", "absi", "copysign", "fma"}, name.substr(name.find('.') + 1));
  };
  math::populateExpansionPatterns(patterns, {"clampf", "cosh", "exp2", "fpowi", "round"});
  populateMathF32ExpansionPatterns(patterns, isNarrow);
  populateMathPolynomialApproximationPatterns(patterns, needsExpansion);
  return applyPatternsGreedily(root, std::move(patterns));
}

namespace {

struct ExpandMath : PassWrapper<ExpandMath, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ExpandMath)

  StringRef getArgument() const override { return "expand-kernel-math"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, math::MathDialect, vector::VectorDialect>();
  }

  void runOnOperation() override {
    if (failed(moe::expandMath(getOperation(), {"cpu", {}})))
      return signalPassFailure();
    RewritePatternSet patterns(&getContext());
    arith::populateArithExpandOpsPatterns(patterns);
    arith::populateExpandBFloat16Patterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();

    SmallVector<Operation *> divisions;
    getOperation()->walk([&](Operation *op) {
      // Those on index are ours, and never by 0.
      if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op) &&
          !getElementTypeOrSelf(op->getResult(0).getType()).isIndex())
        divisions.push_back(op);
    });
    llvm::for_each(divisions, guardDivision);
  }
};

} // namespace

std::unique_ptr<Pass> moe::createExpandMathPass() { return std::make_unique<ExpandMath>(); }
