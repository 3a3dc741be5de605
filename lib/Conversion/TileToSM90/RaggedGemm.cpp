//===- RaggedGemm.cpp - tile.ragged_gemm on wgmma -------------------------------===//
//
// Roles: one thread of the last warpgroup fills the ring, the others multiply and store. All walk the same tiles. Two
// warpgroups consume: cooperative, each takes half the rows of every tile, or half the columns where a group ends
// within the first half of the rows; pingpong, each takes every other tile, so that one multiplies while the other
// stores. Where the rows of the left side are gathered, the last two warps of the producer bring those.
//
//===----------------------------------------------------------------------===//

#include "Sources.h"
#include "moe/Dialect/SM90/Transforms/Schedule.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::sm90;

namespace {

constexpr int64_t kConsumerWarps = 8, kConsumers = 2;

/// Whether the epilogue does nothing with the old values of the outs but add f32s to them.
bool onlyAdds(tile::RaggedGemmOp op) {
  if (!op.getAccumulate())
    return false;
  Block &body = op.getEpilogue().front();
  auto olds = body.getArguments().take_back(op.getOuts().size());
  return llvm::all_of(llvm::zip(olds, body.getTerminator()->getOperands()), [](auto pair) {
    auto [old, value] = pair;
    auto sum = value.template getDefiningOp<arith::AddFOp>();
    return sum && sum.getType().isF32() && sum->hasOneUse() && old.hasOneUse() && *old.user_begin() == sum;
  });
}

class Gemm {
public:
  Gemm(tile::RaggedGemmOp op, ScheduleAttr schedule, KernelBuilder &kernel)
      : op(op), schedule(schedule), k(kernel), contraction(op.getMode() == tile::GemmMode::Contraction),
        cluster(schedule.getCluster() == 2), pingpong(schedule.getRoles() == Roles::Pingpong),
        reduce(contraction && onlyAdds(op)), readsOld(op.getAccumulate() && !reduce),
        height(pingpong ? schedule.getM() : schedule.getM() / kConsumers), parts(op.getNumAccumulators()),
        columns(op.getN() / parts) {}

