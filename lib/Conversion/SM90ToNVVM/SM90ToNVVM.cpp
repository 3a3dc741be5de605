//===- SM90ToNVVM.cpp - sm90 kernels become LLVM functions --------------------===//

#include "Emit.h"
#include "Patterns.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "moe/Conversion/Passes.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::moe {
#define GEN_PASS_DEF_CONVERTSM90TONVVMPASS
#include "moe/Conversion/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;
using namespace mlir::sm90;

namespace {

LLVM::LLVMStructType getRegisters(MLIRContext *context, Type type, int64_t count) {
  return LLVM::LLVMStructType::getLiteral(context, SmallVector<Type>(count, type));
}

struct KernelTypeConverter : TypeConverter {
  explicit KernelTypeConverter(MLIRContext *context) {
    addConversion([](Type type) { return type; });
    addConversion([=](TensorMapType) -> Type { return LLVM::LLVMPointerType::get(context); });
    addConversion([=](RingType) -> Type { return LLVM::LLVMPointerType::get(context, 3); });
    addConversion([=](CursorType) -> Type { return getRegisters(context, IntegerType::get(context, 32), 2); });
    addConversion(
        [=](AccType type) -> Type { return getRegisters(context, Float32Type::get(context), type.getRegisters()); });
    addConversion([=](RowsType type) -> Type {
      return getRegisters(context, IntegerType::get(context, 32), type.getRegisters());
    });
    addConversion([=](OperandType) -> Type { return IntegerType::get(context, 32); });
  }
};

struct LowerKernel : OpConversionPattern<KernelOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(KernelOp op, OpAdaptor, ConversionPatternRewriter &rewriter) const override {
    Emit emit(rewriter, op.getLoc());
    MLIRContext *context = op.getContext();
    SmallVector<Type> types;
    for (Type type : op.getBody().getArgumentTypes())
      types.push_back(getTypeConverter()->convertType(type));
    auto function = emit.op<LLVM::LLVMFuncOp>(op.getSymName(),
                                              LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types));
    LaunchAttr launch = op.getLaunch();
    launch = LaunchAttr::get(context, launch.getThreads(), launch.getCluster(), op.getSharedBytes(), launch.getPerSm(),
                             launch.getBlocks());
    function->setAttr(kParamsName, op.getParams());
    function->setAttr(kLaunchName, launch);
    if (op.getFallbackAttr())
      function->setAttr(kFallbackName, op.getFallbackAttr());
    function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), rewriter.getUnitAttr());
    function->setAttr("gpu.kernel", rewriter.getUnitAttr());
    function->setAttr("nvvm.maxntid", rewriter.getDenseI32ArrayAttr({static_cast<int32_t>(launch.getThreads())}));
    // Registers for all blocks of an SM at once, as long as that leaves a thread 64 of them.
    bool together = launch.getPerSm() * launch.getThreads() * 64 <= kChip.registers;
    function->setAttr("nvvm.minctasm",
                      rewriter.getI32IntegerAttr(together ? std::max<int64_t>(launch.getPerSm(), 1) : 1));
    if (launch.getCluster() > 1)
      function->setAttr("nvvm.cluster_dim",
                        rewriter.getDenseI32ArrayAttr({static_cast<int32_t>(launch.getCluster()), 1, 1}));
    for (auto [i, argument] : llvm::enumerate(op.getBody().getArguments()))
      if (isa<TensorMapType>(argument.getType())) {
        auto bytes = LLVM::LLVMArrayType::get(rewriter.getI8Type(), 128);
        function.setArgAttr(i, LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(bytes));
        function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(), rewriter.getI64IntegerAttr(64));
        function.setArgAttr(i, NVVM::NVVMDialect::getGridConstantAttrName(), rewriter.getUnitAttr());
      }

    // Dynamic shared memory of all kernels begins at one place; a name for each keeps their alignment apart.
    emit.op<LLVM::GlobalOp>(LLVM::LLVMArrayType::get(rewriter.getI8Type(), 0), /*isConstant=*/false,
                            LLVM::Linkage::External, ("shared_" + op.getSymName()).str(), Attribute(),
                            /*alignment=*/kChip.sharedAlignment, /*addrSpace=*/3);

    rewriter.inlineRegionBefore(op.getBody(), function.getBody(), function.getBody().end());
    if (failed(rewriter.convertRegionTypes(&function.getBody(), *getTypeConverter())))
      return failure();
    // The next kernel may take its place on the chip now, and this one touches no memory before the last one has ended.
    // Behind one that waits for other ranks it may not yet: it could take the places of kernels that those wait for.
    rewriter.setInsertionPointToStart(&function.getBody().front());
    if (!llvm::any_of(op.getParams(), llvm::IsaPred<PeersAttr>))
      emit.op<NVVM::GriddepcontrolOp>(NVVM::GridDepActionKind::launch_dependents);
    emit.op<NVVM::GriddepcontrolOp>(NVVM::GridDepActionKind::wait);
    Operation *terminator = function.getBody().front().getTerminator();
    rewriter.setInsertionPoint(terminator);
    if (launch.getCluster() == 2) { // a release must not reach a block that has ended
      emit.op<NVVM::ClusterArriveOp>(rewriter.getUnitAttr());
      emit.op<NVVM::ClusterWaitOp>(rewriter.getUnitAttr());
    }
    rewriter.replaceOpWithNewOp<LLVM::ReturnOp>(terminator, ValueRange());
    rewriter.eraseOp(op);
    return success();
  }
};

