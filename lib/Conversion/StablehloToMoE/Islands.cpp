//===- Islands.cpp - what of a function moe can compute -------------------===//

#include "Islands.h"
#include "Stablehlo.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OpDefinition.h"
#include "moe/Dialect/MoE/IR/MoE.h"
#include "moe/Dialect/Tile/IR/Tile.h"

using namespace mlir;
using namespace mlir::moe;
using namespace mlir::moe::stablehlo;

//===----------------------------------------------------------------------===//
// The copy
//===----------------------------------------------------------------------===//

RaisedCopy::RaisedCopy(func::FuncOp original, ModuleOp module, bool rest) {
  // The functions it calls come along: they are inlined.
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  for (auto other : original->getParentOfType<ModuleOp>().getOps<func::FuncOp>())
    if (other.isPrivate() && other.getName() != original.getName())
      builder.clone(*other);
  IRMapping mapping;
  copy = cast<func::FuncOp>(builder.clone(*original, mapping));
  copy.setPublic();
  SmallVector<Value> values;
  for (Operation &op : original.getBody().front().without_terminator())
    llvm::append_range(values, op.getResults());
  Operation *terminator = copy.getBody().front().getTerminator();
  terminator->setOperands(llvm::map_to_vector(values, [&](Value value) { return mapping.lookup(value); }));
  copy.setFunctionType(builder.getFunctionType(copy.getArgumentTypes(), ValueRange(values).getTypes()));
  copy.removeResAttrsAttr();

  normalize(module);
  importRaggedDots(module);
  raiseIdioms(module);
  if (rest)
    raiseRest(module);

  for (auto [argument, other] : llvm::zip_equal(original.getArguments(), copy.getArguments())) {
    raised[argument] = other;
    originals[other] = argument;
  }
  for (auto [value, other] : llvm::zip_equal(values, copy.getBody().front().getTerminator()->getOperands())) {
    raised[value] = other;
    originals.try_emplace(other, value);
  }
}

//===----------------------------------------------------------------------===//
// Islands
//===----------------------------------------------------------------------===//

static bool isOfMoE(Operation *op) { return isa_and_nonnull<MoEDialect>(op->getDialect()); }

/// Elementwise ops that kernels compute: on matrices and vectors of their element types.
static bool isKernelElementwise(Operation *op) {
  auto isTensor = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || tensor.getRank() < 1 || tensor.getRank() > 2 || !tensor.hasStaticShape())
      return false;
    Type element = tensor.getElementType();
    return element.isF32() || element.isBF16() || element.isF16() || element.isInteger(1) || element.isInteger(8) ||
           element.isInteger(32) || element.isInteger(64);
  };
  if (!llvm::all_of(op->getOperandTypes(), isTensor) || !llvm::all_of(op->getResultTypes(), isTensor) ||
      op->getNumResults() != 1)
    return false;
  if (isa<math::ExpOp, math::TanhOp, math::LogOp, math::SqrtOp, math::RsqrtOp, math::AbsFOp>(op))
    return true;
  return isa_and_nonnull<arith::ArithDialect>(op->getDialect()) && OpTrait::hasElementwiseMappableTraits(op);
}

void Islands::add(Operation *op) {
  if (!op || members.contains(op))
    return;
  if (!isOfMoE(op) && !isa<tensor::CastOp, arith::ConstantOp>(op) && !isKernelElementwise(op))
    return;
  members.insert(op);
  for (Value operand : op->getOperands())
    add(operand.getDefiningOp());
}

/// Adds all that a value is made of to `made`; false if moe cannot compute some of it.
static bool collectMaking(Value result, llvm::SetVector<Operation *> &made) {
  SmallVector<Value> work{result};
  while (!work.empty()) {
    Operation *op = work.pop_back_val().getDefiningOp();
    if (!op || made.contains(op))
      continue;
    if (!isOfMoE(op) && !isa<tile::RowsOp, tensor::CastOp, tensor::EmptyOp, arith::ConstantOp>(op) &&
        !isKernelElementwise(op))
      return false;
    made.insert(op);
    llvm::append_range(work, op->getOperands());
  }
  return true;
}

Islands::Islands(ValueRange results) {
  for (Value result : results) {
    llvm::SetVector<Operation *> made;
    if (collectMaking(result, made))
      members.insert_range(made);
  }
  count = members.empty() ? 0 : 1;
}

Islands::Islands(RaisedCopy &copy) {
  // What a ragged product is made of, and what is made of that by moe ops.
  for (Operation &op : copy.block())
    if (isa<RaggedMatmulOp>(op))
      add(&op);
  if (members.empty())
    return;
  for (Operation &op : copy.block())
    if ((isOfMoE(&op) || isa<tensor::CastOp>(op)) &&
        llvm::any_of(op.getOperands(), [&](Value operand) { return contains(operand); }))
      add(&op);

  // Work before the first moe op stays outside, where it can be fused with what is there, unless only the copy has it.
  DenseSet<Operation *> afterMoE;
  for (Operation &op : copy.block()) {
    if (!members.contains(&op))
      continue;
    bool after = isOfMoE(&op) || llvm::any_of(op.getOperands(), [&](Value operand) {
                   return operand.getDefiningOp() && afterMoE.contains(operand.getDefiningOp());
                 });
    if (after)
      afterMoE.insert(&op);
    else if (isKernelElementwise(&op) && !isa<arith::ConstantOp>(op) && copy.getOriginal(op.getResult(0)))
      members.remove(&op);
  }

  for (Operation &op : copy.block().without_terminator()) {
    unsigned number = 0;
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        Operation *producer = operand.getDefiningOp();
        if (!producer || producer->getBlock() != op.getBlock())
          continue;
        bool leaves = members.contains(producer) && !members.contains(&op) && !isa<arith::ConstantOp>(producer);
        number = std::max(number, numbers.lookup(producer) + leaves);
      }
    });
    numbers[&op] = number;
    if (isOfMoE(&op) && members.contains(&op))
      count = std::max(count, number + 1);
  }
}
