//===- Compiler.cpp - from MLIR text to a .moe file, phase by phase --------===//

#include "Compiler.h"
#include "mlir/IR/Builders.h"
#include "mlir/Pass/PassManager.h"
#include "moe/Target/CPU/CPU.h"
#include "moe/Target/Program/Program.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/raw_ostream.h"

#include <functional>

using namespace mlir;
using namespace mlir::moe;

static constexpr StringLiteral kNames[] = {"input", "moe",     "tile",   "bufferized",
                                           "prog",  "kernels", "object", "program"};

namespace {

/// A file of the dump directory, which is not there if its writing failed. Without a directory, nothing.
class DumpFile {
public:
  DumpFile(const CompilerOptions &options, Phase phase, StringRef suffix) {
    if (options.dumpDir.empty())
      return;
    unsigned number = static_cast<unsigned>(phase);
    llvm::SmallString<128> path(options.dumpDir);
    llvm::sys::path::append(path, llvm::Twine(number) + "." + kNames[number] + suffix);
    file.emplace(path, error, llvm::sys::fs::OF_None);
  }

  /// The stream to print to, or null.
  llvm::raw_ostream *stream() { return file && !error ? &file->os() : nullptr; }

  LogicalResult close(Location loc) {
    if (!file)
      return success();
    if (!error) {
      file->os().flush();
      error = file->os().error();
      file->os().clear_error();
    }
    if (error)
      return emitError(loc) << "cannot write " << file->getFilename() << ": " << error.message();
    file->keep();
    return success();
  }

private:
  std::error_code error;
  std::optional<llvm::ToolOutputFile> file;
};

class Compiler {
public:
  Compiler(ModuleOp module, const CompilerOptions &options) : module(module), options(options) {}

  FailureOr<SmallVector<char, 0>> compile();
  FailureOr<SmallVector<char, 0>> compileFromProg();

private:
  /// Runs a pipeline on `root` and dumps it.
  LogicalResult run(Phase phase, ModuleOp root, function_ref<void(OpPassManager &)> build);
  LogicalResult dump(Phase phase, ModuleOp root);
  void buildTile(OpPassManager &pm);
  FailureOr<SmallVector<char, 0>> compileSharedObject(ModuleOp kernels);
  /// Also says in cudaKernels what ptxas and the kernels say of themselves.
  FailureOr<SmallVector<char, 0>> compileCubin(ModuleOp kernels);

  static SmallVector<char, 0> print(ModuleOp root) {
    SmallVector<char, 0> text;
    llvm::raw_svector_ostream(text) << *root << "\n";
    return text;
  }

  ModuleOp module;
  const CompilerOptions &options;
  std::vector<CUDAKernelInfo> cudaKernels;
};

} // namespace

LogicalResult Compiler::dump(Phase phase, ModuleOp root) {
  DumpFile file(options, phase, ".mlir");
  if (llvm::raw_ostream *stream = file.stream())
    *stream << *root << "\n";
  return file.close(module.getLoc());
}

LogicalResult Compiler::run(Phase phase, ModuleOp root, function_ref<void(OpPassManager &)> build) {
  PassManager pm(root.getContext());
  if (!options.dumpDir.empty()) {
    llvm::SmallString<128> path(options.dumpDir);
    llvm::sys::path::append(path, "reproducer.mlir");
    pm.enableCrashReproducerGeneration(path);
  }
  build(pm);
  return failure(failed(pm.run(root)) || failed(dump(phase, root)));
}

FailureOr<SmallVector<char, 0>> Compiler::compileSharedObject(ModuleOp kernels) {
  DumpFile llvmIR(options, Phase::Object, ".ll"), assembly(options, Phase::Object, ".s"),
      shared(options, Phase::Object, ".so");
  CPUObjectOptions objectOptions;
  objectOptions.level = options.level;
  objectOptions.llvmIR = llvmIR.stream();
  objectOptions.assembly = assembly.stream();
  FailureOr<SmallVector<char, 0>> object = compileToSharedObject(kernels, objectOptions);
  if (failed(object))
    return failure();
  if (llvm::raw_ostream *stream = shared.stream())
    stream->write(object->data(), object->size());
  if (failed(llvmIR.close(module.getLoc())) || failed(assembly.close(module.getLoc())) ||
      failed(shared.close(module.getLoc())))
    return failure();
  return object;
}

