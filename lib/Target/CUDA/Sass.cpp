//===- Sass.cpp - what the kernels of a cubin consist of -----------------------===//

#include "mlir/IR/Diagnostics.h"
#include "moe/Target/CUDA/CUDA.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::moe;

/// An instruction has 16 bytes; its lowest 9 bits say what it does, the next 3 where its operands are.
static constexpr size_t kInstruction = 16;
static constexpr unsigned kOpcodeMask = 0x1ff;
enum Opcode : unsigned {
  kNop = 0x118,
  kLocalLoad = 0x183,  // LDL
  kLocalStore = 0x187, // STL
  kBulkLoad = 0x1b4,   // UTMALDG
  kBulkStore = 0x1b5,  // UTMASTG
  kBulkReduce = 0x1b6, // UTMAREDG
  kWgmma = 0x1f0       // HGMMA
};

llvm::Expected<std::vector<SassCounts>> mlir::moe::countSass(ArrayRef<char> cubin) {
  llvm::MemoryBufferRef buffer(StringRef(cubin.data(), cubin.size()), "cubin");
  auto file = llvm::object::ObjectFile::createELFObjectFile(buffer);
  if (!file)
    return file.takeError();
  std::vector<SassCounts> kernels;
  for (const llvm::object::SectionRef &section : (*file)->sections()) {
    llvm::Expected<StringRef> name = section.getName();
    if (!name)
      return name.takeError();
    SassCounts counts;
    if (!name->consume_front(".text."))
      continue;
    counts.kernel = name->str();
    llvm::Expected<StringRef> code = section.getContents();
    if (!code)
      return code.takeError();
    for (size_t at = 0; at + kInstruction <= code->size(); at += kInstruction) {
      unsigned opcode = llvm::support::endian::read32le(code->data() + at) & kOpcodeMask;
      counts.instructions += opcode != kNop;
      counts.wgmmas += opcode == kWgmma;
      counts.bulkLoads += opcode == kBulkLoad;
      counts.bulkStores += opcode == kBulkStore || opcode == kBulkReduce;
      counts.locals += opcode == kLocalLoad || opcode == kLocalStore;
    }
    kernels.push_back(std::move(counts));
  }
  return kernels;
}

std::string mlir::moe::describe(const SassCounts &counts) {
  return llvm::formatv("{0} instructions, {1} wgmmas, {2} bulk loads, {3} bulk stores, {4} local loads and stores",
                       counts.instructions, counts.wgmmas, counts.bulkLoads, counts.bulkStores, counts.locals)
      .str();
}

LogicalResult mlir::moe::disassembleCubin(ArrayRef<char> cubin, StringRef kernel, Location loc, llvm::raw_ostream &os) {
  FailureOr<std::string> tool = findCUDATool("nvdisasm", "", loc);
  if (failed(tool))
    return failure();
  llvm::SmallString<128> input, output;
  std::error_code error = llvm::sys::fs::createTemporaryFile("moe-kernels", "cubin", input);
  llvm::FileRemover removeInput(input);
  if (!error)
    error = llvm::sys::fs::createTemporaryFile("moe-kernels", "sass", output);
  llvm::FileRemover removeOutput(output);
  if (!error) {
    llvm::raw_fd_ostream stream(input, error);
    stream.write(cubin.data(), cubin.size());
    stream.close();
    error = stream.error();
    stream.clear_error();
  }
  if (error)
    return emitError(loc) << "cannot write a temporary file: " << error.message();
  std::string message;
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(output), StringRef(output)};
  int code = llvm::sys::ExecuteAndWait(*tool, {*tool, "-c", input}, std::nullopt, redirects, 0, 0, &message);
  auto text = llvm::MemoryBuffer::getFile(output);
  if (code != 0 || !text)
    return emitError(loc) << "'" << *tool << "' fails: "
                          << (message.empty() && text ? (*text)->getBuffer().trim() : StringRef(message));
  // A section begins with a line of dashes and its name.
  auto [before, section] = (*text)->getBuffer().split((".text." + kernel + " ").str());
  os << section.split('\n').second.split("//-----").first.rtrim() << "\n";
  return success();
}
