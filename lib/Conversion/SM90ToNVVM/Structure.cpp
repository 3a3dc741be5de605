//===- Structure.cpp - roles and the tile scheduler become scf ---------------===//

#include "Emit.h"
#include "Patterns.h"

using namespace mlir;
using namespace mlir::sm90;

namespace {

/// Moves the only block of `region` before the terminator of `target`, dropping its own terminator.
void inlineInto(PatternRewriter &rewriter, Region &region, Block *target) {
  Block &block = region.front();
  rewriter.eraseOp(block.getTerminator());
  rewriter.inlineBlockBefore(&block, target->getTerminator());
}

struct LowerSpecialize : OpRewritePattern<SpecializeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SpecializeOp op, PatternRewriter &rewriter) const override {
    Emit emit(rewriter, op.getLoc());
    int64_t threads = op->getParentOfType<KernelOp>().getLaunch().getThreads();
    Value isProducer = emit.equal(emit.shr(op.getWarp(), 2), threads / 128 - 1);
    auto branch = emit.op<scf::IfOp>(isProducer, /*withElseRegion=*/true);
    // ptxas honours a budget only if it is set first thing in the arm. At entry every thread has an equal share.
    auto setBudget = [&](Block *block, int64_t registers) {
      rewriter.setInsertionPointToStart(block);
      auto action = registers * threads < kChip.registers ? NVVM::SetMaxRegisterAction::decrease
                                                          : NVVM::SetMaxRegisterAction::increase;
      emit.op<NVVM::SetMaxRegisterOp>(registers, action);
    };
    setBudget(branch.thenBlock(), op.getProducerRegisters());
    inlineInto(rewriter, op.getProducer(), branch.thenBlock());
    setBudget(branch.elseBlock(), op.getConsumerRegisters());
    inlineInto(rewriter, op.getConsumers(), branch.elseBlock());
    rewriter.eraseOp(op);
    return success();
  }
};

struct LowerElect : OpRewritePattern<ElectOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ElectOp op, PatternRewriter &rewriter) const override {
    Emit emit(rewriter, op.getLoc());
    auto warp = emit.op<scf::IfOp>(emit.equal(emit.both(op.getWarp(), 3), 0), /*withElseRegion=*/false);
    rewriter.setInsertionPoint(warp.thenBlock()->getTerminator());
    Value elected = emit.op<NVVM::ElectSyncOp>(emit.i1(), Value());
    auto thread = emit.op<scf::IfOp>(elected, /*withElseRegion=*/false);
    inlineInto(rewriter, op.getBody(), thread.thenBlock());
    rewriter.eraseOp(op);
    return success();
  }
};

/// The walk: outside, the block's next tile; inside, forward to the section that holds it. Tiles come in ascending
/// order.
class TileWalk {
public:
  TileWalk(ForTilesOp op, PatternRewriter &rewriter)
      : op(op), rewriter(rewriter), emit(rewriter, op.getLoc()),
        cluster(op->getParentOfType<KernelOp>().getLaunch().getCluster() == 2),
        columnTiles(llvm::divideCeil(op.getColumns(), op.getTileN())) {}

  void build() {
    sections = op.getGroups();
    if (op.getBounds() && !op.getContraction())
      sections = 2 * sections + 1;
    Value first, blocks;
    if (cluster) {
      first = emit.op<NVVM::ClusterIdXOp>(emit.i32());
      blocks = emit.op<NVVM::ClusterDimXOp>(emit.i32());
      rank = emit.op<NVVM::BlockInClusterIdXOp>(emit.i32());
    } else {
      first = emit.op<NVVM::BlockIdXOp>(emit.i32());
      blocks = emit.op<NVVM::GridDimXOp>(emit.i32());
    }
    Value zero = emit.c(0);
    SmallVector<Value> inits{first, emit.c(-1), zero, zero, zero, zero};
    if (op.getQueue())
      inits.push_back(emit.op<StartOp>(CursorType::get(rewriter.getContext())));
    carried = inits.size();
    llvm::append_range(inits, op.getInits());
    auto loop = scf::WhileOp::create(
        rewriter, op.getLoc(), TypeRange(ValueRange(inits)), inits,
        [&](OpBuilder &, Location, ValueRange state) { buildAdvance(state); },
        [&](OpBuilder &, Location, ValueRange state) { buildBody(state, blocks); });
    rewriter.replaceOp(op, loop.getResults().drop_front(carried));
  }

private:
  // State: tile, section, tiles before the section, tiles of the section, its first row, its end, with a queue the
  // cursor in it; then the values of the op.

