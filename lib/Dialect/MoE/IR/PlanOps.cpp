//===- PlanOps.cpp - plan, plan_from_sizes, plan_get ----------------------===//

#include "Shapes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "moe/Dialect/MoE/IR/Plan.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::moe;
using namespace mlir::moe::detail;

//===----------------------------------------------------------------------===//
// What is known of a plan
//===----------------------------------------------------------------------===//

std::optional<int64_t> moe::getStaticPlanRows(int64_t tokens, int64_t topk, int64_t groups, int64_t align) {
  int64_t slots, padding, rows;
  if (ShapedType::isDynamic(tokens) || ShapedType::isDynamic(topk) || llvm::MulOverflow(tokens, topk, slots) ||
      llvm::MulOverflow(groups, align - 1, padding) || llvm::AddOverflow(slots, padding, rows))
    return std::nullopt;
  return rows;
}

OpFoldResult moe::getPlanTokens(OpBuilder &builder, Location loc, Value plan) {
  if (int64_t tokens = cast<PlanType>(plan.getType()).getTokens(); !ShapedType::isDynamic(tokens))
    return builder.getIndexAttr(tokens);
  if (auto op = plan.getDefiningOp<PlanOp>())
    return tensor::getMixedSize(builder, loc, op.getIds(), 0);
  return {};
}

OpFoldResult moe::getPlanRows(OpBuilder &builder, Location loc, Value plan) {
  auto type = cast<PlanType>(plan.getType());
  if (!ShapedType::isDynamic(type.getRows()))
    return builder.getIndexAttr(type.getRows());
  if (auto op = plan.getDefiningOp<PlanFromSizesOp>())
    return op.getRows();
  auto op = plan.getDefiningOp<PlanOp>();
  if (!op)
    return {};
  if (op.getCapacity())
    return builder.getIndexAttr(static_cast<int64_t>(*op.getCapacity()));
  OpFoldResult tokens = getPlanTokens(builder, loc, plan);
  if (auto rows = getStaticPlanRows(getConstantIntValue(tokens).value_or(ShapedType::kDynamic), type.getTopk(),
                                    type.getGroups(), type.getAlign()))
    return builder.getIndexAttr(*rows);
  auto index = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(builder, loc, value); };
  Value rows = getValueOrCreateConstantIndexOp(builder, loc, tokens);
  if (type.getTopk() != 1)
    rows = arith::MulIOp::create(builder, loc, rows, index(type.getTopk()));
  // The verifier of moe.plan has seen to it that this product fits.
  if (int64_t padding = type.getGroups() * (type.getAlign() - 1); padding != 0)
    rows = arith::AddIOp::create(builder, loc, rows, index(padding));
  return rows;
}

