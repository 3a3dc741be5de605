//===- Pipeline.cpp - ring, barriers and loads become nvvm --------------------===//

#include "Emit.h"
#include "Patterns.h"
#include "RingView.h"

using namespace mlir;
using namespace mlir::sm90;

namespace {

template <typename OpT> struct Pattern : OpConversionPattern<OpT> {
  using OpConversionPattern<OpT>::OpConversionPattern;
  using Adaptor = typename OpT::Adaptor;
  LogicalResult matchAndRewrite(OpT op, Adaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    Emit emit(rewriter, op.getLoc());
    lower(op, adaptor, emit, rewriter);
    return success();
  }
  virtual void lower(OpT op, Adaptor adaptor, Emit &emit, ConversionPatternRewriter &rewriter) const = 0;
};

Value makeCursor(Emit &emit, Value stage, Value phase) {
  auto type = LLVM::LLVMStructType::getLiteral(emit.b.getContext(), {emit.i32(), emit.i32()});
  Value undef = emit.op<LLVM::UndefOp>(type);
  return emit.insert(emit.insert(undef, stage, 0), phase, 1);
}

Value sharedBase(Operation *op, Emit &emit) {
  auto function = op->getParentOfType<LLVM::LLVMFuncOp>();
  Value base = emit.op<LLVM::AddressOfOp>(emit.pointer(3), ("shared_" + function.getName()).str());
  return emit.gep(base, op->getAttrOfType<IntegerAttr>(kOffsetName).getInt());
}

struct LowerAlloc : Pattern<AllocOp> {
  using Pattern::Pattern;
  void lower(AllocOp op, Adaptor, Emit &emit, ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, sharedBase(op, emit));
  }
};

int64_t getCluster(Operation *op) {
  return op->getParentOfType<LLVM::LLVMFuncOp>()->getAttrOfType<LaunchAttr>(kLaunchName).getCluster();
}

/// Has one thread make barriers; behind this every thread of the cluster may use them.
void initialize(Operation *op, Emit &emit, function_ref<void()> make) {
  emit.ifThen(emit.equal(emit.thread(), 0), [&] {
    make();
    emit.op<NVVM::FenceMbarrierInitOp>();
  });
  if (getCluster(op) == 2) {
    emit.op<NVVM::ClusterArriveOp>(emit.b.getUnitAttr());
    emit.op<NVVM::ClusterWaitOp>(emit.b.getUnitAttr());
  } else {
    emit.op<NVVM::Barrier0Op>();
  }
}

struct LowerRing : Pattern<RingOp> {
  using Pattern::Pattern;
  void lower(RingOp op, Adaptor, Emit &emit, ConversionPatternRewriter &rewriter) const override {
    Value base = sharedBase(op, emit);
    RingView ring(emit, op.getType(), base);
    initialize(op, emit, [&] {
      for (int64_t stage = 0; stage < op.getType().getStages(); ++stage) {
        Value index = emit.c(stage);
        emit.op<NVVM::MBarrierInitOp>(ring.full(index), emit.c(op.getArrivals()), Value());
        emit.op<NVVM::MBarrierInitOp>(ring.empty(index), emit.c(op.getReleases()), Value());
      }
    });
    rewriter.replaceOp(op, base);
  }
};

struct LowerStart : Pattern<StartOp> {
  using Pattern::Pattern;
  void lower(StartOp op, Adaptor, Emit &emit, ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOp(op, makeCursor(emit, emit.c(0), emit.c(0)));
  }
};

struct LowerAdvance : Pattern<AdvanceOp> {
  using Pattern::Pattern;
  void lower(AdvanceOp op, Adaptor adaptor, Emit &emit, ConversionPatternRewriter &rewriter) const override {
    Value stage = emit.extract(adaptor.getCursor(), 0), phase = emit.extract(adaptor.getCursor(), 1);
    int64_t stages = op.getRing().getType().getStages();
    if (op.getCount()) {
      Value next = emit.add(stage, adaptor.getCount()), wraps = emit.div(next, stages);
      stage = emit.sub(next, emit.mul(wraps, stages));
      phase = emit.differing(phase, emit.both(wraps, 1));
    } else {
      Value next = emit.add(stage, 1), wraps = emit.equal(next, stages);
      stage = emit.select(wraps, emit.c(0), next);
      phase = emit.differing(phase, emit.extu(wraps, emit.i32()));
    }
    rewriter.replaceOp(op, makeCursor(emit, stage, phase));
  }
};

struct LowerAcquire : Pattern<AcquireOp> {
  using Pattern::Pattern;
  void lower(AcquireOp op, Adaptor adaptor, Emit &emit, ConversionPatternRewriter &rewriter) const override {
    RingView ring(emit, op.getRing().getType(), adaptor.getRing());
    ring.waitEmpty(adaptor.getCursor());
    emit.op<NVVM::MBarrierArriveExpectTxOp>(Type(), ring.full(emit.extract(adaptor.getCursor(), 0)),
                                            emit.c(op.getBytes()), NVVM::MemScopeKind::CTA, false, Value());
    rewriter.eraseOp(op);
  }
};

