//===- Numbers.h - short names for integer arithmetic in kernels --------------===//
#ifndef MOE_LIB_CONVERSION_NUMBERS_H
#define MOE_LIB_CONVERSION_NUMBERS_H

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::sm90 {

/// Builds at a builder's place. A constant takes the type of the value beside it; alone it is i32. Quotients and shifts
/// to the right are unsigned, minima and maxima signed.
class Numbers {
public:
  Numbers(OpBuilder &builder, Location loc) : b(builder), loc(loc) {}

  template <typename OpT, typename... Args> OpT op(Args &&...args) {
    return OpT::create(b, loc, std::forward<Args>(args)...);
  }
  Type i1() { return b.getI1Type(); }
  Type i32() { return b.getI32Type(); }
  Type i64() { return b.getI64Type(); }
  Type f32() { return b.getF32Type(); }

  Value integer(int64_t value, Type type) { return op<arith::ConstantOp>(b.getIntegerAttr(type, value)); }
  Value c(int64_t value) { return integer(value, i32()); }
  Value c64(int64_t value) { return integer(value, i64()); }
  Value add(Value x, Value y) { return op<arith::AddIOp>(x, y); }
  Value add(Value x, int64_t y) { return y == 0 ? x : add(x, integer(y, x.getType())); }
  Value sub(Value x, Value y) { return op<arith::SubIOp>(x, y); }
  Value mul(Value x, Value y) { return op<arith::MulIOp>(x, y); }
  Value mul(Value x, int64_t y) { return y == 1 ? x : mul(x, integer(y, x.getType())); }
  Value div(Value x, Value y) { return op<arith::DivUIOp>(x, y); }
  Value div(Value x, int64_t y) { return div(x, integer(y, x.getType())); }
  Value rem(Value x, Value y) { return op<arith::RemUIOp>(x, y); }
  Value rem(Value x, int64_t y) { return rem(x, integer(y, x.getType())); }
  Value ceilDiv(Value x, int64_t y) { return div(add(x, y - 1), y); }
  Value shl(Value x, int64_t y) { return op<arith::ShLIOp>(x, integer(y, x.getType())); }
  Value shr(Value x, int64_t y) { return op<arith::ShRUIOp>(x, integer(y, x.getType())); }
  Value both(Value x, Value y) { return op<arith::AndIOp>(x, y); }
  Value both(Value x, int64_t y) { return both(x, integer(y, x.getType())); }
  Value either(Value x, Value y) { return op<arith::OrIOp>(x, y); }
  Value either(Value x, int64_t y) { return either(x, integer(y, x.getType())); }
  Value differing(Value x, Value y) { return op<arith::XOrIOp>(x, y); }
  Value no(Value x) { return differing(x, integer(1, i1())); }
  Value min(Value x, Value y) { return op<arith::MinSIOp>(x, y); }
  Value max(Value x, Value y) { return op<arith::MaxSIOp>(x, y); }
  Value compare(arith::CmpIPredicate predicate, Value x, Value y) { return op<arith::CmpIOp>(predicate, x, y); }
  Value compare(arith::CmpIPredicate predicate, Value x, int64_t y) {
    return compare(predicate, x, integer(y, x.getType()));
  }
  Value equal(Value x, Value y) { return compare(arith::CmpIPredicate::eq, x, y); }
  Value equal(Value x, int64_t y) { return equal(x, integer(y, x.getType())); }
  Value less(Value x, Value y) { return compare(arith::CmpIPredicate::slt, x, y); }
  /// Unsigned, so that a negative x is not below.
  Value below(Value x, Value y) { return compare(arith::CmpIPredicate::ult, x, y); }
  Value select(Value condition, Value x, Value y) { return op<arith::SelectOp>(condition, x, y); }
  Value extu(Value x, Type type) { return op<arith::ExtUIOp>(type, x); }
  Value ext64(Value x) { return op<arith::ExtSIOp>(i64(), x); }
  Value trunc32(Value x) { return op<arith::TruncIOp>(i32(), x); }

  OpBuilder &b;
  Location loc;
};

} // namespace mlir::sm90

#endif
