//===- Plan.cpp - tile.plan without a word between blocks ----------------------===//
//
// A stable counting sort of slots by expert. Each block has a range of the slots, and learns what it must know of the
// others by counting all of them itself: how many slots of each expert there are, and how many before its range. The
// ids are few and lie in the L2, so that this is cheaper than to wait for other blocks.
//   1. count       before[g], after[g]: slots of g before the range, and from its start on
//   2. scan        start of each group; before[g] becomes the row of the range's next slot of g
//   3. place       1024 slots at a time, the warps one after another: a slot's row is before[g] plus its rank among the
//                  slots of g in its warp
// With equal blocks the start of a group is known, and each has its own limit.
// Atomics only count: no order depends on them.
//
//===----------------------------------------------------------------------===//

#include "Simt.h"

using namespace mlir;
using namespace mlir::sm90;
using arith::CmpIPredicate;

namespace {

constexpr int64_t kThreads = Simt::kScanThreads, kWarps = kThreads / 32, kUnroll = 4;

class Plan : Simt {
public:
  Plan(tile::PlanOp op, KernelBuilder &kernel)
      : Simt(kernel), plan(op), groups(KernelBuilder::memref(op.getOuts()[0]).getDimSize(0)),
        topk(KernelBuilder::memref(op.getIds()).getDimSize(1)), blockRows(op.getBlockRows()) {}

  void build() {
    Type pointer = LLVM::LLVMPointerType::get(k.b.getContext(), 3);
    before = op<AllocOp>(pointer, std::max<int64_t>(groups, 1) * 4);
    after = op<AllocOp>(pointer, std::max<int64_t>(groups, 1) * 4);
    sums = op<AllocOp>(pointer, kScanBytes);
    found = op<AllocOp>(pointer, 16); // see kDropped
    ids = view(plan.getIds());
    auto outs = plan.getOuts();
    sizes = view(outs[0]);
    bounds = view(outs[1]);
    permutation = view(outs[2]);
    token = view(outs[3]);
    inverse = view(outs[4]);
    dropped = view(outs[5]);
    rows = k.size(outs[2], 0);
    slots = mul(k.size(plan.getIds(), 0), topk);
    index = thread();
    lane = both(index, 31);
    warp = k.shr(index, 5);
    isFirstBlock = equal(block(), 0);
    // The range: a multiple of 32 slots.
    Value unit = mul(blocks(), 32);
    Value share = mul(div(add(slots, sub(unit, c(1))), unit), 32);
    begin = min(mul(block(), share), slots);
    end = min(add(begin, share), slots);

    clear();
    barrier();
    count();
    barrier();
    scan();
    barrier();
    place();
  }

private:
  /// Fields of `found`.
  enum : int64_t { kDropped = 0, kFirst = 8, kEarlier = 12 };

  Value shared(Value base, Value i) { return at(base, op<arith::ExtUIOp>(i64(), i), i32()); }
  Value field(int64_t bytes) { return at(found, c64(bytes), k.b.getI8Type()); }

  void clear() {
    forEach(index, c(groups), c(kThreads), [&](Value group) {
      store(c(0), shared(before, group));
      store(c(0), shared(after, group));
    });
    ifThen(equal(index, 0), [&] {
      store(c64(0), field(kDropped));
      store(c(INT32_MAX), field(kFirst));
      store(c(0), field(kEarlier));
    });
  }

  /// The id of a slot, -1 where `valid` does not hold.
  Value loadId(Value slot, Value valid) {
    Value place;
    if (ids.type.getLayout().isIdentity()) {
      place = ext64(slot);
    } else {
      Value t = div(slot, topk), j = sub(slot, mul(t, topk));
      place = add(mul(ext64(t), ids.strides[0]), ext64(j));
    }
    return select(valid, loadConstant(i32(), at(ids.pointer, place, i32()), 1, valid)[0], c(-1));
  }

  void count() {
    forEach(index, slots, c(kThreads * kUnroll), [&](Value first) {
      SmallVector<Value> places, values;
      for (int64_t i = 0; i < kUnroll; ++i) {
        places.push_back(add(first, kThreads * i));
        values.push_back(loadId(places.back(), less(places.back(), slots)));
      }
      for (int64_t i = 0; i < kUnroll; ++i)
        ifThen(below(values[i], c(groups)), [&] {
          Value counters = select(less(places[i], begin), before, after);
          atomic(LLVM::AtomicBinOp::add, shared(counters, values[i]), c(1));
        });
    });
  }

