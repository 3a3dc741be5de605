//===- CPUTargetTest.cpp - shared objects of the cpu target ---------------===//

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "moe/Target/CPU/CPU.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace mlir;

namespace {

class CPUTarget : public testing::Test {
protected:
  CPUTarget() : handler(&context, [this](Diagnostic &diagnostic) { messages += diagnostic.str() + "\n"; }) {
    context.loadDialect<LLVM::LLVMDialect>();
  }

  FailureOr<llvm::SmallVector<char, 0>> compile(llvm::StringRef text, llvm::StringRef level = "x86-64-v3") {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    if (!module)
      return failure();
    FailureOr<moe::CPULevel> resolved = moe::resolveCPULevel(level, module->getLoc());
    if (failed(resolved))
      return failure();
    llvm::raw_string_ostream ir(llvmIR), machine(assembly);
    moe::CPUObjectOptions options{*resolved};
    options.llvmIR = &ir;
    options.assembly = &machine;
    return moe::compileToSharedObject(*module, options);
  }

  MLIRContext context;
  ScopedDiagnosticHandler handler;
  std::string messages, llvmIR, assembly;
};

constexpr llvm::StringLiteral kKernels = R"(
  module @kernels {
    llvm.func internal @body(%x: !llvm.ptr) {
      %one = llvm.mlir.constant(dense<1.0> : vector<16xf32>) : vector<16xf32>
      %v = llvm.load %x {alignment = 4 : i64} : !llvm.ptr -> vector<16xf32>
      %s = llvm.fadd %v, %one : vector<16xf32>
      llvm.store %s, %x {alignment = 4 : i64} : vector<16xf32>, !llvm.ptr
      llvm.return
    }
    llvm.func @k.tasks(%args: !llvm.ptr) -> i64 {
      %n = llvm.mlir.constant(7 : i64) : i64
      llvm.return %n : i64
    }
    llvm.func @k(%context: !llvm.ptr, %args: !llvm.ptr, %begin: i64, %end: i64) {
      llvm.call @body(%args) : (!llvm.ptr) -> ()
      llvm.return
    }
  })";

TEST_F(CPUTarget, EveryLevelExportsTheKernelsAndNothingElse) {
  for (const moe::CPULevel &level : moe::getCPULevels()) {
    SCOPED_TRACE(level.name.str());
    FailureOr<llvm::SmallVector<char, 0>> bytes = compile(kKernels, level.name);
    ASSERT_TRUE(succeeded(bytes)) << messages;
    llvm::MemoryBufferRef buffer(llvm::StringRef(bytes->data(), bytes->size()), "kernels.so");
    auto object = llvm::object::ELF64LEObjectFile::create(buffer);
    ASSERT_TRUE(static_cast<bool>(object));
    EXPECT_EQ(object->getArch(), llvm::Triple(level.triple).getArch());
    llvm::StringSet<> names;
    for (llvm::object::ELFSymbolRef symbol : object->getDynamicSymbolIterators())
      names.insert(llvm::cantFail(symbol.getName()));
    EXPECT_EQ(names.size(), 2u);
    EXPECT_TRUE(names.contains("k"));
    EXPECT_TRUE(names.contains("k.tasks"));
  }
}

TEST_F(CPUTarget, UsesWholeRegistersOfTheLevel) {
  ASSERT_TRUE(succeeded(compile(kKernels, "x86-64-v4"))) << messages;
  EXPECT_NE(assembly.find("%zmm"), std::string::npos);
  EXPECT_NE(llvmIR.find("define"), std::string::npos);
  assembly.clear();
  ASSERT_TRUE(succeeded(compile(kKernels, "x86-64-v3"))) << messages;
  EXPECT_EQ(assembly.find("%zmm"), std::string::npos);
  EXPECT_NE(assembly.find("%ymm"), std::string::npos);
}

TEST_F(CPUTarget, LoopsThatFillDoNotBecomeCalls) {
  EXPECT_TRUE(succeeded(compile(R"(
    module @kernels {
      llvm.func @k(%context: !llvm.ptr, %args: !llvm.ptr, %begin: i64, %end: i64) {
        %zero = llvm.mlir.constant(0 : i8) : i8
        %one = llvm.mlir.constant(1 : i64) : i64
        llvm.br ^loop(%begin : i64)
      ^loop(%i: i64):
        %p = llvm.getelementptr %args[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i8
        llvm.store %zero, %p : i8, !llvm.ptr
        %next = llvm.add %i, %one : i64
        %more = llvm.icmp "slt" %next, %end : i64
        llvm.cond_br %more, ^loop(%next : i64), ^done
      ^done:
        llvm.return
      }
    })")))
      << messages;
}

TEST_F(CPUTarget, NamesWhatNobodyDefines) {
  EXPECT_TRUE(failed(compile(R"(
    module @kernels {
      llvm.func @expf(f32) -> f32
      llvm.func @k(%context: !llvm.ptr, %args: !llvm.ptr, %begin: i64, %end: i64) {
        %x = llvm.load %args : !llvm.ptr -> f32
        %y = llvm.call @expf(%x) : (f32) -> f32
        llvm.store %y, %args : f32, !llvm.ptr
        llvm.return
      }
    })")));
  EXPECT_EQ(messages, "kernels call 'expf', which nothing defines\n");
}

TEST_F(CPUTarget, RefusesConstructors) {
  EXPECT_TRUE(failed(compile(R"(
    module @kernels {
      llvm.mlir.global external @done(0 : i32) : i32
      llvm.func @start() {
        %p = llvm.mlir.addressof @done : !llvm.ptr
        %one = llvm.mlir.constant(1 : i32) : i32
        llvm.store volatile %one, %p : i32, !llvm.ptr
        llvm.return
      }
      llvm.mlir.global_ctors ctors = [@start], priorities = [65535 : i32], data = [#llvm.zero]
    })")));
  EXPECT_EQ(messages, "the shared object of the kernels has dynamic entry INIT_ARRAY, which none may have\n");
}

TEST_F(CPUTarget, Levels) {
  Location loc = UnknownLoc::get(&context);
  FailureOr<moe::CPULevel> level = moe::resolveCPULevel("x86-64-v4", loc);
  ASSERT_TRUE(succeeded(level));
  EXPECT_EQ(level->lanes(), 16);
  level = moe::resolveCPULevel("native", loc);
  if (succeeded(level)) {
    EXPECT_NE(level->name, "native");
  }
  messages.clear();
  EXPECT_TRUE(failed(moe::resolveCPULevel("pentium", loc)));
  EXPECT_EQ(messages, "cpu level is 'pentium', expected native, x86-64-v4, x86-64-v3, aarch64\n");
}

} // namespace
