//===- Exchange.cpp - prog.all_to_all as stores into the memory of other ranks --------===//
//
// One kernel on each rank. What the ranks tell each other lies in the memory that all reach (runtime/CUDA/PeerABI.h);
// exchanges are numbered, so that nothing there is ever reset and a graph may be replayed.
//   1. post     tells each rank where its rows go, how many they are, and that they may be overwritten: this kernel
//               began, so those on its stream that read them have ended
//   2. send     waits for a rank's post and stores the rows there; warps begin with different ranks, and each takes its
//               share of every rank's rows, so that all links and the local copy are busy at once whatever the sizes
//               are
//   3. finish   each block tells every rank that it has stored all its rows, and the first waits for all blocks of all
//               ranks, its own included
// Every wait ends: by what it waits for, by another rank's or the host's word that there is no more to wait for, or by
// the clock. What went wrong first is reported to the host, and every later exchange of the rank does nothing.
//
//===----------------------------------------------------------------------===//

#include "CUDA/PeerABI.h"
#include "Simt.h"

#include <cstddef>

using namespace mlir;
using namespace mlir::sm90;
using namespace moert::peer;
using arith::CmpIPredicate;

namespace {

/// Eight blocks of so many threads fill a link of 350 GB/s.
constexpr int64_t kThreads = 1024, kBlocks = 16, kPerRound = 4, kVector = 16;
/// A wait that somebody else of this rank has ended.
constexpr int64_t kEnded = 6;

class Exchange : Simt {
public:
  Exchange(prog::AllToAllOp op, KernelBuilder &kernel)
      : Simt(kernel), exchange(op), ranks(static_cast<int64_t>(op.getRanks())) {}

  void build() {
    table = pinned(k.peers());
    source = pinned(k.pointer(exchange.getSource()));
    target = pinned(k.pointer(exchange.getTarget()));
    if (exchange.getSend()) {
      sendBounds = pinned(k.pointer(exchange.getSend()));
      receiveBounds = pinned(k.pointer(exchange.getReceive()));
    }
    sourceRows = k.size(exchange.getSource(), 0, 64);
    targetRows = k.size(exchange.getTarget(), 0, 64);
    findRowBytes();
    rank = load(i64(), field(table, offsetof(Table, rank)));
    memory = op<LLVM::IntToPtrOp>(table.getType(), load(i64(), field(table, offsetof(Table, memory))));
    number = add(load(i64(), field(table, offsetof(Table, ended))), 1);
    deadline = add(clock(), load(i64(), field(table, offsetof(Table, timeout))));
    index = add(mul(ext64(block()), kThreads), ext64(thread()));

    ifThen(no(hasFailed()), [&] {
      ifThen(equal(block(), 0),
             [&] { forEach(thread(), c(2 * ranks), c(kThreads), [&](Value word) { post(ext64(word)); }); });
      int64_t items = ranks + (receiveBounds ? 1 : 0);
      Value first = rem(k.shr(thread(), 5), items);
      forEach(c(0), c(items), c(1), [&](Value i) {
        Value item = rem(add(first, i), items);
        Value to = rem(add(add(rank, 1), ext64(item)), ranks);
        if (!receiveBounds)
          return send(to);
        Value isRank = less(item, c(ranks));
        ifThen(isRank, [&] { send(to); });
        ifThen(no(isRank), [&] { clearGaps(); });
      });
    });
    barrier();
    finish();
  }

private:
  //--- Memory of all ranks
  Value field(Value base, size_t bytes) { return at(base, c64(static_cast<int64_t>(bytes)), k.b.getI8Type()); }
  Value memoryOf(Value of) {
    Value address = load(i64(), at(field(table, sizeof(Table)), of, i64()));
    return op<LLVM::IntToPtrOp>(table.getType(), address);
  }
  /// What rank `by` writes into `base`.
  Value sender(Value base, Value by, size_t bytes) {
    Value place = at(base, mul(by, sizeof(Sender)), k.b.getI8Type());
    return field(place, bytes);
  }
  Value addressOf(Value pointer) { return op<LLVM::PtrToIntOp>(i64(), pointer); }
  Value bytesAfter(Value pointer, Value bytes) { return at(pointer, bytes, k.b.getI8Type()); }

