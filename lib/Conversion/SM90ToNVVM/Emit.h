//===- Emit.h - short names for the ops that sm90 becomes -------------------===//
#ifndef MOE_LIB_CONVERSION_SM90TONVVM_EMIT_H
#define MOE_LIB_CONVERSION_SM90TONVVM_EMIT_H

#include "../Numbers.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::sm90 {

class Emit : public Numbers {
public:
  using Numbers::Numbers;

  LLVM::LLVMPointerType pointer(unsigned space) { return LLVM::LLVMPointerType::get(b.getContext(), space); }

  /// `base` plus bytes.
  Value gep(Value base, Value bytes) {
    return op<LLVM::GEPOp>(base.getType(), b.getI8Type(), base, ArrayRef<LLVM::GEPArg>{bytes},
                           LLVM::GEPNoWrapFlags::inbounds);
  }
  Value gep(Value base, int64_t bytes) {
    if (bytes == 0)
      return base;
    return op<LLVM::GEPOp>(base.getType(), b.getI8Type(), base, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)},
                           LLVM::GEPNoWrapFlags::inbounds);
  }
  Value extract(Value aggregate, int64_t i) { return op<LLVM::ExtractValueOp>(aggregate, i); }
  Value insert(Value aggregate, Value value, int64_t i) { return op<LLVM::InsertValueOp>(aggregate, value, i); }

  Value thread() { return op<NVVM::ThreadIdXOp>(i32()); }
  Value lane() { return both(thread(), 31); }
  void syncWarp() { op<NVVM::SyncWarpOp>(c(-1)); }
  /// Orders what this thread wrote to shared memory before what TMA or wgmma reads there.
  void fenceAsync() {
    op<NVVM::FenceProxyOp>(NVVM::ProxyKind::async_shared,
                           NVVM::SharedSpaceAttr::get(b.getContext(), NVVM::SharedSpace::shared_cta));
  }
  void ptx(StringRef code, ValueRange reads, Value predicate = Value()) {
    op<NVVM::InlinePtxOp>(TypeRange(), reads, ValueRange(), code, predicate);
  }
  void ifThen(Value condition, function_ref<void()> body) { ifElse(condition, body, nullptr); }
  void ifElse(Value condition, function_ref<void()> yes, function_ref<void()> no) {
    auto branch = op<scf::IfOp>(condition, /*withElseRegion=*/static_cast<bool>(no));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(branch.thenBlock()->getTerminator());
    yes();
    if (!no)
      return;
    b.setInsertionPoint(branch.elseBlock()->getTerminator());
    no();
  }
  void loop(Value from, Value to, Value step, function_ref<void(Value)> body) {
    auto loop = op<scf::ForOp>(from, to, step);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    body(loop.getInductionVar());
  }
};

} // namespace mlir::sm90

#endif
