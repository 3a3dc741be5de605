//===- Router.cpp - router ops to kernels ---------------------------------===//

#include "Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::moe;
using namespace mlir::moe::to_tile;

static constexpr double infinity = std::numeric_limits<double>::infinity();

static int64_t getWidth(Value row) { return cast<VectorType>(row.getType()).getDimSize(0); }

static Value compare(RowBody &body, arith::CmpFPredicate predicate, Value lhs, double rhs) {
  return arith::CmpFOp::create(body.b, predicate, lhs, body.constant(lhs.getType(), rhs));
}

static Value isNaN(RowBody &body, Value row) {
  return arith::CmpFOp::create(body.b, arith::CmpFPredicate::UNO, row, row);
}

static Value select(RowBody &body, Value condition, Value then, Value otherwise) {
  return arith::SelectOp::create(body.b, condition, then, otherwise);
}

static Value reduce(RowBody &body, vector::CombiningKind kind, Value row) {
  return vector::ReductionOp::create(body.b, kind, row);
}

/// The row with +inf replaced by the largest finite value.
static Value limitInfinity(RowBody &body, Value row) {
  Value limit = body.constant(row.getType(), std::numeric_limits<float>::max());
  return select(body, compare(body, arith::CmpFPredicate::OEQ, row, infinity), limit, row);
}

/// The row with every NaN replaced by a number.
static Value replaceNaN(RowBody &body, Value row, double number) {
  return select(body, isNaN(body, row), body.constant(row.getType(), number), row);
}

//===----------------------------------------------------------------------===//
// Logits
//===----------------------------------------------------------------------===//

