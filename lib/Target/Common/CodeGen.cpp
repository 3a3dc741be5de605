//===- CodeGen.cpp - from LLVM IR to machine code, for every target ---------===//

#include "moe/Target/Common/CodeGen.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

void moe::optimize(llvm::Module &module, llvm::TargetMachine &machine, llvm::OptimizationLevel level) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(level).run(module, modules);
}

LogicalResult moe::emitCode(llvm::Module &module, llvm::TargetMachine &machine, llvm::CodeGenFileType kind,
                            llvm::SmallVectorImpl<char> &output) {
  llvm::raw_svector_ostream stream(output);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, kind))
    return failure();
  passes.run(module);
  return success();
}
