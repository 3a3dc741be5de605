//===- Math.cpp - functions of an epilogue by the chip's approximations --------===//
//
// Epilogues run on f32 and mostly round to 16 bits. Exponentials take the chip's ex2 (about 2 ulp, more for large
// arguments, where the product with log2(e) is rounded), quotients that allow it (`arcp`) div.full (2 ulp).
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Math/IR/Math.h"
#include "Emit.h"
#include "Patterns.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::sm90;

namespace {

constexpr double kLog2E = 1.4426950408889634, kLn2 = 0.6931471805599453;

/// One instruction on f32 scalars; without side effects, so that it can be moved and dropped.
Value instruction(Emit &emit, StringRef code, ValueRange operands) {
  std::string constraints = "=f";
  for (size_t i = 0; i < operands.size(); ++i)
    constraints += ",f";
  return emit
      .op<LLVM::InlineAsmOp>(emit.f32(), operands, code, constraints, /*has_side_effects=*/false,
                             /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
                             LLVM::AsmDialectAttr::get(emit.b.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr())
      .getRes();
}

/// Applies `function` to each element of f32 scalars or vectors of one type.
Value forEach(Emit &emit, ValueRange operands, function_ref<Value(ValueRange)> function) {
  auto type = dyn_cast<VectorType>(operands.front().getType());
  if (!type)
    return function(operands);
  Value result = emit.op<LLVM::UndefOp>(type);
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    SmallVector<Value> elements;
    for (Value operand : operands)
      elements.push_back(emit.op<LLVM::ExtractElementOp>(operand, emit.c(i)));
    result = emit.op<LLVM::InsertElementOp>(result, function(elements), emit.c(i));
  }
  return result;
}

template <typename OpT> struct LowerByInstruction : OpConversionPattern<OpT> {
  LowerByInstruction(const TypeConverter &converter, MLIRContext *context, StringRef code, double scaleIn = 1,
                     double scaleOut = 1)
      : OpConversionPattern<OpT>(converter, context), code(code), scaleIn(scaleIn), scaleOut(scaleOut) {}

  LogicalResult matchAndRewrite(OpT op, typename OpT::Adaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return rewriter.notifyMatchFailure(op, "is not on f32");
    Emit emit(rewriter, op.getLoc());
    auto scaled = [&](Value value, double scale) -> Value {
      if (scale == 1)
        return value;
      return emit.op<arith::MulFOp>(value, emit.op<arith::ConstantOp>(rewriter.getF32FloatAttr(scale)));
    };
    rewriter.replaceOp(op, forEach(emit, adaptor.getOperands(), [&](ValueRange operands) {
                         SmallVector<Value> inputs;
                         for (Value operand : operands)
                           inputs.push_back(scaled(operand, scaleIn));
                         return scaled(instruction(emit, code, inputs), scaleOut);
                       }));
    return success();
  }

  std::string code;
  double scaleIn, scaleOut;
};

/// 1 - 2 / (1 + exp(2 x)): tanh.approx has 11 bits, too few for a result of f32.
struct LowerTanh : OpConversionPattern<math::TanhOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(math::TanhOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return rewriter.notifyMatchFailure(op, "is not on f32");
    Emit emit(rewriter, op.getLoc());
    auto c = [&](double value) -> Value { return emit.op<arith::ConstantOp>(rewriter.getF32FloatAttr(value)); };
    rewriter.replaceOp(op, forEach(emit, adaptor.getOperands(), [&](ValueRange x) -> Value {
                         Value power = emit.op<arith::MulFOp>(x[0], c(2 * kLog2E));
                         power = instruction(emit, "ex2.approx.ftz.f32 $0, $1;", power);
                         Value below = emit.op<arith::AddFOp>(power, c(1));
                         Value quotient = instruction(emit, "div.full.f32 $0, $1, $2;", {c(2), below});
                         return emit.op<arith::SubFOp>(c(1), quotient);
                       }));
    return success();
  }
};

} // namespace

void mlir::sm90::populateMathPatterns(const TypeConverter &converter, RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  patterns.add<LowerByInstruction<math::ExpOp>>(converter, context, "ex2.approx.ftz.f32 $0, $1;", kLog2E);
  patterns.add<LowerByInstruction<math::Exp2Op>>(converter, context, "ex2.approx.ftz.f32 $0, $1;");
  patterns.add<LowerByInstruction<math::LogOp>>(converter, context, "lg2.approx.f32 $0, $1;", 1, kLn2);
  patterns.add<LowerByInstruction<math::Log2Op>>(converter, context, "lg2.approx.f32 $0, $1;");
  patterns.add<LowerTanh>(converter, context);
  patterns.add<LowerByInstruction<math::SqrtOp>>(converter, context, "sqrt.rn.f32 $0, $1;");
  patterns.add<LowerByInstruction<math::RsqrtOp>>(converter, context, "rsqrt.approx.f32 $0, $1;");
  patterns.add<LowerByInstruction<arith::DivFOp>>(converter, context, "div.full.f32 $0, $1, $2;");
}
