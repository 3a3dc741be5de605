//===- InitAll.h - everything a tool of the compiler knows ------------------===//
#ifndef MOE_INITALL_H
#define MOE_INITALL_H

namespace mlir {
class DialectRegistry;

namespace moe {

/// Adds our dialects with their interfaces, and those of MLIR.
void registerMoEDialects(DialectRegistry &registry);

/// Adds our dialects, and those of MLIR that a program can be compiled through, with their interfaces.
void registerCompilerDialects(DialectRegistry &registry);

/// Registers our passes and pipelines on the command line. Call once.
void registerMoEPasses();

} // namespace moe
} // namespace mlir

#endif
