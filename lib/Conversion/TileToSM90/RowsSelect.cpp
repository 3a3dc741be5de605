//===- RowsSelect.cpp - tile.select on threads ---------------------------------===//
//
// Each element becomes an i64 key in shared memory: its order as a signed integer in the high half, and in the low half
// a number that falls with the column. Keys are distinct, and comparing them is the whole order: value, then lowest id,
// NaN where it belongs. The j-th choice is the largest key below the previous one: every thread finds the largest of
// its own, and they find the largest of those.
//
//===----------------------------------------------------------------------===//

#include "Rows.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::sm90;
using namespace mlir::tile;

/// Below every key; above every key.
static constexpr int64_t kNothing = std::numeric_limits<int64_t>::min();
static constexpr int64_t kEverything = std::numeric_limits<int64_t>::max();
/// Order of NaN: below -inf (whose order is 0x807fffff) yet such that no key is kNothing; or above +inf.
static constexpr int32_t kNanLast = std::numeric_limits<int32_t>::min() + 1;
static constexpr int32_t kNanFirst = std::numeric_limits<int32_t>::max();

/// Bits of an f32 <-> an i32 that orders like it. An involution.
static Value flipNegative(Simt &t, Value bits) {
  Value sign = t.op<arith::ShRSIOp>(bits, t.c(31));
  return t.differing(bits, t.both(sign, t.c(0x7fffffff)));
}

/// Key of an f32 score at `column` (i32) of a row of `count` elements.
Value RowKernel::sortKey(Value score, Value column, int64_t count, NanOrder order) {
  // -0 + 0 = +0: the two zeros are a tie.
  Value value = op<arith::AddFOp>(score, op<arith::ConstantOp>(k.b.getF32FloatAttr(0.0f)));
  Value ordered = flipNegative(*this, op<arith::BitcastOp>(i32(), value));
  Value isNan = op<arith::CmpFOp>(arith::CmpFPredicate::UNO, value, value);
  ordered = select(isNan, c(order == NanOrder::First ? kNanFirst : kNanLast), ordered);
  Value high = op<arith::ShLIOp>(ext64(ordered), c64(32));
  return either(high, op<arith::ExtUIOp>(i64(), sub(c(count - 1), column)));
}

void RowKernel::forOwn(int64_t count, function_ref<void(Value)> body) { forEach(lane, c(count), c(shape.lanes), body); }

/// The largest of `count` keys below `bound` (i64), for all threads of the row; kNothing if there is none.
Value RowKernel::largestBelow(Value keys, int64_t count, Value bound) {
  Value best = loop(lane, c(count), c(shape.lanes), c64(kNothing), [&](Value i, ValueRange state) {
    Value key = load(i64(), at(keys, op<arith::ExtUIOp>(i64(), i), i64()));
    Value larger = max(key, state[0]);
    return SmallVector<Value>{select(less(key, bound), larger, state[0])};
  })[0];
  return acrossLanes(best, [&](Value a, Value b) { return max(a, b); });
}

/// Overwrites the keys of every group but the `keep_groups` best: with kNothing, or where NaN is first with those of
/// -inf.
void RowKernel::excludeGroups(SelectOp select, Value keys) {
  int64_t groups = select.getGroups(), size = cast<VectorType>(select.getScores().getType()).getNumElements() / groups;
  Value groupKeys = selectMemory[select][2];
  auto keyOf = [&](Value memory, Value i) { return at(memory, op<arith::ExtUIOp>(i64(), i), i64()); };
  Value none = c64(kNothing), zero = op<arith::ConstantOp>(k.b.getF32FloatAttr(0.0f));

  // A group has one thread: the sum is in order.
  forOwn(groups, [&](Value group) {
    Value first = mul(group, size);
    Value sum = loop(c(0), c(select.getGroupTop()), c(1), {c64(kEverything), zero}, [&](Value, ValueRange state) {
      Value best = loop(c(0), c(size), c(1), none, [&](Value i, ValueRange inner) {
        Value key = load(i64(), keyOf(keys, add(first, i)));
        Value isBetter = both(less(key, state[0]), less(inner[0], key));
        return SmallVector<Value>{Simt::select(isBetter, key, inner[0])};
      })[0];
      Value ordered = trunc32(op<arith::ShRSIOp>(best, c64(32)));
      Value value = op<arith::BitcastOp>(k.b.getF32Type(), flipNegative(*this, ordered));
      return SmallVector<Value>{best, op<arith::AddFOp>(state[1], value)};
    })[1];
    store(sortKey(sum, group, groups, select.getNan()), keyOf(groupKeys, group));
  });
  meet();
  Value worst = loop(c(0), c(select.getKeepGroups()), c(1), c64(kEverything), [&](Value, ValueRange state) {
    return SmallVector<Value>{largestBelow(groupKeys, groups, state[0])};
  })[0];
  forOwn(groups * size, [&](Value i) {
    Value isOut = less(load(i64(), keyOf(groupKeys, div(i, size))), worst);
    ifThen(isOut, [&] {
      Value out = none;
      if (select.getNan() == NanOrder::First) {
        float infinity = std::numeric_limits<float>::infinity();
        out = sortKey(op<arith::ConstantOp>(k.b.getF32FloatAttr(-infinity)), i, groups * size, NanOrder::First);
      }
      store(out, keyOf(keys, i));
    });
  });
  meet();
}

void RowKernel::emitSelect(SelectOp select) {
  Value scores = select.getScores(), keys = selectMemory[select][0], ids = selectMemory[select][1];
  int64_t count = cast<VectorType>(scores.getType()).getNumElements();
  int64_t chosen = cast<VectorType>(select.getType()).getNumElements();
  meet(); // what was chosen for the row before was read
  forSteps(walk(count, breaks.of(scores)), {}, [&](const Step &step, ValueRange) {
    SmallVector<Value> columns, own;
    for (int64_t i = 0; i < step.columns; ++i) {
      columns.push_back(indexOf(step.first.shifted(i)));
      own.push_back(sortKey(emit(scores, step.first.shifted(i)), columns.back(), count, select.getNan()));
    }
    auto write = [&] {
      for (auto [column, key] : llvm::zip(columns, own))
        store(key, at(keys, op<arith::ExtUIOp>(i64(), column), i64()));
    };
    step.mask ? ifThen(step.mask, write) : write();
    return SmallVector<Value>();
  });
  meet();
  if (select.getKeepGroups() < select.getGroups())
    excludeGroups(select, keys);

  loop(c(0), c(chosen), c(1), c64(kEverything), [&](Value j, ValueRange state) {
    Value key = largestBelow(keys, count, state[0]);
    Value id = sub(c(count - 1), trunc32(key));
    Value place = at(ids, op<arith::ExtUIOp>(i64(), j), i32());
    shape.lanes > 1 ? ifThen(equal(lane, 0), [&] { store(id, place); }) : store(id, place);
    return SmallVector<Value>{key};
  });
  meet();
  scratch[select.getResult()] = ids;
}
