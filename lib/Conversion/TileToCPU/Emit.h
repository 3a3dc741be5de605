//===- Emit.h - short names for the ops that lowerings build --------------===//
#ifndef MOE_LIB_CONVERSION_TILETOCPU_EMIT_H
#define MOE_LIB_CONVERSION_TILETOCPU_EMIT_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"

namespace mlir::tile::cpu {

/// A builder with arithmetic on `index` values and structured loops. Loop bodies are functions; the builder's insertion
/// point is inside the loop while one runs, and behind the loop afterwards.
class Emit : public ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  Value index(int64_t value) { return arith::ConstantIndexOp::create(*this, value); }
  Value add(Value a, Value b) { return createOrFold<arith::AddIOp>(a, b); }
  Value sub(Value a, Value b) { return createOrFold<arith::SubIOp>(a, b); }
  Value mul(Value a, Value b) { return createOrFold<arith::MulIOp>(a, b); }
  Value min(Value a, Value b) { return createOrFold<arith::MinSIOp>(a, b); }
  Value max(Value a, Value b) { return createOrFold<arith::MaxSIOp>(a, b); }
  // Divisions of values that are not negative.
  Value div(Value a, Value b) { return createOrFold<arith::DivUIOp>(a, b); }
  Value rem(Value a, Value b) { return createOrFold<arith::RemUIOp>(a, b); }
  Value ceilDiv(Value a, Value b) { return div(add(a, sub(b, index(1))), b); }
  Value roundUp(Value a, Value b) { return mul(ceilDiv(a, b), b); }
  Value add(Value a, int64_t b) { return add(a, index(b)); }
  Value mul(Value a, int64_t b) { return mul(a, index(b)); }
  Value ceilDiv(Value a, int64_t b) { return ceilDiv(a, index(b)); }
  Value roundUp(Value a, int64_t b) { return roundUp(a, index(b)); }

  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return createOrFold<arith::CmpIOp>(predicate, a, b);
  }
  Value less(Value a, Value b) { return compare(arith::CmpIPredicate::slt, a, b); }
  Value toIndex(Value integer) { return createOrFold<arith::IndexCastOp>(getIndexType(), integer); }

  Value dim(Value memref, int64_t dimension) { return createOrFold<memref::DimOp>(memref, dimension); }
  Value load(Value memref, ValueRange indices) { return memref::LoadOp::create(*this, memref, indices); }

  /// An array on the stack, aligned for every vector. Only in an entry block.
  Value scratch(ArrayRef<int64_t> shape, Type element) {
    return memref::AllocaOp::create(*this, MemRefType::get(shape, element), getI64IntegerAttr(64));
  }

  /// All zeros: of an index, an integer, a float, or a vector of them.
  Value zero(Type type) { return arith::ConstantOp::create(*this, getZeroAttr(type)); }

  /// A float value or vector in another float element type: exact when wider, rounded to nearest even when narrower.
  Value castFloat(Value value, Type element) {
    Type from = getElementTypeOrSelf(value.getType());
    if (from == element)
      return value;
    Type type = element;
    if (auto vector = dyn_cast<VectorType>(value.getType()))
      type = vector.clone(element);
    if (from.getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth())
      return arith::ExtFOp::create(*this, type, value);
    return arith::TruncFOp::create(*this, type, value);
  }

  /// for (i = begin; i < end; i += step) body(i)
  void loop(Value begin, Value end, int64_t step, llvm::function_ref<void(Value)> body) {
    auto op = scf::ForOp::create(*this, begin, end, index(step));
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(op.getBody());
    body(op.getInductionVar());
  }
  void loop(int64_t begin, Value end, int64_t step, llvm::function_ref<void(Value)> body) {
    loop(index(begin), end, step, body);
  }

  /// The same with values that go from one turn to the next; returns the last ones.
  SmallVector<Value> loop(Value begin, Value end, int64_t step, ValueRange initial,
                          llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
    auto op = scf::ForOp::create(*this, begin, end, index(step), initial);
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(op.getBody());
    SmallVector<Value> yielded = body(op.getInductionVar(), op.getRegionIterArgs());
    scf::YieldOp::create(*this, yielded);
    return llvm::to_vector_of<Value>(op.getResults());
  }

  void branch(Value condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise = {}) {
    auto op = scf::IfOp::create(*this, condition, /*withElseRegion=*/static_cast<bool>(otherwise));
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(op.thenBlock());
    then();
    if (otherwise) {
      setInsertionPointToStart(op.elseBlock());
      otherwise();
    }
  }
};

} // namespace mlir::tile::cpu

#endif
