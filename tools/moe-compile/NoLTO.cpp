//===- NoLTO.cpp - LLD without link-time optimisation -----------------------===//
//
// Only in moe-compile-static. LLD links objects of our kernels, never bitcode; its half that does would bring 4 MB of
// LLVM. These definitions stand in for that half, so that the linker leaves it out.
//
//===----------------------------------------------------------------------===//

#include "llvm/ADT/SmallVector.h"

#include <memory>

namespace lld::elf {

struct Ctx;
class BitcodeFile;
class InputFile {
public:
  virtual ~InputFile();
};

class BitcodeCompiler {
public:
  explicit BitcodeCompiler(Ctx &);
  ~BitcodeCompiler();
  void add(BitcodeFile &);
  llvm::SmallVector<std::unique_ptr<InputFile>, 0> compile();
};

BitcodeCompiler::BitcodeCompiler(Ctx &) {}
BitcodeCompiler::~BitcodeCompiler() = default;
void BitcodeCompiler::add(BitcodeFile &) {}
llvm::SmallVector<std::unique_ptr<InputFile>, 0> BitcodeCompiler::compile() { return {}; }

} // namespace lld::elf
