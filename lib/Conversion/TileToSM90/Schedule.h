//===- Schedule.h - which kernel suits a product --------------------------------===//
#ifndef MOE_LIB_CONVERSION_TILETOSM90_SCHEDULE_H
#define MOE_LIB_CONVERSION_TILETOSM90_SCHEDULE_H

#include "moe/Dialect/SM90/IR/SM90.h"
#include "moe/Dialect/Tile/IR/Tile.h"

namespace mlir::sm90 {

/// Whether the wgmma kernel computes this product; if not, `why` says what stands against it.
bool suitsWgmma(tile::RaggedGemmOp op, std::string &why);

/// The op's schedule attribute, or what the cost model chooses. The op suits wgmma.
ScheduleAttr getSchedule(tile::RaggedGemmOp op);

} // namespace mlir::sm90

#endif
