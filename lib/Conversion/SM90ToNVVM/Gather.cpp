//===- Gather.cpp - gathered rows become cp.async -------------------------------===//
//
// Thread t of 64 copies the 16 bytes at unit t % 8 of rows t / 8 + 8 i. Those rows have one place in the pattern of the
// 128-byte swizzle, which repeats after 8 rows.
//
//===----------------------------------------------------------------------===//

#include "Emit.h"
#include "Patterns.h"
#include "RingView.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::sm90;

namespace {

struct LowerGatherRows : OpConversionPattern<GatherRowsOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(GatherRowsOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emit emit(rewriter, op.getLoc());
    Value first = emit.add(adaptor.getRow(), emit.shr(emit.both(emit.thread(), kGatherThreads - 1), 3));
    Value rows = emit.op<LLVM::UndefOp>(getTypeConverter()->convertType(op.getType()));
    for (int64_t i = 0; i < op.getType().getRegisters(); ++i) {
      Value row = emit.add(first, 8 * i), inside = emit.less(row, adaptor.getEnd());
      // Past the end the last row's number is read, and not used.
      Value at = emit.min(row, emit.sub(adaptor.getEnd(), emit.c(1)));
      Value number = emit.op<LLVM::LoadOp>(emit.i32(), emit.gep(adaptor.getIndex(), emit.shl(emit.ext64(at), 2)), 4);
      rows = emit.insert(rows, emit.select(inside, number, emit.c(-1)), i);
    }
    rewriter.replaceOp(op, rows);
    return success();
  }
};

struct LowerGatherLoad : OpConversionPattern<GatherLoadOp> {
  using OpConversionPattern::OpConversionPattern;
  LogicalResult matchAndRewrite(GatherLoadOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    Emit emit(rewriter, op.getLoc());
    RingView ring(emit, op.getRing().getType(), adaptor.getRing());
    Value stage = emit.extract(adaptor.getCursor(), 0);
    Value thread = emit.both(emit.thread(), kGatherThreads - 1), row = emit.shr(thread, 3), unit = emit.both(thread, 7);
    Value within = emit.add(emit.shl(adaptor.getBlock(), 7), emit.shl(unit, 4));
    Value left = emit.sub(adaptor.getWidth(), within);
    if (!op.getWhole())
      left = emit.max(emit.min(left, emit.c(16)), emit.c(0));
    Value source = emit.op<LLVM::PtrToIntOp>(emit.i64(), emit.gep(adaptor.getBase(), emit.ext64(within)));
    Value place = emit.add(emit.shl(row, 7), emit.shl(emit.differing(unit, row), 4));
    Value target = emit.gep(emit.gep(ring.data(stage), adaptor.getOffset()), place);
    target = emit.op<LLVM::PtrToIntOp>(emit.i32(), target);

    ring.waitEmpty(adaptor.getCursor());
    // Copies of whole pieces need a predicate alone: of a number of bytes ptxas makes ten instructions.
    const char *copy = op.getWhole() ? "setp.lt.or.s32 p, $1, 0, q; cp.async.cg.shared.global [$0+{0}], [a], 16, p;"
                                     : "setp.ge.s32 p, $1, 0; selp.b32 n, $2, 0, p; "
                                       "cp.async.cg.shared.global [$0+{0}], [a], 16, n;";
    for (int64_t i = 0; i < op.getRows().getType().getRegisters(); ++i) {
      // In one piece, or LLVM computes all addresses ahead of the loop over k, more than there are registers for.
      std::string code = "{ .reg .pred p, q; .reg .b32 n; .reg .b64 a; setp.le.s32 q, $2, 0; "
                         "mad.wide.u32 a, $1, $3, $4; " +
                         llvm::formatv(copy, 1024 * i).str() + " }";
      SmallVector<Value> operands{target, emit.extract(adaptor.getRows(), i), left, adaptor.getPitch(), source};
      emit.op<LLVM::InlineAsmOp>(TypeRange(), operands, code, "r,r,r,r,l,~{memory}", /*has_side_effects=*/true,
                                 /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
                                 LLVM::AsmDialectAttr::get(rewriter.getContext(), LLVM::AsmDialect::AD_ATT),
                                 ArrayAttr());
    }
    // Arrives when what this thread has copied so far is there; counted among the arrivals that the barrier expects.
    emit.ptx("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [$0];", ring.full(stage));
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void mlir::sm90::populateGatherPatterns(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerGatherRows, LowerGatherLoad>(converter, patterns.getContext());
}