struct LowerWait : Pattern<WaitOp> {
  using Pattern::Pattern;
  void lower(WaitOp op, Adaptor adaptor, Emit &emit, ConversionPatternRewriter &rewriter) const override {
    RingView ring(emit, op.getRing().getType(), adaptor.getRing());
    wait(emit, ring.full(emit.extract(adaptor.getCursor(), 0)), emit.extract(adaptor.getCursor(), 1));
    rewriter.eraseOp(op);
  }
};

struct LowerRelease : Pattern<ReleaseOp> {
  using Pattern::Pattern;
  void lower(ReleaseOp op, Adaptor adaptor, Emit &emit, ConversionPatternRewriter &rewriter) const override {
    RingView ring(emit, op.getRing().getType(), adaptor.getRing());
    Value empty = ring.empty(emit.extract(adaptor.getCursor(), 0));
    // Without a release at cluster scope, which would flush to the L2: nothing was written, and what was read is there,
    // by wgmma, whose completion was waited for, or in the register that the address depends on.
    if (adaptor.getRead())
      empty = emit.gep(empty, emit.shr(adaptor.getRead(), 31)); // 0
    auto arrive = [&](Value block, Value predicate) {
      Value remote = emit.op<NVVM::MapaOp>(emit.pointer(7), empty, block);
      emit.ptx("mbarrier.arrive.shared::cluster.b64 _, [$0];", remote, predicate);
    };
    int64_t cluster = getCluster(op);
    Value lane = op.getThread() ? Value() : emit.lane();
    Value arrives = lane ? emit.compare(arith::CmpIPredicate::ult, lane, cluster) : Value();
    if (cluster == 1)
      emit.ptx("mbarrier.arrive.shared::cta.b64 _, [$0];", empty, arrives);
    else if (lane) // lane i arrives in block i
      arrive(lane, arrives);
    else
      for (int64_t block = 0; block < cluster; ++block)
        arrive(emit.c(block), Value());
    rewriter.eraseOp(op);
  }
};

/// Barrier w is passed to warpgroup w, by the warps of the other.
Value turnBarrier(Emit &emit, Value turns, Value warpgroup) { return emit.gep(turns, emit.shl(warpgroup, 3)); }

struct LowerTurns : Pattern<TurnsOp> {
  using Pattern::Pattern;
  void lower(TurnsOp op, Adaptor, Emit &emit, ConversionPatternRewriter &rewriter) const override {
    Value base = sharedBase(op, emit);
    initialize(op, emit, [&] {
      for (int64_t i = 0; i < 2; ++i)
        emit.op<NVVM::MBarrierInitOp>(turnBarrier(emit, base, emit.c(i)), emit.c(4), Value());
    });
    rewriter.replaceOp(op, base);
  }
};

struct LowerWaitTurn : Pattern<WaitTurnOp> {
  using Pattern::Pattern;
  void lower(WaitTurnOp op, Adaptor adaptor, Emit &emit, ConversionPatternRewriter &rewriter) const override {
    // Turn number / 2 of a warpgroup. The first of warpgroup 0 begins at once: for it the phase before counts.
    Value warpgroup = emit.both(adaptor.getNumber(), 1), turn = emit.shr(adaptor.getNumber(), 1);
    Value phase = emit.both(emit.differing(turn, emit.differing(warpgroup, emit.c(1))), 1);
    wait(emit, turnBarrier(emit, adaptor.getTurns(), warpgroup), phase);
    rewriter.eraseOp(op);
  }
};

struct LowerPassTurn : Pattern<PassTurnOp> {
  using Pattern::Pattern;
  void lower(PassTurnOp op, Adaptor adaptor, Emit &emit, ConversionPatternRewriter &rewriter) const override {
    Value other = emit.differing(emit.both(adaptor.getNumber(), 1), emit.c(1));
    emit.ptx("mbarrier.arrive.shared::cta.b64 _, [$0];", turnBarrier(emit, adaptor.getTurns(), other),
             emit.equal(emit.lane(), 0));
    rewriter.eraseOp(op);
  }
};

struct LowerTmaLoad : Pattern<TmaLoadOp> {
  using Pattern::Pattern;
  void lower(TmaLoadOp op, Adaptor adaptor, Emit &emit, ConversionPatternRewriter &rewriter) const override {
    RingView ring(emit, op.getRing().getType(), adaptor.getRing());
    Value stage = emit.extract(adaptor.getCursor(), 0);
    Value target = emit.gep(ring.data(stage), adaptor.getOffset()), mask;
    bool multicast = op.getMulticast();
    if (multicast) {
      target = emit.op<LLVM::AddrSpaceCastOp>(emit.pointer(7), target);
      mask = emit.integer(3, emit.b.getIntegerType(16));
    }
    emit.op<NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp>(
        target, adaptor.getMap(), adaptor.getCoordinates(), ring.full(stage), ValueRange(), mask, Value(),
        NVVM::TMALoadMode::TILE, /*isCTAOnly=*/!multicast, NVVM::CTAGroupKindAttr(), Value());
    rewriter.eraseOp(op);
  }
};