  void build() {
    warp = k.op<WarpOp>(k.b.getI32Type());
    Value staging =
        k.op<AllocOp>(LLVM::LLVMPointerType::get(k.b.getContext(), 3), kConsumerWarps * 2048 * schedule.getBuffers());
    auto ringType = RingType::get(k.b.getContext(), schedule.getStages(), schedule.getStageBytes());
    int64_t readers = pingpong ? kConsumerWarps / kConsumers : kConsumerWarps;
    ring = k.op<RingOp>(ringType, /*arrivals=*/1 + (op.getGather() ? kGatherThreads : 0),
                        /*releases=*/readers * schedule.getCluster());
    if (pingpong)
      turns = k.op<TurnsOp>(LLVM::LLVMPointerType::get(k.b.getContext(), 3));
    if (schedule.getOrder() == Order::Dynamic) {
      counter = k.counter();
      auto queueType = RingType::get(k.b.getContext(), kQueueStages, kQueueBytes);
      // All consumer warps read it, the thread of the producer, and the warps that gather.
      int64_t readers = kConsumerWarps + 1 + (op.getGather() ? kGatherWarps : 0);
      queue = k.op<RingOp>(queueType, /*arrivals=*/1, /*releases=*/readers * schedule.getCluster());
    }
    int64_t bytesA = schedule.getM() * 128;
    if (contraction) {
      a = createGroupRows(k, op.getLhs(), schedule.getM(), Side::Row);
      b = createGroupRows(k, op.getRhs(), schedule.getN(), Side::Column);
      rows = k.size(op.getLhs(), 1);
    } else {
      // In a static order blocks whose tiles have zeros, which come sooner, run ahead of the others, into other
      // weights: all then read more from memory.
      a = op.getGather() ? createGathered()
                         : createRows(k, op.getLhs(), schedule.getM(), /*cut=*/cluster, /*zeros=*/queue != Value());
      b = createWeights(k, op, schedule.getN(), /*cut=*/cluster);
      rows = k.size(op.getOuts().front(), 0);
      blocks = countBlocks(k.size(op.getLhs(), 1));
    }
    bounds = k.bounds(op);

    auto roles = k.op<SpecializeOp>(warp, schedule.getProducerRegisters(), schedule.getConsumerRegisters());
    OpBuilder::InsertionGuard guard(k.b);
    k.b.setInsertionPointToStart(&roles.getProducer().emplaceBlock());
    buildProducer(bytesA);
    if (op.getGather())
      buildGather();
    k.op<YieldOp>();
    k.b.setInsertionPointToStart(&roles.getConsumers().emplaceBlock());
    buildConsumers(bytesA, staging);
    k.op<YieldOp>();
  }

private:
  /// Visits this block's tiles with values carried; `body` returns those after the tile. If the order is dynamic one
  /// role takes the tiles, from the counter.
  void forTiles(Value counter, ValueRange inits, function_ref<SmallVector<Value>(const Tile &, ValueRange)> body) {
    auto tiles = k.op<ForTilesOp>(inits.getTypes(), bounds, rows, queue, counter, inits, op.getNumGroups(), columns,
                                  schedule.getM(), schedule.getN() / parts, schedule.getRaster(), contraction);
    OpBuilder::InsertionGuard guard(k.b);
    SmallVector<Type> types(5, k.b.getI32Type());
    types.append(cluster ? 2 : 1, k.b.getI1Type());
    llvm::append_range(types, inits.getTypes());
    Block *block = k.b.createBlock(&tiles.getBody(), {}, types, SmallVector<Location>(types.size(), k.loc));
    auto at = [&](unsigned i) { return block->getArgument(i); };
    Tile tile{at(0), at(1), at(2), at(3), at(4), at(5), cluster ? at(6) : Value()};
    if (reduce) // nothing is added by an empty group
      tile.live = k.op<arith::CmpIOp>(arith::CmpIPredicate::slt, tile.begin, tile.end);
    k.op<YieldOp>(body(tile, block->getArguments().take_back(inits.size())));
  }

  Value countBlocks(Value depth) {
    int64_t block = getBlock(op.getLhs());
    return k.shr(k.add(depth, block - 1), llvm::Log2_64(block));
  }

  /// Blocks of k of a tile that is live: at least one, so that an empty group's product is the zeros that its loads
  /// bring.
  Value countBlocks(const Tile &tile) {
    if (!contraction)
      return blocks;
    return k.max(countBlocks(k.sub(tile.end, tile.begin)), k.c(1));
  }
  Value countStages(const Tile &tile) { return k.select(tile.live, countBlocks(tile), k.c(0)); }

  Value start() { return k.op<StartOp>(CursorType::get(k.b.getContext())); }
  Value advance(Value cursor, Value count = {}) { return k.op<AdvanceOp>(cursor.getType(), ring, cursor, count); }

  void buildProducer(int64_t bytesA) {
    auto elect = k.op<ElectOp>(warp);
    OpBuilder::InsertionGuard guard(k.b);
    k.b.setInsertionPointToStart(&elect.getBody().emplaceBlock());
    forTiles(counter, start(), [&](const Tile &tile, ValueRange state) {
      auto loop = k.op<scf::ForOp>(k.c(0), countStages(tile), k.c(1), state);
      OpBuilder::InsertionGuard guard(k.b);
      k.b.setInsertionPointToStart(loop.getBody());
      Stage stage{ring, loop.getRegionIterArg(0), loop.getInductionVar(), 0};
      k.op<AcquireOp>(ring, stage.cursor, schedule.getStageBytes() - (op.getGather() ? bytesA : 0));
      load(tile, stage, bytesA);
      k.op<scf::YieldOp>(advance(stage.cursor));
      return SmallVector<Value>(loop.getResults());
    });
    k.op<YieldOp>();
  }

