//===- Offsets.cpp - tile.offsets on a CPU ---------------------------------===//
//
// One serial task: the bounds of a group depend on all groups before it, and there are few groups.
//
//===----------------------------------------------------------------------===//

#include "Groups.h"
#include "Lowering.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::tile;

LogicalResult cpu::lower(OffsetsOp op, const Kernel &kernel) {
  Location loc = op.getLoc();
  OpBuilder builder = OpBuilder::atBlockBegin(&func::FuncOp(kernel.tasks).front());
  Value oneTask = arith::ConstantIndexOp::create(builder, loc, 1);
  func::ReturnOp::create(builder, loc, oneTask);

  builder.setInsertionPointToStart(&func::FuncOp(kernel.run).front());
  auto index = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(builder, loc, value); };
  Type i64 = builder.getI64Type();
  Value sizes = kernel.inRun(op.getSizes()), bounds = kernel.inRun(op.getOuts()[0]);
  Value c0 = index(0), c1 = index(1), zero = arith::ConstantIntOp::create(builder, loc, 0, 64);
  Value rows = arith::IndexCastOp::create(builder, loc, i64, kernel.inRun(op.getRows()));
  rows = arith::MaxSIOp::create(builder, loc, rows, zero);
  // Sizes are clamped into [0, rows left] before they are added: nothing overflows for any input.
  auto loop =
      scf::ForOp::create(builder, loc, c0, memref::DimOp::create(builder, loc, sizes, c0), c1, ValueRange{zero});
  builder.setInsertionPointToStart(loop.getBody());
  Value group = loop.getInductionVar(), start = loop.getRegionIterArg(0);
  Value size = memref::LoadOp::create(builder, loc, sizes, group);
  if (size.getType() != i64)
    size = arith::ExtSIOp::create(builder, loc, i64, size);
  Value left = arith::SubIOp::create(builder, loc, rows, start);
  // Unsigned, so that a negative size is too large as well.
  Value bad = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ugt, size, left);
  auto report = scf::IfOp::create(builder, loc, bad, /*withElseRegion=*/false);
  {
    OpBuilder inside = report.getThenBodyBuilder();
    emitFault(inside, loc, kernel.context(), FaultKind::BadSizes, group, size, left);
  }
  Value kept = arith::MinSIOp::create(builder, loc, arith::MaxSIOp::create(builder, loc, size, zero), left);
  Value end = arith::AddIOp::create(builder, loc, start, kept);
  memref::StoreOp::create(builder, loc, start, bounds, ValueRange{group, c0});
  memref::StoreOp::create(builder, loc, end, bounds, ValueRange{group, c1});
  Value next = nextStart(builder, loc, start, kept, rows, op.getAlign());
  scf::YieldOp::create(builder, loc, next);

  builder.setInsertionPointAfter(loop);
  func::ReturnOp::create(builder, loc);
  return success();
}
