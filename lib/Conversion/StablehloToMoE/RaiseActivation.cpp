//===- RaiseActivation.cpp - gated activations ----------------------------===//

#include "Normalize.h"
#include "Raise.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include <cmath>

using namespace mlir;
using namespace mlir::moe;
using namespace mlir::moe::stablehlo;

/// Half of the columns of a matrix.
struct Half {
  Value of;
  GateLayout layout;
  bool second;
};

static std::optional<Half> getHalf(Value value) {
  Operation *slice = getProducer(value, "stablehlo.slice");
  if (!slice)
    return std::nullopt;
  std::optional<SmallVector<int64_t>> start = getNumbers(slice, "start_indices"), stride = getNumbers(slice, "strides");
  Value of = slice->getOperand(0);
  RankedTensorType type = getTensor(of), half = getTensor(value);
  if (type.getRank() != 2 || !type.hasStaticShape() || (*start)[0] != 0 || (*stride)[0] != 1 ||
      half.getDimSize(0) != type.getDimSize(0) || half.getDimSize(1) * 2 != type.getDimSize(1))
    return std::nullopt;
  int64_t width = half.getDimSize(1), first = (*start)[1];
  if ((*stride)[1] == 1 && (first == 0 || first == width))
    return Half{of, GateLayout::Concatenated, first == width};
  if ((*stride)[1] == 2 && (first == 0 || first == 1))
    return Half{of, GateLayout::Interleaved, first == 1};
  return std::nullopt;
}

/// Whether the number is the constant, rounded to the type.
static bool isConstant(std::optional<double> number, double constant, Type type) {
  double rounding = getElementTypeOrSelf(type).isF32() ? 1e-6 : 1.0 / 256;
  return number && std::abs(*number - constant) <= rounding * std::abs(constant);
}

/// Which function of what; `scale` is what a silu's sigmoid scales its argument by.
struct Gate {
  GateFunction function;
  Value of;
  double scale = 1.0;
};

/// x * sigmoid(scale * x).
static std::optional<Gate> getSilu(Value value) {
  std::optional<Gate> gate;
  matchEitherOrder<arith::MulFOp>(value, [&](Value x, Value sigmoid) {
    Operation *logistic = getProducer(sigmoid, "stablehlo.logistic");
    if (!logistic)
      return false;
    if (logistic->getOperand(0) == x) {
      gate = Gate{GateFunction::Silu, x};
      return true;
    }
    return matchEitherOrder<arith::MulFOp>(logistic->getOperand(0), [&](Value other, Value factor) {
      std::optional<double> scale = getSplat(factor);
      if (other != x || !scale)
        return false;
      gate = Gate{GateFunction::Silu, x, *scale};
      return true;
    });
  });
  return gate;
}

/// factor * x, for a constant factor.
static Value getScaled(Value value, double factor) {
  Value x;
  matchEitherOrder<arith::MulFOp>(value, [&](Value other, Value constant) {
    if (!isConstant(getSplat(constant), factor, value.getType()))
      return false;
    x = other;
    return true;
  });
  return x;
}

static bool isCube(Value value, Value x) {
  return matchEitherOrder<arith::MulFOp>(value, [&](Value a, Value square) {
    auto factors = getOperands<arith::MulFOp>(square);
    return a == x && factors && factors->first == x && factors->second == x;
  });
}

/// x of 0.5 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))).
static Value getNormalCdf(Value value) {
  Value sum = getScaled(value, 0.5), x;
  if (!sum)
    return {};
  matchEitherOrder<arith::AddFOp>(sum, [&](Value tanh, Value one) {
    auto op = tanh.getDefiningOp<math::TanhOp>();
    Value inner = op && matchPattern(one, m_OneFloat()) ? getScaled(op.getOperand(), std::sqrt(2 / M_PI)) : Value();
    return inner && matchEitherOrder<arith::AddFOp>(inner, [&](Value base, Value rest) {
             Value cube = getScaled(rest, 0.044715);
             if (!cube || !isCube(cube, base))
               return false;
             x = base;
             return true;
           });
  });
  return x;
}

