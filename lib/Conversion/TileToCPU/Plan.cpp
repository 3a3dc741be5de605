//===- Plan.cpp - tile.plan on a CPU ---------------------------------------===//
//
// One serial task: a counting sort by expert, two passes over the ids.
//   1. count       bounds[g] = {0, slots of g}; reports bad ids
//   2. scan        bounds[g] = {start, start}, sizes, dropped; pad rows and the tail become -1
//   3. place       slot -> row bounds[id][1]++, while that is below the limit; leaves bounds[g] = {start, end}
// The bounds output serves as the counters, so no memory is needed besides the outputs.
//
//===----------------------------------------------------------------------===//

#include "Groups.h"
#include "Lowering.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;
using arith::CmpIPredicate;

namespace {

struct PlanLowering {
  PlanLowering(PlanOp op, const Kernel &kernel)
      : op(op), kernel(kernel), loc(op.getLoc()), builder(OpBuilder::atBlockBegin(&func::FuncOp(kernel.run).front())) {
    ids = kernel.inRun(op.getIds());
    auto outs = op.getOuts();
    sizes = kernel.inRun(outs[0]);
    bounds = kernel.inRun(outs[1]);
    permutation = kernel.inRun(outs[2]);
    token = kernel.inRun(outs[3]);
    inverse = kernel.inRun(outs[4]);
    dropped = kernel.inRun(outs[5]);
    c0 = index(0);
    c1 = index(1);
    zero = i64(0);
    one = i64(1);
    none = arith::ConstantIntOp::create(builder, loc, -1, 32);
    tokens = memref::DimOp::create(builder, loc, ids, c0);
    topk = memref::DimOp::create(builder, loc, ids, c1);
    groups = memref::DimOp::create(builder, loc, sizes, c0);
    rows64 = cast(memref::DimOp::create(builder, loc, permutation, c0), builder.getI64Type());
    groups64 = cast(groups, builder.getI64Type());
  }

