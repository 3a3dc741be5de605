//===- Rows.cpp - gather, gated activation and combine to tile.rows -------===//

#include "Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::moe;
using namespace mlir::moe::to_tile;

/// A row number or slot held as i32, -1 for none.
static Value toIndex(RowBody &body, Value id) { return arith::IndexCastOp::create(body.b, body.b.getIndexType(), id); }

LogicalResult to_tile::lower(GatherOp op, Lowering &lowering) {
  if (failed(checkStatic(op, "x", op.getX().getType(), 1)))
    return failure();
  const Plan &plan = lowering.getPlan(op.getPlan());
  auto type = cast<RankedTensorType>(getPlainType(op.getType()));
  Value token = plan.token;
  if (op.getThrough()) {
    // Two lookups become one list of numbers, so that the copy is fused into a product as any other.
    Value outer = token, inner = lowering.getPlan(op.getThrough()).token;
    token = lowering.createRows({outer, inner}, Value(), cast<RankedTensorType>(outer.getType()), plan.rows,
                                [](RowBody &body) {
                                  Value row = body.load(0, body.row);
                                  // -1 stays -1; its number would load as 0.
                                  Value zero = arith::ConstantIntOp::create(body.b, body.b.getI32Type(), 0);
                                  Value none = arith::CmpIOp::create(body.b, arith::CmpIPredicate::slt, row, zero);
                                  Value found = body.load(1, toIndex(body, row));
                                  body.yield(arith::SelectOp::create(body.b, none, row, found).getResult());
                                })[0];
  }
  // No bounds: the token of a row outside every group is -1, whose row loads as zeros.
  lowering.replace(op, lowering.createRows({op.getX(), token}, Value(), type, plan.rows, [&](RowBody &body) {
    body.yield(body.load(0, toIndex(body, body.load(1, body.row))));
  }));
  return success();
}

//===----------------------------------------------------------------------===//
// Gated activation
//===----------------------------------------------------------------------===//

/// The gate and up halves of a row.
static std::pair<Value, Value> splitHalves(RowBody &body, GateLayout layout, Value row) {
  if (layout == GateLayout::Interleaved) {
    auto halves = vector::DeinterleaveOp::create(body.b, row);
    return {halves.getRes1(), halves.getRes2()};
  }
  int64_t half = cast<VectorType>(row.getType()).getDimSize(0) / 2;
  auto slice = [&](int64_t offset) -> Value {
    return vector::ExtractStridedSliceOp::create(body.b, row, ArrayRef<int64_t>(offset), ArrayRef<int64_t>(half),
                                                 ArrayRef<int64_t>(1));
  };
  Value gate = slice(0);
  return {gate, slice(half)};
}

static Value activate(RowBody &body, GatedActivationOp op, Value gate) {
  ImplicitLocOpBuilder &b = body.b;
  auto constant = [&](double number) { return body.constant(gate.getType(), number); };
  auto times = [&](Value lhs, Value rhs) -> Value { return arith::MulFOp::create(b, lhs, rhs); };
  switch (op.getFunction()) {
  case GateFunction::Silu: {
    Value scaled = gate;
    if (!op.getAlpha().isExactlyValue(1.0))
      scaled = times(gate, constant(op.getAlpha().convertToDouble()));
    return times(gate, body.sigmoid(scaled));
  }
  case GateFunction::GeluTanh: {
    // g / 2 * (1 + tanh(u)) = g * sigmoid(2 u) with u = sqrt(2 / pi) * (g + 0.044715 g^3).
    Value cube = times(times(gate, gate), gate);
    Value inner = arith::AddFOp::create(b, gate, times(constant(0.044715), cube));
    return times(gate, body.sigmoid(times(constant(2.0 * 0.7978845608028654), inner)));
  }
  case GateFunction::Relu:
    return arith::MaximumFOp::create(b, gate, constant(0.0));
  case GateFunction::Sigmoid:
    return body.sigmoid(gate);
  }
  llvm_unreachable("not a gate function");
}

