//===- RingView.h - where the stages and barriers of a ring are ------------------===//
#ifndef MOE_LIB_CONVERSION_SM90TONVVM_RINGVIEW_H
#define MOE_LIB_CONVERSION_SM90TONVVM_RINGVIEW_H

#include "Emit.h"
#include "moe/Dialect/SM90/IR/SM90.h"

namespace mlir::sm90 {

/// How long one try of a wait may suspend, in ns; the wait tries again.
constexpr int64_t kWaitTicks = 10000000;

inline void wait(Emit &emit, Value barrier, Value phase) {
  emit.op<NVVM::MBarrierTryWaitParityOp>(barrier, phase, emit.c(kWaitTicks));
}

/// The ring's pointer is that of stage 0. Behind the last stage, each stage has its full barrier, then its empty one.
struct RingView {
  RingView(Emit &emit, RingType type, Value base) : emit(emit), type(type), base(base) {}
  Value barrier(Value stage, int64_t offset) {
    return emit.gep(emit.gep(base, type.getStages() * type.getBytes() + offset), emit.shl(stage, 4));
  }
  Value full(Value stage) { return barrier(stage, 0); }
  Value empty(Value stage) { return barrier(stage, 8); }
  Value data(Value stage) { return emit.gep(base, emit.mul(stage, type.getBytes())); }
  /// The producer waits for the phase before: at first every stage counts as empty.
  void waitEmpty(Value cursor) {
    wait(emit, empty(emit.extract(cursor, 0)), emit.differing(emit.extract(cursor, 1), emit.c(1)));
  }

  Emit &emit;
  RingType type;
  Value base;
};

} // namespace mlir::sm90

#endif