  //--- Between threads of all chips
  Value clock() { return assembly(i64(), "mov.u64 $0, %globaltimer;", "=l", {}, /*effects=*/true); }
  /// `count` words, each of which is read at once.
  SmallVector<Value> acquire(Value address, int64_t count) {
    if (count == 1)
      return {assembly(i64(), "ld.acquire.sys.global.b64 $0, [$1];", "=l,l,~{memory}", address, /*effects=*/true)};
    auto both = LLVM::LLVMStructType::getLiteral(k.b.getContext(), {i64(), i64()});
    Value words =
        assembly(both, "ld.acquire.sys.global.v2.b64 {$0, $1}, [$2];", "=l,=l,l,~{memory}", address, /*effects=*/true);
    return {op<LLVM::ExtractValueOp>(words, 0), op<LLVM::ExtractValueOp>(words, 1)};
  }
  void tell(Value value, Value address) {
    assembly({}, "st.relaxed.sys.global.b64 [$0], $1;", "l,l,~{memory}", {address, value}, /*effects=*/true);
  }
  void release(Value value, Value address) {
    assembly({}, "st.release.sys.global.b64 [$0], $1;", "l,l,~{memory}", {address, value}, /*effects=*/true);
  }
  void releaseAdd(Value value, Value address) {
    assembly({}, "red.release.sys.global.add.u64 [$0], $1;", "l,l,~{memory}", {address, value}, /*effects=*/true);
  }

  Value hasFailed() {
    return compare(CmpIPredicate::ne, load(i64(), field(table, offsetof(Table, failed)), /*isVolatile=*/true), c64(0));
  }
  /// The first thread of the rank to come here reports.
  void fail(Value why, Value of, Value found, Value expected) {
    Value before = assembly(i64(), "atom.relaxed.gpu.global.exch.b64 $0, [$1], 1;", "=l,l,~{memory}",
                            field(table, offsetof(Table, failed)), /*effects=*/true);
    ifThen(equal(before, 0), [&] {
      Value report = op<LLVM::IntToPtrOp>(table.getType(), load(i64(), field(table, offsetof(Table, report))));
      store(of, field(report, offsetof(Report, rank)), /*isVolatile=*/true);
      store(found, field(report, offsetof(Report, found)), /*isVolatile=*/true);
      store(expected, field(report, offsetof(Report, expected)), /*isVolatile=*/true);
      release(why, field(report, offsetof(Report, failure)));
    });
  }

  /// Waits until `count` words that rank `of` writes are there; returns them, or something negative for the first after
  /// a failure.
  SmallVector<Value> await(Value address, int64_t count, Value of, function_ref<Value(Value)> isThere) {
    // A wait goes on while the reason to end it is 0, ends well with 1, and in failure below.
    auto poll = [&](OpBuilder &, Location, ValueRange carried) {
      SmallVector<Value> words = acquire(address, count);
      Value there = isThere(words[0]), least = words[0];
      for (Value word : llvm::drop_begin(words)) {
        there = both(there, isThere(word));
        least = min(least, word);
      }
      Value reason = select(less(least, c64(0)), c64(-kLost), op<arith::ExtUIOp>(i64(), there));
      Value often = add(carried[0], 1);
      Value askOthers = both(equal(reason, 0), equal(both(often, 31), 0));
      reason = choose(i64(), askOthers, [&] { return giveUp(often); }, [&] { return reason; });
      SmallVector<Value> results{reason, often};
      llvm::append_range(results, words);
      op<scf::ConditionOp>(equal(reason, 0), results);
    };
    SmallVector<Type> types{i64(), i32()};
    types.append(count, i64());
    auto loop = scf::WhileOp::create(k.b, k.loc, types, ValueRange{c(0)}, poll,
                                     [&](OpBuilder &, Location, ValueRange carried) { op<scf::YieldOp>(carried[1]); });
    Value reason = loop.getResult(0), good = equal(reason, 1);
    ifThen(no(either(good, equal(reason, -kEnded))), [&] { fail(sub(c64(0), reason), of, c64(0), c64(0)); });
    SmallVector<Value> words(loop.getResults().drop_front(2));
    words[0] = select(good, words[0], c64(-1));
    return words;
  }
  /// The negative reason not to wait on, or 0.
  Value giveUp(Value times) {
    Value reason = select(less(deadline, clock()), c64(-kLate), c64(0));
    reason = select(hasFailed(), c64(-kEnded), reason);
    // The host's memory is far away.
    Value rarely = equal(both(times, 1023), 0);
    return choose(
        i64(), rarely,
        [&] {
          Value report = op<LLVM::IntToPtrOp>(table.getType(), load(i64(), field(table, offsetof(Table, report))));
          Value abort = load(i64(), field(report, offsetof(Report, abort)), /*isVolatile=*/true);
          return select(compare(CmpIPredicate::ne, abort, c64(0)), c64(-kAborted), reason);
        },
        [&] { return reason; });
  }

