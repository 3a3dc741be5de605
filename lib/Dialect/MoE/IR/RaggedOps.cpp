//===- RaggedOps.cpp - gather, matmul, group_sum, activation, combine -----===//

#include "Shapes.h"
#include "moe/Dialect/MoE/IR/Plan.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::moe;
using namespace mlir::moe::detail;

/// The plan has slots, so that rows can be traced to tokens.
static LogicalResult verifySlots(Operation *op, PlanType plan, StringRef what = "the plan") {
  if (plan.getTopk() >= 1)
    return success();
  return op->emitOpError() << "topk of " << what
                           << " is 0, expected at least 1 (a plan made from sizes knows no slots)";
}

/// `type` is `[T, k]` of the plan.
static LogicalResult verifyWeights(Operation *op, RankedTensorType type, PlanType plan) {
  if (failed(verifyDim(op, "dimension 0 of weights", type.getDimSize(0), plan.getTokens(), "tokens of the plan")))
    return failure();
  return verifyDim(op, "dimension 1 of weights", type.getDimSize(1), plan.getTopk(), "topk of the plan");
}

/// `found` is `expected`, or f32 where that is allowed.
static LogicalResult verifyElementType(Operation *op, StringRef what, Type found, Type expected, StringRef why,
                                       bool mayBeF32) {
  if (found == expected || (mayBeF32 && found.isF32()))
    return success();
  return op->emitOpError() << "element type of " << what << " is " << found << ", expected " << expected
                           << (mayBeF32 ? " or f32 (" : " (") << why << ")";
}

LogicalResult GatherOp::verify() {
  auto x = getX().getType();
  RankedTensorType result = getResult().getType();
  PlanType plan = getPlan().getType();
  // C1, C3
  if (failed(verifySlots(*this, plan)))
    return failure();
  PlanType source = plan;
  if (getThrough()) {
    source = cast<PlanType>(getThrough().getType());
    if (failed(verifySlots(*this, source, "through")) ||
        failed(verifyDim(*this, "number of tokens of the plan", plan.getTokens(), source.getRows(), "rows of through")))
      return failure();
  }
  if (failed(verifyDim(*this, "number of rows of x", x.getDimSize(0), source.getTokens(),
                       getThrough() ? "tokens of through" : "tokens of the plan")))
    return failure();
  // C2
  if (failed(verifyRagged(*this, "result", result, plan)) ||
      failed(verifyElementType(*this, "result", result.getElementType(), x.getElementType(), "that of x", false)))
    return failure();
  return verifyResultDims(*this);
}

LogicalResult GroupSumOp::verify() {
  auto x = getX().getType();
  // C1
  if (failed(verifyRagged(*this, "x", x, getPlan().getType())))
    return failure();
  // C2
  if (failed(verifyElementType(*this, "result", getResult().getType().getElementType(), x.getElementType(), "that of x",
                               true)))
    return failure();
  return verifyResultDims(*this);
}

LogicalResult GatedActivationOp::verify() {
  RankedTensorType x = getX().getType(), result = getResult().getType();
  // C1
  if (!x.isDynamicDim(1) && x.getDimSize(1) % 2 != 0)
    return emitOpError() << "dimension 1 of x is " << x.getDimSize(1) << ", expected an even number (gate and up)";
  if (failed(verifyElementType(*this, "result", result.getElementType(), x.getElementType(), "that of x", false)))
    return failure();
  if (result.getEncoding() != x.getEncoding()) {
    auto show = [](InFlightDiagnostic &diag, Attribute encoding) -> InFlightDiagnostic & {
      return encoding ? diag << encoding : diag << "none";
    };
    InFlightDiagnostic diag = emitOpError() << "encoding of result is ";
    show(diag, result.getEncoding()) << ", expected ";
    return show(diag, x.getEncoding()) << " (that of x)";
  }
  if (failed(verifyResultDims(*this)))
    return failure();
  // C2: written so that NaN is refused too
  if (getLimit() && !(*getLimit() > APFloat(0.0f)))
    return emitOpError() << "limit is " << getLimitAttr() << ", expected greater than 0";
  // C3
  if (getFunction() != GateFunction::Silu && !getAlpha().isExactlyValue(1.0))
    return emitOpError() << "alpha is " << getAlphaAttr() << ", expected 1 (function is "
                         << stringifyGateFunction(getFunction()) << ", only silu has alpha)";
  return success();
}

LogicalResult CombineOp::verify() {
  auto y = getY().getType();
  PlanType plan = getPlan().getType();
  // C1
  if (failed(verifySlots(*this, plan)) || failed(verifyRagged(*this, "y", y, plan)))
    return failure();
  // C2
  if (getWeights() && failed(verifyWeights(*this, getWeights().getType(), plan)))
    return failure();
  // C3
  if (failed(verifyElementType(*this, "result", getResult().getType().getElementType(), y.getElementType(), "that of y",
                               true)))
    return failure();
  return verifyResultDims(*this);
}

