//===- FuseWeights.cpp - moe-fuse-weights ----------------------------------===//

#include "moe/Dialect/MoE/IR/MoE.h"
#include "moe/Dialect/MoE/Transforms/Passes.h"

namespace mlir::moe {
#define GEN_PASS_DEF_MOEFUSEWEIGHTSPASS
#include "moe/Dialect/MoE/Transforms/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;
using namespace mlir::moe;

/// Why the weights of `combine` cannot move into the product that feeds it; empty if they can.
static StringRef whyNot(CombineOp combine) {
  auto product = combine.getY().getDefiningOp<RaggedMatmulOp>();
  if (!product)
    return "its rows do not come from moe.ragged_matmul";
  if (product.getPlan() != combine.getPlan())
    return "the product has another plan";
  if (product.getWeights())
    return "the product has weights of its own";
  if (!product->hasOneUse())
    return "the product has another use";
  // Moving it next to the combine could put it into a loop.
  if (product->getBlock() != combine->getBlock())
    return "the product is in another block";
  return {};
}

namespace {
struct MoEFuseWeightsPass : moe::impl::MoEFuseWeightsPassBase<MoEFuseWeightsPass> {
  void runOnOperation() override {
    getOperation()->walk([](CombineOp combine) {
      if (!combine.getWeights())
        return;
      if (StringRef reason = whyNot(combine); !reason.empty()) {
        combine.emitRemark() << "weights not fused because " << reason;
        return;
      }
      auto product = combine.getY().getDefiningOp<RaggedMatmulOp>();
      // The weights may be computed after the product; its only use is here.
      product->moveBefore(combine);
      product.getWeightsMutable().assign(combine.getWeights());
      product.setNan(combine.getNan());
      combine.getWeightsMutable().clear();
    });
  }
};
} // namespace
