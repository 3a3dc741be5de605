//===- RaiseParts.cpp - parts of idioms -----------------------------------===//

#include "Raise.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::moe;

std::optional<double> stablehlo::getSplat(Value value) {
  DenseFPElementsAttr constant;
  if (!matchPattern(value, m_Constant(&constant)) || !constant.isSplat())
    return std::nullopt;
  return constant.getSplatValue<APFloat>().convertToDouble();
}

Value stablehlo::getBroadcastSource(Value value, ArrayRef<int64_t> dims) {
  if (Operation *op = getProducer(value, "stablehlo.broadcast_in_dim")) {
    std::optional<SmallVector<int64_t>> found = getNumbers(op, "broadcast_dimensions");
    return found && ArrayRef(*found) == dims ? op->getOperand(0) : Value();
  }
  // One that repeats nothing is a reshape.
  Operation *op = getProducer(value, "stablehlo.reshape");
  if (!op)
    return {};
  ArrayRef<int64_t> from = getTensor(op->getOperand(0)).getShape(), to = getTensor(value).getShape();
  int64_t rank = to.size();
  if (from.size() != dims.size() || llvm::any_of(dims, [&](int64_t dim) { return dim >= rank; }))
    return {};
  SmallVector<int64_t> shape(rank, 1);
  for (auto [size, dim] : llvm::zip_equal(from, dims))
    shape[dim] = size;
  return to == ArrayRef(shape) ? op->getOperand(0) : Value();
}

Value stablehlo::skipReshape(Value value) {
  Operation *reshape = getProducer(value, "stablehlo.reshape");
  return reshape ? reshape->getOperand(0) : value;
}

Value stablehlo::skipExtension(Value value) {
  auto extension = value.getDefiningOp<arith::ExtSIOp>();
  return extension ? extension.getIn() : value;
}

Value stablehlo::getReduced(Value value, StringRef combiner, int64_t dim) {
  Operation *op = getProducer(value, "stablehlo.reduce");
  if (!op || op->getNumResults() != 1 || getBinaryRegion(op) != combiner)
    return {};
  std::optional<SmallVector<int64_t>> dims = getNumbers(op, "dimensions");
  if (!dims || ArrayRef(*dims) != ArrayRef(dim))
    return {};
  Value init = op->getOperand(1);
  bool neutral = combiner == "stablehlo.add" ? matchPattern(init, m_AnyZeroFloat()) || matchPattern(init, m_Zero())
                 : combiner == "stablehlo.maximum" ? matchPattern(init, m_NegInfFloat())
                                                   : false;
  return neutral ? op->getOperand(0) : Value();
}

//===----------------------------------------------------------------------===//
// Plans and rows
//===----------------------------------------------------------------------===//

PlanOp stablehlo::getFullPlan(Value plan) {
  auto op = plan.getDefiningOp<PlanOp>();
  if (!op || op.getCapacity())
    return {};
  PlanType type = op.getPlan().getType();
  std::optional<IntegerRange> ids = getRange(op.getIds());
  bool full = type.getAlign() == 1 && !ShapedType::isDynamic(type.getRows()) && ids && ids->min >= 0 &&
              ids->max < type.getGroups();
  return full ? op : PlanOp();
}

PlanOp stablehlo::getPlanOf(Value indices, PlanField field) {
  auto get = skipExtension(skipReshape(skipExtension(indices))).getDefiningOp<PlanGetOp>();
  return get && get.getField() == field ? getFullPlan(get.getPlan()) : PlanOp();
}

std::optional<stablehlo::Taken> stablehlo::getTaken(Value value) {
  Operation *op = getProducer(value, "stablehlo.gather");
  if (!op)
    return std::nullopt;
  std::optional<Dimensions> dims = getDimensions(op, "dimension_numbers");
  std::optional<SmallVector<int64_t>> sizes = getNumbers(op, "slice_sizes");
  RankedTensorType from = getTensor(op->getOperand(0)), indices = getTensor(op->getOperand(1));
  if (!dims || !sizes || !from || !indices || from.getRank() < 1 || from.getRank() > 2 || indices.getRank() != 2 ||
      indices.getDimSize(1) != 1)
    return std::nullopt;
  Dimensions expected{{"collapsed_slice_dims", {0}}, {"start_index_map", {0}}, {"index_vector_dim", {1}}};
  SmallVector<int64_t> expectedSizes{1}, shape{indices.getDimSize(0)};
  if (from.getRank() == 2) {
    expected["offset_dims"] = {1};
    expectedSizes.push_back(from.getDimSize(1));
    shape.push_back(from.getDimSize(1));
  }
  if (*dims != expected || *sizes != expectedSizes || getTensor(value).getShape() != ArrayRef(shape))
    return std::nullopt;
  return Taken{op->getOperand(0), op->getOperand(1)};
}