  /// The number that the queue has next, which the role that takes tiles puts there.
  Value exchange(Value tile, Value cursor) {
    Value queue = op.getQueue();
    if (op.getCounter())
      emit.op<SendOp>(tile, queue, cursor);
    emit.op<WaitOp>(queue, cursor);
    Value number = emit.op<ReceiveOp>(emit.i32(), queue, cursor);
    if (!op.getCounter())
      emit.syncWarp(); // one lane releases it for all
    emit.op<ReleaseOp>(queue, cursor, number, /*thread=*/op.getCounter() != Value());
    return number;
  }

  void buildAdvance(ValueRange state) {
    Value tile = op.getQueue() ? exchange(state[0], state[6]) : state[0];
    SmallVector<Value> walked(state.slice(1, 5));
    auto inner = scf::WhileOp::create(
        rewriter, op.getLoc(), TypeRange(ValueRange(walked)), walked,
        [&](OpBuilder &, Location, ValueRange s) {
          Value passed = emit.compare(arith::CmpIPredicate::uge, tile, emit.add(s[1], s[2]));
          Value more = emit.compare(arith::CmpIPredicate::slt, s[0], sections - 1);
          emit.op<scf::ConditionOp>(emit.both(passed, more), s);
        },
        [&](OpBuilder &, Location, ValueRange s) {
          Value section = emit.add(s[0], 1);
          auto [begin, end] = getSection(section, s[4]);
          emit.op<scf::YieldOp>(ValueRange{section, emit.add(s[1], s[2]), countTiles(begin, end), begin, end});
        });
    Value found = emit.compare(arith::CmpIPredicate::ult, tile, emit.add(inner.getResult(1), inner.getResult(2)));
    SmallVector<Value> next{tile};
    llvm::append_range(next, inner.getResults());
    llvm::append_range(next, state.drop_front(6));
    emit.op<scf::ConditionOp>(found, next);
  }

  Value loadBound(Value index) {
    Value address = emit.gep(op.getBounds(), emit.shl(index, 3));
    return emit.trunc32(emit.op<LLVM::LoadOp>(emit.i64(), address, 8));
  }

  /// First row and end of a section; `previous` is the end of the one before.
  std::pair<Value, Value> getSection(Value section, Value previous) {
    if (!op.getBounds())
      return {emit.c(0), op.getRows()};
    if (op.getContraction()) {
      Value index = emit.shl(section, 1);
      return {loadBound(index), loadBound(emit.add(index, 1))};
    }
    if (sections == 1) // no groups
      return {previous, op.getRows()};
    // The last section has no entry: the index is held within the array, and the value not used.
    Value end = loadBound(emit.min(section, emit.c(sections - 2)));
    return {previous, emit.select(emit.equal(section, sections - 1), op.getRows(), end)};
  }

  /// Rows of tiles of a section.
  Value countRows(Value begin, Value end) {
    return emit.ceilDiv(op.getContraction() ? op.getRows() : emit.sub(end, begin), op.getTileM());
  }

  /// Tiles of a section, or pairs of them in a cluster.
  Value countTiles(Value begin, Value end) {
    Value rows = countRows(begin, end);
    if (!cluster)
      return emit.mul(rows, columnTiles);
    Value pairs = emit.mul(emit.shr(rows, 1), columnTiles);
    return emit.add(pairs, emit.mul(emit.both(rows, 1), llvm::divideCeil(columnTiles, 2)));
  }

