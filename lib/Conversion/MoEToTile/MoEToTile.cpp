//===- MoEToTile.cpp - convert-moe-to-tile --------------------------------===//

#include "Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "moe/Conversion/Passes.h"
#include "moe/Dialect/Prog/IR/Prog.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::moe {
#define GEN_PASS_DEF_CONVERTMOETOTILEPASS
#include "moe/Conversion/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;
using namespace mlir::moe;
using namespace mlir::moe::to_tile;

static bool isRagged(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa_and_nonnull<RaggedAttr>(tensor.getEncoding());
}

Type to_tile::getPlainType(Type type) { return isRagged(type) ? cast<RankedTensorType>(type).dropEncoding() : type; }

LogicalResult to_tile::checkStaticDim(Operation *op, StringRef name, Type type, int64_t dim) {
  if (!cast<ShapedType>(type).isDynamicDim(dim))
    return success();
  return op->emitOpError() << name << " has type " << type << ", whose dimension " << dim
                           << " is dynamic; a kernel needs it static";
}

LogicalResult to_tile::checkStatic(Operation *op, StringRef name, Type type, int64_t first) {
  for (int64_t dim = first, rank = cast<ShapedType>(type).getRank(); dim < rank; ++dim)
    if (failed(checkStaticDim(op, name, type, dim)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

OpFoldResult Lowering::getDim(Value tensor, int64_t dim) { return tensor::getMixedSize(b, b.getLoc(), tensor, dim); }

Value Lowering::getIndex(OpFoldResult value) {
  if (auto attr = dyn_cast<Attribute>(value))
    return arith::ConstantIndexOp::create(b, cast<IntegerAttr>(attr).getInt());
  return cast<Value>(value);
}

Value Lowering::createEmpty(RankedTensorType type, ArrayRef<OpFoldResult> sizes) {
  SmallVector<Value> dynamic;
  for (auto [dim, size] : llvm::zip(llvm::seq<int64_t>(type.getRank()), sizes))
    if (type.isDynamicDim(dim))
      dynamic.push_back(getIndex(size));
  return tensor::EmptyOp::create(b, type, dynamic);
}

void Lowering::replace(Operation *op, ValueRange values) {
  for (auto [result, value] : llvm::zip_equal(op->getResults(), values)) {
    Type type = getPlainType(result.getType());
    if (value.getType() != type)
      value = tensor::CastOp::create(b, type, value);
    result.replaceAllUsesWith(value);
  }
  lowered.push_back(op);
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// Ragged values reach their plan through the ops that name it; upstream ops between them keep it.
void Lowering::findPlans() {
  auto raggedValues = [](Operation *op) {
    SmallVector<Value> values =
        llvm::filter_to_vector(op->getOperands(), [](Value v) { return isRagged(v.getType()); });
    llvm::append_range(values,
                       llvm::make_filter_range(op->getResults(), [](Value v) { return isRagged(v.getType()); }));
    return values;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (Operation &op : function.getBody().front()) {
      SmallVector<Value> values = raggedValues(&op);
      if (values.empty())
        continue;
      if (auto exchange = dyn_cast<AllToAllOp>(op)) { // from one plan to another
        changed |= planOf.try_emplace(exchange.getX(), exchange.getFrom()).second;
        changed |= planOf.try_emplace(exchange.getResult(), exchange.getTo()).second;
        continue;
      }
      Value plan;
      for (Value operand : op.getOperands())
        if (!plan && isa<PlanType>(operand.getType())) // a gather names a second one, through which it reads
          plan = operand;
      for (Value value : values)
        if (!plan)
          plan = planOf.lookup(value);
      if (!plan)
        continue;
      for (Value value : values)
        changed |= planOf.try_emplace(value, plan).second;
    }
  }
}

FailureOr<Value> Lowering::getBounds(Operation *op) {
  auto type = op->getResult(0).getType();
  if (!isRagged(type) || cast<RankedTensorType>(type).getDimSize(0) == 0)
    return Value(); // without rows there are no groups to tell apart
  auto plan = planOf.find(op->getResult(0));
  if (plan == planOf.end())
    return op->emitOpError("result is ragged, but no op of this function ties it to a plan");
  auto tensors = plans.find(plan->second);
  if (tensors == plans.end()) {
    InFlightDiagnostic diagnostic = op->emitOpError("result is ragged, but its plan is made after it");
    diagnostic.attachNote(plan->second.getLoc()) << "the plan is made here";
    return diagnostic;
  }
  return tensors->second.bounds;
}

//===----------------------------------------------------------------------===//
// Bodies of tile.rows
//===----------------------------------------------------------------------===//

SmallVector<Value> Lowering::createRows(ValueRange ins, Value bounds, ArrayRef<RankedTensorType> types,
                                        OpFoldResult rows, llvm::function_ref<void(RowBody &)> body) {
  SmallVector<Value> outs;
  for (RankedTensorType type : types)
    outs.push_back(createEmpty(type, rows));
  if (llvm::all_of(types, [](RankedTensorType type) { return type.getRank() == 2 && type.getDimSize(1) == 0; }))
    return outs;
  auto op = tile::RowsOp::create(b, ValueRange(outs).getTypes(), ins, bounds, /*order=*/Value(), outs);
  SmallVector<Type> arguments(bounds ? 2 : 1, b.getIndexType());
  llvm::append_range(arguments, ins.getTypes());
  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&op.getBody(), {}, arguments, SmallVector<Location>(arguments.size(), b.getLoc()));
  RowBody rowBody(b, op);
  body(rowBody);
  return llvm::to_vector_of<Value>(op.getResults());
}

RowBody::RowBody(ImplicitLocOpBuilder &b, tile::RowsOp op)
    : b(b), row(op.getBody().getArgument(0)), group(op.getBounds() ? op.getBody().getArgument(1) : Value()),
      ins(op.getBody().getArguments().drop_front(op.getBounds() ? 2 : 1)) {}

Value RowBody::load(unsigned i, ValueRange indices) {
  auto type = cast<ShapedType>(ins[i].getType());
  Type result = type.getElementType();
  if (static_cast<int64_t>(indices.size()) < type.getRank())
    result = VectorType::get(type.getShape().take_back(1), result);
  return tile::LoadOp::create(b, result, ins[i], indices);
}

/// The type with another element type.
static Type withElement(Type type, Type element) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.cloneWith(std::nullopt, element) : element;
}

Value RowBody::toF32(Value value) {
  if (getElementTypeOrSelf(value.getType()).isF32())
    return value;
  return arith::ExtFOp::create(b, withElement(value.getType(), b.getF32Type()), value);
}

Value RowBody::fromF32(Value value, Type element) {
  if (element.isF32())
    return value;
  return arith::TruncFOp::create(b, withElement(value.getType(), element), value);
}

Value RowBody::constant(Type type, double number) {
  TypedAttr attr = b.getF32FloatAttr(static_cast<float>(number));
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, attr);
  return arith::ConstantOp::create(b, attr);
}

Value RowBody::splat(Value scalar, int64_t width) {
  return vector::BroadcastOp::create(b, VectorType::get(width, scalar.getType()), scalar);
}

Value RowBody::sigmoid(Value value) {
  Value one = constant(value.getType(), 1.0);
  Value exp = math::ExpOp::create(b, arith::NegFOp::create(b, value));
  return arith::DivFOp::create(b, one, arith::AddFOp::create(b, one, exp));
}

void RowBody::yield(ValueRange values) { tile::YieldOp::create(b, values); }

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Ops that stay: index arithmetic, shapes, constants, the terminator and what is lowered already.
static bool staysAsIs(Operation *op) {
  if (isa<tensor::DimOp, arith::ConstantOp, cf::AssertOp, func::ReturnOp>(op) ||
      isa_and_nonnull<tile::TileDialect, prog::ProgDialect>(op->getDialect()))
    return true;
  auto isScalar = [](Type type) { return type.isIntOrIndexOrFloat(); };
  return isa_and_nonnull<arith::ArithDialect>(op->getDialect()) && llvm::all_of(op->getOperandTypes(), isScalar) &&
         llvm::all_of(op->getResultTypes(), isScalar);
}

LogicalResult Lowering::lowerOp(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op); constant && isRagged(constant.getType())) {
    auto value = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!value)
      return op->emitOpError("ragged constant must be dense");
    auto plain = cast<RankedTensorType>(getPlainType(constant.getType()));
    replace(op, arith::ConstantOp::create(b, cast<TypedAttr>(value.reshape(plain)))->getResults());
    return success();
  }
  if (auto cast = dyn_cast<tensor::CastOp>(op)) {
    // Between encodings nothing is left to do; replace() casts between static and dynamic dimensions.
    replace(op, cast.getSource());
    return success();
  }
  if (auto empty = dyn_cast<tensor::EmptyOp>(op)) {
    auto type = mlir::cast<RankedTensorType>(getPlainType(empty.getType()));
    replace(op, tensor::EmptyOp::create(b, type, empty.getDynamicSizes())->getResults());
    return success();
  }
  if (staysAsIs(op))
    return success();
  if (isElementwise(op))
    return lowerElementwise(op, *this);
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<LogitsOp, ScoresOp, SelectOp, NormalizeOp, PlanOp, PlanFromSizesOp, PlanGetOp, GatherOp, RaggedMatmulOp,
            GroupSumOp, GatedActivationOp, CombineOp, RouteOp, RouteIdsOp, DispatchOp, CollectOp, CombineRanksOp,
            AllToAllOp>([&](auto moeOp) { return lower(moeOp, *this); })
      .Default([](Operation *other) { return other->emitOpError("cannot be lowered to the tile dialect"); });
}

