//===- ObjectCode.cpp - from the LLVM dialect to an object file -----------===//

#include "Link.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "moe/Target/CPU/CPU.h"
#include "moe/Target/Common/CodeGen.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include <mutex>

using namespace mlir;
using namespace mlir::moe;

static std::unique_ptr<llvm::TargetMachine> makeTargetMachine(const CPULevel &level, Location loc) {
  static std::once_flag once;
  std::call_once(once, [] {
    // Those of the levels alone: a static moe-compile has no others in it.
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
  });
  std::string message;
  llvm::Triple triple(level.triple);
  llvm::TargetOptions options;
  options.UseInitArray = true; // where the check of the linked object looks for constructors
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target) {
    emitError(loc, "this LLVM cannot make code for cpu level '") << level.name << "': " << message;
    return nullptr;
  }
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(triple, level.cpu, level.features, options,
                                                                          llvm::Reloc::PIC_, llvm::CodeModel::Small,
                                                                          llvm::CodeGenOptLevel::Aggressive));
}

static void setAttributes(llvm::Module &module, const CPULevel &level) {
  std::string width = std::to_string(level.vectorBits);
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", level.cpu);
    if (!level.features.empty())
      function.addFnAttr("target-features", level.features);
    // The kernels are written for whole registers; LLVM would rather use half of a 512-bit one.
    function.addFnAttr("prefer-vector-width", width);
    function.addFnAttr("min-legal-vector-width", width);
    // Loops that fill or copy stay loops: there is no memset to call.
    function.addFnAttr("no-builtins");
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
}

/// Appends the module as an object file or as assembly.
static LogicalResult emit(llvm::Module &module, llvm::TargetMachine &machine, llvm::CodeGenFileType kind,
                          llvm::SmallVectorImpl<char> &output, Location loc) {
  if (succeeded(emitCode(module, machine, kind, output)))
    return success();
  return emitError(loc, "this LLVM cannot write the file for ") << machine.getTargetTriple().str();
}

FailureOr<llvm::SmallVector<char, 0>> moe::compileToSharedObject(ModuleOp kernels, const CPUObjectOptions &options) {
  Location loc = kernels.getLoc();
  std::unique_ptr<llvm::TargetMachine> machine = makeTargetMachine(options.level, loc);
  if (!machine)
    return failure();

  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  kernels.getContext()->appendDialectRegistry(registry);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = translateModuleToLLVMIR(kernels, context, "kernels");
  if (!module)
    return emitError(loc, "kernels cannot be translated to LLVM IR");
  module->setTargetTriple(llvm::Triple(options.level.triple));
  module->setDataLayout(machine->createDataLayout());

  setAttributes(*module, options.level);
  llvm::SmallVector<std::string> symbols;
  for (llvm::Function &function : *module)
    if (!function.isDeclaration() && function.hasExternalLinkage())
      symbols.push_back(function.getName().str());
  optimize(*module, *machine, llvm::OptimizationLevel::O3);
  if (options.llvmIR)
    module->print(*options.llvmIR, nullptr);
  if (options.assembly) {
    llvm::SmallVector<char, 0> text;
    if (failed(emit(*llvm::CloneModule(*module), *machine, llvm::CodeGenFileType::AssemblyFile, text, loc)))
      return failure();
    options.assembly->write(text.data(), text.size());
  }
  llvm::SmallVector<char, 0> object;
  if (failed(emit(*module, *machine, llvm::CodeGenFileType::ObjectFile, object, loc)))
    return failure();
  return linkSharedObject(object, symbols, loc);
}
