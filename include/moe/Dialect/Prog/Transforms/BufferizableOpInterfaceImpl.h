//===- BufferizableOpInterfaceImpl.h - bufferization of prog ops -*- C++ -*-===//
#ifndef MOE_DIALECT_PROG_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H
#define MOE_DIALECT_PROG_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::prog {
/// Lets one-shot bufferization handle the op that works on tensors too.
void registerBufferizableOpInterfaceExternalModels(DialectRegistry &registry);
} // namespace mlir::prog

#endif
