//===- Elementwise.cpp - elementwise ops of other dialects to tile.rows ---===//

#include "Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::moe;
using namespace mlir::moe::to_tile;

static bool isTensor(Type type) { return isa<TensorType>(type); }

/// arith and math ops that map over their operands' elements.
static bool isElementwiseScalarOp(Operation *op) {
  return isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect()) &&
         OpTrait::hasElementwiseMappableTraits(op) && op->getNumResults() == 1;
}

bool to_tile::isElementwise(Operation *op) {
  if (isa<linalg::LinalgOp>(op))
    return true;
  return isElementwiseScalarOp(op) && isTensor(op->getResult(0).getType());
}

static bool isNarrowFloat(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isBF16() || element.isF16();
}

/// The type of a row of `width` elements, or of a scalar for width 0.
static Type getRowType(Type element, int64_t width) { return width ? Type(VectorType::get(width, element)) : element; }

/// One op on rows or scalars instead of tensors or scalars: bf16 and f16 are computed in f32 and rounded once.
static Value applyToRow(RowBody &body, Operation *op, ValueRange operands, int64_t width) {
  ImplicitLocOpBuilder &b = body.b;
  Type element = getElementTypeOrSelf(op->getResult(0).getType());
  if (isa<arith::ExtFOp, arith::TruncFOp>(op))
    return body.fromF32(body.toF32(operands[0]), element);

  bool movesBits = isa<arith::SelectOp, arith::BitcastOp>(op);
  IRMapping mapping;
  for (auto [from, to] : llvm::zip_equal(op->getOperands(), operands))
    mapping.map(from, !movesBits && isNarrowFloat(to.getType()) ? body.toF32(to) : to);
  bool rounds = !movesBits && isNarrowFloat(element);
  Operation *clone = b.clone(*op, mapping);
  clone->setLoc(b.getLoc());
  Value result = clone->getResult(0);
  result.setType(getRowType(rounds ? Type(b.getF32Type()) : element, width));
  return rounds ? body.fromF32(result, element) : result;
}

/// A constant as a row or scalar; null if the value is no constant of one number.
static Value cloneConstant(RowBody &body, Value value, int64_t width) {
  Attribute attr;
  if (!matchPattern(value, m_Constant(&attr)))
    return {};
  if (auto dense = dyn_cast<DenseElementsAttr>(attr)) {
    if (!dense.isSplat())
      return {};
    attr = dense.getSplatValue<Attribute>();
  }
  auto scalar = dyn_cast<TypedAttr>(attr);
  if (!scalar || !scalar.getType().isIntOrFloat())
    return {};
  if (width)
    scalar = DenseElementsAttr::get(VectorType::get(width, scalar.getType()), Attribute(scalar));
  return arith::ConstantOp::create(body.b, scalar);
}

static bool isSplatConstant(Value value) {
  DenseElementsAttr dense;
  return matchPattern(value, m_Constant(&dense)) && dense.isSplat();
}

/// The result must be a matrix of static width or a vector; its rows are those of the kernel.
static LogicalResult checkResult(Operation *op) {
  if (op->getNumResults() != 1)
    return op->emitOpError() << "has " << op->getNumResults() << " results; only elementwise ops with one are lowered";
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || type.getRank() < 1 || type.getRank() > 2)
    return op->emitOpError() << "result has type " << op->getResult(0).getType()
                             << "; elementwise ops are lowered on tensors of rank 1 or 2";
  Type element = type.getElementType();
  if (!element.isF32() && !isNarrowFloat(element) && !element.isInteger(1) && !element.isInteger(8) &&
      !element.isInteger(32) && !element.isInteger(64))
    return op->emitOpError() << "result has element type " << element
                             << "; kernels work on f32, bf16, f16, i1, i8, i32 and i64";
  return checkStatic(op, "result", type, 1);
}

/// Width of the result's rows, 0 for a vector (a row is a scalar).
static int64_t getRowWidth(RankedTensorType type) { return type.getRank() == 2 ? type.getDimSize(1) : 0; }

//===----------------------------------------------------------------------===//
// arith and math
//===----------------------------------------------------------------------===//

static LogicalResult lowerScalarOp(Operation *op, Lowering &lowering) {
  auto type = cast<RankedTensorType>(getPlainType(op->getResult(0).getType()));
  int64_t width = getRowWidth(type);
  SmallVector<Value> ins;
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    if (isSplatConstant(operand))
      continue;
    if (isTensor(operand.getType())) {
      ins.push_back(operand);
    } else if (!matchPattern(operand, m_Constant())) {
      return op->emitOpError() << "operand " << number << " is a scalar of type " << operand.getType()
                               << "; only constant scalars are lowered";
    }
  }
  FailureOr<Value> bounds = lowering.getBounds(op);
  if (failed(bounds))
    return failure();
  Value shape = *llvm::find_if(op->getOperands(), [](Value operand) { return isTensor(operand.getType()); });
  lowering.replace(op, lowering.createRows(ins, *bounds, type, lowering.getDim(shape, 0), [&](RowBody &body) {
    unsigned next = 0;
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      if (isTensor(operand.getType()) && !isSplatConstant(operand))
        operands.push_back(body.load(next++, body.row));
      else
        operands.push_back(cloneConstant(body, operand, isTensor(operand.getType()) ? width : 0));
    }
    body.yield(applyToRow(body, op, operands, width));
  }));
  return success();
}

