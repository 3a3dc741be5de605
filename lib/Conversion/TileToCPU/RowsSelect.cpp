//===- RowsSelect.cpp - tile.select on a CPU -------------------------------===//
//
// Each element becomes an i64 key: its order as a signed integer in the high half, and in the low half a number that
// falls with the column. Keys are distinct, and comparing them is the whole order: value, then lowest id, NaN where
// it belongs. The j-th choice is the largest key below the previous one, so nothing is moved or marked, ids are
// distinct and in range for any input, and no branch depends on the data.
//
//===----------------------------------------------------------------------===//

#include "Rows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;
using arith::CmpIPredicate;

/// Below every key; above every key.
static constexpr int64_t kNothing = std::numeric_limits<int64_t>::min();
static constexpr int64_t kEverything = std::numeric_limits<int64_t>::max();
/// Order of NaN: below -inf (whose order is 0x807fffff) yet such that no key is kNothing; or above +inf.
static constexpr int32_t kNanLast = std::numeric_limits<int32_t>::min() + 1;
static constexpr int32_t kNanFirst = std::numeric_limits<int32_t>::max();

/// Bits of an f32 <-> an i32 that orders like it. An involution; works on scalars and vectors of i32.
static Value flipNegative(OpBuilder &builder, Location loc, Value bits) {
  auto constant = [&](int32_t value) -> Value {
    TypedAttr attr = builder.getI32IntegerAttr(value);
    if (auto type = dyn_cast<VectorType>(bits.getType()))
      attr = DenseElementsAttr::get(type, attr);
    return arith::ConstantOp::create(builder, loc, attr);
  };
  Value sign = arith::ShRSIOp::create(builder, loc, bits, constant(31));
  Value mask = arith::AndIOp::create(builder, loc, sign, constant(0x7fffffff));
  return arith::XOrIOp::create(builder, loc, bits, mask);
}

/// Keys of a piece of f32 scores that starts at column `first` (index) of a row of `count` elements.
Value RowBody::sortKeys(Value scores, Value first, int64_t count, NanOrder order) {
  auto type = cast<VectorType>(scores.getType());
  int64_t width = type.getNumElements();
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  // -0 + 0 = +0: the two zeros are a tie.
  Value value = arith::AddFOp::create(builder, loc, scores, splat(builder.getF32FloatAttr(0.0f), width));
  Value ordered = flipNegative(builder, loc, arith::BitcastOp::create(builder, loc, type.clone(i32), value));
  Value isNan = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO, value, value);
  Value nan = splat(builder.getI32IntegerAttr(order == NanOrder::First ? kNanFirst : kNanLast), width);
  ordered = arith::SelectOp::create(builder, loc, isNan, nan, ordered);
  Value high = arith::ShLIOp::create(builder, loc, arith::ExtSIOp::create(builder, loc, type.clone(i64), ordered),
                                     splat(builder.getI64IntegerAttr(32), width));
  SmallVector<int64_t> falling;
  for (int64_t i = 0; i < width; ++i)
    falling.push_back(count - 1 - i);
  Value last =
      arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type.clone(i64), ArrayRef<int64_t>(falling)));
  Value column = arith::IndexCastOp::create(builder, loc, i64, first);
  Value low =
      arith::SubIOp::create(builder, loc, last, vector::BroadcastOp::create(builder, loc, type.clone(i64), column));
  return arith::OrIOp::create(builder, loc, high, low);
}

/// The largest of keys[first .. first + count) below `bound` (i64); kNothing if there is none.
Value RowBody::largestBelow(Value keys, Value first, int64_t count, Value bound) {
  // Half a chunk of i64 keeps four accumulator registers.
  int64_t widest = chunk / 2;
  SmallVector<Value> parts; // one for each width used
  auto next = [&](Value from, int64_t width, Value best) -> Value {
    auto type = VectorType::get(width, builder.getI64Type());
    Value piece = loadVector(keys, from, width);
    Value limit = vector::BroadcastOp::create(builder, loc, type, bound);
    Value isBelow = arith::CmpIOp::create(builder, loc, CmpIPredicate::slt, piece, limit);
    Value rest = best ? best : splat(builder.getI64IntegerAttr(kNothing), width);
    Value larger = best ? Value(arith::MaxSIOp::create(builder, loc, piece, best)) : piece;
    return arith::SelectOp::create(builder, loc, isBelow, larger, rest);
  };
  auto at = [&](int64_t offset) -> Value { return arith::AddIOp::create(builder, loc, first, index(offset)); };
  int64_t done = 0;
  Value best;
  if (count > 16 * widest) {
    done = count / widest * widest;
    auto loop = scf::ForOp::create(builder, loc, first, at(done), index(widest),
                                   splat(builder.getI64IntegerAttr(kNothing), widest));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value better = next(loop.getInductionVar(), widest, loop.getRegionIterArg(0));
    scf::YieldOp::create(builder, loc, better);
    best = loop.getResult(0);
  }
  for (; done + widest <= count; done += widest)
    best = next(at(done), widest, best);
  if (best)
    parts.push_back(best);
  for (int64_t width = widest / 2; width > 0; width /= 2)
    if (done + width <= count) {
      parts.push_back(next(at(done), width, Value()));
      done += width;
    }
  Value result;
  for (Value part : parts) {
    Value largest = vector::ReductionOp::create(builder, loc, vector::CombiningKind::MAXSI, part);
    result = result ? Value(arith::MaxSIOp::create(builder, loc, result, largest)) : largest;
  }
  return result;
}

