//===- Emit.h - short names for the ops that sm90 becomes -------------------===//
#ifndef MOE_LIB_CONVERSION_SM90TONVVM_EMIT_H
#define MOE_LIB_CONVERSION_SM90TONVVM_EMIT_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::sm90 {

/// Builds at a builder's place. Integers are i32 unless said otherwise; both operands have one type.
class Emit {
public:
  Emit(OpBuilder &builder, Location loc) : b(builder), loc(loc) {}

  template <typename OpT, typename... Args> OpT op(Args &&...args) {
    return OpT::create(b, loc, std::forward<Args>(args)...);
  }
  Type i1() { return b.getI1Type(); }
  Type i32() { return b.getI32Type(); }
  Type i64() { return b.getI64Type(); }
  Type f32() { return b.getF32Type(); }
  LLVM::LLVMPointerType pointer(unsigned space) { return LLVM::LLVMPointerType::get(b.getContext(), space); }

  Value integer(int64_t value, Type type) { return op<arith::ConstantOp>(b.getIntegerAttr(type, value)); }
  Value c(int64_t value) { return integer(value, i32()); }
  Value c64(int64_t value) { return integer(value, i64()); }
  Value add(Value x, Value y) { return op<arith::AddIOp>(x, y); }
  Value add(Value x, int64_t y) { return y == 0 ? x : add(x, integer(y, x.getType())); }
  Value sub(Value x, Value y) { return op<arith::SubIOp>(x, y); }
  Value mul(Value x, Value y) { return op<arith::MulIOp>(x, y); }
  Value mul(Value x, int64_t y) { return y == 1 ? x : mul(x, integer(y, x.getType())); }
  Value divu(Value x, Value y) { return op<arith::DivUIOp>(x, y); }
  Value divu(Value x, int64_t y) { return divu(x, integer(y, x.getType())); }
  Value remu(Value x, int64_t y) { return op<arith::RemUIOp>(x, integer(y, x.getType())); }
  Value ceilDiv(Value x, int64_t y) { return divu(add(x, y - 1), y); }
  Value shl(Value x, int64_t y) { return op<arith::ShLIOp>(x, integer(y, x.getType())); }
  Value shr(Value x, int64_t y) { return op<arith::ShRUIOp>(x, integer(y, x.getType())); }
  Value andi(Value x, Value y) { return op<arith::AndIOp>(x, y); }
  Value andi(Value x, int64_t y) { return andi(x, integer(y, x.getType())); }
  Value ori(Value x, Value y) { return op<arith::OrIOp>(x, y); }
  Value ori(Value x, int64_t y) { return ori(x, integer(y, x.getType())); }
  Value xori(Value x, Value y) { return op<arith::XOrIOp>(x, y); }
  Value min(Value x, Value y) { return op<arith::MinSIOp>(x, y); }
  Value max(Value x, Value y) { return op<arith::MaxSIOp>(x, y); }
  Value cmp(arith::CmpIPredicate predicate, Value x, Value y) { return op<arith::CmpIOp>(predicate, x, y); }
  Value cmp(arith::CmpIPredicate predicate, Value x, int64_t y) { return cmp(predicate, x, integer(y, x.getType())); }
  Value eq(Value x, int64_t y) { return cmp(arith::CmpIPredicate::eq, x, y); }
  Value slt(Value x, Value y) { return cmp(arith::CmpIPredicate::slt, x, y); }
  Value select(Value condition, Value x, Value y) { return op<arith::SelectOp>(condition, x, y); }
  Value extu(Value x, Type type) { return op<arith::ExtUIOp>(type, x); }
  Value ext64(Value x) { return op<arith::ExtSIOp>(i64(), x); }
  Value trunc32(Value x) { return op<arith::TruncIOp>(i32(), x); }

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
  Value lane() { return andi(thread(), 31); }
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

  OpBuilder &b;
  Location loc;
};

} // namespace mlir::sm90

#endif
