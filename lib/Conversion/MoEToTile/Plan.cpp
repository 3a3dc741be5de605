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

Plan Lowering::createPlan(Value ids, PlanType type, OpFoldResult rows, bool equalBlocks) {
  OpFoldResult tokens = getDim(ids, 0);
  auto tensor = [](ArrayRef<int64_t> shape, Type element) { return RankedTensorType::get(shape, element); };
  Type i32 = b.getI32Type(), i64 = b.getI64Type();
  auto perRow = tensor(type.getRows(), i32);
  SmallVector<Value> outs{createEmpty(tensor(type.getGroups(), i32), {}),
                          createEmpty(tensor({type.getGroups(), 2}, i64), {}),
                          createEmpty(perRow, rows),
                          createEmpty(perRow, rows),
                          createEmpty(cast<RankedTensorType>(ids.getType()), tokens),
                          createEmpty(tensor(1, i64), {})};
  auto plan = tile::PlanOp::create(b, ValueRange(outs).getTypes(), ids, outs, type.getAlign(), equalBlocks);
  ValueRange results = plan.getResults();
  return {rows, results[0], results[1], results[2], results[3], results[4], results[5]};
}

Value Lowering::createOffsets(Value sizes, OpFoldResult rows, int64_t align) {
  int64_t groups = cast<RankedTensorType>(sizes.getType()).getDimSize(0);
  auto type = RankedTensorType::get({groups, 2}, b.getI64Type());
  return tile::OffsetsOp::create(b, TypeRange(type), sizes, getIndex(rows), createEmpty(type, {}), align)
      .getResults()[0];
}

LogicalResult to_tile::lower(PlanOp op, Lowering &lowering) {
  lowering.setPlan(op.getPlan(), lowering.createPlan(op.getIds(), op.getPlan().getType(), getRows(op, lowering)));
  lowering.erase(op);
  return success();
}

LogicalResult to_tile::lower(PlanFromSizesOp op, Lowering &lowering) {
  ImplicitLocOpBuilder &b = lowering.b;
  PlanType type = op.getPlan().getType();
  Plan plan;
  plan.rows = op.getRows() ? OpFoldResult(op.getRows()) : OpFoldResult(b.getIndexAttr(type.getRows()));
  plan.sizes = op.getSizes();
  plan.bounds = lowering.createOffsets(op.getSizes(), plan.rows, type.getAlign());
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
