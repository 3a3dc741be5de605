//===- Object.h - what is in the object of a .moe file ----------------------===//
#ifndef MOE_TOOLS_MOE_OBJDUMP_OBJECT_H
#define MOE_TOOLS_MOE_OBJDUMP_OBJECT_H

#include "moe/Target/CPU/CPU.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::moe {

/// The machine code of every exported function; borrows the object's bytes. Nothing is run or trusted: a function whose
/// code does not lie in the object is an error.
llvm::Expected<llvm::StringMap<ArrayRef<uint8_t>>> getFunctions(ArrayRef<char> object);

/// Prints code as assembly, one instruction a line with its offset and bytes.
llvm::Error disassemble(ArrayRef<uint8_t> code, const CPULevel &level, llvm::raw_ostream &os);

} // namespace mlir::moe

#endif
