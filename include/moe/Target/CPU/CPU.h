//===- CPU.h - machine code of the cpu target -----------------------------===//
#ifndef MOE_TARGET_CPU_CPU_H
#define MOE_TARGET_CPU_CPU_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Location.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace mlir::moe {

/// A level of CPU that code is made for. A machine runs the code of its own level and of those below it.
struct CPULevel {
  llvm::StringRef name;     ///< as in the file: "x86-64-v3"
  llvm::StringRef triple;   ///< of LLVM
  llvm::StringRef cpu;      ///< LLVM's name of the processor
  llvm::StringRef features; ///< LLVM's feature string, on top of the processor's
  int64_t vectorBits;       ///< bits of a vector register
  int64_t registers;        ///< vector registers

  /// f32 elements of a vector register.
  int64_t lanes() const { return vectorBits / 32; }
};

/// All levels, best first within an architecture.
llvm::ArrayRef<CPULevel> getCPULevels();

/// The level of this name; "native" is the best this machine can run. On failure an error was emitted at `loc` that
/// names the level and those there are.
FailureOr<CPULevel> resolveCPULevel(llvm::StringRef name, Location loc);

struct CPUObjectOptions {
  CPULevel level;
  /// Where to print the optimised LLVM IR and the assembly; not printed when null. Borrowed.
  llvm::raw_ostream *llvmIR = nullptr;
  llvm::raw_ostream *assembly = nullptr;
};

/// Compiles module @kernels, in the LLVM dialect as `convert-kernels-to-llvm` leaves it, and links it: the bytes of an
/// ELF shared object without needed libraries, undefined symbols or constructors, which exports exactly the kernels
/// (all functions of external linkage). On failure an error was emitted that names what was wrong, such as a function
/// that a kernel calls but nobody defines.
FailureOr<llvm::SmallVector<char, 0>> compileToSharedObject(ModuleOp kernels, const CPUObjectOptions &options);

} // namespace mlir::moe

#endif
