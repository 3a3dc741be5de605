//===- BufferizableOpInterfaceImpl.h - bufferization of tile ops -----------===//
#ifndef MOE_DIALECT_TILE_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H
#define MOE_DIALECT_TILE_TRANSFORMS_BUFFERIZABLEOPINTERFACEIMPL_H

namespace mlir {
class DialectRegistry;

namespace tile {

/// Lets one-shot-bufferize turn tile ops on tensors into tile ops on memrefs. Outs are written in place where nobody
/// needs the old contents; they count as read only for a ragged_gemm with `accumulate`.
void registerBufferizableOpInterfaceExternalModels(DialectRegistry &registry);

} // namespace tile
} // namespace mlir

#endif
