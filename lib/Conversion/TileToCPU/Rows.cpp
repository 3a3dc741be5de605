//===- Rows.cpp - tile.rows on a CPU ---------------------------------------===//
//
// A task is a block of rows. With bounds, the groups that meet the block are walked in order: rows between them are
// zeroed, rows within them run the body.
//
//===----------------------------------------------------------------------===//

#include "Rows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::tile;

/// Rows of a task: about 64 KB read and written, so that a task is worth its start (microseconds) and threads stay
/// even.
static int64_t rowsOfTask(RowsOp op) {
  auto bytes = [](Type type, int64_t count) {
    return count * (type.isIndex() ? 8 : llvm::divideCeil(type.getIntOrFloatBitWidth(), 8));
  };
  int64_t row = 0;
  for (Value out : op.getOuts()) {
    auto type = cast<ShapedType>(out.getType());
    row += bytes(type.getElementType(), type.getRank() == 1 ? 1 : type.getShape().back());
  }
  op.getBody().walk([&](LoadOp load) {
    if (auto type = dyn_cast<VectorType>(load.getType()))
      row += bytes(type.getElementType(), type.getNumElements());
  });
  return std::clamp<int64_t>(65536 / std::max<int64_t>(row, 1), 1, 4096);
}

LogicalResult cpu::lower(RowsOp op, const Kernel &kernel) {
  if (failed(checkRowBody(op)))
    return failure();
  Location loc = op.getLoc();
  int64_t rows = rowsOfTask(op);

  OpBuilder builder = OpBuilder::atBlockBegin(&func::FuncOp(kernel.tasks).front());
  auto index = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(builder, loc, value); };
  Value count = memref::DimOp::create(builder, loc, kernel.inTasks(op.getOuts()[0]), index(0));
  Value tasks = arith::CeilDivUIOp::create(builder, loc, count, index(rows));
  func::ReturnOp::create(builder, loc, tasks);

  builder.setInsertionPointToStart(&func::FuncOp(kernel.run).front());
  RowBody body(op, kernel, builder);
  Value c0 = index(0), c1 = index(1), size = index(rows);
  Value total = memref::DimOp::create(builder, loc, kernel.inRun(op.getOuts()[0]), c0);
  auto clampedRow = [&](Value task) -> Value {
    return arith::MinSIOp::create(builder, loc, arith::MulIOp::create(builder, loc, task, size), total);
  };
  Value begin = clampedRow(kernel.begin()), end = clampedRow(kernel.end());
  auto forEachRow = [&](Value from, Value to, llvm::function_ref<void(Value)> emit) {
    auto loop = scf::ForOp::create(builder, loc, from, to, c1);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    emit(loop.getInductionVar());
  };
  if (!op.getBounds()) {
    forEachRow(begin, end, [&](Value row) { body.emitRow(row, Value()); });
    func::ReturnOp::create(builder, loc);
    return success();
  }

  Value bounds = kernel.inRun(op.getBounds());
  Value groups = memref::DimOp::create(builder, loc, bounds, c0);
  // Carries the first row that is not written yet.
  auto walk = scf::ForOp::create(builder, loc, c0, groups, c1, begin);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(walk.getBody());
    Value group = walk.getInductionVar(), next = walk.getRegionIterArg(0);
    auto bound = [&](Value which) -> Value {
      Value row = memref::LoadOp::create(builder, loc, bounds, ValueRange{group, which});
      row = arith::IndexCastOp::create(builder, loc, builder.getIndexType(), row);
      return arith::MinSIOp::create(builder, loc, arith::MaxSIOp::create(builder, loc, row, next), end);
    };
    // A group without rows here leaves `next` where it is: an empty one may stand anywhere.
    Value first = bound(c0), last = bound(c1);
    Value hasRows = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, first, last);
    first = arith::SelectOp::create(builder, loc, hasRows, first, next);
    last = arith::SelectOp::create(builder, loc, hasRows, last, next);
    forEachRow(next, first, [&](Value row) { body.emitZeroRow(row); });
    forEachRow(first, last, [&](Value row) { body.emitRow(row, group); });
    scf::YieldOp::create(builder, loc, last);
  }
  forEachRow(walk.getResult(0), end, [&](Value row) { body.emitZeroRow(row); });
  func::ReturnOp::create(builder, loc);
  return success();
}
