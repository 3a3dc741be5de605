//===- RaggedGemmOp.cpp - accessors and verifier of tile.ragged_gemm --------===//

#include "moe/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace mlir::tile;

int64_t RaggedGemmOp::getNumGroups() {
  if (getMode() == GemmMode::Contraction)
    return cast<ShapedType>(getOuts().front().getType()).getDimSize(0);
  auto type = cast<ShapedType>(getRhs().getType());
  return type.getRank() == 3 ? type.getDimSize(0) : 1;
}

int64_t RaggedGemmOp::getK() {
  Value lhs = getLhs();
  return lhs ? cast<ShapedType>(lhs.getType()).getShape().back() : 1;
}

int64_t RaggedGemmOp::getN() {
  auto type = cast<ShapedType>(getRhs().getType());
  bool transposed = getMode() == GemmMode::Rows && getLayout() == RhsLayout::NK;
  return type.getDimSize(type.getRank() - (transposed ? 2 : 1));
}

ExtraKind RaggedGemmOp::getExtraKind(unsigned i) { return cast<ExtraKindAttr>(getExtraKinds()[i]).getValue(); }

ArrayRef<BlockArgument> RaggedGemmOp::getExtraArguments(unsigned i) {
  auto argumentsOf = [&](unsigned extra) { return getExtraKind(extra) == ExtraKind::Group ? getNumAccumulators() : 1; };
  unsigned first = getNumAccumulators();
  for (unsigned extra = 0; extra < i; ++extra)
    first += argumentsOf(extra);
  return ArrayRef<BlockArgument>(getEpilogue().getArguments()).slice(first, argumentsOf(i));
}

LogicalResult RaggedGemmOp::verify() { return success(); }