//===----------------------------------------------------------------------===//
// ragged_matmul
//===----------------------------------------------------------------------===//

static LogicalResult verifyRank(Operation *op, StringRef what, RankedTensorType type, int64_t rank, RaggedMode mode) {
  if (type.getRank() == rank)
    return success();
  return op->emitOpError() << "rank of " << what << " is " << type.getRank() << ", expected " << rank << " (mode is "
                           << stringifyRaggedMode(mode) << ")";
}

static LogicalResult verifyPlain(Operation *op, StringRef what, RankedTensorType type, RaggedMode mode) {
  if (!type.getEncoding())
    return success();
  return op->emitOpError() << "encoding of " << what << " is " << type.getEncoding() << ", expected none (mode is "
                           << stringifyRaggedMode(mode) << ")";
}

/// An option that only one mode has.
static LogicalResult verifyOnlyInMode(RaggedMatmulOp op, StringRef what, bool given, RaggedMode mode) {
  if (!given || op.getMode() == mode)
    return success();
  return op.emitOpError() << what << " is given in mode " << stringifyRaggedMode(op.getMode()) << ", expected mode "
                          << stringifyRaggedMode(mode);
}

/// C8: a scale has the shape of its operand, with `contraction` (a dimension of the operand) divided into blocks, or
/// without it for scale_block = 0. In mode `contraction` one factor a column is one for each group too.
static LogicalResult verifyScale(RaggedMatmulOp op, StringRef what, RankedTensorType scale, RankedTensorType operand,
                                 int64_t contraction, int64_t groups) {
  int64_t block = *op.getScaleBlock();
  SmallVector<int64_t, 3> expected;
  if (block == 0 && op.getMode() == RaggedMode::Contraction)
    expected.push_back(groups);
  for (int64_t number = 0; number < operand.getRank(); ++number) {
    int64_t size = operand.getDimSize(number);
    if (number != contraction)
      expected.push_back(size);
    else if (block != 0)
      expected.push_back(ShapedType::isDynamic(size) || size == 0 ? size : (size - 1) / block + 1);
  }
  if (scale.getRank() != static_cast<int64_t>(expected.size()))
    return op.emitOpError() << "rank of " << what << " is " << scale.getRank() << ", expected " << expected.size()
                            << " (scale_block is " << block << ")";
  for (auto [number, size] : llvm::enumerate(expected))
    if (failed(verifyDim(op, "dimension " + Twine(number) + " of " + what, scale.getDimSize(number), size,
                         "scale_block is " + Twine(block))))
      return failure();
  return success();
}

static LogicalResult verifyScales(RaggedMatmulOp op, int64_t lhsContraction, int64_t rhsContraction, int64_t groups) {
  bool scaled = op.getLhsScale() || op.getRhsScale();
  // C8
  if (scaled && !op.getScaleBlock())
    return op.emitOpError() << "scale_block is missing, expected it beside lhs_scale or rhs_scale";
  if (!scaled && op.getScaleBlock())
    return op.emitOpError() << "scale_block is " << *op.getScaleBlock()
                            << " without lhs_scale or rhs_scale, expected none";
  if (!scaled)
    return success();
  int64_t block = *op.getScaleBlock();
  if (block < 0)
    return op.emitOpError() << "scale_block is " << block << ", expected at least 0";
  // C9: else one factor would cover rows of two groups
  if (op.getMode() == RaggedMode::Contraction && block != 0) {
    int64_t align = cast<PlanType>(op.getPlan().getType()).getAlign();
    if (align % block != 0)
      return op.emitOpError() << "scale_block is " << block << ", expected 0 or a divisor of " << align
                              << " (align of the plan)";
  }
  // C8
  if (op.getLhsScale() &&
      failed(verifyScale(op, "lhs_scale", op.getLhsScale().getType(), op.getLhs().getType(), lhsContraction, groups)))
    return failure();
  if (op.getRhsScale() &&
      failed(verifyScale(op, "rhs_scale", op.getRhsScale().getType(), op.getRhs().getType(), rhsContraction, groups)))
    return failure();
  return success();
}

/// C4: the weights are those of `count` groups from group_offset on.
static LogicalResult verifyGroups(RaggedMatmulOp op, StringRef what, int64_t count, PlanType plan) {
  if (!op.getGroupOffset())
    return verifyDim(op, "dimension 0 of " + what, count, plan.getGroups(), "groups of the plan");
  int64_t offset = *op.getGroupOffset();
  if (ShapedType::isDynamic(count))
    return op.emitOpError() << "dimension 0 of " << what << " is dynamic, expected a static number of groups beside "
                            << "group_offset";
  if (offset < 0 || offset > plan.getGroups() || count > plan.getGroups() - offset)
    return op.emitOpError() << "group_offset is " << offset << " with " << count << " groups in " << what
                            << ", expected them within 0 to " << plan.getGroups() << " (groups of the plan)";
  return success();
}

