//===- Wgmma.cpp - accumulators and their products become nvvm ----------------===//

#include "Emit.h"
#include "Patterns.h"

using namespace mlir;
using namespace mlir::sm90;

namespace {

// Matrix descriptors, in units of 16 bytes. The low word has the address and, from bit 16, the leading offset: what
// lies between boxes of 64 columns (MN-major; not used K-major). The high word has the offset between groups of 8 rows
// (1024 bytes) and says that the swizzle is 128 bytes wide.
// An address has 18 bits: in a cluster, those above are the block's rank and would fall into the leading offset.
constexpr int64_t kAddressMask = 0x3ffff;
constexpr int64_t kBoxOffset = 8192 / 16, kHighWord = ((1ll << 30) | 64) << 32;

int64_t leadingOffset(Major major) { return major == Major::MN ? kBoxOffset : 1; }
/// From one step of k to the next (16 elements of 2 bytes, 8 of 4): 32 bytes of each row, or 16 rows of 128 bytes.
int64_t stepK(Major major) { return major == Major::MN ? 128 : 2; }
/// From 64 rows (columns) to the next: 64 rows of 128 bytes, or a box.
constexpr int64_t kStepM64 = 8192 / 16;

struct LowerOperand : OpConversionPattern<OperandOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(OperandOp op, OpAdaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    Emit emit(rewriter, op.getLoc());
    Value address = emit.op<LLVM::PtrToIntOp>(emit.i32(), adaptor.getRing());
    Value low = emit.shr(emit.both(emit.add(address, adaptor.getOffset()), kAddressMask), 4);
    rewriter.replaceOp(op, emit.either(low, leadingOffset(op.getType().getMajor()) << 16));
    return success();
  }
};

struct LowerUndef : OpConversionPattern<UndefOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(UndefOp op, OpAdaptor, ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::UndefOp>(op, getTypeConverter()->convertType(op.getType()));
    return success();
  }
};

struct LowerWgmma : OpConversionPattern<WgmmaOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(WgmmaOp op, OpAdaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    Emit emit(rewriter, op.getLoc());
    Value stage = emit.mul(emit.extract(adaptor.getCursor(), 0), op.getRing().getType().getBytes() / 16);
    Value lowA = emit.add(adaptor.getA(), stage), lowB = emit.add(adaptor.getB(), stage);
    Major majorA = op.getA().getType().getMajor(), majorB = op.getB().getType().getMajor();
    Value high = emit.c64(kHighWord);
    auto descriptor = [&](Value low, int64_t offset) {
      return emit.either(emit.extu(emit.add(low, offset), emit.i64()), high);
    };
    bool tf32 = op.getElement().isTF32();
    auto type = tf32                       ? NVVM::WGMMATypes::tf32
                : op.getElement().isBF16() ? NVVM::WGMMATypes::bf16
                                           : NVVM::WGMMATypes::f16;
    int64_t columns = cast<AccType>(op.getAccs().front().getType()).getColumns();
    int64_t parts = op.getApart() ? 2 : 1;
    auto shape = NVVM::MMAShapeAttr::get(rewriter.getContext(), 64, columns / parts, tf32 ? 8 : 16);
    // Halves of an accumulator are halves of its registers.
    SmallVector<Value> accs;
    for (Value acc : adaptor.getAccs())
      llvm::append_range(accs, split(emit, acc, parts));
    emit.op<NVVM::WgmmaFenceAlignedOp>();
    for (int64_t k = 0; k < 4; ++k) {
      for (auto [i, acc] : llvm::enumerate(accs)) {
        Value a = descriptor(lowA, k * stepK(majorA) + i / parts * kStepM64);
        Value b = descriptor(lowB, k * stepK(majorB) + i % parts * op.getApart().value_or(0) / 16);
        bool overwrites = op.getFirst() && k == 0;
        acc = emit.op<NVVM::WgmmaMmaAsyncOp>(
            acc.getType(), acc, a, b, shape, type, type, NVVM::WGMMATypes::f32,
            overwrites ? NVVM::WGMMAScaleOut::zero : NVVM::WGMMAScaleOut::one, NVVM::WGMMAScaleIn::one,
            NVVM::WGMMAScaleIn::one, majorA == Major::MN ? NVVM::MMALayout::col : NVVM::MMALayout::row,
            majorB == Major::MN ? NVVM::MMALayout::row : NVVM::MMALayout::col, NVVM::MMAIntOverflowAttr());
      }
    }
    emit.op<NVVM::WgmmaGroupSyncAlignedOp>();
    SmallVector<Value> results;
    for (size_t i = 0; i < accs.size(); i += parts)
      results.push_back(join(emit, ArrayRef(accs).slice(i, parts), adaptor.getAccs()[i / parts].getType()));
    rewriter.replaceOp(op, results);
    return success();
  }

