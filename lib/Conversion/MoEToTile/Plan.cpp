//===- Plan.cpp - routing plans to tensors --------------------------------===//

#include "Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::moe;
using namespace mlir::moe::to_tile;

/// M of a plan of expert ids: T * k, and for aligned groups room to round each of them up.
static OpFoldResult getRows(PlanOp op, Lowering &lowering) {
  ImplicitLocOpBuilder &b = lowering.b;
  PlanType type = op.getPlan().getType();
  if (!ShapedType::isDynamic(type.getRows()))
    return b.getIndexAttr(type.getRows());
  Value rows = arith::MulIOp::create(b, lowering.getIndex(lowering.getDim(op.getIds(), 0)),
                                     lowering.getIndex(b.getIndexAttr(type.getTopk())));
  if (type.getAlign() > 1)
    rows = arith::AddIOp::create(b, rows, lowering.getIndex(b.getIndexAttr(type.getGroups() * (type.getAlign() - 1))));
  return rows;
}

LogicalResult to_tile::lower(PlanOp op, Lowering &lowering) {
  ImplicitLocOpBuilder &b = lowering.b;
  PlanType type = op.getPlan().getType();
  OpFoldResult rows = getRows(op, lowering);
  OpFoldResult tokens = lowering.getDim(op.getIds(), 0);
  auto tensor = [](ArrayRef<int64_t> shape, Type element) { return RankedTensorType::get(shape, element); };
  Type i32 = b.getI32Type(), i64 = b.getI64Type();
  auto perRow = tensor(type.getRows(), i32);
  SmallVector<Value> outs{lowering.createEmpty(tensor(type.getGroups(), i32), {}),
                          lowering.createEmpty(tensor({type.getGroups(), 2}, i64), {}),
                          lowering.createEmpty(perRow, rows),
                          lowering.createEmpty(perRow, rows),
                          lowering.createEmpty(cast<RankedTensorType>(op.getIds().getType()), tokens),
                          lowering.createEmpty(tensor(1, i64), {})};
  auto plan = tile::PlanOp::create(b, ValueRange(outs).getTypes(), op.getIds(), outs, type.getAlign());
  ValueRange results = plan.getResults();
  lowering.setPlan(op.getPlan(), {rows, results[0], results[1], results[2], results[3], results[4], results[5]});
  lowering.erase(op);
  return success();
}

LogicalResult to_tile::lower(PlanFromSizesOp op, Lowering &lowering) {
  ImplicitLocOpBuilder &b = lowering.b;
  PlanType type = op.getPlan().getType();
  Plan plan;
  plan.rows = op.getRows() ? OpFoldResult(op.getRows()) : OpFoldResult(b.getIndexAttr(type.getRows()));
  plan.sizes = op.getSizes();
  auto boundsType = RankedTensorType::get({type.getGroups(), 2}, b.getI64Type());
  Value init = lowering.createEmpty(boundsType, {});
  plan.bounds = tile::OffsetsOp::create(b, TypeRange(boundsType), op.getSizes(), lowering.getIndex(plan.rows), init,
                                        type.getAlign())
                    .getResults()[0];
  lowering.setPlan(op.getPlan(), plan);
  lowering.erase(op);
  return success();
}

/// The sizes of a plan are i32, whatever the type of the sizes it was made from.
static Value getSizes(const Plan &plan, Lowering &lowering) {
  auto type = cast<RankedTensorType>(plan.sizes.getType());
  if (type.getElementType().isInteger(32))
    return plan.sizes;
  Type i32 = lowering.b.getI32Type();
  return lowering.createRows(plan.sizes, Value(), type.clone(i32), lowering.getDim(plan.sizes, 0), [&](RowBody &body) {
    body.yield(arith::TruncIOp::create(body.b, i32, body.load(0, body.row))->getResults());
  })[0];
}

LogicalResult to_tile::lower(PlanGetOp op, Lowering &lowering) {
  const Plan &plan = lowering.getPlan(op.getPlan());
  auto get = [&] {
    switch (op.getField()) {
    case PlanField::Sizes:
      return getSizes(plan, lowering);
    case PlanField::Bounds:
      return plan.bounds;
    case PlanField::Permutation:
      return plan.permutation;
    case PlanField::Token:
      return plan.token;
    case PlanField::Inverse:
      return plan.inverse;
    case PlanField::Dropped:
      return plan.dropped;
    }
    llvm_unreachable("not a field");
  };
  lowering.replace(op, get());
  return success();
}
