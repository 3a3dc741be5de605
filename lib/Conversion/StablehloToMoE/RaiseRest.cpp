//===- RaiseRest.cpp - moe-raise-rest -------------------------------------===//
//
// What is left when the idioms are raised, and works row by row: each op becomes a tile.rows, which tile-fuse joins
// with its neighbours. It is what stands between the products of a backward pass.
//
//===----------------------------------------------------------------------===//

#include "Islands.h"
#include "Normalize.h"
#include "RaggedDot.h"
#include "Raise.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "moe/Conversion/Passes.h"
#include "moe/Dialect/Tile/IR/Tile.h"

namespace mlir::moe {
#define GEN_PASS_DEF_MOERAISERESTPASS
#include "moe/Conversion/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;
using namespace mlir::moe;
using namespace mlir::moe::stablehlo;

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

namespace {
/// Builds the body of a tile.rows.
struct Body {
  ImplicitLocOpBuilder &b;
  Value row; ///< index
  ValueRange ins;

  Value constant(int64_t number) { return arith::ConstantIndexOp::create(b, number); }
  Value load(unsigned i, ValueRange indices) {
    auto type = cast<RankedTensorType>(ins[i].getType());
    Type result = type.getElementType();
    if (static_cast<int64_t>(indices.size()) < type.getRank())
      result = VectorType::get(type.getShape().back(), result);
    return tile::LoadOp::create(b, result, ins[i], indices);
  }
  /// An element of a vector, or of a matrix in the order of its rows.
  Value loadFlat(unsigned i, Value number) {
    auto type = cast<RankedTensorType>(ins[i].getType());
    if (type.getRank() == 1)
      return load(i, number);
    Value width = constant(type.getDimSize(1));
    Value quotient = arith::DivUIOp::create(b, number, width), rest = arith::RemUIOp::create(b, number, width);
    return load(i, {quotient, rest});
  }
  Value toIndex(Value number) { return arith::IndexCastOp::create(b, b.getIndexType(), number); }
  Value splat(Value scalar, int64_t width) {
    return vector::BroadcastOp::create(b, VectorType::get(width, scalar.getType()), scalar);
  }
  Value zeros(VectorType type) { return arith::ConstantOp::create(b, b.getZeroAttr(type)); }
  Value insert(Value part, Value into, int64_t offset) {
    return vector::InsertStridedSliceOp::create(b, part, into, ArrayRef<int64_t>(offset), ArrayRef<int64_t>(1));
  }
  Value widen(Value value) {
    Type type = value.getType();
    if (getElementTypeOrSelf(type).isF32())
      return value;
    auto vector = dyn_cast<VectorType>(type);
    return arith::ExtFOp::create(b, vector ? Type(vector.clone(b.getF32Type())) : b.getF32Type(), value);
  }
  Value narrow(Value value, Type element) {
    if (element.isF32())
      return value;
    auto vector = dyn_cast<VectorType>(value.getType());
    return arith::TruncFOp::create(b, vector ? Type(vector.clone(element)) : element, value);
  }
};
} // namespace

/// Element types and shapes that the bodies here are made for.
static bool isRowsType(RankedTensorType type) {
  return type && type.hasStaticShape() && !type.getEncoding() && type.getNumElements() > 0 &&
         (type.getRank() == 1 || type.getRank() == 2) &&
         (isMoEFloat(type.getElementType()) || type.getElementType().isInteger(32));
}

/// Replaces an op by a tile.rows, whose body gives a row of its result.
static LogicalResult replaceByRows(Operation *op, PatternRewriter &rewriter, ValueRange ins,
                                   llvm::function_ref<Value(Body &)> body) {
  RankedTensorType type = getTensor(op->getResult(0));
  auto isReadable = [](Value value) {
    RankedTensorType from = getTensor(value);
    return from && from.hasStaticShape() && !from.getEncoding() && from.getRank() >= 1;
  };
  if (!isRowsType(type) || !llvm::all_of(ins, isReadable))
    return failure();
  ImplicitLocOpBuilder b(op->getLoc(), rewriter);
  Value out = tensor::EmptyOp::create(b, type, ValueRange());
  auto rows = tile::RowsOp::create(b, TypeRange(type), ins, /*bounds=*/Value(), /*order=*/Value(), out);
  SmallVector<Type> arguments{b.getIndexType()};
  llvm::append_range(arguments, ins.getTypes());
  Block *block = b.createBlock(&rows.getBody(), {}, arguments, SmallVector<Location>(arguments.size(), op->getLoc()));
  Body made{b, block->getArgument(0), block->getArguments().drop_front()};
  tile::YieldOp::create(b, body(made));
  rewriter.replaceOp(op, rows.getResults());
  return success();
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// What is the same along a row, or along a column.
static LogicalResult raiseBroadcast(Operation *op, PatternRewriter &rewriter) {
  RankedTensorType from = getTensor(op->getOperand(0)), to = getTensor(op->getResult(0));
  std::optional<SmallVector<int64_t>> dims = getNumbers(op, "broadcast_dimensions");
  if (!dims || to.getRank() != 2 || !isRowsType(from))
    return failure();
  int64_t width = to.getDimSize(1);
  bool alongColumns = *dims == SmallVector<int64_t>{1} && from.getDimSize(0) == width;
  bool ofVector = *dims == SmallVector<int64_t>{0} && from.getDimSize(0) == to.getDimSize(0);
  bool ofColumn =
      *dims == SmallVector<int64_t>{0, 1} && from.getDimSize(0) == to.getDimSize(0) && from.getDimSize(1) == 1;
  if (!alongColumns && !ofVector && !ofColumn)
    return failure();
  return replaceByRows(op, rewriter, op->getOperand(0), [&](Body &body) {
    return alongColumns ? body.load(0, {}) : body.splat(body.loadFlat(0, body.row), width);
  });
}

static LogicalResult raiseSlice(Operation *op, PatternRewriter &rewriter) {
  RankedTensorType from = getTensor(op->getOperand(0)), to = getTensor(op->getResult(0));
  auto start = getNumbers(op, "start_indices"), stride = getNumbers(op, "strides");
  if (to.getRank() != 2 || !isRowsType(from) || to.getDimSize(0) != from.getDimSize(0) || (*stride)[1] != 1)
    return failure();
  return replaceByRows(op, rewriter, op->getOperand(0), [&](Body &body) -> Value {
    return vector::ExtractStridedSliceOp::create(body.b, body.load(0, body.row), ArrayRef<int64_t>((*start)[1]),
                                                 ArrayRef<int64_t>(to.getDimSize(1)), ArrayRef<int64_t>(1));
  });
}

/// Side by side.
static LogicalResult raiseConcatenate(Operation *op, PatternRewriter &rewriter) {
  RankedTensorType type = op->getNumResults() == 1 ? getTensor(op->getResult(0)) : RankedTensorType();
  if (getNumber(op, "dimension") != 1 || !type || type.getRank() != 2)
    return failure();
  int64_t width = 0;
  for (Value operand : op->getOperands()) {
    RankedTensorType part = getTensor(operand);
    if (!isRowsType(part) || part.getRank() != 2 || part.getElementType() != type.getElementType() ||
        part.getDimSize(0) != type.getDimSize(0))
      return failure();
    width += part.getDimSize(1);
  }
  if (width != type.getDimSize(1))
    return failure();
  return replaceByRows(op, rewriter, op->getOperands(), [&](Body &body) {
    Value result = body.zeros(VectorType::get(width, type.getElementType()));
    int64_t offset = 0;
    for (unsigned i = 0; i < body.ins.size(); ++i) {
      result = body.insert(body.load(i, body.row), result, offset);
      offset += cast<RankedTensorType>(body.ins[i].getType()).getDimSize(1);
    }
    return result;
  });
}

/// A matrix as a vector, and a vector as one of few columns.
static LogicalResult raiseReshape(Operation *op, PatternRewriter &rewriter) {
  constexpr int64_t kMaxColumns = 64;
  RankedTensorType from = getTensor(op->getOperand(0)), to = getTensor(op->getResult(0));
  if (!isRowsType(from) || !isRowsType(to) || (to.getRank() == 2 && to.getDimSize(1) > kMaxColumns))
    return failure();
  return replaceByRows(op, rewriter, op->getOperand(0), [&](Body &body) {
    if (to.getRank() == 1)
      return body.loadFlat(0, body.row);
    int64_t width = to.getDimSize(1);
    Value result = body.zeros(VectorType::get(width, to.getElementType()));
    Value first = arith::MulIOp::create(body.b, body.row, body.constant(width));
    for (int64_t column = 0; column < width; ++column) {
      Value number = arith::AddIOp::create(body.b, first, body.constant(column));
      result = body.insert(body.splat(body.loadFlat(0, number), 1), result, column);
    }
    return result;
  });
}

//===----------------------------------------------------------------------===//
// Sums, and elements by number
//===----------------------------------------------------------------------===//

static LogicalResult raiseReduce(Operation *op, PatternRewriter &rewriter) {
  if (op->getNumResults() != 1)
    return failure();
  Value result = op->getResult(0), sum = getReduced(result, "stablehlo.add", 1);
  Value reduced = sum ? sum : getReduced(result, "stablehlo.maximum", 1);
  if (!reduced || !isRowsType(getTensor(reduced)) || !isMoEFloat(getElementTypeOrSelf(reduced)))
    return failure();
  return replaceByRows(op, rewriter, reduced, [&](Body &body) {
    if (getTensor(reduced).getDimSize(1) == 1)
      return body.loadFlat(0, body.row);
    auto kind = sum ? vector::CombiningKind::ADD : vector::CombiningKind::MAXIMUMF;
    Value row = body.widen(body.load(0, body.row));
    return body.narrow(vector::ReductionOp::create(body.b, kind, row), getElementTypeOrSelf(result));
  });
}

/// v[index], for numbers that are known to be in range.
static LogicalResult raiseTake(Operation *op, PatternRewriter &rewriter) {
  std::optional<Taken> taken = getTaken(op->getResult(0));
  if (!taken || getTensor(taken->from).getRank() != 1)
    return failure();
  Value index = skipReshape(taken->index);
  std::optional<IntegerRange> range = getRange(index);
  if (!range || range->min < 0 || range->max >= getTensor(taken->from).getDimSize(0) || getTensor(index).getRank() > 2)
    return failure();
  return replaceByRows(op, rewriter, {taken->from, index},
                       [](Body &body) { return body.load(0, body.toIndex(body.loadFlat(1, body.row))); });
}

/// zeros.at[permutation].add(v): each slot gets the element of its row.
static LogicalResult raisePermutedScatter(Operation *op, PatternRewriter &rewriter) {
  PlanOp plan = getPlanOf(op->getOperand(1), PlanField::Permutation);
  RankedTensorType type = getTensor(op->getResult(0)), updates = getTensor(op->getOperand(2));
  if (!plan || type.getRank() != 1 || updates.getShape() != type.getShape() ||
      type.getDimSize(0) != plan.getPlan().getType().getRows())
    return failure();
  PlanType planType = plan.getPlan().getType();
  Value inverse = PlanGetOp::create(
      rewriter, op->getLoc(), RankedTensorType::get({planType.getTokens(), planType.getTopk()}, rewriter.getI32Type()),
      plan.getPlan(), PlanField::Inverse);
  return replaceByRows(op, rewriter, {op->getOperand(2), inverse},
                       [](Body &body) { return body.load(0, body.toIndex(body.loadFlat(1, body.row))); });
}

/// Each row's values, added at its columns.
static LogicalResult raiseColumnScatter(Operation *op, PatternRewriter &rewriter) {
  Value ids = skipReshape(op->getOperand(1)), updates = op->getOperand(2);
  RankedTensorType type = getTensor(op->getResult(0)), values = getTensor(updates), columns = getTensor(ids);
  if (type.getRank() != 2 || values.getRank() != 2 || columns.getShape() != values.getShape() ||
      values.getDimSize(0) != type.getDimSize(0) || !columns.getElementType().isInteger(32) ||
      getTensor(op->getOperand(1)).getRank() != 3)
    return failure();
  int64_t width = type.getDimSize(1);
  return replaceByRows(op, rewriter, {updates, ids}, [&](Body &body) {
    ImplicitLocOpBuilder &b = body.b;
    Value zero = body.zeros(VectorType::get(width, b.getF32Type())), sum = zero;
    Value numbers = vector::StepOp::create(b, VectorType::get(width, b.getIndexType()));
    for (int64_t slot = 0; slot < values.getDimSize(1); ++slot) {
      Value at = body.constant(slot);
      Value id = body.splat(body.toIndex(body.load(1, {body.row, at})), width);
      Value value = body.splat(body.widen(body.load(0, {body.row, at})), width);
      Value hit = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, numbers, id);
      Value added = arith::SelectOp::create(b, hit, value, zero);
      sum = arith::AddFOp::create(b, sum, added);
    }
    return body.narrow(sum, type.getElementType());
  });
}

static LogicalResult raiseScatter(Operation *op, PatternRewriter &rewriter) {
  std::optional<Dimensions> dims = getDimensions(op, "scatter_dimension_numbers");
  if (!dims || getBinaryRegion(op) != "stablehlo.add" || !matchPattern(op->getOperand(0), m_AnyZeroFloat()) ||
      !isMoEFloat(getElementTypeOrSelf(op->getResult(0))))
    return failure();
  Dimensions ofVector{{"inserted_window_dims", {0}}, {"scatter_dims_to_operand_dims", {0}}, {"index_vector_dim", {1}}};
  Dimensions ofRows{{"inserted_window_dims", {1}},
                    {"input_batching_dims", {0}},
                    {"scatter_indices_batching_dims", {0}},
                    {"scatter_dims_to_operand_dims", {1}},
                    {"index_vector_dim", {2}}};
  if (*dims == ofVector)
    return raisePermutedScatter(op, rewriter);
  return *dims == ofRows ? raiseColumnScatter(op, rewriter) : failure();
}

//===----------------------------------------------------------------------===//
// Products of the router
//===----------------------------------------------------------------------===//

/// Whether so many are the experts of a plan of the block: other products are no work of ours.
static bool isNumExperts(Operation *op, int64_t number) {
  return llvm::any_of(op->getBlock()->getOps<PlanOp>(),
                      [&](PlanOp plan) { return plan.getPlan().getType().getGroups() == number; });
}

/// lhs^T rhs over all tokens, as a ragged product with one group. `op` is the product, or its transpose.
static LogicalResult replaceByContraction(Operation *op, PatternRewriter &rewriter, Operation *dot, Value lhs,
                                          Value rhs) {
  RankedTensorType type = getTensor(op->getResult(0)), left = getTensor(lhs), right = getTensor(rhs);
  std::optional<bool> exact = isExact(dot->getAttr("precision_config"));
  bool fits = exact && isRowsType(left) && isRowsType(right) && left.getRank() == 2 && right.getRank() == 2 &&
              left.getDimSize(0) == right.getDimSize(0) && isMoEFloat(left.getElementType()) &&
              left.getElementType() == right.getElementType() &&
              type.getShape() == ArrayRef({left.getDimSize(1), right.getDimSize(1)}) &&
              (type.getElementType() == left.getElementType() || type.getElementType().isF32()) &&
              (isNumExperts(op, left.getDimSize(1)) || isNumExperts(op, right.getDimSize(1)));
  for (NamedAttribute attr : getAllAttributes(dot))
    fits &= attr.getName() == "dot_dimension_numbers" || attr.getName() == "precision_config";
  if (!fits)
    return failure();
  Location loc = op->getLoc();
  auto sizesType = RankedTensorType::get(1, rewriter.getI32Type());
  Value sizes = arith::ConstantOp::create(
      rewriter, loc, DenseIntElementsAttr::get(sizesType, static_cast<int32_t>(left.getDimSize(0))));
  auto planType = PlanType::get(rewriter.getContext(), /*groups=*/1, left.getDimSize(0),
                                /*tokens=*/ShapedType::kDynamic, /*topk=*/0, /*align=*/1);
  Value plan = PlanFromSizesOp::create(rewriter, loc, planType, sizes, /*rows=*/Value());
  auto productType = RankedTensorType::get({1, type.getDimSize(0), type.getDimSize(1)}, type.getElementType());
  Value product = RaggedMatmulOp::create(
      rewriter, loc, productType, castToRagged(rewriter, loc, lhs, plan), castToRagged(rewriter, loc, rhs, plan), plan,
      /*bias=*/Value(), /*weights=*/Value(), /*acc=*/Value(), /*lhs_scale=*/Value(), /*rhs_scale=*/Value(),
      RaggedMode::Contraction, WeightLayout::KN, /*group_offset=*/IntegerAttr(), /*scale_block=*/IntegerAttr(),
      *exact || !left.getElementType().isF32() ? Precision::Exact : Precision::TF32, NanPolicy::Last);
  return replaceByRows(op, rewriter, product, [](Body &body) { return body.load(0, {body.constant(0), body.row}); });
}

static bool contractsRows(Operation *dot) {
  std::optional<Dimensions> dims = getDimensions(dot, "dot_dimension_numbers");
  return dims && *dims == Dimensions{{"lhs_contracting_dimensions", {0}}, {"rhs_contracting_dimensions", {0}}};
}

static LogicalResult raiseTranspose(Operation *op, PatternRewriter &rewriter) {
  Operation *dot = getProducer(op->getOperand(0), "stablehlo.dot_general");
  std::optional<SmallVector<int64_t>> order = getNumbers(op, "permutation");
  if (!dot || !contractsRows(dot) || order != SmallVector<int64_t>{1, 0})
    return failure();
  return replaceByContraction(op, rewriter, dot, dot->getOperand(1), dot->getOperand(0));
}

static LogicalResult raiseDot(Operation *op, PatternRewriter &rewriter) {
  if (contractsRows(op)) {
    if (llvm::any_of(op->getUsers(), [](Operation *user) { return isOp(user, "stablehlo.transpose"); }))
      return failure(); // which is the product of the two in the other order
    return replaceByContraction(op, rewriter, op, op->getOperand(0), op->getOperand(1));
  }
  RankedTensorType x = getTensor(op->getOperand(0));
  return x.getRank() == 2 && isNumExperts(op, x.getDimSize(1)) ? raiseLogits(op, rewriter) : failure();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

void stablehlo::raiseRest(ModuleOp module) {
  MLIRContext *context = module.getContext();
  RewritePatternSet slots(context), patterns(context), reshapes(context);
  populateSlotPatterns(slots);
  populateRowPatterns(slots); // which know what has moved
  populateShapePatterns(slots);
  patterns.add<NamedPattern>(context, "stablehlo.broadcast_in_dim", raiseBroadcast);
  patterns.add<NamedPattern>(context, "stablehlo.concatenate", raiseConcatenate);
  patterns.add<NamedPattern>(context, "stablehlo.dot_general", raiseDot);
  patterns.add<NamedPattern>(context, "stablehlo.gather", raiseTake);
  patterns.add<NamedPattern>(context, "stablehlo.reduce", raiseReduce);
  patterns.add<NamedPattern>(context, "stablehlo.scatter", raiseScatter);
  patterns.add<NamedPattern>(context, "stablehlo.slice", raiseSlice);
  patterns.add<NamedPattern>(context, "stablehlo.transpose", raiseTranspose);
  reshapes.add<NamedPattern>(context, "stablehlo.reshape", raiseReshape);
  FrozenRewritePatternSet moved(std::move(slots)), first(std::move(patterns)), then(std::move(reshapes));
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!hasStablehlo(function) || function.getBody().empty())
      continue;
    (void)applyPatternsGreedily(function, moved);
    // Others look through reshapes.
    (void)applyPatternsGreedily(function, first);
    (void)applyPatternsGreedily(function, then);
    for (Block &block : function.getBody())
      eraseDead(block);
  }
}

namespace {
struct MoERaiseRestPass : moe::impl::MoERaiseRestPassBase<MoERaiseRestPass> {
  void runOnOperation() override { raiseRest(getOperation()); }
};
} // namespace
