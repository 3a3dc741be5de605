//===- Offsets.cpp - tile.offsets as one block ---------------------------------===//
//
// A group starts at the sum of the sizes before it, each clamped to [0, rows] and rounded up, or at `rows` if that is
// less: what is clamped away lies past the end anyway. A warp has 32 groups at a time: its lanes add up the sizes
// before those, each every 32nd, and then pass sums from lane to lane. No warp waits for another, since every product
// waits for this kernel.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace mlir::sm90;

static constexpr int64_t kThreads = 256;

namespace {

class Offsets {
public:
  Offsets(tile::OffsetsOp op, KernelBuilder &kernel)
      : op(op), k(kernel), groups(KernelBuilder::memref(op.getSizes()).getDimSize(0)) {}

  void build() {
    sizes = k.pointer(op.getSizes());
    bounds = k.pointer(op.getOuts()[0]);
    sizesStride = k.stride(op.getSizes(), 0);
    boundsStride = k.stride(op.getOuts()[0], 0);
    rows = k.op<arith::MaxSIOp>(k.scalar(op.getRows()), i64(0));
    faults = k.faults();
    Value thread = k.op<NVVM::ThreadIdXOp>(k.b.getI32Type());
    lane = k.op<arith::AndIOp>(thread, k.c(31));
    Value zero = k.c(0);
    // Any fault: the groups with one are found again, in order, by one thread.
    Value mine =
        k.loop(k.sub(thread, lane), k.c(groups), k.c(kThreads), ValueRange{zero}, [&](Value first, ValueRange state) {
          Value group = k.add(first, lane), last = k.c(groups - 1);
          Value inside = k.op<arith::CmpIOp>(arith::CmpIPredicate::sle, group, last);
          Value size = loadSize(k.op<arith::MinSIOp>(group, last));
          Value start = getStart(first, size), left = k.op<arith::SubIOp>(rows, start);
          Value bad = k.op<arith::AndIOp>(inside, isBad(size, left));
          auto branch = k.op<scf::IfOp>(inside, false);
          OpBuilder::InsertionGuard guard(k.b);
          k.b.setInsertionPoint(branch.thenBlock()->getTerminator());
          Value kept = k.op<arith::MinSIOp>(k.op<arith::MaxSIOp>(size, i64(0)), left);
          k.op<LLVM::StoreOp>(start, bound(group), 8);
          k.op<LLVM::StoreOp>(k.op<arith::AddIOp>(start, kept).getResult(), at(bound(group), i64(1), 8), 8);
          k.b.setInsertionPointAfter(branch);
          return SmallVector<Value>{k.op<arith::OrIOp>(state[0], k.op<arith::ExtUIOp>(k.b.getI32Type(), bad))};
        })[0];
    Value any =
        k.op<NVVM::BarrierOp>(k.b.getI32Type(), Value(), Value(),
                              NVVM::BarrierReductionAttr::get(k.b.getContext(), NVVM::BarrierReduction::OR), mine)
            .getRes();
    Value isFirst = k.op<arith::CmpIOp>(arith::CmpIPredicate::eq, thread, zero);
    Value isAny = k.op<arith::CmpIOp>(arith::CmpIPredicate::ne, any, zero);
    auto branch = k.op<scf::IfOp>(k.op<arith::AndIOp>(isFirst, isAny), false);
    OpBuilder::InsertionGuard guard(k.b);
    k.b.setInsertionPoint(branch.thenBlock()->getTerminator());
    k.loop(zero, k.c(groups), k.c(1), {}, [&](Value group, ValueRange) {
      report(group);
      return SmallVector<Value>();
    });
  }

private:
  Value i64(int64_t value) { return k.op<arith::ConstantIntOp>(value, 64); }
  Value ext(Value value) { return k.op<arith::ExtSIOp>(k.b.getI64Type(), value); }
  Value at(Value base, Value index, int64_t bytes) {
    Value offset = k.op<arith::MulIOp>(index, i64(bytes));
    return k.op<LLVM::GEPOp>(base.getType(), k.b.getI8Type(), base, ArrayRef<LLVM::GEPArg>{offset});
  }

  Value loadSize(Value group) {
    Type type = KernelBuilder::memref(op.getSizes()).getElementType();
    int64_t bytes = type.getIntOrFloatBitWidth() / 8;
    Value address = at(sizes, k.op<arith::MulIOp>(ext(group), sizesStride), bytes);
    Value size = k.op<LLVM::LoadOp>(type, address, bytes);
    return bytes == 8 ? size : ext(size);
  }

  /// Address of the pair of a group.
  Value bound(Value group) { return at(bounds, k.op<arith::MulIOp>(ext(group), boundsStride), 8); }

  /// Whether a size is below 0 or more than what is left of the rows.
  Value isBad(Value size, Value left) { return k.op<arith::CmpIOp>(arith::CmpIPredicate::ugt, size, left); }

