//===- Ptxas.cpp - runs ptxas and reads what it says ------------------------===//

#include "Ptxas.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::moe;

/// Notes of potential performance loss: that wgmma runs one by one (C7510 to C7519) or that a register budget is
/// ignored (C7507, C7508).
static constexpr StringLiteral kNote = "(C75";

FailureOr<std::string> mlir::moe::findCUDATool(StringRef name, StringRef given, Location loc) {
  if (!given.empty()) {
    if (llvm::sys::fs::can_execute(given))
      return given.str();
    return emitError(loc) << name << " is '" << given << "', which is not a program";
  }
  if (llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName(name))
    return *found;
  for (std::optional<std::string> root :
       {llvm::sys::Process::GetEnv("CUDA_HOME"), llvm::sys::Process::GetEnv("CUDA_PATH"),
        std::optional<std::string>("/usr/local/cuda")}) {
    if (!root || root->empty())
      continue;
    llvm::SmallString<128> path(*root);
    llvm::sys::path::append(path, "bin", name);
    if (llvm::sys::fs::can_execute(path))
      return path.str().str();
  }
  return emitError(loc) << "there is no " << name
                        << " in PATH, CUDA_HOME, CUDA_PATH or /usr/local/cuda; install the CUDA toolkit or name it";
}

/// The text between single quotes, from `after` on.
static StringRef quoted(StringRef line, StringRef after) {
  StringRef rest = line.split(after).second;
  return rest.split('\'').second.split('\'').first;
}

/// The number before `unit`, or 0.
static unsigned numberBefore(StringRef line, StringRef unit) {
  size_t end = line.find(unit);
  if (end == StringRef::npos)
    return 0;
  StringRef before = line.take_front(end).rtrim();
  StringRef digits = before.take_back(before.size() - (before.find_last_not_of("0123456789") + 1));
  unsigned number = 0;
  return digits.getAsInteger(10, number) ? 0 : number;
}

void mlir::moe::readPtxasLog(StringRef log, std::vector<CUDAKernelUse> &kernels, std::vector<PtxasFinding> &findings) {
  for (StringRef line : llvm::split(log, '\n')) {
    if (line.contains("Compiling entry function")) {
      kernels.push_back({quoted(line, "entry function").str()});
      continue;
    }
    if (line.contains(kNote)) {
      // "ptxas info    : (C7510) Potential Performance Loss: ... in function 'k'" or "... in the function 'k'".
      findings.push_back({quoted(line, "function").str(), line.split(": ").second.trim().str()});
      continue;
    }
    if (kernels.empty())
      continue;
    CUDAKernelUse &kernel = kernels.back();
    if (line.contains("bytes stack frame")) {
      kernel.stack = numberBefore(line, " bytes stack frame");
      unsigned stores = numberBefore(line, " bytes spill stores"), loads = numberBefore(line, " bytes spill loads");
      if (stores || loads)
        findings.push_back({kernel.name, "spills registers: " + std::to_string(stores) + " bytes of stores and " +
                                             std::to_string(loads) + " of loads"});
    }
    if (line.contains(": Used ")) {
      kernel.registers = numberBefore(line, " registers");
      kernel.shared = numberBefore(line, " bytes smem");
    }
  }
}

namespace {

/// Files of one run, which go with it.
struct Files {
  llvm::SmallString<128> input, output, log;
  llvm::FileRemover removers[3];

  LogicalResult create(Location loc) {
    llvm::SmallString<128> *paths[] = {&input, &output, &log};
    constexpr StringLiteral suffixes[] = {"ptx", "cubin", "log"};
    for (unsigned i = 0; i < 3; ++i) {
      if (std::error_code error = llvm::sys::fs::createTemporaryFile("moe-kernels", suffixes[i], *paths[i]))
        return emitError(loc) << "cannot make a temporary file: " << error.message();
      removers[i].setFile(*paths[i]);
    }
    return success();
  }
};

} // namespace

static FailureOr<SmallVector<char, 0>> readFile(StringRef path, Location loc) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return emitError(loc) << "cannot read '" << path << "': " << file.getError().message();
  StringRef bytes = (*file)->getBuffer();
  return SmallVector<char, 0>(bytes.begin(), bytes.end());
}

/// Runs ptxas on the input of `files`, for one kernel only if it is named. Gives its exit code and what it printed.
static FailureOr<std::pair<int, std::string>> execute(StringRef ptxas, const Files &files, StringRef chip,
                                                      StringRef kernel, Location loc) {
  std::string arch = "-arch=" + chip.str();
  SmallVector<StringRef> args = {ptxas, arch, "-O3", "-v", "--warn-on-spills", files.input, "-o", files.output};
  if (!kernel.empty())
    args.append({"--entry", kernel});
  std::string message;
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(files.log), StringRef(files.log)};
  int code = llvm::sys::ExecuteAndWait(ptxas, args, std::nullopt, redirects, 0, 0, &message);
  if (code < 0)
    return emitError(loc) << "cannot run '" << ptxas << "': " << message;
  FailureOr<SmallVector<char, 0>> log = readFile(files.log, loc);
  if (failed(log))
    return failure();
  return std::make_pair(code, std::string(log->begin(), log->end()));
}

FailureOr<CUDACode> mlir::moe::runPtxas(StringRef ptx, const CUDATargetOptions &options, llvm::raw_ostream *log,
                                        Location loc) {
  FailureOr<std::string> ptxas = findCUDATool("ptxas", options.ptxas, loc);
  Files files;
  if (failed(ptxas) || failed(files.create(loc)))
    return failure();
  {
    std::error_code error;
    llvm::raw_fd_ostream stream(files.input, error);
    stream << ptx;
    stream.close();
    if (error || stream.has_error()) {
      std::string message = (error ? error : stream.error()).message();
      stream.clear_error();
      return emitError(loc) << "cannot write '" << files.input << "': " << message;
    }
  }
  auto result = execute(*ptxas, files, options.chip, "", loc);
  if (failed(result))
    return failure();
  auto &[code, text] = *result;
  if (log)
    *log << text;
  if (code != 0)
    return emitError(loc) << "ptxas refuses the kernels: " << StringRef(text).trim();

  CUDACode out;
  std::vector<PtxasFinding> findings;
  readPtxasLog(text, out.kernels, findings);
  // ptxas does not always say whose a note is: then it is asked again, about one kernel at a time.
  bool nameless = llvm::any_of(findings, [](const PtxasFinding &finding) { return finding.kernel.empty(); });
  if (nameless) {
    findings.clear();
    for (const CUDAKernelUse &kernel : out.kernels) {
      auto again = execute(*ptxas, files, options.chip, kernel.name, loc);
      if (failed(again))
        return failure();
      std::vector<CUDAKernelUse> uses;
      std::vector<PtxasFinding> found;
      readPtxasLog(again->second, uses, found);
      for (PtxasFinding &finding : found)
        findings.push_back({kernel.name, std::move(finding.text)});
    }
  }
  for (const PtxasFinding &finding : findings)
    emitError(loc) << "kernel '" << finding.kernel << "': ptxas says: " << finding.text;
  if (!findings.empty())
    return failure();
  FailureOr<SmallVector<char, 0>> cubin = readFile(files.output, loc);
  if (failed(cubin))
    return failure();
  out.cubin = std::move(*cubin);
  return out;
}
