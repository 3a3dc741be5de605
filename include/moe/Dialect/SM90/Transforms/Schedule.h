//===- Schedule.h - which kernel suits a product --------------------------------===//
#ifndef MOE_DIALECT_SM90_TRANSFORMS_SCHEDULE_H
#define MOE_DIALECT_SM90_TRANSFORMS_SCHEDULE_H

#include "moe/Dialect/SM90/IR/SM90.h"
#include "moe/Dialect/Tile/IR/Tile.h"

namespace mlir::sm90 {

/// Whether the wgmma kernel computes this product; if not, `why` says what stands against it.
bool suitsWgmma(tile::RaggedGemmOp op, std::string &why);

/// The best schedule of a product that suits wgmma.
ScheduleAttr chooseSchedule(tile::RaggedGemmOp op);

} // namespace mlir::sm90

#endif
