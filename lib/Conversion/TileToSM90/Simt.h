//===- Simt.h - kernels of ordinary threads -----------------------------------===//
//
// What the kernels that need no tensor core share: addresses, loads that a predicate guards, loops, exchange within a
// warp, faults. Indices are i32 unless said otherwise, offsets in memory i64.
//
//===----------------------------------------------------------------------===//
#ifndef MOE_LIB_CONVERSION_TILETOSM90_SIMT_H
#define MOE_LIB_CONVERSION_TILETOSM90_SIMT_H

#include "Lowering.h"

namespace mlir::sm90 {

/// A memref: pointer and the strides (i64, in elements) of all dimensions but the last, whose stride is 1.
struct View {
  Value pointer;
  SmallVector<Value> strides;
  MemRefType type;

  /// As it lies in memory: an i1 takes a byte.
  Type element() const {
    Type element = type.getElementType();
    return element.isInteger(1) ? IntegerType::get(element.getContext(), 8) : element;
  }
  int64_t bytes() const { return element().getIntOrFloatBitWidth() / 8; }
};

class Simt : public Numbers {
public:
  explicit Simt(KernelBuilder &k) : Numbers(k.b, k.loc), k(k) {}

  //--- Control
  void ifThen(Value condition, function_ref<void()> body);
  /// The value of one of the two bodies.
  Value choose(Type type, Value condition, function_ref<Value()> yes, function_ref<Value()> no);
  /// for (i = from; i < to; i += step): the body gets i and the carried values and returns the next ones.
  SmallVector<Value> loop(Value from, Value to, Value step, ValueRange carried,
                          function_ref<SmallVector<Value>(Value, ValueRange)> body) {
    return k.loop(from, to, step, carried, body);
  }
  void forEach(Value from, Value to, Value step, function_ref<void(Value)> body);

  //--- Threads
  Value thread() { return op<NVVM::ThreadIdXOp>(i32()); }
  Value block() { return op<NVVM::BlockIdXOp>(i32()); }
  Value blocks() { return op<NVVM::GridDimXOp>(i32()); }
  void barrier() { op<NVVM::Barrier0Op>(); }
  void syncWarp() { op<NVVM::SyncWarpOp>(c(-1)); }
  /// A value of up to 64 bits of another lane: lane ^ distance, or `distance` lanes below (the own one if there is
  /// none).
  Value shuffle(Value value, int64_t distance, NVVM::ShflKind kind);

  /// Sum of `value` (i64) over the threads before this one, number `index` of kScanThreads, and over all of them. All
  /// threads of the block take part; `memory` is kScanBytes of shared memory.
  std::pair<Value, Value> sumBefore(Value value, Value index, Value memory);
  static constexpr int64_t kScanThreads = 1024, kScanBytes = kScanThreads / 32 * 8;

  /// A size (i64) rounded up to a multiple of `align`, but at most `rows`: sums of these do not overflow.
  Value roundUp(Value size, int64_t align, Value rows);

  //--- Memory
  View view(Value memref);
  /// A pointer that what is read through it depends on, so that no read moves before the wait for the kernel before.
  Value pinned(Value pointer);
  /// Address of element `index` (i64) behind `base`.
  Value at(Value base, Value index, Type element);
  /// Address of an element; indices are i64.
  Value address(const View &view, ArrayRef<Value> indices);
  Value load(Type type, Value address, bool isVolatile = false);
  void store(Value value, Value address, bool isVolatile = false);
  /// `count` elements in a row (a power of two, together at most 16 bytes and aligned to all of them), or zeros where
  /// `valid` (i1, null: always) does not hold. The memory must not be written while the kernel runs.
  SmallVector<Value> loadConstant(Type element, Value address, int64_t count, Value valid);
  /// One of the integer operations, without a result.
  void atomic(LLVM::AtomicBinOp operation, Value address, Value value) {
    bool shared = cast<LLVM::LLVMPointerType>(address.getType()).getAddressSpace() == 3;
    op<LLVM::AtomicRMWOp>(operation, address, value, LLVM::AtomicOrdering::monotonic, shared ? "block" : "device");
  }

  /// Records a fault at `row`, by this thread; row, value and limit are i64. What is kept is the least of all records
  /// of a kind, whichever thread comes first.
  void report(tile::FaultKind kind, Value row, Value value, Value limit);

protected:
  /// `result` is null for none.
  Value assembly(Type result, StringRef code, StringRef constraints, ValueRange operands, bool effects);

  KernelBuilder &k;
};

} // namespace mlir::sm90

#endif
