//===- moe-compile.cpp - .mlir (moe or StableHLO) to .moe ------------------===//
//
// Exits 0 or, after a diagnostic, 1. Whatever fails, no output file is left behind or half written.
//
//===----------------------------------------------------------------------===//

#include "Cache.h"
#include "Compiler.h"
#include "Islands.h"
#include "Tune.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "moe/Dialect/MoE/Transforms/Passes.h"
#include "moe/InitAll.h"
#include "moe/Target/Program/Program.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::moe;
namespace cl = llvm::cl;

static cl::OptionCategory category("moe-compile options");
static cl::opt<std::string> inputPath(cl::Positional, cl::desc("<input.mlir, - for standard input>"), cl::init("-"),
                                      cl::cat(category));
static cl::opt<std::string> outputPath("o", cl::desc("file to write; - for standard output"), cl::value_desc("file"),
                                       cl::cat(category));
static cl::opt<std::string> target("target", cl::desc("what to compile for: cpu, or cuda, a GPU of NVIDIA's"),
                                   cl::init("cpu"), cl::cat(category));
static cl::opt<std::string> cpu("cpu", cl::desc("level of CPU: native, x86-64-v3, x86-64-v4, aarch64"),
                                cl::init("native"), cl::cat(category));
static cl::opt<std::string> chip("chip", cl::desc("cuda: chip, as ptxas names it (default sm_90a)"), cl::init("sm_90a"),
                                 cl::cat(category));
static cl::opt<int64_t> ptxVersion("ptx-version",
                                   cl::desc("cuda: 10 times the version of PTX (default 88, which is 8.8)"),
                                   cl::init(88), cl::cat(category));
static cl::opt<std::string>
    ptxas("ptxas", cl::desc("cuda: the ptxas to run (default: from PATH, CUDA_HOME, CUDA_PATH or /usr/local/cuda)"),
          cl::value_desc("file"), cl::cat(category));
static cl::opt<std::string>
    schedule("schedule", cl::desc("cuda: a #sm90.schedule<...> for every product that has none and suits wgmma"),
             cl::value_desc("attribute"), cl::cat(category));
static cl::opt<std::string>
    scheduleTable("schedule-table",
                  cl::desc("cuda: a file with measured schedules (default: the one built in), or none for none"),
                  cl::value_desc("file"), cl::cat(category));
static cl::opt<std::string>
    tuneTable("tune",
              cl::desc("cuda: measure schedules of the products on GPU 0, put the fastest into this table, use it"),
              cl::value_desc("file"), cl::cat(category));
static cl::opt<uint64_t> tuneSeed("tune-seed", cl::desc("of the data that --tune measures with (default: 1)"),
                                  cl::init(1), cl::cat(category));
static cl::opt<int64_t>
    rows("rows",
         cl::desc("cuda: rows that products are expected to have in all groups together (tokens times experts "
                  "a token), for the choice of schedules; default: 512 a group, and at least 4096"),
         cl::init(0), cl::cat(category));
static cl::opt<bool> keepGathers("keep-gathers",
                                 cl::desc("cuda: products gather their rows even where copying those first is "
                                          "expected to be faster; so does --schedule"),
                                 cl::cat(category));
static cl::opt<Phase>
    lastPhase("compile-to", cl::desc("the last phase to run, whose result is the output"), cl::init(Phase::Program),
              cl::cat(category),
              cl::values(clEnumValN(Phase::Input, "input", "the input, parsed and verified"),
                         clEnumValN(Phase::MoE, "moe", "imported, checked and canonicalised"),
                         clEnumValN(Phase::Tile, "tile", "structured ops on tensors, fused"),
                         clEnumValN(Phase::Bufferized, "bufferized", "structured ops on memrefs"),
                         clEnumValN(Phase::Prog, "prog", "kernels and host programs"),
                         clEnumValN(Phase::Kernels, "kernels", "kernels in the LLVM dialect"),
                         clEnumValN(Phase::Object, "object", "the shared object (cpu) or cubin (cuda) of the kernels"),
                         clEnumValN(Phase::Program, "program", "the .moe file (default)")));
static cl::opt<std::string> dumpDir("dump-dir",
                                    cl::desc("directory for one file a phase and, on failure, a reproducer"),
                                    cl::value_desc("dir"), cl::cat(category));
