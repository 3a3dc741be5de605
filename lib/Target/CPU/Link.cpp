//===- Link.cpp - from an object file to a shared object ------------------===//

#include "Link.h"
#include "lld/Common/Driver.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace mlir;
using namespace llvm::object;
using llvm::Expected;

namespace {

/// A temporary file, removed at the end of its life.
class TemporaryFile {
public:
  static FailureOr<TemporaryFile> create(StringRef suffix, Location loc) {
    llvm::SmallString<128> path;
    if (std::error_code error = llvm::sys::fs::createTemporaryFile("moe-kernels", suffix, path))
      return emitError(loc, "cannot make a temporary file: ") << error.message();
    TemporaryFile file;
    file.remover.setFile(path);
    file.name = path.str().str();
    return file;
  }
  const std::string &path() const { return name; }

private:
  llvm::FileRemover remover;
  std::string name;
};

/// Names of the functions an object uses but does not define.
LogicalResult checkUndefined(const ELF64LEObjectFile &object, Location loc) {
  for (ELFSymbolRef symbol : object.symbols()) {
    Expected<uint32_t> flags = symbol.getFlags();
    Expected<StringRef> name = symbol.getName();
    if (!flags || !name) {
      llvm::consumeError(flags.takeError());
      llvm::consumeError(name.takeError());
      return emitError(loc, "the object file of the kernels has a broken symbol table");
    }
    if ((*flags & SymbolRef::SF_Undefined) && !name->empty())
      return emitError(loc, "kernels call '") << *name << "', which nothing defines";
  }
  return success();
}

/// The promises of KernelABI.h.
LogicalResult checkSharedObject(const ELF64LEObjectFile &object, ArrayRef<std::string> symbols, Location loc) {
  llvm::StringSet<> exported;
  for (ELFSymbolRef symbol : object.getDynamicSymbolIterators()) {
    Expected<uint32_t> flags = symbol.getFlags();
    Expected<StringRef> name = symbol.getName();
    if (!flags || !name) {
      llvm::consumeError(flags.takeError());
      llvm::consumeError(name.takeError());
      return emitError(loc, "the shared object of the kernels has a broken symbol table");
    }
    if (*flags & SymbolRef::SF_Undefined)
      return emitError(loc, "the shared object of the kernels needs '") << *name << "', which nothing defines";
    exported.insert(*name);
  }
  for (const std::string &symbol : symbols)
    if (!exported.contains(symbol))
      return emitError(loc, "the shared object of the kernels does not export '") << symbol << "'";
  Expected<ELFFile<ELF64LE>::Elf_Dyn_Range> entries = object.getELFFile().dynamicEntries();
  if (!entries)
    return emitError(loc, "the shared object of the kernels is broken: ") << llvm::toString(entries.takeError());
  for (const auto &entry : *entries)
    switch (entry.getTag()) {
    case llvm::ELF::DT_NEEDED:
    case llvm::ELF::DT_INIT:
    case llvm::ELF::DT_INIT_ARRAY:
    case llvm::ELF::DT_PREINIT_ARRAY:
    case llvm::ELF::DT_FINI:
    case llvm::ELF::DT_FINI_ARRAY:
    case llvm::ELF::DT_TEXTREL:
      return emitError(loc, "the shared object of the kernels has dynamic entry ")
             << object.getELFFile().getDynamicTagAsString(entry.getTag()) << ", which none may have";
    default:
      break;
    }
  return success();
}

FailureOr<ELF64LEObjectFile> open(llvm::MemoryBufferRef buffer, Location loc) {
  Expected<ELF64LEObjectFile> object = ELF64LEObjectFile::create(buffer);
  if (!object)
    return emitError(loc, "cannot read the kernels' object file: ") << llvm::toString(object.takeError());
  return std::move(*object);
}

/// Runs LLD within this process. It keeps state between calls, so one call at a time.
LogicalResult runLinker(StringRef input, StringRef output, Location loc) {
  static std::mutex mutex;
  static bool usable = true;
  std::lock_guard<std::mutex> lock(mutex);
  std::string in = input.str(), out = output.str(), text;
  const char *args[] = {"ld.lld",        "-shared",     "--no-undefined",  "-z", "text",      "-z",      "noexecstack",
                        "--gc-sections", "--threads=1", "--build-id=none", "-o", out.c_str(), in.c_str()};
  llvm::raw_string_ostream messages(text);
  if (!usable)
    return emitError(loc, "the linker failed earlier and cannot run again in this process");
  lld::Result result = lld::lldMain(args, messages, messages, {{lld::Gnu, &lld::elf::link}});
  usable = result.canRunAgain;
  if (result.retCode != 0)
    return emitError(loc, "linking the kernels failed: ") << StringRef(text).trim();
  return success();
}

} // namespace

FailureOr<llvm::SmallVector<char, 0>> moe::linkSharedObject(ArrayRef<char> object, ArrayRef<std::string> symbols,
                                                            Location loc) {
  FailureOr<ELF64LEObjectFile> parsed =
      open(llvm::MemoryBufferRef(StringRef(object.data(), object.size()), "kernels.o"), loc);
  if (failed(parsed) || failed(checkUndefined(*parsed, loc)))
    return failure();

  FailureOr<TemporaryFile> input = TemporaryFile::create("o", loc), output = TemporaryFile::create("so", loc);
  if (failed(input) || failed(output))
    return failure();
  {
    std::error_code error;
    llvm::raw_fd_ostream stream(input->path(), error);
    stream.write(object.data(), object.size());
    stream.close();
    if (error || stream.has_error()) {
      std::string message = (error ? error : stream.error()).message();
      stream.clear_error();
      return emitError(loc, "cannot write '") << input->path() << "': " << message;
    }
  }
  if (failed(runLinker(input->path(), output->path(), loc)))
    return failure();
  auto linked = llvm::MemoryBuffer::getFile(output->path(), /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!linked)
    return emitError(loc, "cannot read '") << output->path() << "': " << linked.getError().message();
  FailureOr<ELF64LEObjectFile> shared = open((*linked)->getMemBufferRef(), loc);
  if (failed(shared) || failed(checkSharedObject(*shared, symbols, loc)))
    return failure();
  StringRef bytes = (*linked)->getBuffer();
  return llvm::SmallVector<char, 0>(bytes.begin(), bytes.end());
}