/// Overwrites the keys of every group but the `keep_groups` best: with kNothing, or where NaN is first with those of
/// -inf.
void RowBody::excludeGroups(SelectOp op, Value keys) {
  int64_t groups = op.getGroups(), size = cast<VectorType>(op.getScores().getType()).getNumElements() / groups;
  Value groupScores = selectMemory[op][2], groupKeys = selectMemory[op][3];
  Value c0 = index(0), c1 = index(1), everything = integer(kEverything, 64);

  auto score = scf::ForOp::create(builder, loc, c0, index(groups), c1);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(score.getBody());
    Value group = score.getInductionVar();
    Value first = arith::MulIOp::create(builder, loc, group, index(size));
    Value zero = arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0.0f));
    auto top = scf::ForOp::create(builder, loc, c0, index(op.getGroupTop()), c1, ValueRange{everything, zero});
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(top.getBody());
      Value key = largestBelow(keys, first, size, top.getRegionIterArg(0));
      Value ordered = arith::TruncIOp::create(builder, loc, builder.getI32Type(),
                                              arith::ShRSIOp::create(builder, loc, key, integer(32, 64)));
      Value value = arith::BitcastOp::create(builder, loc, builder.getF32Type(), flipNegative(builder, loc, ordered));
      Value sum = arith::AddFOp::create(builder, loc, top.getRegionIterArg(1), value);
      scf::YieldOp::create(builder, loc, ValueRange{key, sum});
    }
    memref::StoreOp::create(builder, loc, top.getResult(1), groupScores, group);
  }

  forEachPiece(walkOf(groups, {}), [&](const Piece &piece) {
    Value at = column(piece);
    storeVector(sortKeys(loadVector(groupScores, at, piece.width), at, groups, op.getNan()), groupKeys, at);
  });
  auto worst = scf::ForOp::create(builder, loc, c0, index(op.getKeepGroups()), c1, everything);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(worst.getBody());
    Value key = largestBelow(groupKeys, c0, groups, worst.getRegionIterArg(0));
    scf::YieldOp::create(builder, loc, key);
  }

  auto exclude = scf::ForOp::create(builder, loc, c0, index(groups), c1);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(exclude.getBody());
  Value group = exclude.getInductionVar();
  Value key = memref::LoadOp::create(builder, loc, groupKeys, group);
  Value isOut = arith::CmpIOp::create(builder, loc, CmpIPredicate::slt, key, worst.getResult(0));
  auto branch = scf::IfOp::create(builder, loc, isOut, /*withElseRegion=*/false);
  builder.setInsertionPointToStart(branch.thenBlock());
  Value first = arith::MulIOp::create(builder, loc, group, index(size));
  forEachPiece(walkOf(size, {}), [&](const Piece &piece) {
    Value at = arith::AddIOp::create(builder, loc, first, column(piece));
    Value out = splat(builder.getI64IntegerAttr(kNothing), piece.width);
    if (op.getNan() == NanOrder::First) {
      float infinity = std::numeric_limits<float>::infinity();
      Value masked = splat(builder.getF32FloatAttr(-infinity), piece.width);
      out = sortKeys(masked, at, cast<VectorType>(op.getScores().getType()).getNumElements(), op.getNan());
    }
    storeVector(out, keys, at);
  });
}

void RowBody::emitSelect(SelectOp op) {
  Value scores = op.getScores(), keys = selectMemory[op][0], ids = selectMemory[op][1];
  int64_t count = cast<VectorType>(scores.getType()).getNumElements();
  int64_t chosen = cast<VectorType>(op.getType()).getNumElements();
  forEachPiece(walkOf(count, breaks.of(scores)), [&](const Piece &piece) {
    Value at = column(piece);
    storeVector(sortKeys(emit(scores, piece), at, count, op.getNan()), keys, at);
  });
  if (op.getKeepGroups() < op.getGroups())
    excludeGroups(op, keys);

  Value c0 = index(0), last = integer(count - 1, 64), low = integer(0xffffffff, 64);
  auto loop = scf::ForOp::create(builder, loc, c0, index(chosen), index(1), integer(kEverything, 64));
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value key = largestBelow(keys, c0, count, loop.getRegionIterArg(0));
    Value id = arith::SubIOp::create(builder, loc, last, arith::AndIOp::create(builder, loc, key, low));
    Value narrow = arith::TruncIOp::create(builder, loc, builder.getI32Type(), id);
    memref::StoreOp::create(builder, loc, narrow, ids, loop.getInductionVar());
    scf::YieldOp::create(builder, loc, key);
  }
  scratch[op.getResult()] = ids;
}