FailureOr<SmallVector<char, 0>> Compiler::compileCubin(ModuleOp kernels) {
  FailureOr<std::vector<CUDAKernelInfo>> infos = getCUDAKernels(kernels);
  if (failed(infos))
    return failure();
  // A program of copies only has no kernels.
  if (infos->empty())
    return SmallVector<char, 0>();
  DumpFile llvmIR(options, Phase::Object, ".ll"), ptx(options, Phase::Object, ".ptx"),
      log(options, Phase::Object, ".log"), cubin(options, Phase::Object, ".cubin"),
      counts(options, Phase::Object, ".sass.txt");
  FailureOr<CUDACode> code = compileToCubin(
      kernels, options.cuda, {llvmIR.stream(), ptx.stream(), log.stream(), cubin.stream(), counts.stream()});
  // What there is of these is what explains a failure.
  for (DumpFile *file : {&llvmIR, &ptx, &log, &cubin, &counts})
    if (failed(file->close(module.getLoc())))
      return failure();
  if (failed(code))
    return failure();
  for (CUDAKernelInfo &info : *infos)
    for (const CUDAKernelUse &use : code->kernels)
      if (use.name == info.name) {
        info.registers = use.registers;
        info.stack = use.stack;
      }
  cudaKernels = std::move(*infos);
  return std::move(code->cubin);
}

void Compiler::buildTile(OpPassManager &pm) {
  // One schedule for all products says nothing of what is fast.
  bool keep = options.keepGathers || !options.schedules.schedule.empty();
  if (options.target == TargetKind::CPU || keep)
    return buildTilePipeline(pm, options.pipeline);
  buildCUDATilePipeline(pm, options.pipeline, {options.schedules.rows, options.schedules.table});
}

FailureOr<SmallVector<char, 0>> Compiler::compile() {
  if (failed(dump(Phase::Input, module)))
    return failure();
  const std::pair<Phase, std::function<void(OpPassManager &)>> phases[] = {
      {Phase::MoE, [&](OpPassManager &pm) { buildMoEPipeline(pm, options.pipeline); }},
      {Phase::Tile, [&](OpPassManager &pm) { buildTile(pm); }},
      {Phase::Bufferized, buildBufferizePipeline},
      {Phase::Prog, [&](OpPassManager &pm) { buildProgPipeline(pm, options.target == TargetKind::CUDA); }},
  };
  for (const auto &[phase, build] : phases)
    if (phase <= options.last && failed(run(phase, module, build)))
      return failure();
  if (options.last <= Phase::Prog)
    return print(module);
  return compileFromProg();
}

FailureOr<SmallVector<char, 0>> Compiler::compileFromProg() {
  // The programs go on with the kernels as they are now, which say what they take; the object is made from a copy.
  OpBuilder builder(module.getContext());
  auto original = module.lookupSymbol<ModuleOp>("kernels");
  OwningOpRef<ModuleOp> kernels =
      original ? original.clone() : ModuleOp::create(builder, module.getLoc(), StringRef("kernels"));
  bool isCuda = options.target == TargetKind::CUDA;
  auto buildKernels = [&](OpPassManager &pm) {
    isCuda ? buildCUDAKernelsPipeline(pm, options.schedules) : buildKernelsPipeline(pm, options.level);
  };
  if (failed(run(Phase::Kernels, *kernels, buildKernels)))
    return failure();
  if (options.last == Phase::Kernels)
    return print(*kernels);

  FailureOr<SmallVector<char, 0>> object = isCuda ? compileCubin(*kernels) : compileSharedObject(*kernels);
  if (failed(object) || options.last == Phase::Object)
    return object;

  ProgramTarget target = {isCuda ? "cuda" : "cpu", isCuda ? options.cuda.chip : options.level.name.str()};
  FailureOr<SmallVector<char, 0>> program = translateToProgram(module, *object, target, cudaKernels);
  if (failed(program))
    return failure();
  DumpFile file(options, Phase::Program, ".moe");
  if (llvm::raw_ostream *stream = file.stream())
    stream->write(program->data(), program->size());
  if (failed(file.close(module.getLoc())))
    return failure();
  return program;
}

FailureOr<SmallVector<char, 0>> mlir::moe::compile(OwningOpRef<ModuleOp> module, const CompilerOptions &options) {
  return Compiler(*module, options).compile();
}

FailureOr<SmallVector<char, 0>> mlir::moe::compileFromProg(ModuleOp module, const CompilerOptions &options) {
  return Compiler(module, options).compileFromProg();
}