  void run() {
    count();
    Value numDropped = scan();
    place(numDropped);
    func::ReturnOp::create(builder, loc);
  }

private:
  Value index(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  Value i64(int64_t value) { return arith::ConstantIntOp::create(builder, loc, value, 64); }
  /// Between index, i32 and i64; values are never negative and fit.
  Value cast(Value value, Type type) {
    if (value.getType().isIndex() || type.isIndex())
      return arith::IndexCastOp::create(builder, loc, type, value);
    return arith::TruncIOp::create(builder, loc, type, value);
  }
  Value add(Value a, Value b) { return arith::AddIOp::create(builder, loc, a, b); }
  Value sub(Value a, Value b) { return arith::SubIOp::create(builder, loc, a, b); }
  Value compare(CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  }
  void store(Value value, Value memref, ValueRange indices) {
    memref::StoreOp::create(builder, loc, value, memref, indices);
  }
  Value load(Value memref, ValueRange indices) { return memref::LoadOp::create(builder, loc, memref, indices); }

  /// for (i = from; i < to; ++i): the body gets i and the carried values and returns the next ones.
  SmallVector<Value> loop(Value from, Value to, ValueRange carried,
                          llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
    auto op = scf::ForOp::create(builder, loc, from, to, c1, carried);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(op.getBody());
    SmallVector<Value> next = body(op.getInductionVar(), op.getRegionIterArgs());
    if (!carried.empty())
      scf::YieldOp::create(builder, loc, next);
    return SmallVector<Value>(op.getResults());
  }
  void forEach(Value from, Value to, llvm::function_ref<void(Value)> body) {
    loop(from, to, {}, [&](Value i, ValueRange) {
      body(i);
      return SmallVector<Value>();
    });
  }
  void when(Value condition, llvm::function_ref<void()> body) {
    auto op = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(op.thenBlock());
    body();
  }

  /// The id of slot (t, j) as i64.
  Value loadId(Value t, Value j) {
    return arith::ExtSIOp::create(builder, loc, builder.getI64Type(), load(ids, {t, j}));
  }
  /// Unsigned, so that a negative id is out of range as well.
  Value isGroup(Value id) { return compare(CmpIPredicate::ult, id, groups64); }
  Value slotOf(Value t, Value j) { return add(arith::MulIOp::create(builder, loc, t, topk), j); }

  void count() {
    forEach(c0, groups, [&](Value g) {
      store(zero, bounds, {g, c0});
      store(zero, bounds, {g, c1});
    });
    Value minusOne = i64(-1);
    forEach(c0, tokens, [&](Value t) {
      forEach(c0, topk, [&](Value j) {
        Value id = loadId(t, j);
        Value counted = isGroup(id);
        auto branch = scf::IfOp::create(builder, loc, counted, /*withElseRegion=*/true);
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPointToStart(branch.thenBlock());
        Value g = cast(id, builder.getIndexType());
        store(add(load(bounds, {g, c1}), one), bounds, {g, c1});
        builder.setInsertionPointToStart(branch.elseBlock());
        when(compare(CmpIPredicate::ne, id, minusOne),
             [&] { emitFault(builder, loc, kernel.context(), FaultKind::BadId, slotOf(t, j), id, groups64); });
      });
    });
  }

  void fillRows(Value from, Value to) {
    forEach(cast(from, builder.getIndexType()), cast(to, builder.getIndexType()), [&](Value r) {
      store(none, permutation, r);
      store(none, token, r);
    });
  }

  /// The row before which the rows of group g end: with equal blocks that of the next block.
  Value limitOf(Value g) {
    if (!op.getEqualBlocks())
      return rows64;
    Value next = add(cast(g, builder.getI64Type()), one);
    return arith::MulIOp::create(builder, loc, next, i64(op.getBlockRows()));
  }

  /// Returns how many slots are dropped.
  Value scan() {
    SmallVector<Value> result = loop(c0, groups, {zero, zero}, [&](Value g, ValueRange carried) -> SmallVector<Value> {
      Value start = carried[0];
      Value wanted = load(bounds, {g, c1});
      Value limit = limitOf(g);
      Value kept = arith::MinSIOp::create(builder, loc, wanted, sub(limit, start));
      store(cast(wanted, builder.getI32Type()), sizes, g);
      store(start, bounds, {g, c0});
      store(start, bounds, {g, c1});
      Value next = op.getEqualBlocks() ? limit : nextStart(builder, loc, start, kept, rows64, op.getAlign());
      fillRows(add(start, kept), next);
      return {next, add(carried[1], sub(wanted, kept))};
    });
    fillRows(result[0], rows64);
    store(result[1], dropped, c0);
    return result[1];
  }

  void place(Value numDropped) {
    // Dropped slots come in no order of slots: the lowest is the first one this pass meets.
    Value noSlot = index(-1);
    Value first = loop(c0, tokens, noSlot, [&](Value t, ValueRange outer) -> SmallVector<Value> {
      return loop(c0, topk, outer, [&](Value j, ValueRange inner) -> SmallVector<Value> {
        Value id = loadId(t, j), slot = slotOf(t, j);
        auto branch = scf::IfOp::create(builder, loc, builder.getIndexType(), isGroup(id), /*withElseRegion=*/true);
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPointToStart(branch.thenBlock());
        Value g = cast(id, builder.getIndexType());
        Value row = load(bounds, {g, c1});
        auto placed =
            scf::IfOp::create(builder, loc, builder.getIndexType(), compare(CmpIPredicate::slt, row, limitOf(g)),
                              /*withElseRegion=*/true);
        scf::YieldOp::create(builder, loc, placed.getResult(0));
        builder.setInsertionPointToStart(placed.thenBlock());
        Value r = cast(row, builder.getIndexType());
        store(cast(slot, builder.getI32Type()), permutation, r);
        store(cast(t, builder.getI32Type()), token, r);
        store(cast(row, builder.getI32Type()), inverse, {t, j});
        store(add(row, one), bounds, {g, c1});
        scf::YieldOp::create(builder, loc, inner[0]);
        builder.setInsertionPointToStart(placed.elseBlock());
        store(none, inverse, {t, j});
        Value isFirst = compare(CmpIPredicate::eq, inner[0], noSlot);
        scf::YieldOp::create(builder, loc, Value(arith::SelectOp::create(builder, loc, isFirst, slot, inner[0])));
        builder.setInsertionPointToStart(branch.elseBlock());
        store(none, inverse, {t, j});
        scf::YieldOp::create(builder, loc, inner[0]);
        builder.setInsertionPointAfter(branch);
        return {branch.getResult(0)};
      });
    })[0];
    Value capacity = op.getEqualBlocks() ? i64(op.getBlockRows()) : rows64;
    when(compare(CmpIPredicate::ne, first, noSlot),
         [&] { emitFault(builder, loc, kernel.context(), FaultKind::Overflow, first, numDropped, capacity); });
  }

  PlanOp op;
  const Kernel &kernel;
  Location loc;
  OpBuilder builder;
  Value ids, sizes, bounds, permutation, token, inverse, dropped;
  Value tokens, topk, groups;        // index
  Value rows64, groups64, zero, one; // i64
  Value c0, c1, none;
};

} // namespace

LogicalResult cpu::lower(PlanOp op, const Kernel &kernel) {
  OpBuilder builder = OpBuilder::atBlockBegin(&func::FuncOp(kernel.tasks).front());
  Value oneTask = arith::ConstantIndexOp::create(builder, op.getLoc(), 1);
  func::ReturnOp::create(builder, op.getLoc(), oneTask);
  PlanLowering(op, kernel).run();
  return success();
}