enum class Fusion { Epilogue, Gather, Rows, Weights };
static cl::list<Fusion> disabledFusions(
    "disable-fusion", cl::desc("fusions to leave out"), cl::CommaSeparated, cl::cat(category),
    cl::values(clEnumValN(Fusion::Epilogue, "epilogue", "elementwise work in a product's epilogue"),
               clEnumValN(Fusion::Gather, "gather", "gathered rows as a product's source"),
               clEnumValN(Fusion::Rows, "rows", "row-wise work with the row-wise work before it"),
               clEnumValN(Fusion::Weights, "weights", "routing weights in the product before a combine")));
static cl::opt<std::string> partition(
    "partition",
    cl::desc("spread experts over the ranks of a mesh axis, such as \"axis=ep size=4 max-tokens=64\": options "
             "of the pass moe-partition"),
    cl::value_desc("options"), cl::cat(category));
static cl::opt<bool> cached("cache", cl::desc("take the program from the cache on disk, or put it there"),
                            cl::cat(category));
static cl::opt<bool> islands("islands",
                             cl::desc("StableHLO in, StableHLO out: compile what moe can compute of it, and print the "
                                      "module with custom calls in its place"),
                             cl::cat(category));
static cl::opt<bool> remarks("remarks", cl::desc("print remarks, such as why something was not fused"),
                             cl::cat(category));

static int fail(const llvm::Twine &message) {
  llvm::errs() << "moe-compile: error: " << message << "\n";
  return 1;
}

/// The program's place in the cache.
static llvm::Expected<CachedProgram> findPlace(const CompilerOptions &options, StringRef input) {
  llvm::Expected<CachedProgram> place = CachedProgram::create();
  if (!place)
    return place.takeError();
  static int anchor;
  place->addFile(llvm::sys::fs::getMainExecutable("moe-compile", &anchor));
  place->add(target);
  if (options.target == TargetKind::CUDA) {
    place->add(options.cuda.chip);
    place->add(std::to_string(options.cuda.ptxVersion));
    place->addFile(options.cuda.ptxas);
    place->add(options.schedules.schedule);
    place->add(std::to_string(options.schedules.rows));
    place->addFile(options.schedules.table);
    place->add(options.keepGathers ? "keep-gathers" : "");
  } else {
    place->add(options.level.name);
  }
  for (const std::string &fusion : options.pipeline.disabledFusions)
    place->add(fusion);
  place->add(options.pipeline.partition);
  place->add(input);
  return place;
}

