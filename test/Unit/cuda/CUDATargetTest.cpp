//===- CUDATargetTest.cpp - cubins of the cuda target -----------------------===//

#include "Ptxas.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "moe/Dialect/SM90/IR/SM90.h"
#include "moe/Target/Program/Program.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace mlir;

namespace {

class CUDATarget : public testing::Test {
protected:
  CUDATarget() : handler(&context, [this](Diagnostic &diagnostic) { messages += diagnostic.str() + "\n"; }) {
    context.loadDialect<gpu::GPUDialect, LLVM::LLVMDialect, NVVM::NVVMDialect, sm90::SM90Dialect>();
  }

  FailureOr<moe::CUDACode> compile(llvm::StringRef text, moe::CUDATargetOptions options = {}) {
    module = parseSourceString<ModuleOp>(text, &context);
    if (!module)
      return failure();
    llvm::raw_string_ostream ir(llvmIR), code(ptx), text2(log);
    return moe::compileToCubin(*module, options, {&ir, &code, &text2, nullptr});
  }
  bool hasPtxas() {
    bool found = succeeded(moe::findCUDATool("ptxas", "", UnknownLoc::get(&context)));
    messages.clear();
    return found;
  }

  MLIRContext context;
  ScopedDiagnosticHandler handler;
  OwningOpRef<ModuleOp> module;
  std::string messages, llvmIR, ptx, log;
};

#define NEEDS_PTXAS                                                                                                    \
  if (!hasPtxas())                                                                                                     \
  GTEST_SKIP() << "no ptxas on this machine"

constexpr llvm::StringLiteral kOne = R"(
  module @kernels {
    gpu.module @kernels {
      llvm.func @one(%x: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel, sm90.params = [#sm90.pointer<0>],
          sm90.launch = #sm90.launch<threads = 128, per_sm = 1>} {
        %one = llvm.mlir.constant(1.0 : f32) : f32
        llvm.store %one, %x : f32, !llvm.ptr<1>
        llvm.return
      }
    }
  })";

TEST_F(CUDATarget, APtxAndACubin) {
  NEEDS_PTXAS;
  FailureOr<moe::CUDACode> code = compile(kOne);
  ASSERT_TRUE(succeeded(code)) << messages;
  EXPECT_NE(ptx.find(".version 8.8"), std::string::npos) << ptx;
  EXPECT_NE(ptx.find(".target sm_90a"), std::string::npos) << ptx;
  EXPECT_NE(llvmIR.find("ptx_kernel void @one"), std::string::npos) << llvmIR;
  EXPECT_EQ(llvm::StringRef(code->cubin.data(), 4), "\177ELF");
  ASSERT_EQ(code->kernels.size(), 1u);
  EXPECT_EQ(code->kernels[0].name, "one");
  EXPECT_GT(code->kernels[0].registers, 0u);
  EXPECT_EQ(code->kernels[0].stack, 0u);
}

TEST_F(CUDATarget, AnotherPtxVersion) {
  NEEDS_PTXAS;
  moe::CUDATargetOptions options;
  options.ptxVersion = 87;
  ASSERT_TRUE(succeeded(compile(kOne, options))) << messages;
  EXPECT_NE(ptx.find(".version 8.7"), std::string::npos) << ptx;
}

/// Loads 200 values that must all be live at once in 64 registers.
std::string spilling() {
  std::string text = "module @kernels { gpu.module @kernels { llvm.func @good(%x: !llvm.ptr<1>) attributes "
                     "{nvvm.kernel} { llvm.return }\n"
                     "llvm.func @crowded(%x: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.maxntid = array<i32: 1024>, "
                     "nvvm.minctasm = 1 : i32} {\n";
  auto at = [](int i) {
    return "%p" + std::to_string(i) + " = llvm.getelementptr %x[" + std::to_string(i) +
           "] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f32\n";
  };
  for (int i = 0; i < 200; ++i)
    text +=
        at(i) + "%v" + std::to_string(i) + " = llvm.load volatile %p" + std::to_string(i) + " : !llvm.ptr<1> -> f32\n";
  for (int i = 0; i < 200; ++i)
    text += "llvm.store volatile %v" + std::to_string(i) + ", %p" + std::to_string(i) + " : f32, !llvm.ptr<1>\n";
  return text + "llvm.return\n}}}";
}

TEST_F(CUDATarget, SpillsAreAnErrorThatNamesTheKernel) {
  NEEDS_PTXAS;
  EXPECT_TRUE(failed(compile(spilling())));
  EXPECT_NE(messages.find("kernel 'crowded': ptxas says: spills registers: "), std::string::npos) << messages;
  EXPECT_EQ(messages.find("'good'"), std::string::npos) << messages;
  EXPECT_NE(log.find("bytes spill stores"), std::string::npos) << "the log is there to be read";
}

TEST_F(CUDATarget, IgnoredBudgetsAreAnErrorThatNamesTheKernel) {
  NEEDS_PTXAS;
  // Without a number of threads ptxas does not know how many registers there are; its note does not say whose it is.
  EXPECT_TRUE(failed(compile(R"(module @kernels { gpu.module @kernels {
    llvm.func @good(%x: !llvm.ptr<1>) attributes {nvvm.kernel} { llvm.return }
    llvm.func @careless(%x: !llvm.ptr<1>) attributes {nvvm.kernel} {
      nvvm.setmaxregister decrease 40
      llvm.return
    } } })")));
  EXPECT_NE(messages.find("kernel 'careless': ptxas says: (C7508)"), std::string::npos) << messages;
  EXPECT_EQ(messages.find("'good'"), std::string::npos) << messages;
}

TEST_F(CUDATarget, AssemblyThatPtxasRefuses) {
  NEEDS_PTXAS;
  EXPECT_TRUE(failed(compile(R"(module @kernels { gpu.module @kernels {
    llvm.func @k() attributes {nvvm.kernel} {
      llvm.inline_asm has_side_effects "no.such.instruction;", "" : () -> ()
      llvm.return
    } } })")));
  EXPECT_NE(messages.find("ptxas refuses the kernels: "), std::string::npos) << messages;
  EXPECT_NE(messages.find("'.such'"), std::string::npos) << messages;
}

TEST_F(CUDATarget, EveryNoteIsFound) {
  // As ptxas 13.0 words them.
  std::vector<moe::CUDAKernelUse> kernels;
  std::vector<moe::PtxasFinding> findings;
  moe::readPtxasLog(
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to "
      "insufficient register resources for the wgmma pipeline in the function 'a'\n"
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'a' for 'sm_90a'\n"
      "ptxas info    : Function properties for a\n"
      "    16 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 168 registers, used 1 barriers, 16 bytes cumulative stack size, 1024 bytes smem\n",
      kernels, findings);
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].registers, 168u);
  EXPECT_EQ(kernels[0].stack, 16u);
  EXPECT_EQ(kernels[0].shared, 1024u);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kernel, "a");
  for (const char *note : {"C7507", "C7508", "C7510", "C7511", "C7514", "C7515", "C7517", "C7519"}) {
    findings.clear();
    moe::readPtxasLog("ptxas info    : (" + std::string(note) + ") Potential Performance Loss: something", kernels,
                      findings);
    EXPECT_EQ(findings.size(), 1u) << note;
  }
}

TEST_F(CUDATarget, ModulesWithoutKernels) {
  EXPECT_TRUE(failed(compile("module @kernels {}")));
  EXPECT_NE(messages.find("module @kernels has 0 gpu.modules, expected one"), std::string::npos) << messages;
}

TEST_F(CUDATarget, WhatKernelsSayOfThemselves) {
  module = parseSourceString<ModuleOp>(kOne, &context);
  FailureOr<std::vector<moe::CUDAKernelInfo>> infos = moe::getCUDAKernels(*module);
  ASSERT_TRUE(succeeded(infos)) << messages;
  ASSERT_EQ(infos->size(), 1u);
  EXPECT_EQ(infos->front().name, "one");
  EXPECT_EQ(infos->front().params.size(), 1u);
  module->walk([](LLVM::LLVMFuncOp function) { function->removeAttr(sm90::kParamsName); });
  EXPECT_TRUE(failed(moe::getCUDAKernels(*module)));
  EXPECT_NE(messages.find("kernel 'one' has 1 parameters, of which it says how the host makes 0"), std::string::npos)
      << messages;
}

} // namespace