  /// Row and column of tile (or pair) `local` in a section of `rows` rows of them: bands of `raster` rows of tiles,
  /// columns outside.
  std::pair<Value, Value> placeInBands(Value local, Value rows) {
    int64_t raster = cluster ? llvm::divideCeil(op.getRaster(), 2) : op.getRaster();
    Value band = emit.div(local, columnTiles * raster);
    Value inBand = emit.sub(local, emit.mul(band, columnTiles * raster));
    Value top = emit.mul(band, raster);
    Value height = emit.max(emit.min(emit.c(raster), emit.sub(rows, top)), emit.c(1));
    Value column = emit.div(inBand, height);
    return {emit.add(top, emit.sub(inBand, emit.mul(column, height))), column};
  }

  /// The block's tile after this one. A role that takes tiles asks for it now, and looks at it when this one is done.
  Value next(Value tile, Value blocks) {
    if (op.getCounter())
      return emit.op<TakeOp>(emit.i32(), op.getCounter());
    return op.getQueue() ? tile : emit.add(tile, blocks);
  }

  void buildBody(ValueRange state, Value blocks) {
    Value nextTile = next(state[0], blocks);
    Value section = state[1], begin = state[4], end = state[5];
    Value local = emit.sub(state[0], state[2]), rows = countRows(begin, end), row, column, pair;
    if (!cluster) {
      std::tie(row, column) = placeInBands(local, rows);
    } else {
      Value pairs = emit.shr(rows, 1), paired = emit.mul(pairs, columnTiles);
      pair = emit.compare(arith::CmpIPredicate::ult, local, paired);
      auto [pairRow, pairColumn] = placeInBands(local, emit.max(pairs, emit.c(1)));
      row = emit.select(pair, emit.add(emit.shl(pairRow, 1), rank), emit.sub(rows, emit.c(1)));
      column = emit.select(pair, pairColumn, emit.add(emit.shl(emit.sub(local, paired), 1), rank));
    }
    row = emit.mul(row, op.getTileM());
    bool ragged = op.getBounds() && !op.getContraction();
    if (!op.getContraction())
      row = emit.add(begin, row);
    Value live = ragged ? emit.equal(emit.both(section, 1), 1) : emit.integer(1, emit.i1());
    Value group = ragged ? emit.shr(section, 1) : section;
    SmallVector<Value> arguments{row, emit.mul(column, op.getTileN()), group, begin, end, live};
    if (cluster)
      arguments.push_back(pair);
    llvm::append_range(arguments, state.drop_front(carried));

    Block &body = op.getBody().front();
    SmallVector<Value> yields(body.getTerminator()->getOperands());
    rewriter.eraseOp(body.getTerminator());
    rewriter.inlineBlockBefore(&body, rewriter.getInsertionBlock(), rewriter.getInsertionPoint(), arguments);
    // Values of the body's arguments were replaced while inlining.
    for (Value &value : yields)
      if (auto argument = dyn_cast<BlockArgument>(value); argument && argument.getOwner() == &body)
        value = arguments[argument.getArgNumber()];
    SmallVector<Value> next{nextTile};
    llvm::append_range(next, state.slice(1, 5));
    if (Value queue = op.getQueue())
      next.push_back(emit.op<AdvanceOp>(state[6].getType(), queue, state[6], Value()));
    llvm::append_range(next, yields);
    emit.op<scf::YieldOp>(next);
  }

  ForTilesOp op;
  PatternRewriter &rewriter;
  Emit emit;
  bool cluster;
  int64_t columnTiles, sections = 0;
  unsigned carried = 0; // values of the state before those of the op
  Value rank;
};

struct LowerForTiles : OpRewritePattern<ForTilesOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ForTilesOp op, PatternRewriter &rewriter) const override {
    TileWalk(op, rewriter).build();
    return success();
  }
};

} // namespace

void mlir::sm90::populateStructurePatterns(RewritePatternSet &patterns) {
  patterns.add<LowerSpecialize, LowerElect, LowerForTiles>(patterns.getContext());
}
