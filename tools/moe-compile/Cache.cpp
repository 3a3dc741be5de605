//===- Cache.cpp - compiled programs on disk ------------------------------===//

#include "Cache.h"
#include "moe/Target/Program/Program.h"
#include "moert/moert.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

using namespace mlir;
using namespace mlir::moe;

llvm::Expected<CachedProgram> CachedProgram::create() {
  CachedProgram cache;
  std::optional<std::string> chosen = llvm::sys::Process::GetEnv("MOE_CACHE_DIR");
  llvm::SmallString<128> directory(chosen.value_or(""));
  if (directory.empty()) {
    if (!llvm::sys::path::cache_directory(directory))
      return llvm::createStringError("no directory for the cache: set MOE_CACHE_DIR, XDG_CACHE_HOME or HOME");
    llvm::sys::path::append(directory, "moe-mlir");
  }
  cache.directory = directory.str().str();

  std::string limit = llvm::sys::Process::GetEnv("MOE_CACHE_SIZE").value_or("1g");
  llvm::Expected<llvm::CachePruningPolicy> policy =
      llvm::parseCachePruningPolicy("prune_interval=0s:prune_after=0s:cache_size=0%:cache_size_bytes=" + limit);
  if (!policy || !policy->MaxSizeBytes) {
    llvm::consumeError(policy.takeError());
    return llvm::createStringError("MOE_CACHE_SIZE is '" + limit +
                                   "', expected a number of bytes above 0, such as 500m");
  }
  cache.policy = *policy;
  return cache;
}

void CachedProgram::add(StringRef part) {
  hash.update(std::to_string(part.size()) + ":");
  hash.update(part);
}

void CachedProgram::addFile(StringRef path) {
  llvm::sys::fs::file_status status;
  add(path);
  if (!llvm::sys::fs::status(path, status))
    add(std::to_string(status.getSize()) + " " +
        std::to_string(status.getLastModificationTime().time_since_epoch().count()));
}

std::string CachedProgram::path() {
  llvm::SmallString<128> path(directory);
  // LLVM's pruning looks after files of this name.
  llvm::sys::path::append(path, "llvmcache-" + llvm::toHex(hash.final(), /*LowerCase=*/true));
  return path.str().str();
}

std::unique_ptr<llvm::MemoryBuffer> CachedProgram::find() {
  std::string name = path();
  llvm::Expected<llvm::sys::fs::file_t> file =
      llvm::sys::fs::openNativeFileForRead(name, llvm::sys::fs::OF_UpdateAtime);
  if (!file) {
    llvm::consumeError(file.takeError());
    return nullptr;
  }
  auto buffer = llvm::MemoryBuffer::getOpenFile(*file, name, /*FileSize=*/-1, /*RequiresNullTerminator=*/false);
  if (llvm::sys::fs::closeFile(*file) || !buffer)
    return nullptr;
  moe_program *program = nullptr;
  if (moe_status *damage = moe_program_load((*buffer)->getBufferStart(), (*buffer)->getBufferSize(), &program)) {
    moe_status_free(damage);
    return nullptr;
  }
  moe_program_release(program);
  return std::move(*buffer);
}

llvm::Error CachedProgram::store(ArrayRef<char> program) {
  if (std::error_code error = llvm::sys::fs::create_directories(directory))
    return llvm::createStringError(error, "cannot make directory '" + directory + "': " + error.message());
  if (llvm::Error error = writeFile(path(), program))
    return llvm::createStringError("cannot write '" + path() + "': " + llvm::toString(std::move(error)));
  llvm::pruneCache(directory, policy);
  return llvm::Error::success();
}