//===----------------------------------------------------------------------===//
// linalg
//===----------------------------------------------------------------------===//

/// How an operand of rank 0 to 2 is read for row r: by which of the loop's dimensions.
struct Access {
  bool byRow, byColumn;
};

static FailureOr<Access> getAccess(AffineMap map) {
  Access access{false, false};
  for (AffineExpr result : map.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(result);
    if (!dim || access.byColumn || (dim.getPosition() == 0 && access.byRow))
      return failure();
    (dim.getPosition() == 0 ? access.byRow : access.byColumn) = true;
  }
  return access;
}

/// The row (or scalar) that operand i of the body stands for.
static Value loadOperand(RowBody &body, unsigned i, Access access, int64_t width) {
  Value value = body.load(i, access.byRow ? ValueRange(body.row) : ValueRange());
  return width && !access.byColumn ? body.splat(value, width) : value;
}

/// A body of scalar ops, read through identity or broadcast maps.
static LogicalResult lowerLinalg(linalg::LinalgOp op, Lowering &lowering) {
  auto type = cast<RankedTensorType>(getPlainType(op->getResult(0).getType()));
  int64_t width = getRowWidth(type);
  if (op.getNumParallelLoops() != op.getNumLoops() || op.getNumLoops() != type.getRank())
    return op.emitOpError() << "has " << op.getNumReductionLoops() << " reductions and " << op.getNumLoops()
                            << " loops for a result of rank " << type.getRank() << "; only elementwise ops are lowered";
  OpOperand *init = op.getDpsInitOperand(0);
  if (!op.getMatchingIndexingMap(init).isIdentity())
    return op.emitOpError() << "writes its result through " << AffineMapAttr::get(op.getMatchingIndexingMap(init))
                            << "; only the identity is lowered";

  Block *block = op.getBlock();
  for (Operation &inner : *block) {
    if (!isElementwiseScalarOp(&inner) && !isa<linalg::YieldOp, arith::ConstantOp>(inner))
      return inner.emitOpError("in a linalg op cannot be lowered to the tile dialect");
    for (Value operand : inner.getOperands())
      if (operand.getParentBlock() != block && !matchPattern(operand, m_Constant()))
        return inner.emitOpError() << "uses a scalar of type " << operand.getType()
                                   << " from outside its linalg op; only constant scalars are lowered";
  }

  // Operands the body reads: all but an init that is only written.
  SmallVector<Value> ins;
  SmallVector<std::pair<BlockArgument, Access>> reads;
  for (OpOperand &operand : op->getOpOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(&operand);
    if (argument.use_empty())
      continue;
    if (!isTensor(operand.get().getType())) {
      if (!matchPattern(operand.get(), m_Constant()))
        return op.emitOpError() << "operand " << operand.getOperandNumber() << " is a scalar of type "
                                << operand.get().getType() << "; only constant scalars are lowered";
      continue;
    }
    FailureOr<Access> access = getAccess(op.getMatchingIndexingMap(&operand));
    if (failed(access))
      return op.emitOpError() << "operand " << operand.getOperandNumber() << " is read through "
                              << AffineMapAttr::get(op.getMatchingIndexingMap(&operand))
                              << "; only identity and broadcasts are lowered";
    ins.push_back(operand.get());
    reads.push_back({argument, *access});
  }
  FailureOr<Value> bounds = lowering.getBounds(op);
  if (failed(bounds))
    return failure();

  lowering.replace(op, lowering.createRows(ins, *bounds, type, lowering.getDim(init->get(), 0), [&](RowBody &body) {
    IRMapping rows;
    for (auto [i, read] : llvm::enumerate(reads))
      rows.map(read.first, loadOperand(body, i, read.second, width));
    for (OpOperand &operand : op->getOpOperands())
      if (!isTensor(operand.get().getType()))
        rows.map(op.getMatchingBlockArgument(&operand), cloneConstant(body, operand.get(), width));
    auto lookup = [&](Value value) {
      return rows.contains(value) ? rows.lookup(value) : cloneConstant(body, value, width);
    };
    for (Operation &inner : block->without_terminator())
      if (!isa<arith::ConstantOp>(inner))
        rows.map(inner.getResult(0), applyToRow(body, &inner, llvm::map_to_vector(inner.getOperands(), lookup), width));
    body.yield(lookup(block->getTerminator()->getOperand(0)));
  }));
  return success();
}

LogicalResult to_tile::lowerElementwise(Operation *op, Lowering &lowering) {
  if (failed(checkResult(op)))
    return failure();
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return lowerLinalg(linalgOp, lowering);
  return lowerScalarOp(op, lowering);
}
