//===- StablehloToMoE.cpp - convert-stablehlo-to-moe ----------------------===//

#include "Islands.h"
#include "RaggedDot.h"
#include "Stablehlo.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "moe/Conversion/Passes.h"
#include "moe/Dialect/MoE/IR/MoE.h"

namespace mlir::moe {
#define GEN_PASS_DEF_CONVERTSTABLEHLOTOMOEPASS
#include "moe/Conversion/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;
using namespace mlir::moe;
using mlir::moe::stablehlo::RaggedDot;

/// What a ragged dot becomes.
struct Product {
  RaggedMode mode;
  WeightLayout layout = WeightLayout::KN;
};

static bool is(ArrayRef<int64_t> list, ArrayRef<int64_t> expected) { return list == expected; }

template <typename Range> static std::string printList(const Range &list) {
  std::string text = "[";
  llvm::raw_string_ostream stream(text);
  llvm::interleaveComma(list, stream);
  return text + "]";
}

static std::string printType(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// Matches the dimension numbers with one of the products; `why` says which are unknown.
static FailureOr<Product> getProduct(const RaggedDot &dot, std::string &why) {
  bool noBatch = dot.lhsBatching.empty() && dot.rhsBatching.empty();
  if (noBatch && is(dot.lhsRagged, 0) && is(dot.rhsGroup, 0) && is(dot.lhsContracting, 1)) {
    if (is(dot.rhsContracting, 1))
      return Product{RaggedMode::Rows, WeightLayout::KN};
    if (is(dot.rhsContracting, 2))
      return Product{RaggedMode::Rows, WeightLayout::NK};
  }
  if (noBatch && is(dot.lhsRagged, 0) && dot.rhsGroup.empty() && is(dot.lhsContracting, 0) && is(dot.rhsContracting, 0))
    return Product{RaggedMode::Contraction};
  // Ragged batch: the sizes do not change the result.
  if (is(dot.lhsBatching, 0) && is(dot.rhsBatching, 0) && is(dot.lhsRagged, 0) && dot.rhsGroup.empty() &&
      is(dot.lhsContracting, 2)) {
    if (is(dot.rhsContracting, 1))
      return Product{RaggedMode::Batch, WeightLayout::KN};
    if (is(dot.rhsContracting, 2))
      return Product{RaggedMode::Batch, WeightLayout::NK};
  }
  why = "its dimension numbers are not among those taken: batching " + printList(dot.lhsBatching) + " x " +
        printList(dot.rhsBatching) + ", contracting " + printList(dot.lhsContracting) + " x " +
        printList(dot.rhsContracting) + ", ragged " + printList(dot.lhsRagged) + ", group " + printList(dot.rhsGroup);
  return failure();
}

/// Ranks, element types and shapes: `moe` takes fewer than StableHLO, and nobody has verified an unregistered op.
static LogicalResult checkTypes(Operation *op, Product product, std::string &why) {
  auto getTensor = [&](Value value) { return dyn_cast<RankedTensorType>(value.getType()); };
  if (op->getNumOperands() != 3 || op->getNumResults() != 1) {
    why = "it has " + std::to_string(op->getNumOperands()) + " operands and " + std::to_string(op->getNumResults()) +
          " results, expected lhs, rhs and group sizes, and one result; a group offset is not taken";
    return failure();
  }
  RankedTensorType lhs = getTensor(op->getOperand(0)), rhs = getTensor(op->getOperand(1)),
                   sizes = getTensor(op->getOperand(2)), result = getTensor(op->getResult(0));
  if (!lhs || !rhs || !sizes || !result) {
    why = "an operand or result is no ranked tensor";
    return failure();
  }
  Type element = lhs.getElementType();
  if (!element.isF32() && !element.isBF16() && !element.isF16()) {
    why = "lhs has element type " + printType(element) + ", expected f32, bf16 or f16";
    return failure();
  }
  if (rhs.getElementType() != element) {
    why = "lhs has element type " + printType(element) + " and rhs " + printType(rhs.getElementType()) +
          ", expected equal ones";
    return failure();
  }
  if (result.getElementType() != element && !result.getElementType().isF32()) {
    why = "the result has element type " + printType(result.getElementType()) + ", expected " + printType(element) +
          " or f32";
    return failure();
  }
  if (sizes.getRank() != 1 || !sizes.hasStaticShape()) {
    why = "group sizes have type " + printType(sizes) + ", expected rank 1 and a static length";
    return failure();
  }
  if (!sizes.getElementType().isInteger(32) && !sizes.getElementType().isInteger(64)) {
    why = "group sizes have element type " + printType(sizes.getElementType()) + ", expected i32 or i64";
    return failure();
  }

  int64_t lhsRank = product.mode == RaggedMode::Batch ? 3 : 2,
          rhsRank = product.mode == RaggedMode::Contraction ? 2 : 3;
  if (lhs.getRank() != lhsRank || rhs.getRank() != rhsRank) {
    why = "lhs and rhs have rank " + std::to_string(lhs.getRank()) + " and " + std::to_string(rhs.getRank()) +
          ", expected " + std::to_string(lhsRank) + " and " + std::to_string(rhsRank);
    return failure();
  }
  int64_t groups = sizes.getDimSize(0);
  bool nk = product.layout == WeightLayout::NK;
  bool fits = true;
  SmallVector<int64_t> shape;
  auto same = [&](int64_t a, int64_t b) { fits &= ShapedType::isDynamic(a) || ShapedType::isDynamic(b) || a == b; };
  switch (product.mode) {
  case RaggedMode::Rows:
    same(rhs.getDimSize(0), groups);
    same(lhs.getDimSize(1), rhs.getDimSize(nk ? 2 : 1));
    shape = {lhs.getDimSize(0), rhs.getDimSize(nk ? 1 : 2)};
    break;
  case RaggedMode::Contraction:
    same(lhs.getDimSize(0), rhs.getDimSize(0));
    shape = {groups, lhs.getDimSize(1), rhs.getDimSize(1)};
    break;
  case RaggedMode::Batch:
    same(lhs.getDimSize(0), rhs.getDimSize(0));
    same(lhs.getDimSize(2), rhs.getDimSize(nk ? 2 : 1));
    shape = {lhs.getDimSize(0), lhs.getDimSize(1), rhs.getDimSize(nk ? 1 : 2)};
    break;
  }
  if (!fits || result.getShape() != ArrayRef(shape)) {
    why = "shapes do not fit: lhs " + printType(lhs) + ", rhs " + printType(rhs) + ", " + std::to_string(groups) +
          " group sizes, result " + printType(result);
    return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// The plan of rows that lie group after group, as the group sizes say.
static Value createPlan(ImplicitLocOpBuilder &b, Value lhs, Value sizes) {
  int64_t groups = cast<RankedTensorType>(sizes.getType()).getDimSize(0);
  int64_t rows = cast<RankedTensorType>(lhs.getType()).getDimSize(0);
  auto type = PlanType::get(b.getContext(), groups, rows, /*tokens=*/ShapedType::kDynamic, /*topk=*/0, /*align=*/1);
  Value dynamicRows;
  if (ShapedType::isDynamic(rows))
    dynamicRows = tensor::DimOp::create(b, lhs, 0);
  return PlanFromSizesOp::create(b, type, sizes, dynamicRows);
}

static RankedTensorType getRagged(Value value, int64_t groups, TailState tail) {
  auto type = cast<RankedTensorType>(value.getType());
  return RankedTensorType::get(type.getShape(), type.getElementType(),
                               RaggedAttr::get(type.getContext(), groups, tail, /*align=*/1));
}

static void rewrite(Operation *op, const RaggedDot &dot, Product product) {
  ImplicitLocOpBuilder b(op->getLoc(), op);
  Value lhs = op->getOperand(0), rhs = op->getOperand(1), sizes = op->getOperand(2), result = op->getResult(0);
  int64_t groups = cast<RankedTensorType>(sizes.getType()).getDimSize(0);
  // Nothing is known of the rows past the last group; the product does not read them.
  auto takeRagged = [&](Value value) -> Value {
    return tensor::CastOp::create(b, getRagged(value, groups, TailState::Undefined), value);
  };
  Value plan;
  Type type = result.getType();
  if (product.mode != RaggedMode::Batch) {
    plan = createPlan(b, lhs, sizes);
    lhs = takeRagged(lhs);
  }
  if (product.mode == RaggedMode::Rows)
    type = getRagged(result, groups, TailState::Zero);
  if (product.mode == RaggedMode::Contraction)
    rhs = takeRagged(rhs);
  // DEFAULT allows TF32, which is a matter of f32 operands only.
  bool tf32 = dot.hasDefaultPrecision() && getElementTypeOrSelf(lhs).isF32();
  Value value = RaggedMatmulOp::create(
      b, type, lhs, rhs, plan, /*bias=*/Value(), /*weights=*/Value(), /*acc=*/Value(), /*lhs_scale=*/Value(),
      /*rhs_scale=*/Value(), product.mode, product.layout, /*group_offset=*/IntegerAttr(),
      /*scale_block=*/IntegerAttr(), tf32 ? Precision::TF32 : Precision::Exact, NanPolicy::Last);
  if (type != result.getType())
    value = tensor::CastOp::create(b, result.getType(), value);
  result.replaceAllUsesWith(value);
  op->erase();
}

static void eraseUnused(ModuleOp module, ArrayRef<StringAttr> decompositions) {
  llvm::StringSet<> used = stablehlo::findSymbolNames(module);
  for (StringAttr name : decompositions) {
    auto function = module.lookupSymbol<func::FuncOp>(name);
    if (function && function.isPrivate() && !used.contains(name.getValue()))
      function.erase();
  }
}

void stablehlo::importRaggedDots(ModuleOp module) {
  SmallVector<Operation *> dots;
  module->walk([&](Operation *op) {
    if (isRaggedDot(op))
      dots.push_back(op);
  });
  SmallVector<StringAttr> decompositions;
  for (Operation *op : dots) {
    std::string why;
    FailureOr<RaggedDot> dot = readRaggedDot(op, why);
    FailureOr<Product> product = failed(dot) ? FailureOr<Product>(failure()) : getProduct(*dot, why);
    if (failed(product) || failed(checkTypes(op, *product, why))) {
      op->emitRemark() << "ragged dot is left as it is: " << why;
      continue;
    }
    if (auto decomposition = op->getAttrOfType<FlatSymbolRefAttr>("decomposition"))
      decompositions.push_back(decomposition.getAttr());
    rewrite(op, *dot, *product);
  }
  eraseUnused(module, decompositions);
}

namespace {
struct ConvertStablehloToMoEPass : moe::impl::ConvertStablehloToMoEPassBase<ConvertStablehloToMoEPass> {
  void runOnOperation() override { stablehlo::importRaggedDots(getOperation()); }
};
} // namespace
