//===- WriteFile.cpp - all or nothing ---------------------------------------===//

#include "moe/Target/Program/Program.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

/// The file that a link stands for; the path itself if nothing is there.
static llvm::Expected<std::string> findTarget(StringRef path) {
  namespace fs = llvm::sys::fs;
  fs::file_status status;
  if (path == "-" || path == "/dev/null" || fs::status(path, status))
    return path.str();
  if (status.type() != fs::file_type::regular_file)
    return llvm::createStringError("it is there and no regular file");
  SmallString<128> target;
  if (std::error_code error = fs::real_path(path, target))
    return llvm::errorCodeToError(error);
  return target.str().str();
}

llvm::Error moe::writeFile(StringRef path, ArrayRef<char> bytes) {
  llvm::Expected<std::string> target = findTarget(path);
  if (!target)
    return target.takeError();
  return llvm::writeToOutput(*target, [&](llvm::raw_ostream &os) -> llvm::Error {
    os.write(bytes.data(), bytes.size());
    os.flush();
    if (os.get_kind() != llvm::raw_ostream::OStreamKind::OK_FDStream)
      return llvm::Error::success();
    // A full disk: what was written is given up.
    auto &file = static_cast<llvm::raw_fd_ostream &>(os);
    std::error_code error = file.error();
    file.clear_error();
    return llvm::errorCodeToError(error);
  });
}