LogicalResult to_tile::lower(LogitsOp op, Lowering &lowering) {
  if (failed(checkStatic(op, "x", op.getX().getType(), 1)) ||
      failed(checkStatic(op, "router", op.getRouter().getType(), 0)))
    return failure();
  ImplicitLocOpBuilder &b = lowering.b;
  auto type = cast<RankedTensorType>(op.getType());
  Value init = lowering.createEmpty(type, lowering.getDim(op.getX(), 0));
  SmallVector<Value> extras;
  SmallVector<Attribute> kinds;
  if (op.getBias()) {
    extras.push_back(op.getBias());
    kinds.push_back(tile::ExtraKindAttr::get(b.getContext(), tile::ExtraKind::Group));
  }
  auto gemm = tile::RaggedGemmOp::create(
      b, type, op.getX(), /*gather=*/Value(), op.getRouter(), /*bounds=*/Value(), /*slots=*/Value(), extras, init,
      tile::GemmMode::Rows, op.getLayout() == WeightLayout::NK ? tile::RhsLayout::NK : tile::RhsLayout::KN,
      tile::Accumulators::Single, b.getArrayAttr(kinds), /*group_offset=*/0, /*accumulate=*/false,
      op.getPrecision() == Precision::TF32 ? tile::Precision::TF32 : tile::Precision::Exact);
  SmallVector<Type> arguments{b.getF32Type()};
  if (op.getBias())
    arguments.push_back(getElementTypeOrSelf(op.getBias().getType()));
  Block *epilogue =
      b.createBlock(&gemm.getEpilogue(), {}, arguments, SmallVector<Location>(arguments.size(), b.getLoc()));
  Value result = epilogue->getArgument(0);
  if (op.getBias()) {
    Value bias = epilogue->getArgument(1);
    if (!bias.getType().isF32())
      bias = arith::ExtFOp::create(b, b.getF32Type(), bias);
    result = arith::AddFOp::create(b, result, bias);
  }
  tile::YieldOp::create(b, result);
  b.setInsertionPoint(op);
  lowering.replace(op, gemm.getResults());
  return success();
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

static Value softmax(RowBody &body, Value row) {
  int64_t width = getWidth(row);
  Value max = reduce(body, vector::CombiningKind::MAXIMUMF, row);
  Value exp = math::ExpOp::create(body.b, arith::SubFOp::create(body.b, row, body.splat(max, width)));
  Value sum = reduce(body, vector::CombiningKind::ADD, exp);
  return arith::DivFOp::create(body.b, exp, body.splat(sum, width));
}

/// With nan = last, a NaN takes no part as -inf does; then a row without a finite logit has maximum -inf.
static Value scoreIgnoringNaN(RowBody &body, ScoreFunction function, Value row) {
  Value finite = replaceNaN(body, limitInfinity(body, row), -infinity);
  Value nan = body.constant(row.getType(), std::nan(""));
  if (function == ScoreFunction::Softmax) // (-inf) - (-inf) makes such a row NaN
    return select(body, isNaN(body, row), nan, softmax(body, finite));
  Value max = reduce(body, vector::CombiningKind::MAXIMUMF, finite);
  Value none = compare(body, arith::CmpFPredicate::OEQ, max, -infinity);
  return select(body, none, nan, body.sigmoid(row));
}

LogicalResult to_tile::lower(ScoresOp op, Lowering &lowering) {
  auto type = cast<RankedTensorType>(op.getType());
  if (failed(checkStatic(op, "logits", type, 1)))
    return failure();
  SmallVector<Value> results =
      lowering.createRows(op.getLogits(), Value(), type, lowering.getDim(op.getLogits(), 0), [&](RowBody &body) {
        Value row = body.load(0, body.row);
        if (op.getNan() == NanPolicy::Last)
          body.yield(scoreIgnoringNaN(body, op.getFunction(), row));
        else
          body.yield(op.getFunction() == ScoreFunction::Softmax ? softmax(body, row) : body.sigmoid(row));
      });
  lowering.replace(op, results);
  return success();
}

//===----------------------------------------------------------------------===//
// Selection
//===----------------------------------------------------------------------===//

LogicalResult to_tile::lower(SelectOp op, Lowering &lowering) {
  if (failed(checkStatic(op, "scores", op.getScores().getType(), 1)))
    return failure();
  auto idsType = cast<RankedTensorType>(op.getIds().getType());
  auto valuesType = cast<RankedTensorType>(op.getValues().getType());
  SmallVector<Value> ins{op.getScores()};
  if (op.getBias())
    ins.push_back(op.getBias());
  bool last = op.getNan() == NanPolicy::Last;
  SmallVector<Value> results =
      lowering.createRows(ins, Value(), {idsType, valuesType}, lowering.getDim(op.getScores(), 0), [&](RowBody &body) {
        ImplicitLocOpBuilder &b = body.b;
        Value scores = body.load(0, body.row);
        if (last)
          scores = limitInfinity(body, scores);
        Value biased = scores;
        if (op.getBias())
          biased = arith::AddFOp::create(b, scores, body.toF32(body.load(1, {})));

        Value none;
        if (last) {
          Value max = reduce(body, vector::CombiningKind::MAXIMUMF, replaceNaN(body, scores, -infinity));
          none = compare(body, arith::CmpFPredicate::OEQ, max, -infinity);
          // Of equal scores the lowest ids win: 0..k-1.
          biased = select(body, none, body.constant(biased.getType(), 0.0), biased);
        }
        Value ids = tile::SelectOp::create(b, VectorType::get(op.getK(), b.getI32Type()), biased, op.getGroups(),
                                           op.getKeepGroups(), op.getGroupTop(),
                                           last ? tile::NanOrder::Last : tile::NanOrder::First);
        auto valueRow = VectorType::get(op.getK(), b.getF32Type());
        Value values = tile::LookupOp::create(b, valueRow, scores, ids);
        if (last) {
          values = select(body, none, body.constant(valueRow, std::nan("")), values);
          // The value is how many scores are finite, the limit how many there are.
          Value found = arith::ConstantOp::create(b, b.getI64IntegerAttr(0));
          Value limit = arith::ConstantOp::create(b, b.getI64IntegerAttr(getWidth(scores)));
          tile::FaultOp::create(b, tile::FaultKind::NanRouter, none, body.row, found, limit);
        }
        body.yield({ids, values});
      });
  lowering.replace(op, results);
  return success();
}

LogicalResult to_tile::lower(NormalizeOp op, Lowering &lowering) {
  auto type = cast<RankedTensorType>(op.getType());
  if (failed(checkStatic(op, "values", type, 1)))
    return failure();
  SmallVector<Value> results =
      lowering.createRows(op.getValues(), Value(), type, lowering.getDim(op.getValues(), 0), [&](RowBody &body) {
        ImplicitLocOpBuilder &b = body.b;
        Value row = body.load(0, body.row);
        if (op.getNan() == NanPolicy::Last)
          row = replaceNaN(body, row, 0.0);
        if (op.getRenormalize()) {
          Value sum = reduce(body, vector::CombiningKind::ADD, row);
          if (!op.getEpsilon().isZero())
            sum = arith::AddFOp::create(b, sum, body.constant(sum.getType(), op.getEpsilon().convertToDouble()));
          if (double floor = op.getFloor().convertToDouble(); floor != -infinity)
            sum = arith::MaximumFOp::create(b, sum, body.constant(sum.getType(), floor));
          row = arith::DivFOp::create(b, row, body.splat(sum, getWidth(row)));
        }
        if (!op.getScale().isExactlyValue(1.0))
          row = arith::MulFOp::create(b, row, body.constant(row.getType(), op.getScale().convertToDouble()));
        body.yield(row);
      });
  lowering.replace(op, results);
  return success();
}
