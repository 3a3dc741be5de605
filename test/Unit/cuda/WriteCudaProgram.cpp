//===- WriteCudaProgram.cpp - from a host program and kernels, both by hand, to a .moe ---===//
//
// The input has prog.programs and, in module @kernels, declarations of the kernels and a gpu.module of llvm.funcs with
// sm90 attributes, which is what moe-compile has at the end of its phase `kernels`.
//
//===----------------------------------------------------------------------===//

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "moe/Dialect/Prog/IR/Prog.h"
#include "moe/Dialect/SM90/IR/SM90.h"
#include "moe/Target/CUDA/CUDA.h"
#include "moe/Target/Program/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::moe;

int main(int argc, char **argv) {
  if (argc != 3) {
    llvm::errs() << "usage: " << argv[0] << " in.mlir out.moe\n";
    return 1;
  }
  MLIRContext context;
  context.loadDialect<arith::ArithDialect, func::FuncDialect, gpu::GPUDialect, LLVM::LLVMDialect, NVVM::NVVMDialect,
                      prog::ProgDialect, sm90::SM90Dialect>();
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(argv[1], &context);
  if (!module)
    return 1;
  auto kernels = module->lookupSymbol<ModuleOp>("kernels");
  PassManager pm(&context);
  pm.addPass(createConvertNVVMToLLVMPass()); // what is written as inline PTX
  if (failed(pm.run(kernels)))
    return 1;
  FailureOr<CUDACode> code = compileToCubin(kernels, {}, {});
  FailureOr<std::vector<CUDAKernelInfo>> infos = getCUDAKernels(kernels);
  if (failed(code) || failed(infos))
    return 1;
  for (CUDAKernelInfo &info : *infos)
    for (const CUDAKernelUse &use : code->kernels)
      if (use.name == info.name)
        info.registers = use.registers, info.stack = use.stack;
  FailureOr<SmallVector<char, 0>> file = translateToProgram(*module, code->cubin, {"cuda", "sm_90a"}, *infos);
  if (failed(file))
    return 1;
  std::error_code error;
  llvm::raw_fd_ostream out(argv[2], error);
  out.write(file->data(), file->size());
  return error ? 1 : 0;
}