LogicalResult to_tile::lower(GatedActivationOp op, Lowering &lowering) {
  if (failed(checkStatic(op, "x", op.getX().getType(), 1)))
    return failure();
  FailureOr<Value> bounds = lowering.getBounds(op);
  if (failed(bounds))
    return failure();
  auto type = cast<RankedTensorType>(getPlainType(op.getType()));
  lowering.replace(op, lowering.createRows(op.getX(), *bounds, type, lowering.getDim(op.getX(), 0), [&](RowBody &body) {
    ImplicitLocOpBuilder &b = body.b;
    auto [gate, up] = splitHalves(body, op.getLayout(), body.toF32(body.load(0, body.row)));
    if (auto limit = op.getLimit()) {
      double number = limit->convertToDouble();
      Value most = body.constant(gate.getType(), number);
      gate = arith::MinimumFOp::create(b, gate, most);
      up = arith::MaximumFOp::create(b, arith::MinimumFOp::create(b, up, most), body.constant(up.getType(), -number));
    }
    if (!op.getUpOffset().isZero())
      up = arith::AddFOp::create(b, up, body.constant(up.getType(), op.getUpOffset().convertToDouble()));
    Value result = arith::MulFOp::create(b, activate(body, op, gate), up);
    body.yield(body.fromF32(result, type.getElementType()));
  }));
  return success();
}

//===----------------------------------------------------------------------===//
// Combine
//===----------------------------------------------------------------------===//

Value to_tile::createCombine(Lowering &lowering, Value y, Value inverse, Value weights, RankedTensorType type,
                             OpFoldResult rows, NanPolicy nan) {
  // A body reads the rows of all its slots at once; so many fit the registers of a thread.
  constexpr int64_t kMostSlots = 16;
  int64_t topk = cast<RankedTensorType>(inverse.getType()).getDimSize(1);
  SmallVector<Value> ins{y, inverse};
  if (weights)
    ins.push_back(weights);
  auto accumulate = [&](RowBody &body, Value sum, int64_t slot) -> Value {
    ImplicitLocOpBuilder &b = body.b;
    Value j = arith::ConstantIndexOp::create(b, slot);
    Value id = body.load(1, {body.row, j});
    Value term = body.toF32(body.load(0, toIndex(body, id)));
    if (!weights) // a dropped slot loads zeros
      return arith::AddFOp::create(b, sum, term);
    // A dropped slot, and with nan = last a weight of 0, contributes nothing, whatever stands on the other side of the
    // product.
    Value weight = body.load(2, {body.row, j});
    Value noRow = arith::ConstantOp::create(b, b.getI32IntegerAttr(-1));
    Value dropped = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, id, noRow);
    Value skip = dropped;
    if (nan == NanPolicy::Last) {
      Value isZero = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, weight, body.constant(weight.getType(), 0.0));
      skip = arith::OrIOp::create(b, dropped, isZero);
    }
    Value product = arith::MulFOp::create(b, body.splat(weight, type.getDimSize(1)), term);
    return arith::SelectOp::create(b, skip, sum, arith::AddFOp::create(b, sum, product));
  };
  Value result;
  for (int64_t begin = 0; begin < topk; begin += kMostSlots) {
    int64_t end = std::min(begin + kMostSlots, topk), sumOfBefore = ins.size();
    if (result)
      ins.push_back(result);
    Type f32 = lowering.b.getF32Type();
    result = lowering.createRows(
        ins, Value(), end == topk ? type : cast<RankedTensorType>(type.clone(f32)), rows, [&](RowBody &body) {
          Value sum = begin ? body.load(sumOfBefore, {body.row})
                            : body.constant(VectorType::get(type.getDimSize(1), body.b.getF32Type()), 0.0);
          for (int64_t slot = begin; slot < end; ++slot)
            sum = accumulate(body, sum, slot);
          body.yield(end == topk ? body.fromF32(sum, type.getElementType()) : sum);
        })[0];
    ins.truncate(sumOfBefore);
  }
  return result;
}

LogicalResult to_tile::lower(CombineOp op, Lowering &lowering) {
  if (failed(checkStatic(op, "y", op.getY().getType(), 1)))
    return failure();
  const Plan &plan = lowering.getPlan(op.getPlan());
  lowering.replace(op,
                   createCombine(lowering, op.getY(), plan.inverse, op.getWeights(),
                                 cast<RankedTensorType>(op.getType()), lowering.getDim(plan.inverse, 0), op.getNan()));
  return success();
}