  void load(const Tile &tile, const Stage &stage, int64_t bytesA) {
    Stage stageB = stage;
    stageB.offset = bytesA;
    auto loadBoth = [&](Value halfA, Value halfB) {
      a->load(k, tile, stage, halfA);
      b->load(k, tile, stageB, halfB);
    };
    if (!cluster)
      return loadBoth({}, {});
    // The tiles of a cluster have the same columns if they are a pair, or else the same rows: each block loads half of
    // what they share, for both.
    Value rank = k.op<NVVM::BlockInClusterIdXOp>(k.b.getI32Type());
    auto branch = k.op<scf::IfOp>(tile.pair, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(k.b);
    k.b.setInsertionPointToStart(branch.thenBlock());
    loadBoth({}, rank);
    k.b.setInsertionPointToStart(branch.elseBlock());
    loadBoth(rank, {});
  }

  void buildGather() {
    Value part = k.both(warp, 3);
    Value last = k.op<arith::CmpIOp>(arith::CmpIPredicate::sge, part, k.c(4 - kGatherWarps));
    auto branch = k.op<scf::IfOp>(last, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(k.b);
    k.b.setInsertionPointToStart(branch.thenBlock());
    Value lhs = op.getLhs();
    int64_t bytes = KernelBuilder::memref(lhs).getElementTypeBitWidth() / 8;
    Value base = k.pointer(lhs, /*align=*/16), index = k.pointer(op.getGather());
    Value pitch = k.mul(k.stride(lhs, 0, 32), bytes), width = k.mul(k.size(lhs, 1), bytes);
    forTiles({}, start(), [&](const Tile &tile, ValueRange state) {
      auto type = RowsType::get(k.b.getContext(), schedule.getM());
      Value rows = k.op<GatherRowsOp>(type, index, tile.row, tile.end);
      auto loop = k.op<scf::ForOp>(k.c(0), countStages(tile), k.c(1), state);
      OpBuilder::InsertionGuard guard(k.b);
      k.b.setInsertionPointToStart(loop.getBody());
      Value current = loop.getRegionIterArg(0);
      k.op<GatherLoadOp>(base, pitch, width, rows, loop.getInductionVar(), ring, current, k.c(0),
                         /*whole=*/op.getK() * bytes % 16 == 0);
      k.op<scf::YieldOp>(advance(current));
      return SmallVector<Value>(loop.getResults());
    });
  }

  Value operand(Value offset, Major major) {
    return k.op<OperandOp>(OperandType::get(k.b.getContext(), major), ring, offset);
  }

  void buildConsumers(int64_t bytesA, Value staging) {
    Value warpgroup = k.shr(warp, 2);
    Value first = pingpong ? k.c(0) : k.mul(warpgroup, height); // of its rows in a tile
    Value operandA = operand(k.mul(first, 128), a->major());
    Value operandB = operand(k.c(bytesA), b->major());
    auto consume = [&](const Tile &tile, Value cursor, Value number) {
      Value row = k.add(tile.row, first);
      if (number)
        k.op<WaitTurnOp>(turns, number);
      auto branch = k.op<scf::IfOp>(tile.live, /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(k.b);
      k.b.setInsertionPointToStart(branch.thenBlock());
      auto compute = [&] {
        buildEpilogue(tile, row, multiply(tile, cursor, number, operandA, operandB, height / 64, schedule.getN()),
                      staging);
      };
      if (splitsColumns(Problem(op, 0), schedule))
        splitColumns(tile, cursor, warpgroup, operand(k.c(0), a->major()), bytesA, staging, compute);
      else
        compute();
      k.b.setInsertionPointToStart(branch.elseBlock());
      if (number)
        k.op<PassTurnOp>(turns, number);
      if (!contraction)
        storeZeros(tile, row);
    };
    if (pingpong)
      forTiles({}, {start(), k.c(0)}, [&](const Tile &tile, ValueRange state) {
        Value cursor = state[0], number = state[1];
        Value mine = k.op<arith::CmpIOp>(arith::CmpIPredicate::eq, k.both(number, 1), warpgroup);
        auto branch = k.op<scf::IfOp>(mine, /*withElseRegion=*/false);
        {
          OpBuilder::InsertionGuard guard(k.b);
          k.b.setInsertionPointToStart(branch.thenBlock());
          consume(tile, cursor, number);
        }
        return SmallVector<Value>{advance(cursor, countStages(tile)), k.add(number, 1)};
      });
    else
      forTiles({}, start(), [&](const Tile &tile, ValueRange state) {
        consume(tile, state[0], {});
        return SmallVector<Value>{advance(state[0], countStages(tile))};
      });
    // TMA still reads the staging buffers.
    k.op<NVVM::CpAsyncBulkWaitGroupOp>(k.b.getI32IntegerAttr(0), UnitAttr());
  }

  /// Computes a tile of at most `height` live rows by halves of its columns (of each accumulator's), any other by
  /// `compute`.
  void splitColumns(const Tile &tile, Value cursor, Value warpgroup, Value operandA, int64_t bytesA, Value staging,
                    function_ref<void()> compute) {
    int64_t width = schedule.getN() / kConsumers;
    bool apart = op.getAccs() == tile::Accumulators::Concatenated;
    Value left = k.sub(tile.end, tile.row);
    Value isShort = k.op<arith::CmpIOp>(arith::CmpIPredicate::sle, left, k.c(height));
    auto branch = k.op<scf::IfOp>(isShort, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(k.b);
    k.b.setInsertionPointToStart(branch.thenBlock());
    Value column = k.mul(warpgroup, apart ? width / parts : width); // of the weights in the stage
    Value operandB = operand(k.add(k.mul(column, 128), bytesA), b->major());
    Tile half = tile;
    half.column = k.add(tile.column, k.mul(warpgroup, width / parts));
    buildEpilogue(half, tile.row,
                  multiply(tile, cursor, {}, operandA, operandB, height / 64, width, apart ? width * 128 : 0), staging);
    k.b.setInsertionPointToStart(branch.elseBlock());
    compute();
  }

  SmallVector<Value> multiplyBlock(ValueRange accs, Value cursor, Value operandA, Value operandB, bool first,
                                   int64_t apart) {
    k.op<WaitOp>(ring, cursor);
    if (op.getGather()) // what threads wrote is read by wgmma
      k.op<NVVM::FenceProxyOp>(NVVM::ProxyKind::async_shared,
                               NVVM::SharedSpaceAttr::get(k.b.getContext(), NVVM::SharedSpace::shared_cta));
    auto product = k.op<WgmmaOp>(accs.getTypes(), accs, ring, cursor, operandA, operandB, getLoadedType(op.getRhs()),
                                 first, apart ? k.b.getI64IntegerAttr(apart) : IntegerAttr());
    return SmallVector<Value>(product.getResults());
  }

  /// `count` accumulators of `width` columns: a warpgroup's part of a tile. The first block is peeled: it overwrites,
  /// and a loop that begins with zeros makes ptxas serialise the wgmmas (C7515). A stage is released when the group
  /// after the one that read it is in flight. `number` is the tile's if warpgroups take turns: the turn ends when the
  /// last group is in flight. If `apart` is not 0, the second half of the columns lies so many bytes behind the first.
  SmallVector<Value> multiply(const Tile &tile, Value cursor, Value number, Value operandA, Value operandB,
                              int64_t count, int64_t width, int64_t apart = 0) {
    Value undef = k.op<UndefOp>(AccType::get(k.b.getContext(), width));
    SmallVector<Value> accs(count, undef);
    accs = multiplyBlock(accs, cursor, operandA, operandB, /*first=*/true, apart);
    SmallVector<Value> inits{advance(cursor), cursor};
    llvm::append_range(inits, accs);
    auto loop = k.op<scf::ForOp>(k.c(1), countBlocks(tile), k.c(1), inits);
    {
      OpBuilder::InsertionGuard guard(k.b);
      k.b.setInsertionPointToStart(loop.getBody());
      Value current = loop.getRegionIterArg(0), previous = loop.getRegionIterArg(1);
      accs = multiplyBlock(loop.getRegionIterArgs().drop_front(2), current, operandA, operandB, /*first=*/false, apart);
      auto wait = k.op<WgmmaWaitOp>(TypeRange(ValueRange(accs)), accs, /*pending=*/1);
      k.op<ReleaseOp>(ring, previous, /*read=*/Value());
      SmallVector<Value> yields{advance(current), current};
      llvm::append_range(yields, wait.getResults());
      k.op<scf::YieldOp>(yields);
    }
    if (number)
      k.op<PassTurnOp>(turns, number);
    ValueRange inFlight = loop.getResults().drop_front(2);
    auto wait = k.op<WgmmaWaitOp>(inFlight.getTypes(), inFlight, /*pending=*/0);
    k.op<ReleaseOp>(ring, loop.getResult(1), /*read=*/Value());
    return SmallVector<Value>(wait.getResults());
  }

  void buildEpilogue(const Tile &tile, Value row, ValueRange accs, Value staging) {
    SmallVector<Attribute> types;
    for (const Sink &sink : sinks)
      types.push_back(TypeAttr::get(sink.element));
    SmallVector<Attribute> extraTypes;
    SmallVector<int64_t> kinds;
    for (auto [i, extra] : llvm::enumerate(op.getExtras())) {
      extraTypes.push_back(TypeAttr::get(KernelBuilder::memref(extra).getElementType()));
      kinds.push_back(static_cast<int64_t>(op.getExtraKind(i)));
    }
    // A result of mode contraction is a stack of matrices: its pointers here are those of the group's.
    SmallVector<Value> pointers;
    for (const Sink &sink : sinks) {
      Value pointer = sink.pointer;
      if (contraction && readsOld) {
        Value group = k.op<arith::ExtSIOp>(k.b.getI64Type(), tile.group);
        pointer = k.op<LLVM::GEPOp>(pointer.getType(), sink.element, pointer,
                                    ArrayRef<LLVM::GEPArg>{k.op<arith::MulIOp>(group, sink.plane).getResult()});
      }
      pointers.push_back(pointer);
    }
    auto values = [&](auto member) {
      return llvm::map_to_vector(sinks, [&](const Sink &sink) { return sink.*member; });
    };
    auto epilogue = k.op<EpilogueOp>(
        accs, row, tile.column, contraction ? rows : tile.end, tile.group, warp, staging, values(&Sink::map), pointers,
        values(&Sink::pitch), slots, extras, extraPitches, k.b.getArrayAttr(types), k.b.getArrayAttr(extraTypes),
        k.b.getDenseI64ArrayAttr(kinds), columns, parts, slotsPerToken, schedule.getBuffers(),
        op.getAccs() == tile::Accumulators::Interleaved, readsOld, contraction, reduce);
    IRMapping mapping;
    op.getEpilogue().cloneInto(&epilogue.getBody(), mapping);
    Block &body = epilogue.getBody().front();
    if (reduce)
      dropSums(body);
    Operation *yield = body.getTerminator();
    OpBuilder::InsertionGuard guard(k.b);
    k.b.setInsertionPoint(yield);
    k.op<YieldOp>(yield->getOperands());
    yield->erase();
  }

  /// Yields what is added to the old values, and takes those no more.
  void dropSums(Block &body) {
    for (size_t i = sinks.size(); i-- > 0; body.eraseArgument(body.getNumArguments() - 1)) {
      OpOperand &yielded = body.getTerminator()->getOpOperand(i);
      auto sum = yielded.get().getDefiningOp<arith::AddFOp>();
      bool oldFirst = sum.getLhs() == body.getArguments().back();
      yielded.set(oldFirst ? sum.getRhs() : sum.getLhs());
      sum.erase();
    }
  }

  void storeZeros(const Tile &tile, Value row) {
    for (const Sink &sink : sinks)
      k.op<StoreZerosOp>(sink.pointer, sink.pitch, row, tile.column, tile.end, sink.element, columns, height,
                         schedule.getN() / parts);
  }

public:
  /// Parameters of the outs and extras; before `build`.
  void addSinks() {
    for (Value out : op.getOuts()) {
      MemRefType type = KernelBuilder::memref(out);
      int64_t width = 128 * 8 / type.getElementTypeBitWidth();
      Sink sink;
      sink.element = type.getElementType();
      sink.pointer = k.pointer(out);
      if (contraction) {
        sink.map = k.tensorMap(out, sink.element, {k.sizeTerm(2), k.sizeTerm(1), k.sizeTerm(0)},
                               {k.strideTerm(1), k.strideTerm(0)}, {width, 16, 1});
        sink.pitch = k.stride(out, 1);
        if (readsOld)
          sink.plane = k.stride(out, 0);
      } else {
        sink.map = k.tensorMap(out, sink.element, {k.sizeTerm(1), k.sizeTerm(0)}, {k.strideTerm(0)}, {width, 16});
        sink.pitch = k.stride(out, 0);
      }
      sinks.push_back(sink);
    }
    if (op.getSlots())
      slots = k.pointer(op.getSlots());
    for (auto [i, extra] : llvm::enumerate(op.getExtras())) {
      extras.push_back(k.pointer(extra));
      bool plain = op.getExtraKind(i) == tile::ExtraKind::Group && KernelBuilder::memref(extra).getRank() == 1;
      extraPitches.push_back(plain ? k.op<arith::ConstantIntOp>(0, 64).getResult() : k.stride(extra, 0));
      if (op.getExtraKind(i) == tile::ExtraKind::Slot)
        slotsPerToken = KernelBuilder::memref(extra).getDimSize(1);
    }
  }

private:
  struct Sink {
    Value map, pointer, pitch, plane;
    Type element;
  };

  tile::RaggedGemmOp op;
  ScheduleAttr schedule;
  KernelBuilder &k;
  bool contraction, cluster, pingpong, reduce, readsOld;
  int64_t height; // rows of a tile that a consumer warpgroup takes
  int64_t parts, columns, slotsPerToken = 1;
  std::unique_ptr<Source> a, b;
  SmallVector<Sink> sinks;
  Value slots;
  SmallVector<Value> extras, extraPitches;
  Value warp, ring, turns, queue, counter, rows, blocks, bounds;
};

} // namespace

LogicalResult sm90::lower(tile::RaggedGemmOp op, OpBuilder &builder, StringRef name) {
  auto schedule = op->getAttrOfType<ScheduleAttr>(kScheduleName);
  if (!schedule) {
    lowerSimple(op, builder, name);
    return success();
  }
  std::string why;
  if (!suitsWgmma(op, why))
    return op.emitOpError() << "has a schedule of wgmma, but " << why;
  if (!suitsSchedule(Problem(op, 0), schedule, why))
    return op.emitOpError() << "has schedule " << schedule << ", " << why;
  // Whether TMA can address the operands is known when they are.
  std::string fallback = (name + "_simple").str();
  lowerSimple(op, builder, fallback);
  KernelBuilder kernel(builder, op.getLoc(), name);
  Gemm gemm(op, schedule, kernel);
  gemm.addSinks();
  gemm.build();
  kernel.finish(LaunchAttr::get(builder.getContext(), 384, schedule.getCluster(), 0, /*per_sm=*/1, 0), fallback);
  return success();
}
