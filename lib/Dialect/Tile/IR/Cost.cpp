//===- Cost.cpp - what kernels compute and move -----------------------------===//
//
// Every operand is read or written once, however often a kernel comes back to it: that is what no kernel can do
// without. Of an operand of which only some rows are read, such as the tokens of a gather, no more is counted than what
// can be read.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "moe/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace mlir::tile;

namespace {

/// Builds sums and products of sizes.
class Sizes {
public:
  Sizes(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  /// Sizes that pass 64 bits wrap around: nothing can run them.
  Value constant(uint64_t value) { return arith::ConstantIndexOp::create(builder, loc, static_cast<int64_t>(value)); }
  Value add(Value a, Value b) { return builder.createOrFold<arith::AddIOp>(loc, a, b); }
  Value mul(Value a, Value b) { return builder.createOrFold<arith::MulIOp>(loc, a, b); }
  Value mul(Value a, uint64_t b) { return mul(a, constant(b)); }
  Value min(Value a, Value b) { return builder.createOrFold<arith::MinSIOp>(loc, a, b); }
  Value dim(Value buffer, int64_t d) { return builder.createOrFold<memref::DimOp>(loc, buffer, d); }

  /// Number of elements in the dimensions from `first` on.
  Value elements(Value buffer, int64_t first = 0) {
    Value product = constant(1);
    for (int64_t d = first, rank = cast<MemRefType>(buffer.getType()).getRank(); d < rank; ++d)
      product = mul(product, dim(buffer, d));
    return product;
  }
  Value bytes(Value buffer) { return mul(elements(buffer), elementBytes(buffer.getType())); }
  Value bytes(ValueRange buffers) {
    Value sum = constant(0);
    for (Value buffer : buffers)
      sum = add(sum, bytes(buffer));
    return sum;
  }
  /// Bytes of a buffer of which at most so many slices of its first dimension are used.
  Value bytesOfAtMost(Value buffer, Value slices) {
    return mul(mul(min(dim(buffer, 0), slices), elements(buffer, 1)), elementBytes(buffer.getType()));
  }

  /// Of an element of a shaped type, or of a scalar.
  static uint64_t elementBytes(Type type) {
    return llvm::divideCeil(getElementTypeOrSelf(type).getIntOrFloatBitWidth(), 8);
  }

private:
  OpBuilder &builder;
  Location loc;
};

} // namespace

//===----------------------------------------------------------------------===//
// tile.offsets, tile.plan
//===----------------------------------------------------------------------===//

Cost OffsetsOp::getCost(OpBuilder &builder) {
  Sizes sizes(builder, getLoc());
  return {sizes.constant(0), sizes.add(sizes.bytes(getSizes()), sizes.bytes(getOuts()))};
}
Value OffsetsOp::getBoundsOut() { return getOuts()[0]; }

Cost PlanOp::getCost(OpBuilder &builder) {
  Sizes sizes(builder, getLoc());
  return {sizes.constant(0), sizes.add(sizes.bytes(getIds()), sizes.bytes(getOuts()))};
}
Value PlanOp::getBoundsOut() { return getOuts()[1]; }

//===----------------------------------------------------------------------===//
// tile.ragged_gemm
//===----------------------------------------------------------------------===//

/// The product alone: a multiplication and an addition for each element of the sums. The epilogue is not counted.
static Value getProductFlops(RaggedGemmOp op, Sizes &sizes) {
  if (op.getMode() == GemmMode::Rows)
    return sizes.mul(sizes.mul(sizes.elements(op.getOuts()[0]), op.getK()), 2 * op.getNumAccumulators());
  // A sum of rows only adds.
  Value elements = sizes.elements(op.getRhs());
  return op.getLhs() ? sizes.mul(sizes.mul(elements, op.getK()), 2) : elements;
}

Cost RaggedGemmOp::getCost(OpBuilder &builder) {
  Sizes sizes(builder, getLoc());
  Value bytes = sizes.mul(sizes.bytes(getOuts()), getAccumulate() ? 2 : 1);
  for (Value operand : {getGather(), getBounds(), getSlots()})
    if (operand)
      bytes = sizes.add(bytes, sizes.bytes(operand));
  bytes = sizes.add(bytes, sizes.bytes(getExtras()));
  if (getMode() == GemmMode::Rows && getBounds()) {
    // So many groups have rows, and so many rows can be gathered.
    Value rows = sizes.dim(getOuts()[0], 0);
    bytes = sizes.add(bytes, sizes.bytesOfAtMost(getLhs(), rows));
    bytes = sizes.add(bytes, sizes.bytesOfAtMost(getRhs(), rows));
  } else {
    bytes = sizes.add(bytes, sizes.bytes(getRhs()));
    if (getLhs())
      bytes = sizes.add(bytes, sizes.bytes(getLhs()));
  }
  return {getProductFlops(*this, sizes), bytes};
}

//===----------------------------------------------------------------------===//
// tile.rows
//===----------------------------------------------------------------------===//

/// Operations on floats that an op of a body does for a row. What moves, compares, chooses or converts is none.
static uint64_t getFlops(Operation &op) {
  if (auto reduction = dyn_cast<vector::ReductionOp>(op))
    return isa<FloatType>(reduction.getDest().getType()) ? reduction.getSourceVectorType().getNumElements() : 0;
  if (!isa_and_present<arith::ArithDialect, math::MathDialect>(op.getDialect()) || op.getNumResults() != 1 ||
      isa<arith::ConstantOp, arith::SelectOp>(op) || isa<CastOpInterface>(op))
    return 0;
  Type type = op.getResult(0).getType();
  if (!isa<FloatType>(getElementTypeOrSelf(type)))
    return 0;
  auto vector = dyn_cast<VectorType>(type);
  return (isa<math::FmaOp>(op) ? 2 : 1) * (vector ? static_cast<uint64_t>(vector.getNumElements()) : 1);
}

/// Bytes that the loads of a body read of one of its inputs.
static Value getLoadedBytes(Value input, BlockArgument argument, Value rows, BlockArgument row, Sizes &sizes) {
  uint64_t perRow = 0;
  bool isByRow = true;
  for (Operation *user : argument.getUsers()) {
    auto load = cast<LoadOp>(user);
    auto vector = dyn_cast<VectorType>(load.getType());
    perRow += (vector ? static_cast<uint64_t>(vector.getNumElements()) : 1) * Sizes::elementBytes(load.getType());
    isByRow &= !load.getIndices().empty() && load.getIndices()[0] == row;
  }
  if (!isByRow)
    return sizes.min(sizes.bytes(input), sizes.mul(rows, perRow));
  // A row may be loaded twice, and is read once.
  Value width = sizes.mul(sizes.elements(input, 1), Sizes::elementBytes(input.getType()));
  return sizes.mul(rows, sizes.min(width, sizes.constant(perRow)));
}

Cost RowsOp::getCost(OpBuilder &builder) {
  Sizes sizes(builder, getLoc());
  Value rows = sizes.dim(getOuts()[0], 0), bytes = sizes.bytes(getOuts());
  for (Value operand : {getBounds(), getOrder()})
    if (operand)
      bytes = sizes.add(bytes, sizes.bytes(operand));
  for (auto [input, argument] : llvm::zip_equal(getIns(), getInArguments()))
    bytes = sizes.add(bytes, getLoadedBytes(input, argument, rows, getBody().getArgument(0), sizes));
  uint64_t flops = 0;
  for (Operation &op : getBody().front())
    flops += getFlops(op);
  return {sizes.mul(rows, flops), bytes};
}
