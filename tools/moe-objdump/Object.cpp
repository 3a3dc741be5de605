//===- Object.cpp - what is in the object of a .moe file --------------------===//

#include "Object.h"
#include "llvm-c/Disassembler.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/TargetSelect.h"

using namespace mlir;
using namespace llvm::object;

llvm::Expected<llvm::StringMap<ArrayRef<uint8_t>>> moe::getFunctions(ArrayRef<char> object) {
  llvm::MemoryBufferRef buffer(StringRef(object.data(), object.size()), "object");
  llvm::Expected<std::unique_ptr<ObjectFile>> file = ObjectFile::createELFObjectFile(buffer);
  if (!file)
    return file.takeError();
  auto *elf = dyn_cast<ELF64LEObjectFile>(file->get());
  if (!elf)
    return llvm::createStringError("not a 64-bit little-endian ELF file");
  llvm::StringMap<ArrayRef<uint8_t>> functions;
  for (ELFSymbolRef symbol : elf->getDynamicSymbolIterators()) {
    llvm::Expected<StringRef> name = symbol.getName();
    if (!name)
      return name.takeError();
    llvm::Expected<uint64_t> address = symbol.getAddress();
    if (!address)
      return address.takeError();
    llvm::Expected<section_iterator> section = symbol.getSection();
    if (!section)
      return section.takeError();
    if (symbol.getELFType() != llvm::ELF::STT_FUNC || *section == elf->section_end())
      continue;
    llvm::Expected<StringRef> contents = (*section)->getContents();
    if (!contents)
      return contents.takeError();
    uint64_t begin = *address - (*section)->getAddress(), size = symbol.getSize();
    if (begin > contents->size() || size > contents->size() - begin)
      return llvm::createStringError("function '%s' does not lie in its section", name->str().c_str());
    functions[*name] = ArrayRef<uint8_t>(contents->bytes_begin() + begin, size);
  }
  return functions;
}

llvm::Error moe::disassemble(ArrayRef<uint8_t> code, const CPULevel &level, llvm::raw_ostream &os) {
  llvm::InitializeAllTargetInfos();
  llvm::InitializeAllTargetMCs();
  llvm::InitializeAllDisassemblers();
  LLVMDisasmContextRef context = LLVMCreateDisasmCPUFeatures(
      level.triple.str().c_str(), level.cpu.str().c_str(), level.features.str().c_str(), nullptr, 0, nullptr, nullptr);
  if (!context)
    return llvm::createStringError("this LLVM cannot disassemble %s", level.triple.str().c_str());
  for (size_t offset = 0; offset < code.size();) {
    char text[256];
    ArrayRef<uint8_t> rest = code.drop_front(offset);
    size_t length =
        LLVMDisasmInstruction(context, const_cast<uint8_t *>(rest.data()), rest.size(), offset, text, sizeof(text));
    os << llvm::format("%6zx:", offset);
    if (length > 0)
      os << text << "\n";
    else
      os << llvm::format("\t.byte 0x%02x\n", rest.front()); // data between the code
    offset += std::max<size_t>(length, 1);
  }
  LLVMDisasmDispose(context);
  return llvm::Error::success();
}
