//===- OutlineKernels.cpp - tile-outline-kernels ----------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "moe/Dialect/Prog/IR/Kernels.h"
#include "moe/Dialect/Prog/IR/Prog.h"
#include "moe/Dialect/Tile/IR/Tile.h"
#include "moe/Dialect/Tile/Transforms/Passes.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEOUTLINEKERNELSPASS
#include "moe/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

/// How a kernel uses one of its memrefs: the value of `prog.access`.
static StringRef getAccess(DestinationStyleOpInterface op, OpOperand &operand) {
  if (!op.isDpsInit(&operand))
    return "read";
  auto gemm = dyn_cast<RaggedGemmOp>(op.getOperation());
  return gemm && gemm.getAccumulate() ? "readwrite" : "write";
}

/// Operands of a kernel op as a launch passes them: memrefs, then index scalars. Fails with an error on a tensor.
static FailureOr<SmallVector<OpOperand *>> getLaunchOperands(Operation *op) {
  SmallVector<OpOperand *> operands, scalars;
  for (OpOperand &operand : op->getOpOperands()) {
    Type type = operand.get().getType();
    if (isa<TensorType>(type))
      return op->emitOpError("operand #") << operand.getOperandNumber() << " is " << type
                                          << ", expected a memref: bufferize before outlining kernels";
    (isa<BaseMemRefType>(type) ? operands : scalars).push_back(&operand);
  }
  operands.append(scalars);
  return operands;
}

namespace {

class Outliner {
public:
  explicit Outliner(ModuleOp kernels) : kernels(kernels), symbols(kernels) {
    llvm::append_range(known, kernels.getOps<func::FuncOp>());
  }

  /// Moves `op` into a kernel called `name`, or into an equal one, and launches it from here.
  LogicalResult outline(KernelOpInterface op, const Twine &name) {
    FailureOr<SmallVector<OpOperand *>> operands = getLaunchOperands(op);
    if (failed(operands))
      return failure();
    func::FuncOp kernel = getOrInsert(buildKernel(op, *operands, name));
    OpBuilder builder(op);
    auto toI64 = [&](Value value) -> Value {
      return arith::IndexCastOp::create(builder, op->getLoc(), builder.getI64Type(), value);
    };
    SmallVector<Value> arguments;
    IntegerAttr bounds;
    for (auto [i, operand] : llvm::enumerate(*operands)) {
      Value value = operand->get();
      if (value == op.getBoundsOut())
        bounds = builder.getI64IntegerAttr(i);
      arguments.push_back(value.getType().isIndex() ? toI64(value) : value);
    }
    auto symbol = SymbolRefAttr::get(kernels.getSymNameAttr(), {FlatSymbolRefAttr::get(kernel.getSymNameAttr())});
    Cost cost = op.getCost(builder);
    prog::LaunchOp::create(builder, op->getLoc(), symbol, arguments, toI64(cost.flops), toI64(cost.bytes), bounds);
    op->erase();
    return success();
  }

private:
  func::FuncOp buildKernel(Operation *op, ArrayRef<OpOperand *> operands, const Twine &name) {
    OpBuilder builder(op->getContext());
    SmallVector<Type> types;
    SmallVector<DictionaryAttr> attributes;
    auto dpsOp = cast<DestinationStyleOpInterface>(op);
    for (OpOperand *operand : operands) {
      types.push_back(operand->get().getType());
      SmallVector<NamedAttribute> attribute;
      if (isa<BaseMemRefType>(types.back()))
        attribute.push_back(builder.getNamedAttr("prog.access", builder.getStringAttr(getAccess(dpsOp, *operand))));
      attributes.push_back(builder.getDictionaryAttr(attribute));
    }
    auto kernel = func::FuncOp::create(op->getLoc(), name.str(), builder.getFunctionType(types, {}), {}, attributes);
    builder.setInsertionPointToStart(kernel.addEntryBlock());
    Operation *moved = builder.clone(*op);
    for (auto [i, operand] : llvm::enumerate(operands))
      moved->setOperand(operand->getOperandNumber(), kernel.getArgument(i));
    func::ReturnOp::create(builder, op->getLoc());
    return kernel;
  }

  func::FuncOp getOrInsert(func::FuncOp kernel) {
    for (func::FuncOp other : known) {
      if (!prog::isSameKernel(other, kernel))
        continue;
      kernel.erase();
      return other;
    }
    symbols.insert(kernel);
    known.push_back(kernel);
    return kernel;
  }

  ModuleOp kernels;
  SymbolTable symbols;
  SmallVector<func::FuncOp> known;
};

struct OutlineKernels : tile::impl::TileOutlineKernelsPassBase<OutlineKernels> {
  void runOnOperation() override {
    ModuleOp top = getOperation();
    SmallVector<std::pair<func::FuncOp, SmallVector<KernelOpInterface>>> work;
    for (auto function : top.getOps<func::FuncOp>()) {
      SmallVector<KernelOpInterface> ops;
      function.walk([&](KernelOpInterface op) { ops.push_back(op); });
      if (!ops.empty())
        work.emplace_back(function, std::move(ops));
    }
    if (work.empty())
      return;
    ModuleOp kernels = prog::getOrCreateKernels(top);
    if (!kernels)
      return signalPassFailure();
    Outliner outliner(kernels);
    for (auto &[function, ops] : work)
      for (auto [i, op] : llvm::enumerate(ops))
        if (failed(outliner.outline(op, function.getName() + "_" + Twine(i) + "_" + op->getName().stripDialect())))
          return signalPassFailure();
  }
};

} // namespace
