//===- Cache.h - compiled programs on disk --------------------------------===//
#ifndef MOE_TOOLS_MOE_COMPILE_CACHE_H
#define MOE_TOOLS_MOE_COMPILE_CACHE_H

#include "mlir/Support/LLVM.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/CachePruning.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <string>

namespace mlir::moe {

/// One program of the cache: a file in $MOE_CACHE_DIR (default: moe-mlir in the user's cache directory), named by a
/// hash of all that the program is made from. Files are written whole and renamed, so that processes may race.
class CachedProgram {
public:
  /// An error if the environment says no directory, or a limit that cannot be read.
  static llvm::Expected<CachedProgram> create();

  /// What the program is made from.
  void add(StringRef part);
  /// A file that takes part in the making, by path, size and time of its last change.
  void addFile(StringRef path);

  /// The file, if it is there, whole and unaltered. Everything has been added.
  std::unique_ptr<llvm::MemoryBuffer> find();
  /// Writes the file; removes those used longest ago until the rest fits into $MOE_CACHE_SIZE (default 1g).
  llvm::Error store(ArrayRef<char> program);

private:
  std::string path();

  std::string directory;
  llvm::CachePruningPolicy policy;
  llvm::BLAKE3 hash;
};

} // namespace mlir::moe

#endif