/// Gives what lies in shared memory its place.
void placeShared(KernelOp kernel) {
  int64_t offset = 0;
  Builder builder(kernel.getContext());
  for (Operation &op : kernel.getBody().front())
    if (int64_t bytes = getSharedBytes(&op)) {
      offset = llvm::alignTo(offset, kChip.sharedAlignment);
      op.setAttr(kOffsetName, builder.getI64IntegerAttr(offset));
      offset += bytes;
    }
}

struct ConvertSM90ToNVVM : moe::impl::ConvertSM90ToNVVMPassBase<ConvertSM90ToNVVM> {
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    getOperation()->walk([](KernelOp kernel) { placeShared(kernel); });

    RewritePatternSet structure(context);
    populateStructurePatterns(structure);
    GreedyRewriteConfig config;
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    if (failed(applyPatternsGreedily(getOperation(), std::move(structure), config)))
      return signalPassFailure();

    KernelTypeConverter converter(context);
    ConversionTarget target(*context);
    target.addIllegalDialect<SM90Dialect>();
    target.addLegalDialect<arith::ArithDialect, LLVM::LLVMDialect, NVVM::NVVMDialect, math::MathDialect>();
    target.addLegalOp<gpu::GPUModuleOp>();
    target.addDynamicallyLegalOp<math::ExpOp, math::Exp2Op, math::LogOp, math::Log2Op, math::TanhOp, math::SqrtOp,
                                 math::RsqrtOp>(
        [](Operation *op) { return !getElementTypeOrSelf(op->getResult(0)).isF32(); });
    target.addDynamicallyLegalOp<arith::DivFOp>([](arith::DivFOp op) {
      return !getElementTypeOrSelf(op.getResult()).isF32() ||
             !arith::bitEnumContainsAny(op.getFastmath(), arith::FastMathFlags::arcp);
    });
    RewritePatternSet patterns(context);
    scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns, target);
    populateKernelPatterns(converter, patterns);
    populatePipelinePatterns(converter, patterns);
    populateGatherPatterns(converter, patterns);
    populateWgmmaPatterns(converter, patterns);
    populateEpiloguePatterns(converter, patterns);
    populateMathPatterns(converter, patterns);
    if (failed(applyPartialConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace

void mlir::sm90::populateKernelPatterns(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerKernel>(converter, patterns.getContext());
}