Value stablehlo::createField(PatternRewriter &rewriter, Location loc, Value plan, PlanField field,
                             RankedTensorType type) {
  auto planType = cast<PlanType>(plan.getType());
  SmallVector<int64_t> shape{planType.getRows()};
  if (field == PlanField::Inverse)
    shape = {planType.getTokens(), planType.getTopk()};
  else if (field == PlanField::Sizes)
    shape = {planType.getGroups()};
  Value value = PlanGetOp::create(rewriter, loc, RankedTensorType::get(shape, rewriter.getI32Type()), plan, field);
  if (!type.getElementType().isInteger(32))
    value = arith::ExtSIOp::create(rewriter, loc, RankedTensorType::get(shape, type.getElementType()), value);
  return createReshape(rewriter, loc, value, type.getShape());
}

Value stablehlo::createTake(PatternRewriter &rewriter, Location loc, Value from, Value index) {
  RankedTensorType type = getTensor(from);
  int64_t number = getTensor(index).getNumElements();
  bool rows = type.getRank() == 2;
  SmallVector<int64_t> shape{number}, slice{1};
  if (rows) {
    shape.push_back(type.getDimSize(1));
    slice.push_back(type.getDimSize(1));
  }
  StringRef text =
      rows ? "gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>"
           : "gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>";
  Attribute dims = OpaqueAttr::get(rewriter.getStringAttr("stablehlo"), text, rewriter.getNoneType());
  return create(rewriter, loc, "stablehlo.gather", RankedTensorType::get(shape, type.getElementType()),
                {from, createReshape(rewriter, loc, index, {number, 1})},
                {rewriter.getNamedAttr("dimension_numbers", dims),
                 rewriter.getNamedAttr("indices_are_sorted", rewriter.getBoolAttr(false)),
                 rewriter.getNamedAttr("slice_sizes", rewriter.getDenseI64ArrayAttr(slice))})
      ->getResult(0);
}

RaggedAttr stablehlo::getRagged(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? dyn_cast_or_null<RaggedAttr>(type.getEncoding()) : RaggedAttr();
}

Value stablehlo::findPlan(Value ragged) {
  Operation *op = ragged.getDefiningOp();
  if (!op || !getRagged(ragged))
    return {};
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<GatherOp, RaggedMatmulOp>([](auto typed) { return typed.getPlan(); })
      .Case<GatedActivationOp>([](GatedActivationOp gated) { return findPlan(gated.getX()); })
      .Case<tensor::CastOp>([](tensor::CastOp cast) { return findPlan(cast.getSource()); })
      .Default([](Operation *other) -> Value {
        for (Value operand : other->getOperands())
          if (Value plan = findPlan(operand))
            return plan;
        return {};
      });
}

Value stablehlo::castToRagged(PatternRewriter &rewriter, Location loc, Value value, Value plan) {
  if (auto cast = value.getDefiningOp<tensor::CastOp>())
    if (Value source = cast.getSource(); getRagged(source) && findPlan(source) == plan)
      return source;
  RankedTensorType type = getTensor(value);
  // Nothing is known of rows outside the groups; no op reads them.
  auto encoding = RaggedAttr::get(rewriter.getContext(), cast<PlanType>(plan.getType()).getGroups(),
                                  TailState::Undefined, /*align=*/1);
  return tensor::CastOp::create(rewriter, loc, RankedTensorType::get(type.getShape(), type.getElementType(), encoding),
                                value);
}

Value stablehlo::castToPlain(PatternRewriter &rewriter, Location loc, Value value) {
  RankedTensorType type = getTensor(value);
  if (!type.getEncoding())
    return value;
  return tensor::CastOp::create(rewriter, loc, RankedTensorType::get(type.getShape(), type.getElementType()), value);
}
