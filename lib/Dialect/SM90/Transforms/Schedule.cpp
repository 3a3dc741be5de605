//===- Schedule.cpp - which kernel suits a product ------------------------------===//

#include "moe/Dialect/SM90/Transforms/Schedule.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::sm90;

bool sm90::suitsWgmma(tile::RaggedGemmOp op, std::string &why) {
  auto refuse = [&](StringRef text) {
    why = text.str();
    return false;
  };
  Type element = getElementTypeOrSelf(op.getRhs());
  if (!element.isBF16() && !element.isF16())
    return refuse("operands are not bf16 or f16");
  if (!op.getLhs())
    return refuse("lhs is absent");
  if (cast<ShapedType>(op.getLhs().getType()).getRank() != 2)
    return refuse("lhs is a batch");
  if (op.getGather())
    return refuse("lhs is gathered");
  return true;
}

ScheduleAttr sm90::chooseSchedule(tile::RaggedGemmOp op) {
  bool wide = op.getN() > 128 * op.getNumAccumulators();
  return ScheduleAttr::get(op.getContext(), Roles::Cooperative, 128, wide ? 256 : 128, wide ? 4 : 6, /*cluster=*/1,
                           /*raster=*/16, Order::Static, /*buffers=*/2, /*producer_registers=*/40,
                           /*consumer_registers=*/232);
}
