//===- TileToCPU.cpp - kernels of tile ops become CPU functions -----------===//

#include "Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "moe/Conversion/Passes.h"
#include "moe/Dialect/Prog/IR/Kernels.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::moe {
#define GEN_PASS_DEF_CONVERTTILETOCPUPASS
#include "moe/Conversion/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;
using namespace mlir::tile;

void cpu::emitFault(OpBuilder &builder, Location loc, Value context, FaultKind kind, Value row, Value value,
                    Value limit) {
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  // The function pointer is the first field of moert_cpu_context.
  Value callee = LLVM::LoadOp::create(builder, loc, pointer, context);
  Value kindValue = LLVM::ConstantOp::create(builder, loc, i32, static_cast<int32_t>(kind));
  Value row64 = arith::IndexCastOp::create(builder, loc, i64, row);
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()), {pointer, i32, i64, i64, i64});
  LLVM::CallOp::create(builder, loc, type, ValueRange{callee, context, kindValue, row64, value, limit});
}

namespace {

/// The only tile op of a kernel function, or null after an error: the function holds it and a return, nothing else, so
/// that its operands are arguments.
Operation *getTileOp(func::FuncOp function) {
  if (!function.getBody().hasOneBlock() || function.front().getOperations().size() != 2 ||
      function.getNumResults() != 0 ||
      function.front().front().getName().getDialectNamespace() != TileDialect::getDialectNamespace()) {
    function.emitError("kernel '") << function.getName() << "' must hold one tile op and a return without values";
    return nullptr;
  }
  return &function.front().front();
}

/// Memrefs are addressed through their sizes and strides; rows must be contiguous.
LogicalResult checkArguments(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments()) {
    if (argument.getType().isIndex())
      continue;
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type)
      return function.emitError("argument ") << argument.getArgNumber() << " of kernel '" << function.getName()
                                             << "' is " << argument.getType() << ", expected a memref or an index";
    SmallVector<int64_t> strides;
    int64_t offset;
    if (failed(type.getStridesAndOffset(strides, offset)) || (!strides.empty() && strides.back() != 1))
      return function.emitError("argument ") << argument.getArgNumber() << " of kernel '" << function.getName()
                                             << "' is " << type << ", expected an innermost stride of 1";
  }
  return success();
}

struct ConvertTileToCPU : moe::impl::ConvertTileToCPUPassBase<ConvertTileToCPU> {
  using ConvertTileToCPUPassBase::ConvertTileToCPUPassBase;

  void runOnOperation() override {
    if (lanes < 4 || lanes > 16 || (lanes & (lanes - 1)) != 0) {
      getOperation().emitError("option lanes is ") << lanes.getValue() << ", expected 4, 8 or 16";
      return signalPassFailure();
    }
    if (registers < 16) {
      getOperation().emitError("option registers is ") << registers.getValue() << ", expected 16 or more";
      return signalPassFailure();
    }
    auto kernels = prog::findKernels(getOperation());
    if (!kernels)
      return;
    for (auto function : llvm::make_early_inc_range(kernels.getOps<func::FuncOp>()))
      if (!function.isExternal() && failed(convert(function)))
        return signalPassFailure();
  }

  LogicalResult convert(func::FuncOp function) {
    Operation *op = getTileOp(function);
    if (!op || failed(checkArguments(function)))
      return failure();
    MLIRContext *context = &getContext();
    Location loc = function.getLoc();
    OpBuilder builder(function);
    Type index = builder.getIndexType();

    SmallVector<Type> tasksTypes(function.getArgumentTypes());
    SmallVector<Type> runTypes{LLVM::LLVMPointerType::get(context)};
    llvm::append_range(runTypes, tasksTypes);
    runTypes.append(2, index);

    std::string name = function.getName().str();
    function.setName(name + ".tile"); // frees the name; erased below
    cpu::Kernel kernel;
    kernel.original = function;
    kernel.target = {lanes, registers};
    kernel.tasks = func::FuncOp::create(builder, loc, name + ".tasks", builder.getFunctionType(tasksTypes, index));
    kernel.run = func::FuncOp::create(builder, loc, name, builder.getFunctionType(runTypes, {}));
    kernel.tasks.addEntryBlock();
    kernel.run.addEntryBlock();

    LogicalResult result =
        llvm::TypeSwitch<Operation *, LogicalResult>(op)
            .Case<OffsetsOp, PlanOp, RaggedGemmOp, RowsOp>([&](auto typed) { return cpu::lower(typed, kernel); })
            .Default([](Operation *other) { return other->emitError("is not a kernel"); });
    if (succeeded(result))
      function.erase();
    return result;
  }
};

} // namespace
