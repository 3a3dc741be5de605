//===- Cubin.cpp - from the LLVM dialect to a cubin ---------------------------===//

#include "Ptxas.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "moe/Dialect/SM90/IR/Chip.h"
#include "moe/Target/Common/CodeGen.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"

#include <mutex>

using namespace mlir;
using namespace mlir::moe;

static constexpr StringLiteral kTriple = "nvptx64-nvidia-cuda";
/// Bulk tensor copies into a block's own shared memory came with PTX 8.6.
static constexpr int64_t kLeastPtxVersion = 86;

static const llvm::Target *lookupTarget(Location loc) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  std::string message;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(llvm::Triple(kTriple), message);
  if (!target)
    emitError(loc) << "this LLVM cannot make code for cuda: " << message;
  return target;
}

static std::string ptxFeature(const CUDATargetOptions &options) { return "ptx" + std::to_string(options.ptxVersion); }

LogicalResult mlir::moe::checkCUDATarget(const CUDATargetOptions &options, Location loc) {
  const llvm::Target *target = lookupTarget(loc);
  if (!target)
    return failure();
  std::unique_ptr<llvm::MCSubtargetInfo> info(target->createMCSubtargetInfo(llvm::Triple(kTriple), "", ""));
  auto isChip = [&](const llvm::SubtargetSubTypeKV &chip) { return options.chip == chip.Key; };
  if (options.chip != sm90::kChip.arch || llvm::none_of(info->getAllProcessorDescriptions(), isChip))
    return emitError(loc) << "chip is '" << options.chip << "', expected " << sm90::kChip.arch;
  int64_t most = 0;
  bool known = false;
  for (const llvm::SubtargetFeatureKV &feature : info->getAllProcessorFeatures()) {
    int64_t version = 0;
    if (!StringRef(feature.Key).starts_with("ptx") || StringRef(feature.Key).drop_front(3).getAsInteger(10, version))
      continue;
    most = std::max(most, version);
    known |= version == options.ptxVersion;
  }
  if (known && options.ptxVersion >= kLeastPtxVersion)
    return success();
  return emitError(loc) << "ptx version is " << options.ptxVersion << ", expected one from " << kLeastPtxVersion
                        << " to " << most << " that this LLVM has";
}

/// What LLVM cannot select it reports as fatal. That ends the process, but with an error and not with a signal.
static void reportFatalError(void *, const char *reason, bool) {
  llvm::errs() << "error: LLVM cannot compile the kernels: " << reason << "\n";
  llvm::errs().flush();
  std::_Exit(1);
}

FailureOr<CUDACode> mlir::moe::compileToCubin(ModuleOp kernels, const CUDATargetOptions &options,
                                              const CUDADumps &dumps) {
  Location loc = kernels.getLoc();
  auto modules = llvm::to_vector(kernels.getOps<gpu::GPUModuleOp>());
  if (modules.size() != 1)
    return emitError(loc) << "module @kernels has " << modules.size() << " gpu.modules, expected one";
  const llvm::Target *target = lookupTarget(loc);
  if (!target || failed(checkCUDATarget(options, loc)))
    return failure();
  llvm::Triple triple(kTriple);
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, options.chip, "+" + ptxFeature(options), {}, {}, {}, llvm::CodeGenOptLevel::Default));

  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  kernels.getContext()->appendDialectRegistry(registry);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(modules.front(), context, "kernels");
  if (!module)
    return emitError(loc) << "kernels cannot be translated to LLVM IR";
  module->setTargetTriple(triple);
  module->setDataLayout(machine->createDataLayout());
  // O3 unrolls the loops over k until the producer spills; below O1 wgmma is serialised.
  optimize(*module, *machine, llvm::OptimizationLevel::O2);
  if (dumps.llvmIR)
    module->print(*dumps.llvmIR, nullptr);

  llvm::SmallVector<char, 0> ptx;
  {
    llvm::ScopedFatalErrorHandler handler(reportFatalError);
    if (failed(emitCode(*module, *machine, llvm::CodeGenFileType::AssemblyFile, ptx)))
      return emitError(loc) << "this LLVM cannot write PTX";
  }
  if (dumps.ptx)
    dumps.ptx->write(ptx.data(), ptx.size());
  FailureOr<CUDACode> code = runPtxas(StringRef(ptx.data(), ptx.size()), options, dumps.log, loc);
  if (succeeded(code) && dumps.cubin)
    dumps.cubin->write(code->cubin.data(), code->cubin.size());
  if (succeeded(code) && dumps.counts) {
    llvm::Expected<std::vector<SassCounts>> kernels = countSass(code->cubin);
    if (!kernels)
      return emitError(loc) << "the cubin cannot be read: " << llvm::toString(kernels.takeError());
    for (const SassCounts &kernel : *kernels)
      *dumps.counts << kernel.kernel << ": " << describe(kernel) << "\n";
  }
  return code;
}