LogicalResult RaggedMatmulOp::verify() {
  RankedTensorType lhs = getLhs().getType(), rhs = getRhs().getType(), result = getResult().getType();
  RaggedMode mode = getMode();
  bool kn = getLayout() == WeightLayout::KN;
  int64_t rhsContraction = kn ? 1 : 2; // of a weight, of rank 3
  // C1
  if (failed(verifyElementType(*this, "rhs", rhs.getElementType(), lhs.getElementType(), "that of lhs", false)))
    return failure();
  // C2
  bool needsPlan = mode != RaggedMode::Batch;
  if (needsPlan != static_cast<bool>(getPlan()))
    return emitOpError() << "plan is " << (needsPlan ? "missing" : "given") << ", expected "
                         << (needsPlan ? "one" : "none") << " (mode is " << stringifyRaggedMode(mode) << ")";
  auto plan = needsPlan ? cast<PlanType>(getPlan().getType()) : PlanType();
  // C1: ranks
  bool rows = mode == RaggedMode::Rows, contraction = mode == RaggedMode::Contraction;
  if (failed(verifyRank(*this, "lhs", lhs, needsPlan ? 2 : 3, mode)) ||
      failed(verifyRank(*this, "rhs", rhs, contraction ? 2 : 3, mode)) ||
      failed(verifyRank(*this, "result", result, rows ? 2 : 3, mode)))
    return failure();
  // C3
  struct {
    StringRef what;
    RankedTensorType type;
    bool ragged;
  } tensors[] = {{"lhs", lhs, needsPlan}, {"rhs", rhs, contraction}, {"result", result, rows}};
  for (auto &[what, type, ragged] : tensors)
    if (failed(ragged ? verifyRagged(*this, what, type, plan) : verifyPlain(*this, what, type, mode)))
      return failure();
  // C1: the contraction, and a layout only where there is a weight
  if (contraction && !kn)
    return emitOpError() << "layout is nk, expected kn (mode is contraction, rhs is not a weight)";
  if (!contraction && failed(verifyDim(*this, "dimension " + Twine(rhsContraction) + " of rhs",
                                       rhs.getDimSize(rhsContraction), lhs.getDimSize(rows ? 1 : 2), "columns of lhs")))
    return failure();
  if (contraction &&
      (failed(verifyDim(*this, "number of rows of rhs", rhs.getDimSize(0), lhs.getDimSize(0), "rows of lhs")) ||
       failed(verifyDim(*this, "dimension 1 of result", result.getDimSize(1), lhs.getDimSize(1), "columns of lhs")) ||
       failed(verifyDim(*this, "dimension 2 of result", result.getDimSize(2), rhs.getDimSize(1), "columns of rhs"))))
    return failure();
  if (mode == RaggedMode::Batch &&
      failed(verifyDim(*this, "dimension 0 of rhs", rhs.getDimSize(0), lhs.getDimSize(0), "batches of lhs")))
    return failure();
  // C4
  if (!needsPlan && getGroupOffset())
    return emitOpError() << "group_offset is given in mode batch, expected none";
  if (rows && failed(verifyGroups(*this, "rhs", rhs.getDimSize(0), plan)))
    return failure();
  if (contraction && failed(verifyGroups(*this, "result", result.getDimSize(0), plan)))
    return failure();
  // C7
  if (failed(verifyOnlyInMode(*this, "acc", static_cast<bool>(getAcc()), RaggedMode::Contraction)))
    return failure();
  if (getAcc() && (getAcc().getType() != result || !result.getElementType().isF32()))
    return emitOpError() << "type of acc is " << getAcc().getType() << " and of result " << result
                         << ", expected one type, of f32";
  // C1
  if (failed(verifyResultDims(*this)))
    return failure();
  // C5
  if (failed(verifyOnlyInMode(*this, "bias", static_cast<bool>(getBias()), RaggedMode::Rows)))
    return failure();
  if (getBias()) {
    auto bias = getBias().getType();
    if (failed(verifyDim(*this, "dimension 0 of bias", bias.getDimSize(0), rhs.getDimSize(0), "groups of rhs")) ||
        failed(
            verifyDim(*this, "dimension 1 of bias", bias.getDimSize(1), rhs.getDimSize(kn ? 2 : 1), "columns of rhs")))
      return failure();
  }
  // C6
  if (failed(verifyOnlyInMode(*this, "weights", static_cast<bool>(getWeights()), RaggedMode::Rows)))
    return failure();
  if (getWeights() && (failed(verifySlots(*this, plan)) || failed(verifyWeights(*this, getWeights().getType(), plan))))
    return failure();
  // C8, C9
  if (failed(verifyScales(*this,
                          contraction ? 0
                          : rows      ? 1
                                      : 2,
                          contraction ? 0 : rhsContraction, contraction ? result.getDimSize(0) : 0)))
    return failure();
  // C10
  return verifyElementType(*this, "result", result.getElementType(), lhs.getElementType(), "that of lhs", true);
}
