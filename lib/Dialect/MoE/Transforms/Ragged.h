//===- Ragged.h - the ragged encoding of a type ---------------------------===//
#ifndef MOE_LIB_DIALECT_MOE_TRANSFORMS_RAGGED_H
#define MOE_LIB_DIALECT_MOE_TRANSFORMS_RAGGED_H

#include "moe/Dialect/MoE/IR/MoE.h"

namespace mlir::moe {

/// The encoding of a ragged tensor type; null for any other type.
inline RaggedAttr getRagged(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_if_present<RaggedAttr>(tensor.getEncoding()) : RaggedAttr();
}

} // namespace mlir::moe

#endif
