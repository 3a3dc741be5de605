//===- RaggedGemm.cpp - tile.ragged_gemm on a CPU: tasks and blocks -------===//
//
// The rows of the result fall into sections: the rows of one group, or rows between groups, which become zero. A
// section is split into blocks of rows and columns, one task each. Tasks are numbered in the order of sections, so a
// range of tasks is found by walking the groups once.
//
//===----------------------------------------------------------------------===//

#include "RaggedGemm.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;

namespace {

class Lowering {
public:
  Lowering(RaggedGemmOp op, const Kernel &kernel)
      : op(op), kernel(kernel), tiling(GemmTiling::get(op, kernel.target)),
        tasks(op.getLoc(), OpBuilder::atBlockBegin(&func::FuncOp(kernel.tasks).front())),
        run(op.getLoc(), OpBuilder::atBlockBegin(&func::FuncOp(kernel.run).front())),
        contraction(op.getMode() == GemmMode::Contraction), batch(op.getLhs() && rankOf(op.getLhs()) == 3) {}

  void build() {
    scratch = GemmScratch::get(run, tiling);
    if (contraction) {
      func::ReturnOp::create(tasks, tasks.index(op.getNumGroups() * columnRowBlocks() * tiling.columnBlocks));
      run.loop(kernel.begin(), kernel.end(), 1, [&](Value task) { contractionTask(task); });
    } else {
      Value count = walk(tasks, /*inRun=*/false);
      func::ReturnOp::create(tasks, count);
      walk(run, /*inRun=*/true);
    }
    func::ReturnOp::create(run);
  }

private:
  static int64_t rankOf(Value value) { return cast<ShapedType>(value.getType()).getRank(); }

  /// Blocks of the product's rows in mode contraction, where they are columns of lhs.
  int64_t columnRowBlocks() { return llvm::divideCeil(op.getK(), tiling.mc); }

  /// Visits the sections in order; counts their tasks and, in the kernel, runs those of its range.
  Value walk(Emit &emit, bool inRun) {
    auto argument = [&](Value operand) { return inRun ? kernel.inRun(operand) : kernel.inTasks(operand); };
    Value zero = emit.index(0), groups = emit.index(op.getNumGroups());
    Value allRows = emit.dim(argument(op.getOuts().front()), batch ? 1 : 0);
    if (!op.getBounds())
      return emit.loop(zero, groups, 1, zero, [&](Value group, ValueRange first) {
        return SmallVector<Value>{section(emit, inRun, group, zero, allRows, first[0])};
      })[0];
    Value bounds = argument(op.getBounds());
    SmallVector<Value> state = emit.loop(zero, groups, 1, {zero, zero}, [&](Value group, ValueRange state) {
      Value entry = emit.add(group, static_cast<int64_t>(op.getGroupOffset()));
      Value begin = emit.toIndex(emit.load(bounds, {entry, zero})),
            end = emit.toIndex(emit.load(bounds, {entry, emit.index(1)}));
      Value next = section(emit, inRun, Value(), state[0], begin, state[1]);
      return SmallVector<Value>{end, section(emit, inRun, group, begin, end, next)};
    });
    return section(emit, inRun, Value(), state[0], allRows, state[1]);
  }

  /// Rows [begin, end), of `group` or, if that is null, of none. Its tasks have numbers from `first`; returns the
  /// number behind its last.
  Value section(Emit &emit, bool inRun, Value group, Value begin, Value end, Value first) {
    Value rows = emit.max(emit.sub(end, begin), emit.index(0));
    Value rowBlocks = emit.ceilDiv(rows, tiling.mc);
    Value next = emit.add(first, emit.mul(rowBlocks, tiling.columnBlocks));
    if (!inRun)
      return next;
    Value from = emit.max(first, kernel.begin()), to = emit.min(next, kernel.end());
    emit.loop(from, to, 1, [&](Value task) {
      Value local = emit.sub(task, first);
      // Blocks of about equal height: a low last one would cost as much packing as a full one.
      Value height = emit.roundUp(emit.ceilDiv(rows, rowBlocks), tiling.mr);
      GemmResult result;
      result.group = group;
      result.hasRow = true;
      if (batch)
        result.prefix.push_back(group);
      Value offset = emit.mul(emit.rem(local, rowBlocks), height);
      result.firstRow = emit.add(begin, offset);
      result.rows = emit.min(height, emit.sub(rows, offset));
      setColumns(emit, emit.div(local, rowBlocks), result);
      if (group)
        rowsTask(result);
      else
        storeZeros(emit, tiling, op, kernel, result);
    });
    return next;
  }

  void setColumns(Emit &emit, Value block, GemmResult &result) {
    Value all = emit.index(op.getN() / op.getNumAccumulators());
    result.firstColumn = emit.mul(block, tiling.columns);
    result.columns = emit.min(emit.index(tiling.columns), emit.sub(all, result.firstColumn));
  }

  /// Number of columns of B that a segment of the block takes.
  Value segmentColumns(const GemmResult &result) {
    return op.getAccs() == Accumulators::Interleaved ? run.mul(result.columns, 2) : result.columns;
  }

