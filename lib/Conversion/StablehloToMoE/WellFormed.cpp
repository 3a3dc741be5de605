//===- WellFormed.cpp - ops that nobody has verified ----------------------===//
//
// Unregistered ops can have any operands, results, types and attributes. What the patterns rely on is checked here,
// once.
//
//===----------------------------------------------------------------------===//

#include "Stablehlo.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mlir::moe;
using namespace mlir::moe::stablehlo;

/// Whether shapes agree with what the attributes say. All types are ranked tensors.
using Check = bool (*)(Operation *);

static RankedTensorType operandType(Operation *op, unsigned i) { return getTensor(op->getOperand(i)); }
static RankedTensorType resultType(Operation *op, unsigned i = 0) { return getTensor(op->getResult(i)); }

static bool isAny(Operation *) { return true; }

static bool sameShapes(Operation *op) {
  ArrayRef<int64_t> shape = resultType(op).getShape();
  return llvm::all_of(op->getOperands(), [&](Value value) { return getTensor(value).getShape() == shape; });
}

static bool isReshape(Operation *op) {
  RankedTensorType from = operandType(op, 0), to = resultType(op);
  return from.hasStaticShape() && to.hasStaticShape() && from.getNumElements() == to.getNumElements() &&
         from.getElementType() == to.getElementType();
}

static bool isBroadcast(Operation *op) {
  RankedTensorType from = operandType(op, 0), to = resultType(op);
  std::optional<SmallVector<int64_t>> dims = getNumbers(op, "broadcast_dimensions");
  if (!dims || static_cast<int64_t>(dims->size()) != from.getRank() || from.getElementType() != to.getElementType())
    return false;
  for (auto [size, dim] : llvm::zip_equal(from.getShape(), *dims))
    if (dim < 0 || dim >= to.getRank() || llvm::count(*dims, dim) != 1 || (size != 1 && size != to.getDimSize(dim)))
      return false;
  return true;
}

static bool isIota(Operation *op) {
  std::optional<int64_t> dim = getNumber(op, "iota_dimension");
  return dim && *dim >= 0 && *dim < resultType(op).getRank();
}

static bool isSlice(Operation *op) {
  RankedTensorType from = operandType(op, 0), to = resultType(op);
  std::optional<SmallVector<int64_t>> start = getNumbers(op, "start_indices"), limit = getNumbers(op, "limit_indices"),
                                      stride = getNumbers(op, "strides");
  size_t rank = from.getRank();
  if (!start || !limit || !stride || start->size() != rank || limit->size() != rank || stride->size() != rank ||
      to.getRank() != from.getRank() || from.getElementType() != to.getElementType())
    return false;
  for (size_t i = 0; i < rank; ++i) {
    int64_t first = (*start)[i], last = (*limit)[i], step = (*stride)[i];
    if (first < 0 || last < first || last > from.getDimSize(i) || step < 1 ||
        to.getDimSize(i) != (last - first + step - 1) / step)
      return false;
  }
  return true;
}

/// Any number of operands, each with its initial value.
static bool isReduce(Operation *op) {
  std::optional<SmallVector<int64_t>> dims = getNumbers(op, "dimensions");
  if (op->getNumOperands() != 2 || op->getNumResults() != 1 || !dims)
    return op->getNumOperands() == 2 * op->getNumResults();
  RankedTensorType from = operandType(op, 0), init = operandType(op, 1), to = resultType(op);
  SmallVector<int64_t> shape;
  for (auto [dim, size] : llvm::enumerate(from.getShape()))
    if (!llvm::is_contained(*dims, static_cast<int64_t>(dim)))
      shape.push_back(size);
  return init.getRank() == 0 && to.getShape() == ArrayRef(shape) && from.getElementType() == to.getElementType() &&
         init.getElementType() == to.getElementType();
}

static bool isSort(Operation *op) {
  if (op->getNumOperands() == 0 || op->getOperandTypes() != op->getResultTypes())
    return false;
  ArrayRef<int64_t> shape = operandType(op, 0).getShape();
  return llvm::all_of(op->getOperands(), [&](Value value) { return getTensor(value).getShape() == shape; });
}