/// Compiles what `parse` gives for the text, or takes it from the cache. On failure an error was printed.
static FailureOr<SmallVector<char, 0>> compileCached(const CompilerOptions &options, StringRef text,
                                                     llvm::function_ref<OwningOpRef<ModuleOp>()> parse) {
  std::optional<CachedProgram> place;
  if (cached) {
    llvm::Expected<CachedProgram> found = findPlace(options, text);
    if (!found) {
      fail(llvm::toString(found.takeError()));
      return failure();
    }
    place = *found;
    if (std::unique_ptr<llvm::MemoryBuffer> program = place->find())
      return SmallVector<char, 0>(program->getBufferStart(), program->getBufferEnd());
  }
  OwningOpRef<ModuleOp> module = parse();
  if (!module)
    return failure();
  FailureOr<SmallVector<char, 0>> output = compile(std::move(module), options);
  if (succeeded(output) && place)
    if (llvm::Error error = place->store(*output))
      llvm::errs() << "moe-compile: warning: the program is not kept in the cache: " << llvm::toString(std::move(error))
                   << "\n";
  return output;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "Compiles a Mixture-of-Experts program to a .moe file\n");
  bool isCuda = target == "cuda";
  if (target != "cpu" && !isCuda)
    return fail("target is '" + target + "', expected cpu or cuda");
  for (cl::Option *option : std::initializer_list<cl::Option *>{&chip, &ptxVersion, &ptxas, &schedule, &scheduleTable,
                                                                &tuneTable, &tuneSeed, &rows, &keepGathers})
    if (option->getNumOccurrences() && !isCuda)
      return fail("--" + option->ArgStr + " is for --target=cuda only");
  if (rows < 0)
    return fail("--rows is " + llvm::Twine(rows) + ", expected a positive number");
  if (cpu.getNumOccurrences() && isCuda)
    return fail("--cpu is for --target=cpu only");
  bool isText = lastPhase <= Phase::Kernels || islands;
  if (islands && (lastPhase != Phase::Program || !dumpDir.empty()))
    return fail("--islands is for whole programs, without --dump-dir");
  if (cached && !islands && (lastPhase != Phase::Program || !dumpDir.empty() || remarks))
    return fail("--cache is for whole programs, without --dump-dir and --remarks");
  if (!tuneTable.empty() && (!schedule.empty() || !scheduleTable.empty() || cached || islands))
    return fail("--tune excludes --schedule, --schedule-table, --cache and --islands");
  if (outputPath.empty() && !isText)
    return fail("no output file: name one with -o");
  if (!dumpDir.empty())
    if (std::error_code error = llvm::sys::fs::create_directories(dumpDir))
      return fail("cannot make directory '" + dumpDir + "': " + error.message());

  DialectRegistry registry;
  registerCompilerDialects(registry);
  MLIRContext context(registry);
  // StableHLO comes in generic form; what the import leaves of it is refused by name.
  context.allowUnregisteredDialects();
  context.printOpOnDiagnostic(false);

  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> input = openInputFile(inputPath, &message);
  if (!input)
    return fail(message);
  StringRef text = input->getBuffer();
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::move(input), llvm::SMLoc());
  SourceMgrDiagnosticHandler printDiagnostics(*sources, &context);
  ScopedDiagnosticHandler filterDiagnostics(&context, [print = bool(remarks)](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Remark)
      return success(!print);
    // What is wrong with an option has no place in the file.
    if (!isa<UnknownLoc>(diagnostic.getLocation()) || !diagnostic.getNotes().empty())
      return failure();
    fail(diagnostic.str());
    return success();
  });

  CompilerOptions options;
  Location nowhere = UnknownLoc::get(&context);
  options.last = lastPhase;
  options.target = isCuda ? TargetKind::CUDA : TargetKind::CPU;
  if (isCuda) {
    options.cuda = {chip, ptxVersion, ptxas};
    options.schedules.schedule = schedule;
    options.schedules.rows = rows;
    options.schedules.table = scheduleTable;
    options.keepGathers = keepGathers;
    if (failed(checkCUDATarget(options.cuda, nowhere)))
      return 1;
    if (!tuneTable.empty())
      options.schedules.table = "none"; // not there yet
    // Before anything is compiled: without it all would be in vain.
    if (lastPhase >= Phase::Object || !tuneTable.empty()) {
      FailureOr<std::string> found = findCUDATool("ptxas", ptxas, nowhere);
      if (failed(found))
        return 1;
      options.cuda.ptxas = *found;
    }
  } else {
    FailureOr<CPULevel> level = resolveCPULevel(cpu, nowhere);
    if (failed(level))
      return 1;
    options.level = *level;
  }
  for (Fusion fusion : disabledFusions) {
    constexpr StringLiteral names[] = {"epilogue", "gather", "rows", "weights"};
    options.pipeline.disabledFusions.push_back(names[static_cast<unsigned>(fusion)].str());
  }
  options.pipeline.partition = partition;
  if (partition.getNumOccurrences()) {
    std::string problem = partition.empty() ? "it has no options" : "";
    auto explain = [&](const llvm::Twine &message) {
      problem = StringRef(message.str()).trim().str();
      return failure();
    };
    if (!problem.empty() || failed(createMoEPartitionPass()->initializeOptions(partition, explain)))
      return fail("--partition: " + problem);
  }
  options.dumpDir = dumpDir;

  // A copy: the linker resets all command line options.
  std::string path = outputPath.empty() ? "-" : outputPath.getValue();
  auto write = [&](ArrayRef<char> output) {
    if (llvm::Error error = writeFile(path, output))
      return fail("cannot write '" + path + "': " + llvm::toString(std::move(error)));
    return 0;
  };
  auto parse = [&] { return parseSourceFile<ModuleOp>(sources, &context); };
  if (islands) {
    OwningOpRef<ModuleOp> module = parse();
    if (!module || failed(replaceIslands(*module, [&](StringRef program) {
          return compileCached(options, program, [&] { return parseSourceString<ModuleOp>(program, &context); });
        })))
      return 1;
    std::string printed;
    llvm::raw_string_ostream stream(printed);
    module->getOperation()->print(stream, OpPrintingFlags().printGenericOpForm());
    stream << "\n";
    return write({printed.data(), printed.size()});
  }
  auto prepare = [&]() -> OwningOpRef<ModuleOp> {
    OwningOpRef<ModuleOp> module = parse();
    if (module && !tuneTable.empty()) {
      if (failed(tune(*module, options, {tuneTable, tuneSeed})))
        return nullptr;
      options.schedules.table = tuneTable;
    }
    return module;
  };
  FailureOr<SmallVector<char, 0>> output = compileCached(options, text, prepare);
  return failed(output) ? 1 : write(*output);
}