  /// One block of C: `packBlock` packs A and B for k in [first, first + depth).
  void computeBlock(const GemmResult &result, Value depth, llvm::function_ref<void(Value, Value)> packBlock) {
    clearC(result);
    run.loop(0, depth, tiling.kc, [&](Value k) {
      Value part = run.min(run.index(tiling.kc), run.sub(depth, k));
      packBlock(k, part);
      multiplyPanels(run, tiling, scratch, result.rows, segmentColumns(result), part);
    });
    storeEpilogue(run, tiling, op, kernel, scratch.c, result);
  }

  void clearC(const GemmResult &result) {
    auto type = VectorType::get(tiling.lanes, run.getF32Type());
    Value zero = run.zero(type);
    run.loop(0, run.roundUp(result.rows, tiling.mr), 1, [&](Value row) {
      run.loop(0, run.index(tiling.segments * tiling.nc), tiling.lanes,
               [&](Value column) { vector::StoreOp::create(run, zero, scratch.c, ValueRange{row, column}); });
    });
  }

  void rowsTask(const GemmResult &result) {
    computeBlock(result, run.index(op.getK()), [&](Value k, Value depth) {
      GemmSource a{kernel.inRun(op.getLhs()), {}, result.firstRow, result.rows, k, depth, Value()};
      if (batch)
        a.prefix.push_back(result.group);
      if (op.getGather())
        a.gather = kernel.inRun(op.getGather());
      packRows(run, tiling, scratch, a, scratch.a, 0, tiling.mr);
      for (int64_t segment = 0; segment < tiling.segments; ++segment)
        packWeights(result, segment, k, depth);
    });
  }

  void packWeights(const GemmResult &result, int64_t segment, Value k, Value depth) {
    Value columns = segmentColumns(result), column = result.firstColumn;
    if (op.getAccs() == Accumulators::Interleaved)
      column = run.mul(column, 2);
    column = run.add(column, segment * op.getN() / 2);
    int64_t panel = segment * tiling.panelsOfB();
    GemmSource b{kernel.inRun(op.getRhs()), {}, k, depth, column, columns, Value()};
    if (rankOf(op.getRhs()) == 3)
      b.prefix.push_back(result.group);
    if (op.getLayout() == RhsLayout::KN)
      return packColumns(run, tiling, scratch, b, scratch.b, panel, tiling.nr, tiling.nr);
    std::swap(b.firstRow, b.firstColumn);
    std::swap(b.rows, b.columns);
    packRows(run, tiling, scratch, b, scratch.b, panel, tiling.nr);
  }

  void contractionTask(Value task) {
    int64_t rowBlocks = columnRowBlocks();
    GemmResult result;
    Value rowBlock = run.rem(task, run.index(rowBlocks)), rest = run.div(task, run.index(rowBlocks));
    result.group = run.div(rest, run.index(tiling.columnBlocks));
    result.prefix.push_back(result.group);
    result.hasRow = static_cast<bool>(op.getLhs());
    result.firstRow = run.mul(rowBlock, tiling.mc);
    result.rows = run.min(run.index(tiling.mc), run.sub(run.index(op.getK()), result.firstRow));
    setColumns(run, run.rem(rest, run.index(tiling.columnBlocks)), result);

    Value bounds = kernel.inRun(op.getBounds()),
          entry = run.add(result.group, static_cast<int64_t>(op.getGroupOffset()));
    Value begin = run.toIndex(run.load(bounds, {entry, run.index(0)})),
          end = run.toIndex(run.load(bounds, {entry, run.index(1)}));
    computeBlock(result, run.sub(end, begin), [&](Value k, Value depth) {
      Value row = run.add(begin, k);
      if (op.getLhs()) {
        GemmSource a{kernel.inRun(op.getLhs()), {}, row, depth, result.firstRow, result.rows, Value()};
        packColumns(run, tiling, scratch, a, scratch.a, 0, tiling.mr, tiling.pitch);
      } else {
        packOnes(depth);
      }
      GemmSource b{kernel.inRun(op.getRhs()), {}, row, depth, result.firstColumn, result.columns, Value()};
      packColumns(run, tiling, scratch, b, scratch.b, 0, tiling.nr, tiling.nr);
    });
  }

  /// The lhs that is not there: one column of ones.
  void packOnes(Value depth) {
    Value one = arith::ConstantOp::create(run, run.getF32FloatAttr(1.0f)), zero = run.index(0);
    run.loop(0, depth, 1, [&](Value k) { memref::StoreOp::create(run, one, scratch.a, ValueRange{zero, k, zero}); });
  }

  RaggedGemmOp op;
  const Kernel &kernel;
  GemmTiling tiling;
  Emit tasks, run;
  bool contraction, batch;
  GemmScratch scratch;
};

} // namespace

LogicalResult cpu::lower(RaggedGemmOp op, const Kernel &kernel) {
  Lowering(op, kernel).build();
  return success();
}
