//===- Simple.cpp - tile.ragged_gemm on ordinary loads ---------------------------===//
//
// What TMA and wgmma cannot do: f32 operands, pitches that are no multiple of 16 bytes, batches, sums of rows. Any
// strides, any sizes; exact in f32. Tiles of 64 by 64 from the same scheduler; 256 threads, each with 4 by 4 elements
// an accumulator; 16 of k at a time in shared memory as f32.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

using namespace mlir;
using namespace mlir::sm90;

namespace {

constexpr int64_t kTile = 64, kDepth = 16, kThreads = 256, kPerThread = 4, kSide = kTile / kPerThread;

class Simple {
public:
  Simple(tile::RaggedGemmOp op, KernelBuilder &kernel)
      : op(op), k(kernel), contraction(op.getMode() == tile::GemmMode::Contraction),
        batch(op.getLhs() && k.memref(op.getLhs()).getRank() == 3), parts(op.getNumAccumulators()),
        columns(op.getN() / parts) {}

  void build() {
    shared = k.op<AllocOp>(LLVM::LLVMPointerType::get(k.b.getContext(), 3), (1 + parts) * kTile * kDepth * 4);
    thread = k.op<NVVM::ThreadIdXOp>(k.b.getI32Type());
    if (op.getLhs())
      lhs = view(op.getLhs());
    rhs = view(op.getRhs());
    for (Value out : op.getOuts())
      outs.push_back(view(out));
    for (Value extra : op.getExtras())
      extras.push_back(view(extra));
    if (op.getGather())
      gather = view(op.getGather());
    if (op.getSlots())
      slots = view(op.getSlots());
    Value bounds = k.bounds(op);
    Value rows =
        contraction ? (op.getLhs() ? k.size(op.getLhs(), 1) : k.c(1)) : k.size(op.getOuts().front(), batch ? 1 : 0);
    auto tiles = k.op<ForTilesOp>(TypeRange(), bounds, rows, Value(), Value(), ValueRange(), op.getNumGroups(), columns,
                                  kTile, kTile,
                                  /*raster=*/8, contraction);
    Type i32 = k.b.getI32Type();
    Block *block = k.b.createBlock(&tiles.getBody(), {}, {i32, i32, i32, i32, i32, k.b.getI1Type()},
                                   SmallVector<Location>(6, k.loc));
    row0 = block->getArgument(0);
    column0 = block->getArgument(1);
    group = block->getArgument(2);
    begin = block->getArgument(3);
    end = block->getArgument(4);
    rowsEnd = contraction ? rows : end;
    buildTile(block->getArgument(5));
    k.op<YieldOp>();
    k.b.setInsertionPointAfter(tiles);
  }

private:
  /// A memref: pointer and the strides of all dimensions but the last, in elements; the last is 1.
  struct View {
    Value pointer;
    SmallVector<Value> strides;
    Type element;
  };

  View view(Value memref) {
    View view{k.pointer(memref), {}, k.memref(memref).getElementType()};
    for (int64_t dim = 0; dim + 1 < k.memref(memref).getRank(); ++dim)
      view.strides.push_back(k.stride(memref, dim));
    return view;
  }

  Value f32(double value) { return k.op<arith::ConstantOp>(k.b.getF32FloatAttr(value)); }

  /// Address of an element; indices are i32.
  Value address(const View &view, ArrayRef<Value> indices) {
    Value offset = k.ext64(indices.back());
    for (auto [index, stride] : llvm::zip(indices.drop_back(), view.strides))
      offset = k.op<arith::AddIOp>(offset, k.op<arith::MulIOp>(k.ext64(index), stride));
    return k.op<LLVM::GEPOp>(view.pointer.getType(), view.element, view.pointer, ArrayRef<LLVM::GEPArg>{offset});
  }
  Value load(const View &view, ArrayRef<Value> indices) {
    return k.op<LLVM::LoadOp>(view.element, address(view, indices), view.element.getIntOrFloatBitWidth() / 8);
  }
  Value toF32(Value value) {
    return value.getType().isF32() ? value : k.op<arith::ExtFOp>(k.b.getF32Type(), value).getResult();
  }