  //--- Rows
  void findRowBytes() {
    MemRefType type = KernelBuilder::memref(exchange.getTarget());
    int64_t fixed = View{{}, {}, type}.bytes();
    rowBytes = c64(1);
    for (auto [d, size] : llvm::drop_begin(llvm::enumerate(type.getShape()))) {
      if (ShapedType::isDynamic(size))
        rowBytes = mul(rowBytes, k.size(exchange.getTarget(), static_cast<int64_t>(d), 64));
      else
        fixed *= size;
    }
    rowBytes = mul(rowBytes, fixed);
    // Rows begin on multiples of it.
    unit = fixed ? std::min(fixed & -fixed, kVector) : 1;
  }
  /// Rows [begin, end) for rank `of`.
  std::pair<Value, Value> rowsOf(Value bounds, Value rows, Value of) {
    if (!bounds) {
      Value share = div(rows, ranks), begin = mul(share, of);
      return {begin, add(begin, share)};
    }
    Value first = mul(of, 2);
    return {load(i64(), at(bounds, first, i64())), load(i64(), at(bounds, add(first, 1), i64()))};
  }
  /// Whether these rows are within the buffer, from `least` on; reports them if not.
  Value check(std::pair<Value, Value> bounds, Value least, Value rows, Value of) {
    auto atMost = [&](Value a, Value b) { return compare(CmpIPredicate::sle, a, b); };
    Value good =
        both(both(atMost(least, bounds.first), atMost(bounds.first, bounds.second)), atMost(bounds.second, rows));
    ifThen(no(good), [&] { fail(c64(kBounds), of, bounds.first, bounds.second); });
    return good;
  }
  /// Where what lies between the rows of ranks `of` - 1 and `of` begins.
  Value endBefore(Value of) {
    Value isFirst = equal(of, 0);
    Value place = select(isFirst, c64(0), add(mul(of, 2), -1));
    return select(isFirst, c64(0), load(i64(), at(receiveBounds, place, i64())));
  }

  /// What a posted word has above its value.
  Value mark() {
    Value round = both(number, kPostedNumbers - 1);
    return either(op<arith::ShLIOp>(round, c64(kPostedBits + 1)), c64(int64_t(1) << kPostedBits));
  }

  /// Word 0 (where) or 1 (how many) of each rank.
  void post(Value word) {
    Value to = shr(word, 1), isRows = equal(both(word, 1), 1);
    auto bounds = rowsOf(receiveBounds, targetRows, to);
    Value good = check(bounds, receiveBounds ? endBefore(to) : c64(0), targetRows, to);
    ifThen(good, [&] {
      Value place = bytesAfter(target, mul(bounds.first, rowBytes));
      Value value = select(isRows, sub(bounds.second, bounds.first), sub(addressOf(place), addressOf(memory)));
      Value there = sender(memoryOf(to), rank, offsetof(Sender, offset));
      // The kernels before this one have ended, so that there is nothing to release.
      tell(either(value, mark()), at(there, select(isRows, c64(1), c64(0)), i64()));
    });
  }

  void send(Value to) {
    // Read before the wait, whose end is urgent.
    auto bounds = rowsOf(sendBounds, sourceRows, to);
    Value there = memoryOf(to), expectedMark = mark();
    SmallVector<Value> posted = await(sender(memory, to, offsetof(Sender, offset)), 2, to, [&](Value word) {
      return equal(both(word, c64(-(int64_t(1) << kPostedBits))), expectedMark);
    });
    auto valueOf = [&](Value word) { return both(word, c64((int64_t(1) << kPostedBits) - 1)); };
    ifThen(compare(CmpIPredicate::sge, posted[0], c64(0)), [&] {
      Value offset = valueOf(posted[0]), expected = valueOf(posted[1]);
      Value good = check(bounds, c64(0), sourceRows, to), rows = sub(bounds.second, bounds.first);
      Value agreed = equal(rows, expected);
      ifThen(both(good, no(agreed)), [&] { fail(c64(kSizes), to, rows, expected); });
      ifThen(both(good, agreed), [&] {
        Value from = bytesAfter(source, mul(bounds.first, rowBytes));
        move(bytesAfter(there, offset), from, mul(rows, rowBytes));
      });
    });
  }

