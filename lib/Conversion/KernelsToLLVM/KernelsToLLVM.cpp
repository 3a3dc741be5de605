//===- KernelsToLLVM.cpp - CPU kernels in the LLVM dialect ----------------===//

#include "ExpandMath.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "moe/Conversion/Passes.h"
#include "moe/Dialect/Prog/IR/Kernels.h"

namespace mlir::moe {
#define GEN_PASS_DEF_CONVERTKERNELSTOLLVMPASS
#include "moe/Conversion/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;

namespace {

/// A function the runtime calls: what its parameters are before memrefs are taken apart.
struct Entry {
  std::string name;
  bool runs;                  ///< k, with the context first and a range of tasks last; otherwise k.tasks
  SmallVector<bool> isScalar; ///< for each argument of the kernel, whether it is an index
};

/// The function MLIR makes for C callers has memrefs as pointers to descriptors; the body gets a name of its own
/// so that the entry can have the kernel's.
constexpr StringLiteral kBodyPrefix = "body.";
constexpr StringLiteral kInterfacePrefix = "_mlir_ciface_";

struct ConvertKernelsToLLVM : moe::impl::ConvertKernelsToLLVMPassBase<ConvertKernelsToLLVM> {
  // Nested pipelines load what they depend on only if it was registered beforehand.
  void getDependentDialects(DialectRegistry &registry) const override {
    ConvertKernelsToLLVMPassBase::getDependentDialects(registry);
    OpPassManager pipeline(ModuleOp::getOperationName());
    buildPipeline(pipeline);
    pipeline.getDependentDialects(registry);
  }

  static void buildPipeline(OpPassManager &pm) {
    pm.addPass(createCanonicalizerPass());
    pm.addPass(createCSEPass());
    arith::ArithEmulateUnsupportedFloatsOptions emulated; // arithmetic on bf16 is done in f32
    emulated.sourceTypeStrs = {"bf16"};
    emulated.targetTypeStr = "f32";
    pm.addPass(arith::createArithEmulateUnsupportedFloats(emulated));
    pm.addPass(moe::createExpandMathPass());
    pm.addPass(createConvertVectorToSCFPass());
    pm.addPass(createLoopInvariantCodeMotionPass());
    pm.addPass(createSCFToControlFlowPass());
    pm.addPass(memref::createExpandStridedMetadataPass());
    pm.addPass(createLowerAffinePass());
    ConvertVectorToLLVMPassOptions vectorOptions;
    vectorOptions.vectorTransposeLowering = vector::VectorTransposeLowering::Shuffle1D;
    pm.addPass(createConvertVectorToLLVMPass(vectorOptions));
    pm.addPass(createFinalizeMemRefToLLVMConversionPass());
    pm.addPass(createConvertMathToLLVMPass());
    pm.addPass(createArithToLLVMConversionPass());
    pm.addPass(createConvertIndexToLLVMPass());
    pm.addPass(createUBToLLVMConversionPass());
    pm.addPass(createConvertControlFlowToLLVMPass());
    pm.addPass(createConvertFuncToLLVMPass());
    pm.addPass(createReconcileUnrealizedCastsPass());
    pm.addPass(createCanonicalizerPass());
    pm.addPass(createCSEPass());
  }

  void runOnOperation() override {
    auto kernels = prog::findKernels(getOperation());
    if (!kernels)
      return;
    SmallVector<Entry> entries;
    for (auto function : kernels.getOps<func::FuncOp>()) {
      if (function.isPrivate() || function.isExternal())
        continue;
      FailureOr<Entry> entry = describe(function);
      if (failed(entry))
        return signalPassFailure();
      entries.push_back(*entry);
      function.setName((kBodyPrefix + entry->name).str());
      function->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(), UnitAttr::get(&getContext()));
    }
    OpPassManager pipeline(ModuleOp::getOperationName());
    buildPipeline(pipeline);
    if (failed(runPipeline(pipeline, kernels)))
      return signalPassFailure();
    moveBF16AsIntegers(kernels);
    for (Operation &op : *kernels.getBody())
      if (auto function = dyn_cast<LLVM::LLVMFuncOp>(op))
        if (!function.isExternal())
          function.setLinkage(LLVM::Linkage::Internal);
    for (const Entry &entry : entries)
      makeEntry(kernels, entry);
  }

