//===- RouterOps.cpp - logits, scores, select, normalize ------------------===//

#include "Shapes.h"

using namespace mlir;
using namespace mlir::moe;
using namespace mlir::moe::detail;

LogicalResult LogitsOp::verify() {
  auto x = getX().getType(), router = getRouter().getType();
  bool kn = getLayout() == WeightLayout::KN;
  // C1
  if (x.getElementType() != router.getElementType())
    return emitOpError() << "element type of router is " << router.getElementType() << ", expected "
                         << x.getElementType() << " (that of x)";
  if (failed(verifyDim(*this, kn ? "dimension 0 of router" : "dimension 1 of router", router.getDimSize(kn ? 0 : 1),
                       x.getDimSize(1), "columns of x")))
    return failure();
  // C2
  if (failed(verifyResultDims(*this)))
    return failure();
  // C3
  if (!getBias())
    return success();
  return verifyDim(*this, "length of bias", getBias().getType().getDimSize(0), router.getDimSize(kn ? 1 : 0),
                   "experts of router");
}

/// `name` is `value`, and must be in [1, maximum], where the maximum is `why`.
static LogicalResult verifyCount(Operation *op, StringRef name, int64_t value, int64_t maximum, StringRef why) {
  if (value >= 1 && value <= maximum)
    return success();
  return op->emitOpError() << name << " is " << value << ", expected 1 to " << maximum << " (" << why << ")";
}

LogicalResult SelectOp::verify() {
  int64_t experts = getScores().getType().getDimSize(1);
  // C1
  if (ShapedType::isDynamic(experts))
    return emitOpError() << "dimension 1 of scores is dynamic, expected a static number of experts";
  if (failed(verifyCount(*this, "k", getK(), experts, "experts in scores")))
    return failure();
  // C2
  int64_t groups = getGroups(), keep = getKeepGroups();
  if (failed(verifyCount(*this, "groups", groups, experts, "experts in scores")))
    return failure();
  if (experts % groups != 0)
    return emitOpError() << "groups is " << groups << ", expected a divisor of " << experts << " (experts in scores)";
  // C3
  int64_t groupSize = experts / groups;
  if (failed(verifyCount(*this, "keep_groups", keep, groups, "groups")))
    return failure();
  if (keep * groupSize < static_cast<int64_t>(getK()))
    return emitOpError() << "k is " << getK() << ", expected at most " << keep * groupSize << " (experts in " << keep
                         << " kept groups of " << groupSize << ")";
  // C4
  if (failed(verifyCount(*this, "group_top", getGroupTop(), groupSize, "experts in a group")))
    return failure();
  // C5
  if (getBias() &&
      failed(verifyDim(*this, "length of bias", getBias().getType().getDimSize(0), experts, "experts in scores")))
    return failure();
  // C6
  return verifyResultDims(*this);
}
