//===- OpUtils.cpp - what the verifiers and effects of tile ops share -------===//

#include "OpUtils.h"
#include "mlir/IR/TypeUtilities.h"
#include "moe/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace mlir::tile;

void mlir::tile::getKernelEffects(Operation *op, OperandRange outs, bool readsOuts, EffectList &effects) {
  unsigned firstOut = outs.getBeginOperandIndex(), numOuts = outs.size();
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<BaseMemRefType>(operand.get().getType()))
      continue;
    unsigned number = operand.getOperandNumber();
    bool isOut = number >= firstOut && number - firstOut < numOuts;
    if (!isOut || readsOuts)
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
    if (isOut)
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
  }
}

/// A shape as diagnostics show it: [?, 64].
static std::string toString(ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << '[';
  llvm::interleaveComma(shape, stream, [&](int64_t size) {
    if (ShapedType::isDynamic(size))
      stream << '?';
    else
      stream << size;
  });
  stream << ']';
  return text;
}

LogicalResult mlir::tile::verifyOneSemantics(Operation *op) {
  Type first;
  for (OpOperand &operand : op->getOpOperands()) {
    Type type = operand.get().getType();
    if (!isa<ShapedType>(type))
      continue;
    if (!first)
      first = type;
    else if (isa<TensorType>(first) != isa<TensorType>(type))
      return op->emitOpError("operand #")
             << operand.getOperandNumber() << " is " << type << ", expected a "
             << (isa<TensorType>(first) ? "tensor" : "memref") << " like the operands before it";
  }
  return success();
}

LogicalResult mlir::tile::verifyShape(Operation *op, const Twine &name, Value value, ArrayRef<int64_t> expected) {
  ArrayRef<int64_t> shape = cast<ShapedType>(value.getType()).getShape();
  auto fits = [](int64_t found, int64_t expected) {
    return ShapedType::isDynamic(found) || ShapedType::isDynamic(expected) || found == expected;
  };
  if (shape.size() == expected.size() && llvm::all_of_zip(shape, expected, fits))
    return success();
  return op->emitOpError() << name << " has shape " << toString(shape) << ", expected " << toString(expected);
}

LogicalResult mlir::tile::verifyRank(Operation *op, const Twine &name, Value value, int64_t rank) {
  int64_t found = cast<ShapedType>(value.getType()).getRank();
  if (found == rank)
    return success();
  return op->emitOpError() << name << " has rank " << found << ", expected " << rank;
}

LogicalResult mlir::tile::verifyStatic(Operation *op, const Twine &name, Value value, int64_t dim) {
  if (!cast<ShapedType>(value.getType()).isDynamicDim(dim))
    return success();
  return op->emitOpError() << name << " has a dynamic dimension " << dim << ", expected a static one";
}

LogicalResult mlir::tile::verifyElementType(Operation *op, const Twine &name, Value value, Type expected) {
  Type found = getElementTypeOrSelf(value.getType());
  if (found == expected)
    return success();
  return op->emitOpError() << name << " has element type " << found << ", expected " << expected;
}

LogicalResult mlir::tile::verifyBounds(Operation *op, Value bounds) {
  if (failed(verifyShape(op, "bounds", bounds, {ShapedType::kDynamic, 2})))
    return failure();
  return success(succeeded(verifyStatic(op, "bounds", bounds, 0)) && succeeded(verifyStatic(op, "bounds", bounds, 1)));
}

LogicalResult mlir::tile::verifyArguments(Operation *op, StringRef name, Region &region, ArrayRef<Type> expected) {
  Block::BlockArgListType arguments = region.front().getArguments();
  if (arguments.size() != expected.size())
    return op->emitOpError() << name << " has " << arguments.size() << " arguments, expected " << expected.size();
  for (auto [i, argument] : llvm::enumerate(arguments))
    if (argument.getType() != expected[i])
      return op->emitOpError() << name << " argument #" << i << " is " << argument.getType() << ", expected "
                               << expected[i];
  return success();
}

LogicalResult mlir::tile::verifyYields(Operation *op, StringRef name, Region &region, ArrayRef<Type> expected) {
  Operation *yield = region.front().getTerminator();
  if (yield->getNumOperands() != expected.size())
    return yield->emitOpError() << "yields " << yield->getNumOperands() << " values, expected " << expected.size()
                                << " for the outs of " << op->getName();
  for (auto [i, type] : llvm::enumerate(yield->getOperandTypes()))
    if (type != expected[i])
      return yield->emitOpError() << "value #" << i << " of the " << name << " is " << type << ", expected "
                                  << expected[i];
  return success();
}

bool mlir::tile::isElementwise(Operation *op) {
  StringRef dialect = op->getName().getDialectNamespace();
  return (dialect == "arith" || dialect == "math") && OpTrait::hasElementwiseMappableTraits(op);
}

bool mlir::tile::isScalar(Type type) { return type.isIntOrIndexOrFloat(); }