LogicalResult Lowering::run() {
  Region &body = function.getBody();
  FunctionType type = function.getFunctionType();
  if (llvm::any_of(llvm::concat<const Type>(type.getInputs(), type.getResults()), llvm::IsaPred<PlanType, RouteType>))
    return function.emitOpError("takes or returns a plan or route, which cannot cross a function boundary");
  if (!body.empty() && !body.hasOneBlock())
    return function.emitOpError() << "has " << llvm::range_size(body) << " blocks; only straight-line code is lowered";

  if (!body.empty())
    findPlans();
  auto plain = [](TypeRange types) { return llvm::map_to_vector(types, getPlainType); };
  function.setFunctionType(FunctionType::get(type.getContext(), plain(type.getInputs()), plain(type.getResults())));
  if (body.empty())
    return success();
  for (BlockArgument argument : body.getArguments())
    argument.setType(getPlainType(argument.getType()));

  SmallVector<Operation *> ops = llvm::map_to_vector(body.front(), [](Operation &op) { return &op; });
  for (Operation *op : ops) {
    b.setInsertionPoint(op);
    b.setLoc(op->getLoc());
    if (failed(lowerOp(op)))
      return failure();
  }
  for (Operation *op : llvm::reverse(lowered))
    op->erase();
  return success();
}

namespace {
struct ConvertMoEToTilePass : moe::impl::ConvertMoEToTilePassBase<ConvertMoEToTilePass> {
  void runOnOperation() override {
    auto result = getOperation()->walk([](func::FuncOp function) {
      return failed(Lowering(function).run()) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