  /// By now bf16 is only moved. LLVM moves scalars of it through conversions that it may call a library for, so they
  /// become i16.
  static void moveBF16AsIntegers(ModuleOp kernels) {
    Type i16 = IntegerType::get(kernels.getContext(), 16);
    AttrTypeReplacer replacer;
    replacer.addReplacement([&](BFloat16Type) -> Type { return i16; });
    replacer.addReplacement([&](FloatAttr value) -> std::optional<Attribute> {
      if (!value.getType().isBF16())
        return std::nullopt;
      return IntegerAttr::get(i16, value.getValue().bitcastToAPInt());
    });
    replacer.addReplacement([&](DenseElementsAttr values) -> std::optional<Attribute> {
      if (!values.getElementType().isBF16())
        return std::nullopt;
      return values.bitcast(i16);
    });
    replacer.recursivelyReplaceElementsIn(kernels, /*replaceAttrs=*/true, /*replaceLocs=*/false, /*replaceTypes=*/true);
  }

  FailureOr<Entry> describe(func::FuncOp function) {
    Entry entry{function.getName().str(), false, {}};
    ArrayRef<Type> inputs = function.getArgumentTypes();
    entry.runs = !inputs.empty() && isa<LLVM::LLVMPointerType>(inputs.front());
    bool ends = inputs.size() >= 3 && inputs.back().isIndex() && inputs[inputs.size() - 2].isIndex();
    bool results = entry.runs ? function.getNumResults() == 0
                              : function.getNumResults() == 1 && function.getResultTypes().front().isIndex();
    if ((entry.runs && !ends) || !results)
      return function.emitError("kernel '") << entry.name << "' has type " << function.getFunctionType()
                                            << ", expected (context, ..., begin, end) or (...) -> index";
    for (Type type : entry.runs ? inputs.drop_front().drop_back(2) : inputs) {
      if (!isa<MemRefType, IndexType>(type))
        return function.emitError("kernel '")
               << entry.name << "' has an argument of type " << type << ", expected a memref or an index";
      entry.isScalar.push_back(type.isIndex());
    }
    return entry;
  }

  /// The function of KernelABI.h: takes apart `args` and calls the kernel.
  static void makeEntry(ModuleOp kernels, const Entry &entry) {
    MLIRContext *context = kernels.getContext();
    auto interface = kernels.lookupSymbol<LLVM::LLVMFuncOp>((kInterfacePrefix + kBodyPrefix + entry.name).str());
    Location loc = interface.getLoc();
    auto builder = OpBuilder::atBlockEnd(kernels.getBody());
    auto pointer = LLVM::LLVMPointerType::get(context);
    Type i64 = builder.getI64Type();
    auto type = entry.runs ? LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), {pointer, pointer, i64, i64})
                           : LLVM::LLVMFunctionType::get(i64, {pointer});
    auto function = LLVM::LLVMFuncOp::create(builder, loc, entry.name, type);
    builder.setInsertionPointToStart(function.addEntryBlock(builder));
    Value args = function.getArgument(entry.runs ? 1 : 0);
    SmallVector<Value> operands;
    if (entry.runs)
      operands.push_back(function.getArgument(0));
    for (auto [i, scalar] : llvm::enumerate(entry.isScalar)) {
      Value slot = LLVM::GEPOp::create(builder, loc, pointer, pointer, args, LLVM::GEPArg(static_cast<int32_t>(i)));
      Value argument = LLVM::LoadOp::create(builder, loc, pointer, slot);
      operands.push_back(scalar ? LLVM::LoadOp::create(builder, loc, i64, argument).getResult() : argument);
    }
    if (entry.runs)
      llvm::append_range(operands, function.getArguments().take_back(2));
    auto call = LLVM::CallOp::create(builder, loc, interface, operands);
    LLVM::ReturnOp::create(builder, loc, call.getResults());
  }
};

} // namespace