  /// Rows of the target that no rank sends become zero.
  void clearGaps() {
    forEach(c(0), c(ranks + 1), c(1), [&](Value i) {
      Value of = ext64(i), isLast = equal(of, ranks);
      Value next = load(i64(), at(receiveBounds, mul(select(isLast, c64(0), of), 2), i64()));
      Value begin = max(endBefore(of), c64(0)), end = min(select(isLast, targetRows, next), targetRows);
      move(bytesAfter(target, mul(begin, rowBytes)), Value(), mul(sub(end, begin), rowBytes));
    });
  }

  /// This thread's share of `bytes` bytes from `from` (null: zeros) to `to`.
  void move(Value to, Value from, Value bytes) {
    Type element = k.b.getIntegerType(unit == kVector ? 8 : unit * 8);
    Type vector = VectorType::get(4, i32());
    Value zero = c64(0), head = zero, middle = bytes;
    if (unit < kVector) {
      Value place = addressOf(to), other = from ? addressOf(from) : place;
      Value apart = both(differing(place, other), c64(kVector - 1));
      head = both(sub(zero, place), c64(kVector - 1));
      head = select(equal(apart, 0), min(head, bytes), bytes);
      middle = both(sub(bytes, head), c64(-kVector));
      moveEach(to, from, element, unit, zero, head, 1);
      moveEach(to, from, element, unit, add(head, middle), bytes, 1);
    }
    constexpr int64_t kRound = kThreads * kBlocks * kVector * kPerRound;
    Value whole = mul(op<arith::DivSIOp>(max(middle, zero), c64(kRound)), kRound);
    moveEach(to, from, vector, kVector, head, add(head, whole), kPerRound);
    moveEach(to, from, vector, kVector, add(head, whole), add(head, middle), 1);
  }
  /// The same for bytes `begin` to `end`, a multiple of `width` from each other, `times` pieces of `width` in a round.
  void moveEach(Value to, Value from, Type type, int64_t width, Value begin, Value end, int64_t times) {
    int64_t stride = kThreads * kBlocks * width;
    forEach(add(begin, mul(index, width)), end, c64(stride * times), [&](Value place) {
      SmallVector<Value> pieces;
      for (int64_t i = 0; i < times; ++i)
        pieces.push_back(from ? op<LLVM::LoadOp>(type, bytesAfter(from, add(place, i * stride)), width).getResult()
                              : op<LLVM::ZeroOp>(type).getResult());
      for (int64_t i = 0; i < times; ++i)
        op<LLVM::StoreOp>(pieces[i], bytesAfter(to, add(place, i * stride)), width);
    });
  }

  void finish() {
    auto eachRank = [&](function_ref<void(Value)> body) {
      forEach(thread(), c(ranks), c(kThreads), [&](Value of) { body(ext64(of)); });
    };
    auto tellOfFailure = [&] {
      eachRank([&](Value to) {
        for (size_t bytes : {offsetof(Sender, offset), offsetof(Sender, rows), offsetof(Sender, done)})
          release(c64(kGone), sender(memoryOf(to), rank, bytes));
      });
    };
    // What the block's threads have stored is theirs to see before this is.
    Value good = no(hasFailed());
    ifThen(good, [&] {
      eachRank([&](Value to) { releaseAdd(c64(1), sender(memoryOf(to), rank, offsetof(Sender, done))); });
    });
    ifThen(no(good), tellOfFailure);
    ifThen(equal(block(), 0), [&] {
      ifThen(good, [&] {
        Value all = mul(number, kBlocks);
        eachRank([&](Value of) {
          await(sender(memory, of, offsetof(Sender, done)), 1, of,
                [&](Value found) { return compare(CmpIPredicate::sge, found, all); });
        });
      });
      barrier();
      // Nobody is waited for any more. The other blocks have ended or are about to.
      op<NVVM::GriddepcontrolOp>(NVVM::GridDepActionKind::launch_dependents);
      ifThen(hasFailed(), tellOfFailure);
      ifThen(equal(thread(), 0), [&] { store(number, field(table, offsetof(Table, ended))); });
    });
  }

  prog::AllToAllOp exchange;
  int64_t ranks, unit;
  Value table, source, target, sendBounds, receiveBounds, sourceRows, targetRows, rowBytes;
  Value rank, memory, number, deadline, index;
};

} // namespace

LogicalResult sm90::lower(prog::AllToAllOp op, OpBuilder &builder, StringRef name) {
  KernelBuilder kernel(builder, op.getLoc(), name);
  Exchange(op, kernel).build();
  kernel.finish(LaunchAttr::get(builder.getContext(), kThreads, 1, 0, 0, kBlocks));
  return success();
}