  /// The value that `body` builds where `condition` holds, otherwise zero (f32).
  Value guarded(Value condition, function_ref<Value()> body) {
    auto branch = k.op<scf::IfOp>(TypeRange{k.b.getF32Type()}, condition, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(k.b);
    k.b.setInsertionPointToStart(branch.thenBlock());
    k.op<scf::YieldOp>(body());
    k.b.setInsertionPointToStart(branch.elseBlock());
    k.op<scf::YieldOp>(f32(0));
    return branch.getResult(0);
  }

  void ifThen(Value condition, function_ref<void()> body) {
    auto branch = k.op<scf::IfOp>(condition, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(k.b);
    k.b.setInsertionPoint(branch.thenBlock()->getTerminator());
    body();
  }

  /// Column of the product that accumulator `part` takes for a result column.
  Value productColumn(Value column, int64_t part) {
    if (op.getAccs() == tile::Accumulators::Interleaved)
      return k.add(k.mul(column, parts), part);
    return k.add(column, part * columns);
  }

  /// Element of the left side at row `m` and depth `d`, zero outside.
  Value leftElement(Value m, Value d, Value depth) {
    Value inside = k.both(k.less(m, rowsEnd), k.less(d, depth));
    return guarded(inside, [&]() -> Value {
      if (contraction)
        return op.getLhs() ? toF32(load(lhs, {k.add(begin, d), m})) : f32(1);
      if (batch)
        return toF32(load(lhs, {group, m, d}));
      if (!op.getGather())
        return toF32(load(lhs, {m, d}));
      Value row = load(gather, {m});
      Value given = k.op<arith::CmpIOp>(arith::CmpIPredicate::sge, row, k.c(0));
      return guarded(given, [&] { return toF32(load(lhs, {row, d})); });
    });
  }

  Value rightElement(Value d, Value column, int64_t part, Value depth) {
    Value inside = k.both(k.less(column, k.c(columns)), k.less(d, depth));
    return guarded(inside, [&] {
      Value n = productColumn(column, part);
      if (contraction)
        return toF32(load(rhs, {k.add(begin, d), n}));
      SmallVector<Value> at{d, n};
      if (op.getLayout() == tile::RhsLayout::NK)
        std::swap(at[0], at[1]);
      if (k.memref(op.getRhs()).getRank() == 3)
        at.insert(at.begin(), group);
      return toF32(load(rhs, at));
    });
  }

  /// Address of element `index` (i32) of the f32s in shared memory, from `first` on.
  Value sharedAt(Value index, int64_t first) {
    return k.op<LLVM::GEPOp>(shared.getType(), k.b.getF32Type(), shared, ArrayRef<LLVM::GEPArg>{k.add(index, first)});
  }

  void buildTile(Value live) {
    auto branch = k.op<scf::IfOp>(live, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(k.b);
    // Thread t has rows t / 16 + 16 i and columns t % 16 + 16 j.
    k.b.setInsertionPoint(branch.thenBlock()->getTerminator());
    Value threadRow = k.shr(thread, 4), threadColumn = k.both(thread, kSide - 1);
    SmallVector<Value> accs = multiply(threadRow, threadColumn);
    forElements(threadRow, threadColumn, [&](int64_t i, int64_t j, Value row, Value column) {
      SmallVector<Value> values;
      for (int64_t part = 0; part < parts; ++part)
        values.push_back(accs[(part * kPerThread + i) * kPerThread + j]);
      runEpilogue(values, row, column);
    });
    k.b.setInsertionPoint(branch.elseBlock()->getTerminator());
    threadRow = k.shr(thread, 4);
    threadColumn = k.both(thread, kSide - 1);
    forElements(threadRow, threadColumn, [&](int64_t, int64_t, Value row, Value column) {
      for (const View &out : outs)
        k.op<LLVM::StoreOp>(k.op<LLVM::ZeroOp>(out.element).getResult(), outAddress(out, row, column),
                            out.element.getIntOrFloatBitWidth() / 8);
    });
  }

  void forElements(Value threadRow, Value threadColumn, function_ref<void(int64_t, int64_t, Value, Value)> body) {
    for (int64_t i = 0; i < kPerThread; ++i)
      for (int64_t j = 0; j < kPerThread; ++j) {
        Value row = k.add(k.add(row0, threadRow), kSide * i), column = k.add(k.add(column0, threadColumn), kSide * j);
        ifThen(k.both(k.less(row, rowsEnd), k.less(column, k.c(columns))), [&] { body(i, j, row, column); });
      }
  }

  Value depthOf() {
    if (contraction)
      return k.sub(end, begin);
    return k.size(op.getLhs(), batch ? 2 : 1);
  }

  /// Accumulators of the thread: [part][i][j].
  SmallVector<Value> multiply(Value threadRow, Value threadColumn) {
    Value depth = depthOf();
    SmallVector<Value> zeros(parts * kPerThread * kPerThread, f32(0));
    return k.loop(k.c(0), depth, k.c(kDepth), zeros, [&](Value first, ValueRange accs) {
      k.op<NVVM::Barrier0Op>();
      fill(first, depth);
      k.op<NVVM::Barrier0Op>();
      return k.loop(k.c(0), k.c(kDepth), k.c(1), accs, [&](Value d, ValueRange sums) {
        Value line = k.mul(d, kTile);
        auto take = [&](Value index, int64_t base) {
          SmallVector<Value> values;
          for (int64_t i = 0; i < kPerThread; ++i)
            values.push_back(k.op<LLVM::LoadOp>(k.b.getF32Type(), sharedAt(k.add(line, index), base + kSide * i), 4));
          return values;
        };
        SmallVector<Value> left = take(threadRow, 0), next;
        for (int64_t part = 0; part < parts; ++part) {
          SmallVector<Value> right = take(threadColumn, (1 + part) * kTile * kDepth);
          for (int64_t i = 0; i < kPerThread; ++i)
            for (int64_t j = 0; j < kPerThread; ++j)
              next.push_back(k.op<LLVM::FMAOp>(left[i], right[j], sums[(part * kPerThread + i) * kPerThread + j]));
        }
        return next;
      });
    });
  }

  /// Both sides for depths first to first + 15, as [depth][row or column]. Neighbouring threads take neighbours in
  /// memory.
  void fill(Value first, Value depth) {
    bool leftAlongDepth = !contraction, rightAlongDepth = !contraction && op.getLayout() == tile::RhsLayout::NK;
    for (int64_t step = 0; step < kTile * kDepth / kThreads; ++step) {
      Value index = k.add(thread, step * kThreads);
      auto [leftDepth, leftPlace] = splitIndex(index, leftAlongDepth);
      Value left = leftElement(k.add(row0, leftPlace), k.add(first, leftDepth), depth);
      k.op<LLVM::StoreOp>(left, sharedAt(k.add(k.mul(leftDepth, kTile), leftPlace), 0), 4);
      auto [rightDepth, rightPlace] = splitIndex(index, rightAlongDepth);
      for (int64_t part = 0; part < parts; ++part) {
        Value right = rightElement(k.add(first, rightDepth), k.add(column0, rightPlace), part, depth);
        k.op<LLVM::StoreOp>(right, sharedAt(k.add(k.mul(rightDepth, kTile), rightPlace), (1 + part) * kTile * kDepth),
                            4);
      }
    }
  }

  /// Depth and place of an element among 16 by 64.
  std::pair<Value, Value> splitIndex(Value index, bool alongDepth) {
    int64_t inner = alongDepth ? kDepth : kTile;
    Value low = k.both(index, inner - 1), high = k.shr(index, alongDepth ? 4 : 6);
    return alongDepth ? std::pair(low, high) : std::pair(high, low);
  }

  Value outAddress(const View &out, Value row, Value column) {
    if (out.strides.empty())
      return address(out, {column});
    if (out.strides.size() == 2)
      return address(out, {group, row, column});
    return address(out, {contraction ? group : row, column});
  }

  void runEpilogue(ArrayRef<Value> accs, Value row, Value column) {
    SmallVector<Value> arguments(accs);
    for (auto [i, extra] : llvm::enumerate(extras)) {
      switch (op.getExtraKind(i)) {
      case tile::ExtraKind::Row:
        arguments.push_back(load(extra, {row}));
        break;
      case tile::ExtraKind::Slot: {
        Value slot = load(slots, {row}), width = k.c(k.memref(op.getExtras()[i]).getDimSize(1));
        // A row without a slot reads nothing.
        const View &weights = extra; // a binding cannot be captured
        auto read = [&](OpBuilder &, Location) {
          Value token = k.div(slot, width), place = k.rem(slot, width);
          k.op<scf::YieldOp>(load(weights, {token, place}));
        };
        auto none = [&](OpBuilder &, Location) { k.op<scf::YieldOp>(k.op<LLVM::ZeroOp>(weights.element).getResult()); };
        Value isSlot = k.op<arith::CmpIOp>(arith::CmpIPredicate::sge, slot, k.c(0));
        arguments.push_back(k.op<scf::IfOp>(isSlot, read, none).getResult(0));
        break;
      }
      case tile::ExtraKind::Group:
        for (int64_t part = 0; part < parts; ++part) {
          SmallVector<Value> at{productColumn(column, part)};
          if (!extra.strides.empty())
            at.insert(at.begin(), group);
          arguments.push_back(load(extra, at));
        }
        break;
      case tile::ExtraKind::Elem:
        arguments.push_back(load(extra, {row, column}));
        break;
      }
    }
    if (op.getAccumulate())
      for (const View &out : outs)
        arguments.push_back(
            k.op<LLVM::LoadOp>(out.element, outAddress(out, row, column), out.element.getIntOrFloatBitWidth() / 8));
    IRMapping mapping;
    Block &body = op.getEpilogue().front();
    mapping.map(body.getArguments(), arguments);
    for (Operation &inner : body.without_terminator())
      k.b.clone(inner, mapping);
    for (auto [out, value] : llvm::zip(outs, body.getTerminator()->getOperands()))
      k.op<LLVM::StoreOp>(mapping.lookup(value), outAddress(out, row, column), out.element.getIntOrFloatBitWidth() / 8);
  }

  tile::RaggedGemmOp op;
  KernelBuilder &k;
  bool contraction, batch;
  int64_t parts, columns;
  View lhs, rhs, gather, slots;
  SmallVector<View> outs, extras;
  Value shared, thread, row0, column0, group, begin, end, rowsEnd;
};

} // namespace

void sm90::lowerSimple(tile::RaggedGemmOp op, OpBuilder &builder, StringRef name) {
  KernelBuilder kernel(builder, op.getLoc(), name);
  Simple(op, kernel).build();
  kernel.finish(LaunchAttr::get(builder.getContext(), kThreads, 1, 0, /*per_sm=*/2, 0));
}
