//===- Ragged.cpp - ragged products to tile.ragged_gemm -------------------===//

#include "Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::moe;
using namespace mlir::moe::to_tile;

/// Arguments of an epilogue's block, in the order of the op's operands.
static Block *createEpilogue(ImplicitLocOpBuilder &b, tile::RaggedGemmOp gemm, ArrayRef<Type> arguments) {
  return b.createBlock(&gemm.getEpilogue(), {}, arguments, SmallVector<Location>(arguments.size(), b.getLoc()));
}

static Value toF32(ImplicitLocOpBuilder &b, Value value) {
  return value.getType().isF32() ? value : arith::ExtFOp::create(b, b.getF32Type(), value);
}

static void yield(ImplicitLocOpBuilder &b, Value value, Type element) {
  if (!element.isF32())
    value = arith::TruncFOp::create(b, element, value);
  tile::YieldOp::create(b, value);
}

/// Modes rows and batch.
static Value lowerRows(RaggedMatmulOp op, Lowering &lowering, Value init) {
  ImplicitLocOpBuilder &b = lowering.b;
  auto kind = [&](tile::ExtraKind value) { return tile::ExtraKindAttr::get(b.getContext(), value); };
  SmallVector<Value> extras;
  SmallVector<Attribute> kinds;
  SmallVector<Type> arguments{b.getF32Type()};
  Value bounds, slots;
  if (op.getPlan())
    bounds = lowering.getPlan(op.getPlan()).bounds;
  if (Value bias = op.getBias()) {
    extras.push_back(bias);
    kinds.push_back(kind(tile::ExtraKind::Group));
    arguments.push_back(getElementTypeOrSelf(bias));
  }
  if (Value weights = op.getWeights()) {
    extras.push_back(weights);
    kinds.push_back(kind(tile::ExtraKind::Slot));
    arguments.push_back(b.getF32Type());
    slots = lowering.getPlan(op.getPlan()).permutation;
  }
  auto gemm = tile::RaggedGemmOp::create(
      b, init.getType(), op.getLhs(), /*gather=*/Value(), op.getRhs(), bounds, slots, extras, init,
      tile::GemmMode::Rows, op.getLayout() == WeightLayout::NK ? tile::RhsLayout::NK : tile::RhsLayout::KN,
      tile::Accumulators::Single, b.getArrayAttr(kinds), op.getGroupOffset().value_or(0), /*accumulate=*/false,
      op.getPrecision() == Precision::TF32 ? tile::Precision::TF32 : tile::Precision::Exact);

  OpBuilder::InsertionGuard guard(b);
  Block *epilogue = createEpilogue(b, gemm, arguments);
  unsigned next = 0;
  Value value = epilogue->getArgument(next++);
  if (op.getBias())
    value = arith::AddFOp::create(b, value, toF32(b, epilogue->getArgument(next++)));
  if (op.getWeights()) {
    Value weight = epilogue->getArgument(next++);
    value = arith::MulFOp::create(b, weight, value);
    if (op.getNan() == NanPolicy::Last) { // a row of weight 0 is zero even if it holds a NaN
      Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0.0f));
      Value isZero = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, weight, zero);
      value = arith::SelectOp::create(b, isZero, zero, value);
    }
  }
  yield(b, value, getElementTypeOrSelf(init));
  return gemm.getResults()[0];
}

/// Mode contraction; without lhs the rows of rhs are summed.
static Value lowerContraction(ImplicitLocOpBuilder &b, Value lhs, Value rhs, Value bounds, Value init,
                              int64_t groupOffset, bool accumulate, tile::Precision precision) {
  auto gemm =
      tile::RaggedGemmOp::create(b, init.getType(), lhs, /*gather=*/Value(), rhs, bounds, /*slots=*/Value(),
                                 /*extras=*/ValueRange(), init, tile::GemmMode::Contraction, tile::RhsLayout::KN,
                                 tile::Accumulators::Single, b.getArrayAttr({}), groupOffset, accumulate, precision);
  OpBuilder::InsertionGuard guard(b);
  Type element = getElementTypeOrSelf(init);
  SmallVector<Type> arguments{b.getF32Type()};
  if (accumulate)
    arguments.push_back(element);
  Block *epilogue = createEpilogue(b, gemm, arguments);
  Value value = epilogue->getArgument(0);
  if (accumulate)
    value = arith::AddFOp::create(b, toF32(b, epilogue->getArgument(1)), value);
  yield(b, value, element);
  return gemm.getResults()[0];
}

LogicalResult to_tile::lower(RaggedMatmulOp op, Lowering &lowering) {
  if (op.getLhsScale() || op.getRhsScale())
    return op.emitOpError() << "is not lowered to this target yet: " << (op.getLhsScale() ? "lhs_scale" : "rhs_scale");
  bool contraction = op.getMode() == RaggedMode::Contraction;
  bool batch = op.getMode() == RaggedMode::Batch;
  // Rows are counted on the device; everything else is part of the kernel.
  if (failed(checkStatic(op, "lhs", op.getLhs().getType(), batch ? 2 : 1)) ||
      failed(checkStatic(op, "rhs", op.getRhs().getType(), contraction ? 1 : 0)) ||
      (batch && failed(checkStaticDim(op, "lhs", op.getLhs().getType(), 0))))
    return failure();

  auto type = cast<RankedTensorType>(getPlainType(op.getType()));
  if (contraction) {
    Value init = op.getAcc() ? op.getAcc() : lowering.createEmpty(type, {});
    auto precision = op.getPrecision() == Precision::TF32 ? tile::Precision::TF32 : tile::Precision::Exact;
    Value bounds = lowering.getPlan(op.getPlan()).bounds;
    lowering.replace(op, lowerContraction(lowering.b, op.getLhs(), op.getRhs(), bounds, init,
                                          op.getGroupOffset().value_or(0), op.getAcc() != nullptr, precision));
    return success();
  }
  SmallVector<OpFoldResult> sizes{lowering.getDim(op.getLhs(), 0)};
  if (batch)
    sizes.push_back(lowering.getDim(op.getLhs(), 1));
  lowering.replace(op, lowerRows(op, lowering, lowering.createEmpty(type, sizes)));
  return success();
}

LogicalResult to_tile::lower(GroupSumOp op, Lowering &lowering) {
  if (failed(checkStatic(op, "x", op.getX().getType(), 1)))
    return failure();
  Value init = lowering.createEmpty(cast<RankedTensorType>(op.getType()), {});
  lowering.replace(op, lowerContraction(lowering.b, /*lhs=*/Value(), op.getX(), lowering.getPlan(op.getPlan()).bounds,
                                        init, /*groupOffset=*/0, /*accumulate=*/false, tile::Precision::Exact));
  return success();
}