static std::optional<Gate> getGate(Value value) {
  if (std::optional<Gate> silu = getSilu(value))
    return silu;
  std::optional<Gate> gate;
  if (matchEitherOrder<arith::MulFOp>(value, [&](Value x, Value cdf) { return getNormalCdf(cdf) == x; })) {
    auto [a, b] = *getOperands<arith::MulFOp>(value);
    return Gate{GateFunction::GeluTanh, getNormalCdf(b) == a ? a : b};
  }
  if (matchEitherOrder<arith::MaximumFOp>(value, [&](Value x, Value zero) {
        if (!matchPattern(zero, m_PosZeroFloat()))
          return false;
        gate = Gate{GateFunction::Relu, x};
        return true;
      }))
    return gate;
  if (Operation *logistic = getProducer(value, "stablehlo.logistic"))
    return Gate{GateFunction::Sigmoid, logistic->getOperand(0)};
  return std::nullopt;
}

/// min(x, limit); the value itself, and no limit, if it is none.
template <typename OpTy> static std::pair<Value, std::optional<double>> getLimited(Value value) {
  std::pair<Value, std::optional<double>> result{value, std::nullopt};
  matchEitherOrder<OpTy>(value, [&](Value x, Value limit) {
    if (!getSplat(limit))
      return false;
    result = {x, getSplat(limit)};
    return true;
  });
  return result;
}

/// x clamped to [-limit, limit], in either order.
static std::pair<Value, std::optional<double>> getClamped(Value value) {
  auto [lower, most] = getLimited<arith::MinimumFOp>(value);
  auto [x, least] = getLimited<arith::MaximumFOp>(lower);
  if (!most) {
    auto [inner, limit] = getLimited<arith::MinimumFOp>(x);
    x = inner;
    most = limit;
  }
  if (most && least && *most == -*least)
    return {x, most};
  return {value, std::nullopt};
}

namespace {
/// act(gate) * (up + offset).
struct RaiseGated : OpRewritePattern<arith::MulFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::MulFOp op, PatternRewriter &rewriter) const override {
    if (!getTensor(op) || !isMoEFloat(getElementTypeOrSelf(op.getType())))
      return failure();
    return success(matchEitherOrder<arith::MulFOp>(op, [&](Value activated, Value other) {
      std::optional<Gate> gate = getGate(activated);
      if (!gate)
        return false;
      double offset = 0;
      matchEitherOrder<arith::AddFOp>(other, [&](Value up, Value constant) {
        if (!getSplat(constant))
          return false;
        other = up;
        offset = *getSplat(constant);
        return true;
      });
      auto [gateHalf, gateLimit] = getLimited<arith::MinimumFOp>(gate->of);
      auto [upHalf, upLimit] = getClamped(other);
      std::optional<Half> first = getHalf(gateHalf), second = getHalf(upHalf);
      if (!first || !second || first->of != second->of || first->layout != second->layout || first->second ||
          !second->second || gateLimit != upLimit || (gateLimit && !(*gateLimit > 0)))
        return false;
      replace(op, rewriter, *gate, *first, gateLimit, offset);
      return true;
    }));
  }

private:
  static void replace(arith::MulFOp op, PatternRewriter &rewriter, const Gate &gate, const Half &half,
                      std::optional<double> limit, double offset) {
    rewriter.replaceOpWithNewOp<GatedActivationOp>(
        op, op.getType(), half.of, gate.function, half.layout,
        limit ? rewriter.getF32FloatAttr(static_cast<float>(*limit)) : FloatAttr(),
        APFloat(static_cast<float>(gate.scale)), APFloat(static_cast<float>(offset)));
  }
};

/// Of ragged rows it makes ragged rows.
struct KeepRagged : OpRewritePattern<GatedActivationOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(GatedActivationOp op, PatternRewriter &rewriter) const override {
    auto plain = op.getX().getDefiningOp<tensor::CastOp>();
    RaggedAttr encoding = plain ? getRagged(plain.getSource()) : RaggedAttr();
    if (!encoding || getRagged(op.getX()))
      return failure();
    RankedTensorType type = getTensor(op.getResult());
    auto ragged = cast<GatedActivationOp>(rewriter.clone(*op));
    rewriter.modifyOpInPlace(ragged, [&] {
      ragged.getXMutable().assign(plain.getSource());
      ragged.getResult().setType(RankedTensorType::get(type.getShape(), type.getElementType(), encoding));
    });
    rewriter.replaceOp(op, castToPlain(rewriter, op.getLoc(), ragged.getResult()));
    return success();
  }
};
} // namespace

void stablehlo::populateActivationPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseGated, KeepRagged>(patterns.getContext());
}