private:
  static int64_t registers(Value acc) { return cast<LLVM::LLVMStructType>(acc.getType()).getBody().size(); }

  static SmallVector<Value> split(Emit &emit, Value acc, int64_t parts) {
    if (parts == 1)
      return {acc};
    int64_t count = registers(acc) / parts;
    auto type = LLVM::LLVMStructType::getLiteral(emit.b.getContext(), SmallVector<Type>(count, emit.f32()));
    SmallVector<Value> found;
    for (int64_t part = 0; part < parts; ++part) {
      Value value = emit.op<LLVM::UndefOp>(type);
      for (int64_t i = 0; i < count; ++i)
        value = emit.insert(value, emit.extract(acc, part * count + i), i);
      found.push_back(value);
    }
    return found;
  }

  static Value join(Emit &emit, ArrayRef<Value> parts, Type type) {
    if (parts.size() == 1)
      return parts.front();
    Value acc = emit.op<LLVM::UndefOp>(type);
    int64_t next = 0;
    for (Value part : parts)
      for (int64_t i = 0; i < registers(part); ++i)
        acc = emit.insert(acc, emit.extract(part, i), next++);
    return acc;
  }
};

struct LowerWgmmaWait : OpConversionPattern<WgmmaWaitOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(WgmmaWaitOp op, OpAdaptor adaptor, ConversionPatternRewriter &rewriter) const override {
    Emit emit(rewriter, op.getLoc());
    if (op.getPending() > 0) {
      emit.op<NVVM::WgmmaWaitGroupSyncOp>(op.getPending());
      rewriter.replaceOp(op, adaptor.getAccs());
      return success();
    }
    // The registers pass through the wait, so that no pass can move a use of them above it: ptxas would then wait there
    // for every group and serialise them (C7517).
    SmallVector<Value> registers;
    std::string constraints;
    for (Value acc : adaptor.getAccs())
      for (size_t i = 0; i < cast<LLVM::LLVMStructType>(acc.getType()).getBody().size(); ++i) {
        registers.push_back(emit.extract(acc, i));
        constraints += "=f,";
      }
    for (size_t i = 0; i < registers.size(); ++i)
      constraints += std::to_string(i) + ",";
    constraints += "~{memory}";
    auto type = LLVM::LLVMStructType::getLiteral(rewriter.getContext(),
                                                 SmallVector<Type>(registers.size(), rewriter.getF32Type()));
    Value waited = emit.op<LLVM::InlineAsmOp>(
                           type, registers, "wgmma.wait_group.sync.aligned 0;", constraints, /*has_side_effects=*/true,
                           /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
                           LLVM::AsmDialectAttr::get(rewriter.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr())
                       .getRes();
    SmallVector<Value> results;
    int64_t next = 0;
    for (Value acc : adaptor.getAccs()) {
      Value result = emit.op<LLVM::UndefOp>(acc.getType());
      for (size_t i = 0; i < cast<LLVM::LLVMStructType>(acc.getType()).getBody().size(); ++i)
        result = emit.insert(result, emit.extract(waited, next++), i);
      results.push_back(result);
    }
    rewriter.replaceOp(op, results);
    return success();
  }
};

} // namespace

void mlir::sm90::populateWgmmaPatterns(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerOperand, LowerUndef, LowerWgmma, LowerWgmmaWait>(converter, patterns.getContext());
}
