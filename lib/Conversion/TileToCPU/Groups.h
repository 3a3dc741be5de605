//===- Groups.h - where groups of rows start -------------------------------===//
#ifndef MOE_LIB_CONVERSION_TILETOCPU_GROUPS_H
#define MOE_LIB_CONVERSION_TILETOCPU_GROUPS_H

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::tile::cpu {

/// Row (i64) where the group after [start, start + size) starts: `size` is rounded up to `align`, but the result is at
/// most `rows`. Needs 0 <= start <= rows and 0 <= size <= rows - start, so that no sum can overflow.
inline Value nextStart(OpBuilder &builder, Location loc, Value start, Value size, Value rows, int64_t align) {
  Value end = arith::AddIOp::create(builder, loc, start, size);
  if (align == 1)
    return end;
  Value zero = arith::ConstantIntOp::create(builder, loc, 0, 64);
  Value alignment = arith::ConstantIntOp::create(builder, loc, align, 64);
  Value over = arith::RemUIOp::create(builder, loc, size, alignment);
  Value isAligned = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, over, zero);
  Value missing = arith::SubIOp::create(builder, loc, alignment, over);
  Value pad = arith::SelectOp::create(builder, loc, isAligned, zero, missing);
  Value left = arith::SubIOp::create(builder, loc, rows, end);
  return arith::AddIOp::create(builder, loc, end, arith::MinSIOp::create(builder, loc, pad, left));
}

} // namespace mlir::tile::cpu

#endif
