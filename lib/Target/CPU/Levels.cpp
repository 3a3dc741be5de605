//===- Levels.cpp - levels of CPU -----------------------------------------===//

#include "mlir/IR/Diagnostics.h"
#include "moe/Target/CPU/CPU.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;
using namespace mlir::moe;

ArrayRef<CPULevel> moe::getCPULevels() {
  static constexpr CPULevel levels[] = {
      {"x86-64-v4", "x86_64-unknown-linux-gnu", "x86-64-v4", "", 512, 32},
      {"x86-64-v3", "x86_64-unknown-linux-gnu", "x86-64-v3", "", 256, 16},
      {"aarch64", "aarch64-unknown-linux-gnu", "generic", "+neon", 128, 32},
  };
  return levels;
}

/// Best level of the machine we run on, or empty.
static StringRef nativeLevel() {
  llvm::Triple triple(llvm::sys::getProcessTriple());
  if (triple.isAArch64())
    return "aarch64";
  if (triple.getArch() != llvm::Triple::x86_64)
    return "";
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  auto all = [&](std::initializer_list<StringRef> names) {
    return llvm::all_of(names, [&](StringRef name) { return features.lookup(name); });
  };
  if (!all({"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"}))
    return "";
  return all({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}) ? "x86-64-v4" : "x86-64-v3";
}

FailureOr<CPULevel> moe::resolveCPULevel(StringRef name, Location loc) {
  StringRef wanted = name == "native" ? nativeLevel() : name;
  for (const CPULevel &level : getCPULevels())
    if (level.name == wanted)
      return level;
  auto error = name == "native" ? emitError(loc, "this machine has none of the cpu levels")
                                : emitError(loc, "cpu level is '") << name << "', expected native";
  for (const CPULevel &level : getCPULevels())
    error << ", " << level.name;
  return error;
}