bool moe::hasNoRows(Value plan) {
  auto type = cast<PlanType>(plan.getType());
  if (type.getGroups() == 0 || type.getRows() == 0 || type.getTokens() == 0)
    return true;
  auto op = plan.getDefiningOp<PlanFromSizesOp>();
  DenseIntElementsAttr sizes;
  return op && matchPattern(op.getSizes(), m_Constant(&sizes)) && sizes.isSplat() &&
         sizes.getSplatValue<APInt>().isZero();
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

LogicalResult PlanOp::verify() {
  auto ids = getIds().getType();
  PlanType plan = getPlan().getType();
  // C1
  if (ids.isDynamicDim(1) || ids.getDimSize(1) < 1)
    return emitOpError() << "type of ids is " << ids
                         << ", expected a static number of slots, at least 1, in dimension 1";
  if (failed(verifyDim(*this, "topk of the plan", plan.getTopk(), ids.getDimSize(1), "dimension 1 of ids")) ||
      failed(verifyDim(*this, "tokens of the plan", plan.getTokens(), ids.getDimSize(0), "dimension 0 of ids")))
    return failure();
  // C3
  std::optional<int64_t> capacity = getCapacity();
  if (capacity && *capacity < 0)
    return emitOpError() << "capacity is " << *capacity << ", expected at least 0";
  // C2
  if (capacity)
    return verifyDim(*this, "rows of the plan", plan.getRows(), *capacity, "capacity");
  int64_t tokens = ShapedType::isDynamic(plan.getTokens()) ? ids.getDimSize(0) : plan.getTokens();
  bool dynamic = ShapedType::isDynamic(tokens);
  // With dynamic tokens, 0 of them still shows whether the padding alone passes 64 bits.
  std::optional<int64_t> rows =
      getStaticPlanRows(dynamic ? 0 : tokens, plan.getTopk(), plan.getGroups(), plan.getAlign());
  if (!rows)
    return emitOpError() << "rows of the plan do not fit in 64 bits (tokens = " << (dynamic ? 0 : tokens)
                         << ", topk = " << plan.getTopk() << ", groups = " << plan.getGroups()
                         << ", align = " << plan.getAlign() << ")";
  if (dynamic)
    return success();
  return verifyDim(*this, "rows of the plan", plan.getRows(), *rows, "tokens * topk + groups * (align - 1)");
}

LogicalResult PlanFromSizesOp::verify() {
  PlanType plan = getPlan().getType();
  // C1
  if (failed(verifyDim(*this, "length of sizes", getSizes().getType().getDimSize(0), plan.getGroups(),
                       "groups of the plan")))
    return failure();
  // C2
  if (plan.getTopk() != 0)
    return emitOpError() << "topk of the plan is " << plan.getTopk() << ", expected 0 (sizes know no slots)";
  // C3
  bool dynamic = ShapedType::isDynamic(plan.getRows());
  if (dynamic && !getRows())
    return emitOpError() << "rows of the plan are dynamic and the operand rows is missing, expected it to be given";
  if (!dynamic && getRows())
    return emitOpError() << "operand rows is given, expected none (the plan's type says rows = " << plan.getRows()
                         << ")";
  std::optional<int64_t> constantRows = dynamic ? getConstantIntValue(getRows()) : plan.getRows();
  if (constantRows && *constantRows < 0)
    return emitOpError() << "rows is " << *constantRows << ", expected at least 0";
  // C4
  DenseIntElementsAttr sizes;
  if (!matchPattern(getSizes(), m_Constant(&sizes)))
    return success();
  int64_t rows = constantRows.value_or(INT64_MAX);
  auto notFitting = [&](int64_t group, int64_t size, int64_t begin) {
    InFlightDiagnostic diag = emitOpError()
                              << "sizes[" << group << "] is " << size << ", and group " << group << " begins at row "
                              << begin << ", expected it to end within " << rows << " rows";
    diag.attachNote(getSizes().getLoc()) << "sizes is a constant here";
    return diag;
  };
  int64_t begin = 0;
  for (auto [group, value] : llvm::enumerate(sizes.getValues<APInt>())) {
    int64_t size = value.getSExtValue(), end, rounded;
    if (size < 0) {
      InFlightDiagnostic diag = emitOpError() << "sizes[" << group << "] is " << size << ", expected at least 0";
      diag.attachNote(getSizes().getLoc()) << "sizes is a constant here";
      return diag;
    }
    if (size == 0)
      continue;
    if (llvm::AddOverflow(begin, size, end) || end > rows)
      return notFitting(group, size, begin);
    // The next group begins at a multiple of align; where that passes 64 bits no later group can have rows.
    int64_t rest = end % plan.getAlign();
    if (rest == 0)
      rounded = end;
    else if (llvm::AddOverflow(end, plan.getAlign() - rest, rounded))
      rounded = INT64_MAX;
    begin = rounded;
  }
  return success();
}

LogicalResult PlanGetOp::verify() {
  PlanType plan = getPlan().getType();
  PlanField field = getField();
  // C1
  if (plan.getTopk() == 0 && field != PlanField::Sizes && field != PlanField::Bounds)
    return emitOpError() << "field is " << stringifyPlanField(field)
                         << ", expected sizes or bounds (topk of the plan is 0, it knows no slots)";
  // C2
  bool wide = field == PlanField::Bounds || field == PlanField::Dropped;
  Type element = IntegerType::get(getContext(), wide ? 64 : 32);
  if (getResult().getType().getElementType() != element)
    return emitOpError() << "element type of result is " << getResult().getType().getElementType() << ", expected "
                         << element << " (field " << stringifyPlanField(field) << ")";
  return verifyResultDims(*this);
}

//===----------------------------------------------------------------------===//
// Folds
//===----------------------------------------------------------------------===//

OpFoldResult PlanGetOp::fold(FoldAdaptor) {
  RankedTensorType type = getResult().getType();
  // Sizes are reported as they were asked for.
  if (auto sizes = getPlan().getDefiningOp<PlanFromSizesOp>();
      sizes && getField() == PlanField::Sizes && sizes.getSizes().getType() == type)
    return sizes.getSizes();
  // Without a capacity every slot has its row.
  if (auto plan = getPlan().getDefiningOp<PlanOp>();
      plan && getField() == PlanField::Dropped && !plan.getCapacity() && type.hasStaticShape())
    return Builder(getContext()).getZeroAttr(type);
  return {};
}