  /// A group starts at the sum of the sizes before it, each rounded up, or at `rows` if that is less; or at its block.
  /// Then after[g] is where its rows end.
  void scan() {
    Value rows64 = ext64(rows), minusOne = c(-1);
    Value first = c64(0);
    // All threads take all rounds: they meet in the sum.
    for (int64_t round = 0; round * kThreads < groups; ++round) {
      Value group = add(index, round * kThreads), inside = less(group, c(groups));
      Value place = min(group, c(groups - 1));
      Value early = load(i32(), shared(before, place));
      Value wanted = select(inside, add(early, load(i32(), shared(after, place))), c(0));
      Value size = ext64(wanted);
      Value rounded = blockRows ? select(inside, c64(blockRows), c64(0)) : roundUp(size, plan.getAlign(), rows64);
      auto [sum, total] = sumBefore(rounded, index, sums);
      Value start = min(add(first, sum), rows64), next = min(add(add(first, sum), rounded), rows64);
      first = add(first, total);
      Value kept = min(size, sub(blockRows ? next : rows64, start)), stop = add(start, kept);
      ifThen(inside, [&] {
        store(add(trunc32(start), early), shared(before, group));
        if (blockRows)
          store(trunc32(stop), shared(after, group));
        ifThen(less(kept, size), [&] {
          atomic(LLVM::AtomicBinOp::add, field(kDropped), sub(size, kept));
          ifThen(less(kept, ext64(early)), [&] { atomic(LLVM::AtomicBinOp::_or, field(kEarlier), c(1)); });
        });
        ifThen(isFirstBlock, [&] {
          store(wanted, at(sizes.pointer, ext64(group), i32()));
          store(start, address(bounds, {ext64(group), c64(0)}));
          store(stop, address(bounds, {ext64(group), c64(1)}));
        });
        if (plan.getAlign() > 1)
          ifThen(equal(rem(group, blocks()), block()), [&] {
            forEach(trunc32(stop), trunc32(next), c(1), [&](Value row) { storeRow(row, minusOne, minusOne); });
          });
      });
    }
    Value mine = add(mul(block(), kThreads), index), stride = mul(blocks(), kThreads);
    if (!blockRows) {
      forEach(add(trunc32(min(first, rows64)), mine), rows, stride,
              [&](Value row) { storeRow(row, minusOne, minusOne); });
      return;
    }
    barrier();
    forEach(mine, rows, stride, [&](Value row) {
      Value stop = load(i32(), shared(after, div(row, blockRows)));
      ifThen(no(less(row, stop)), [&] { storeRow(row, minusOne, minusOne); });
    });
  }

  void storeRow(Value row, Value slot, Value tokenOfSlot) {
    store(slot, at(permutation.pointer, ext64(row), i32()));
    store(tokenOfSlot, at(token.pointer, ext64(row), i32()));
  }

  void place() {
    Value numDropped = load(i64(), field(kDropped));
    ifThen(both(isFirstBlock, equal(index, 0)), [&] { store(numDropped, dropped.pointer); });
    forEach(begin, end, c(kThreads), [&](Value first) {
      Value slot = add(first, index), inside = less(slot, end);
      Value id = loadId(slot, inside), valid = below(id, c(groups));
      ifThen(both(inside, both(no(valid), isNot(id, -1))),
             [&] { report(tile::FaultKind::BadId, ext64(slot), ext64(id), c64(groups)); });
      Value group = select(valid, id, c(groups));
      Value equals = op<NVVM::MatchSyncOp>(i32(), c(-1), group, NVVM::MatchSyncKind::any);
      Value lower = sub(op<arith::ShLIOp>(c(1), lane), c(1));
      Value rank = op<LLVM::CtPopOp>(both(equals, lower));
      Value turns = min(div(add(sub(end, first), 31), 32), c(kWarps));
      Value next = loop(c(0), turns, c(1), ValueRange{c(0)}, [&](Value turn, ValueRange carried) {
        Value mine = both(equal(warp, turn), valid);
        Value row = choose(i32(), mine, [&] { return load(i32(), shared(before, group)); }, [&] { return carried[0]; });
        syncWarp(); // all have read
        ifThen(both(mine, equal(rank, 0)), [&] { store(add(row, op<LLVM::CtPopOp>(equals)), shared(before, group)); });
        barrier();
        return SmallVector<Value>{row};
      })[0];
      Value limit = blockRows ? mul(add(group, 1), blockRows) : rows;
      Value row = add(next, rank), placed = both(valid, below(row, limit));
      Value t = div(slot, topk);
      ifThen(inside, [&] {
        Value j = sub(slot, mul(t, topk));
        store(select(placed, row, c(-1)), address(inverse, {ext64(t), ext64(j)}));
        ifThen(placed, [&] { storeRow(row, slot, t); });
        ifThen(both(valid, no(placed)), [&] { atomic(LLVM::AtomicBinOp::umin, field(kFirst), slot); });
      });
    });
    // Slots past the capacity are one fault, at the first of them: it is in the range before which there is none.
    barrier();
    Value first = load(i32(), field(kFirst));
    Value mine = both(isNot(first, INT32_MAX), equal(load(i32(), field(kEarlier)), 0));
    Value capacity = blockRows ? c64(blockRows) : ext64(rows);
    ifThen(both(mine, equal(index, 0)), [&] { report(tile::FaultKind::Overflow, ext64(first), numDropped, capacity); });
  }

  Value isNot(Value x, int64_t y) { return compare(CmpIPredicate::ne, x, c(y)); }

  tile::PlanOp plan;
  int64_t groups, topk, blockRows; ///< 0 without equal blocks
  View ids, sizes, bounds, permutation, token, inverse, dropped;
  Value before, after, sums, found;
  Value rows, slots, index, lane, warp, isFirstBlock, begin, end;
};

} // namespace

LogicalResult sm90::lower(tile::PlanOp op, OpBuilder &builder, StringRef name) {
  // Two counters a group in shared memory.
  constexpr int64_t kMostGroups = 24576;
  int64_t groups = KernelBuilder::memref(op.getOuts()[0]).getDimSize(0);
  if (groups > kMostGroups)
    return op.emitOpError() << "has " << groups << " groups, expected at most " << kMostGroups << " on target sm_90a";
  KernelBuilder kernel(builder, op.getLoc(), name);
  Plan(op, kernel).build();
  kernel.finish(LaunchAttr::get(builder.getContext(), kThreads, 1, 0, /*per_sm=*/1, 0));
  return success();
}
