//===- FuseRows.cpp - two row-wise ops of the same rows become one ----------===//

#include "Fusion.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::tile;

/// The number of rows that an op writes: a size, or the value of one; null if it is not known to be that of another op.
static OpFoldResult getNumRows(RowsOp rows) {
  Value out = rows.getOuts()[0];
  auto type = cast<ShapedType>(out.getType());
  if (!type.isDynamicDim(0))
    return IntegerAttr::get(IndexType::get(rows.getContext()), type.getDimSize(0));
  auto empty = out.getDefiningOp<tensor::EmptyOp>();
  return empty ? OpFoldResult(empty.getDynamicSizes().front()) : OpFoldResult();
}

/// The loads of argument `argument` of a body; empty if one of them is of another row, or of an element.
static std::optional<SmallVector<LoadOp>> getLoadsOfOwnRow(BlockArgument argument) {
  SmallVector<LoadOp> loads;
  for (Operation *user : argument.getUsers()) {
    auto load = cast<LoadOp>(user);
    if (load.getIndices().size() != 1 || load.getIndices()[0] != argument.getOwner()->getArgument(0))
      return std::nullopt;
    loads.push_back(load);
  }
  return loads;
}

static int64_t getWidest(RowsOp rows) {
  int64_t widest = 1;
  for (Operation &op : rows.getBody().front())
    for (Type type : op.getResultTypes())
      if (auto vector = dyn_cast<VectorType>(type))
        widest = std::max(widest, vector.getNumElements());
  return widest;
}

/// Rows that a body reads, but for those of `producer`.
static int64_t getNumRowLoads(RowsOp rows, RowsOp producer) {
  return llvm::count_if(rows.getBody().front().getOps<LoadOp>(), [&](LoadOp load) {
    unsigned argument = cast<BlockArgument>(load.getSource()).getArgNumber() - (rows.getBounds() ? 2 : 1);
    return isa<VectorType>(load.getType()) && rows.getIns()[argument].getDefiningOp() != producer;
  });
}

void mlir::tile::fuseRows(RowsOp rows, RewriterBase &rewriter) {
  if (!rows.getNumResults())
    return;
  // The first operand whose op has the same rows.
  RowsOp producer;
  for (Value in : rows.getIns())
    if (auto found = in.getDefiningOp<RowsOp>(); found && found->getBlock() == rows->getBlock()) {
      producer = found;
      break;
    }
  if (!producer)
    return;
  auto refuse = [&](StringRef why) -> InFlightDiagnostic {
    InFlightDiagnostic remark = rows.emitRemark("not fused with the rows before it: ");
    return std::move(remark << why);
  };
  OpFoldResult count = getNumRows(rows), produced = getNumRows(producer);
  if (!count || count != produced) {
    refuse("the numbers of rows are not known to be the same").attachNote(producer.getLoc()) << "the rows before it";
    return;
  }
  if (rows.getOrder() || producer.getOrder()) {
    refuse("one has an order").attachNote(producer.getLoc()) << "the rows before it";
    return;
  }
  if (rows.getBounds() != producer.getBounds()) {
    refuse("the bounds are not the same").attachNote(producer.getLoc()) << "the rows before it";
    return;
  }
  // On a GPU a row's threads are as many as its widest vector needs, and all of them would do the narrow work.
  if (getWidest(rows) > 4 * getWidest(producer)) {
    refuse("it is far wider").attachNote(producer.getLoc()) << "the rows before it";
    return;
  }
  // As many rows at once as fit the registers of a thread.
  constexpr int64_t kMostRows = 16;
  if (getNumRowLoads(rows, producer) + getNumRowLoads(producer, producer) > kMostRows) {
    refuse("it would read more than 16 rows at once").attachNote(producer.getLoc()) << "the rows before it";
    return;
  }
  DenseMap<Operation *, Value> replaced; // load -> result of the producer
  for (auto [argument, in] : llvm::zip(rows.getInArguments(), rows.getIns())) {
    if (in.getDefiningOp() != producer)
      continue;
    auto loads = getLoadsOfOwnRow(argument);
    if (!loads) {
      refuse("a row of another number, or an element, is read").attachNote(producer.getLoc()) << "of this op";
      return;
    }
    for (LoadOp load : *loads)
      replaced[load] = in;
  }
  // What else uses the producer must find its results where the fused op stands.
  SmallVector<OpResult> kept;
  for (OpResult result : producer->getResults()) {
    bool isUsedElsewhere = false;
    for (Operation *user : result.getUsers()) {
      if (user == rows)
        continue;
      isUsedElsewhere = true;
      Operation *ancestor = rows->getBlock()->findAncestorOpInBlock(*user);
      if (!ancestor || ancestor->isBeforeInBlock(rows)) {
        refuse("a use of the rows before it stands between the two").attachNote(user->getLoc()) << "used here";
        return;
      }
    }
    if (isUsedElsewhere)
      kept.push_back(result);
  }

  SmallVector<Value> ins(producer.getIns()), outs(rows.getOuts());
  for (Value in : rows.getIns())
    if (in.getDefiningOp() != producer)
      ins.push_back(in);
  for (OpResult result : kept)
    outs.push_back(producer.getOuts()[result.getResultNumber()]);
  rewriter.setInsertionPoint(rows);
  auto fused = RowsOp::create(rewriter, rows.getLoc(), ValueRange(outs).getTypes(), ins, rows.getBounds(),
                              /*order=*/Value(), outs);
  Block &before = producer.getBody().front(), &after = rows.getBody().front();
  unsigned leading = rows.getBounds() ? 2 : 1;
  SmallVector<Type> types(leading, rewriter.getIndexType());
  llvm::append_range(types, ValueRange(ins).getTypes());
  Block *body = rewriter.createBlock(&fused.getBody(), {}, types, SmallVector<Location>(types.size(), rows.getLoc()));
  IRMapping mapping;
  mapping.map(before.getArguments(), body->getArguments().take_front(before.getNumArguments()));
  mapping.map(after.getArguments().take_front(leading), body->getArguments().take_front(leading));
  unsigned next = before.getNumArguments();
  for (auto [argument, in] : llvm::zip(rows.getInArguments(), rows.getIns()))
    if (in.getDefiningOp() != producer)
      mapping.map(argument, body->getArgument(next++));
  for (Operation &op : before.without_terminator())
    rewriter.clone(op, mapping);
  auto yielded = [&](Value result) {
    return mapping.lookup(before.getTerminator()->getOperand(cast<OpResult>(result).getResultNumber()));
  };
  for (Operation &op : after.without_terminator()) {
    if (auto known = replaced.find(&op); known != replaced.end())
      mapping.map(op.getResult(0), yielded(known->second));
    else
      rewriter.clone(op, mapping);
  }
  SmallVector<Value> values;
  for (Value value : after.getTerminator()->getOperands())
    values.push_back(mapping.lookup(value));
  for (OpResult result : kept)
    values.push_back(yielded(result));
  YieldOp::create(rewriter, rows.getLoc(), values);
  for (auto [i, result] : llvm::enumerate(kept))
    rewriter.replaceAllUsesExcept(result, fused.getResult(rows.getNumResults() + i), rows);
  rewriter.replaceOp(rows, fused.getResults().take_front(rows.getNumResults()));
  rewriter.eraseOp(producer);
  fuseRows(fused, rewriter);
}