/// Whether this is the first block of the cluster.
Value isFirst(Emit &emit) { return emit.equal(emit.op<NVVM::BlockInClusterIdXOp>(emit.i32()), 0); }

struct LowerTake : Pattern<TakeOp> {
  using Pattern::Pattern;
  void lower(TakeOp op, Adaptor adaptor, Emit &emit, ConversionPatternRewriter &rewriter) const override {
    auto take = [&]() -> Value {
      return emit.op<LLVM::AtomicRMWOp>(LLVM::AtomicBinOp::add, adaptor.getCounter(), emit.c(1),
                                        LLVM::AtomicOrdering::monotonic, "device");
    };
    if (getCluster(op) == 1) {
      Value before = take();
      return rewriter.replaceOp(op, emit.add(before, emit.op<NVVM::GridDimXOp>(emit.i32()).getResult()));
    }
    auto branch = emit.op<scf::IfOp>(TypeRange{emit.i32()}, isFirst(emit), /*withElseRegion=*/true);
    rewriter.setInsertionPointToStart(branch.thenBlock());
    emit.op<scf::YieldOp>(take());
    rewriter.setInsertionPointToStart(branch.elseBlock());
    emit.op<scf::YieldOp>(emit.c(0));
    // Behind the branch, so that the counter's answer is not waited for here but where it is looked at.
    rewriter.setInsertionPointAfter(branch);
    rewriter.replaceOp(op, emit.add(branch.getResult(0), emit.op<NVVM::ClusterDimXOp>(emit.i32()).getResult()));
  }
};

struct LowerSend : Pattern<SendOp> {
  using Pattern::Pattern;
  void lower(SendOp op, Adaptor adaptor, Emit &emit, ConversionPatternRewriter &rewriter) const override {
    RingView ring(emit, op.getRing().getType(), adaptor.getRing());
    Value stage = emit.extract(adaptor.getCursor(), 0), target = ring.data(stage), full = ring.full(stage);
    Value number = adaptor.getNumber();
    ring.waitEmpty(adaptor.getCursor());
    int64_t cluster = getCluster(op);
    rewriter.eraseOp(op);
    if (cluster == 1) {
      emit.op<LLVM::StoreOp>(number, target, 4);
      return emit.ptx("mbarrier.arrive.shared::cta.b64 _, [$0];", full);
    }
    // In a cluster a number comes as a load does. (Alone in its cluster, a block must not do this.)
    emit.op<NVVM::MBarrierArriveExpectTxOp>(Type(), full, emit.c(4), NVVM::MemScopeKind::CTA, false, Value());
    emit.ifThen(isFirst(emit), [&] {
      for (int64_t i = 0; i < cluster; ++i) {
        auto inBlock = [&](Value address) { return emit.op<NVVM::MapaOp>(emit.pointer(7), address, emit.c(i)); };
        emit.ptx("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [$0], $1, [$2];",
                 {inBlock(target), number, inBlock(full)});
      }
    });
  }
};

struct LowerReceive : Pattern<ReceiveOp> {
  using Pattern::Pattern;
  void lower(ReceiveOp op, Adaptor adaptor, Emit &emit, ConversionPatternRewriter &rewriter) const override {
    RingView ring(emit, op.getRing().getType(), adaptor.getRing());
    Value source = ring.data(emit.extract(adaptor.getCursor(), 0));
    rewriter.replaceOp(op, emit.op<LLVM::LoadOp>(emit.i32(), source, 4, /*isVolatile=*/true));
  }
};

struct LowerWarp : Pattern<WarpOp> {
  using Pattern::Pattern;
  void lower(WarpOp op, Adaptor, Emit &emit, ConversionPatternRewriter &rewriter) const override {
    Value warp = emit.shr(emit.thread(), 5);
    Value uniform =
        emit.op<NVVM::ShflOp>(emit.i32(), emit.c(-1), warp, emit.c(0), emit.c(31), NVVM::ShflKind::idx, UnitAttr());
    rewriter.replaceOp(op, uniform);
  }
};

} // namespace

void mlir::sm90::populatePipelinePatterns(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerAlloc, LowerRing, LowerStart, LowerAdvance, LowerAcquire, LowerWait, LowerRelease, LowerTurns,
               LowerWaitTurn, LowerPassTurn, LowerTmaLoad, LowerTake, LowerSend, LowerReceive, LowerWarp>(
      converter, patterns.getContext());
}