  /// What a group of this size takes of the rows, if they suffice.
  Value taken(Value size) {
    size = k.op<arith::MinSIOp>(k.op<arith::MaxSIOp>(size, i64(0)), rows);
    if (op.getAlign() == 1)
      return size;
    Value units = k.op<arith::DivUIOp>(k.op<arith::AddIOp>(size, i64(op.getAlign() - 1)), i64(op.getAlign()));
    return k.op<arith::MulIOp>(units, i64(op.getAlign()));
  }

  /// The i64 of another lane.
  Value shuffle(Value value, int64_t distance, NVVM::ShflKind kind) {
    auto move = [&](Value half) -> Value {
      return k.op<NVVM::ShflOp>(k.b.getI32Type(), k.c(-1), half, k.c(distance),
                                k.c(kind == NVVM::ShflKind::up ? 0 : 31), kind, UnitAttr());
    };
    Value low = move(k.op<arith::TruncIOp>(k.b.getI32Type(), value));
    Value high = move(k.op<arith::TruncIOp>(k.b.getI32Type(), k.op<arith::ShRUIOp>(value, i64(32))));
    Value shifted = k.op<arith::ShLIOp>(k.op<arith::ExtUIOp>(k.b.getI64Type(), high), i64(32));
    return k.op<arith::OrIOp>(shifted, k.op<arith::ExtUIOp>(k.b.getI64Type(), low));
  }

  /// Where the lane's group starts, which is `first` + lane and has this size. Sums are held to `rows`, so that none of
  /// them passes 64 bits.
  Value getStart(Value first, Value size) {
    auto addUp = [&](Value x, Value y) -> Value { return k.op<arith::MinSIOp>(k.op<arith::AddIOp>(x, y), rows); };
    Value before = k.loop(lane, first, k.c(32), ValueRange{i64(0)}, [&](Value group, ValueRange state) {
      return SmallVector<Value>{addUp(state[0], taken(loadSize(group)))};
    })[0];
    Value upTo = taken(size); // the sum of the lanes up to this one
    for (int64_t distance = 1; distance < 32; distance *= 2) {
      before = addUp(before, shuffle(before, distance, NVVM::ShflKind::bfly));
      Value hasLower = k.op<arith::CmpIOp>(arith::CmpIPredicate::sge, lane, k.c(distance));
      Value lower = k.op<arith::SelectOp>(hasLower, shuffle(upTo, distance, NVVM::ShflKind::up), i64(0));
      upTo = addUp(upTo, lower);
    }
    Value below = shuffle(upTo, 1, NVVM::ShflKind::up);
    Value isFirst = k.op<arith::CmpIOp>(arith::CmpIPredicate::eq, lane, k.c(0));
    return addUp(before, k.op<arith::SelectOp>(isFirst, i64(0), below));
  }

  /// Counts the fault of a group, and keeps what the first one says. Kernels of a program run one after another.
  void report(Value group) {
    Value start = k.op<LLVM::LoadOp>(k.b.getI64Type(), bound(group), 8);
    Value size = loadSize(group), left = k.op<arith::SubIOp>(rows, start);
    auto branch = k.op<scf::IfOp>(isBad(size, left), false);
    OpBuilder::InsertionGuard guard(k.b);
    k.b.setInsertionPoint(branch.thenBlock()->getTerminator());
    // A record is count, row, value, limit (i64); see FaultBlock of the runtime.
    Value record = at(faults, i64(4 * static_cast<int64_t>(tile::FaultKind::BadSizes)), 8);
    Value count = k.op<LLVM::LoadOp>(k.b.getI64Type(), record, 8);
    Value row = k.op<LLVM::LoadOp>(k.b.getI64Type(), at(record, i64(1), 8), 8);
    k.op<LLVM::StoreOp>(k.op<arith::AddIOp>(count, i64(1)).getResult(), record, 8);
    Value none = k.op<arith::CmpIOp>(arith::CmpIPredicate::eq, count, i64(0));
    Value lower = k.op<arith::CmpIOp>(arith::CmpIPredicate::slt, ext(group), row);
    auto keep = k.op<scf::IfOp>(k.op<arith::OrIOp>(none, lower), false);
    k.b.setInsertionPoint(keep.thenBlock()->getTerminator());
    for (auto [i, value] : {std::pair<int64_t, Value>{1, ext(group)}, {2, size}, {3, left}})
      k.op<LLVM::StoreOp>(value, at(record, i64(i), 8), 8);
  }

  tile::OffsetsOp op;
  KernelBuilder &k;
  int64_t groups;
  Value sizes, bounds, sizesStride, boundsStride, rows, faults, lane;
};

} // namespace

LogicalResult sm90::lower(tile::OffsetsOp op, OpBuilder &builder, StringRef name) {
  KernelBuilder kernel(builder, op.getLoc(), name);
  Offsets(op, kernel).build();
  kernel.finish(LaunchAttr::get(builder.getContext(), kThreads, 1, 0, 0, /*blocks=*/1));
  return success();
}