static bool isScatter(Operation *op) {
  return op->getOperand(0).getType() == op->getResult(0).getType() &&
         operandType(op, 2).getElementType() == resultType(op).getElementType();
}

static bool isGather(Operation *op) { return operandType(op, 0).getElementType() == resultType(op).getElementType(); }

static bool isRaisableTopK(Operation *op) {
  RankedTensorType from = operandType(op, 0), values = resultType(op, 0), ids = resultType(op, 1);
  return from.getRank() >= 1 && values.getElementType() == from.getElementType() &&
         values.getShape() == ids.getShape() && values.getRank() == from.getRank() &&
         values.getShape().drop_back() == from.getShape().drop_back();
}

bool stablehlo::isWellFormed(Operation *op) {
  struct Form {
    int operands, results; ///< -1 for any number
    Check check;
  };
  static const llvm::StringMap<Form> kForms{
      {"chlo.top_k", {1, 2, isRaisableTopK}},
      {"stablehlo.abs", {1, 1, sameShapes}},
      {"stablehlo.add", {2, 1, sameShapes}},
      {"stablehlo.and", {2, 1, sameShapes}},
      {"stablehlo.broadcast_in_dim", {1, 1, isBroadcast}},
      {"stablehlo.clamp", {3, 1, isAny}},
      {"stablehlo.compare", {2, 1, sameShapes}},
      {"stablehlo.concatenate", {-1, 1, isAny}},
      {"stablehlo.constant", {0, 1, isAny}},
      {"stablehlo.convert", {1, 1, sameShapes}},
      {"stablehlo.divide", {2, 1, sameShapes}},
      {"stablehlo.dot_general", {2, 1, isAny}},
      {"stablehlo.exponential", {1, 1, sameShapes}},
      {"stablehlo.gather", {2, 1, isGather}},
      {"stablehlo.iota", {0, 1, isIota}},
      {"stablehlo.log", {1, 1, sameShapes}},
      {"stablehlo.logistic", {1, 1, sameShapes}},
      {"stablehlo.maximum", {2, 1, sameShapes}},
      {"stablehlo.minimum", {2, 1, sameShapes}},
      {"stablehlo.multiply", {2, 1, sameShapes}},
      {"stablehlo.negate", {1, 1, sameShapes}},
      {"stablehlo.or", {2, 1, sameShapes}},
      {"stablehlo.reduce", {-1, -1, isReduce}},
      {"stablehlo.remainder", {2, 1, sameShapes}},
      {"stablehlo.reshape", {1, 1, isReshape}},
      {"stablehlo.rsqrt", {1, 1, sameShapes}},
      {"stablehlo.scatter", {3, 1, isScatter}},
      {"stablehlo.select", {3, 1, isAny}},
      {"stablehlo.sign", {1, 1, sameShapes}},
      {"stablehlo.slice", {1, 1, isSlice}},
      {"stablehlo.sort", {-1, -1, isSort}},
      {"stablehlo.sqrt", {1, 1, sameShapes}},
      {"stablehlo.subtract", {2, 1, sameShapes}},
      {"stablehlo.tanh", {1, 1, sameShapes}},
      {"stablehlo.transpose", {1, 1, isAny}},
      {"stablehlo.xor", {2, 1, sameShapes}},
  };
  auto form = kForms.find(isTopK(op) ? "chlo.top_k" : op->getName().getStringRef());
  if (form == kForms.end())
    return true;
  auto [operands, results, check] = form->second;
  auto fits = [](int expected, unsigned found) { return expected < 0 || static_cast<unsigned>(expected) == found; };
  auto isTensor = [](Type type) { return isa<RankedTensorType>(type); };
  return fits(operands, op->getNumOperands()) && fits(results, op->getNumResults()) &&
         llvm::all_of(op->getOperandTypes(), isTensor) && llvm::all_of(op->getResultTypes(), isTensor) && check(op);
}
