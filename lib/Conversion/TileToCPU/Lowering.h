//===- Lowering.h - from one tile op to a CPU kernel ----------------------===//
//
// The pass makes two empty functions for each kernel and asks the lowering of its tile op to fill them:
//   tasks(memrefs..., scalars...) -> index                    how many independent tasks there are
//   run(context, memrefs..., scalars..., begin, end)          runs tasks begin <= t < end
// Sizes come from the memrefs (innermost stride 1, outer strides free). runtime/CPU/KernelABI.h has the contract.
//
//===----------------------------------------------------------------------===//
#ifndef MOE_LIB_CONVERSION_TILETOCPU_LOWERING_H
#define MOE_LIB_CONVERSION_TILETOCPU_LOWERING_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "moe/Dialect/Tile/IR/Tile.h"

namespace mlir::tile::cpu {

/// What a lowering may know of the CPU.
struct Target {
  int64_t lanes;     ///< f32 elements of a vector register
  int64_t registers; ///< vector registers
};

/// One kernel being built. `op` still stands in the original function, whose arguments are its operands.
struct Kernel {
  func::FuncOp tasks, run;
  func::FuncOp original; ///< holds the op; erased afterwards
  Target target;

  /// The argument of `tasks` (or `run`) that carries an operand of the tile op.
  Value inTasks(Value operand) const { return argument(tasks, cast<BlockArgument>(operand).getArgNumber()); }
  Value inRun(Value operand) const { return argument(run, cast<BlockArgument>(operand).getArgNumber() + 1); }
  /// The moert_cpu_context pointer, and the range of tasks to run (index).
  Value context() const { return argument(run, 0); }
  Value begin() const { return argument(run, func::FuncOp(original).getFunctionType().getNumInputs() + 1); }
  Value end() const { return argument(run, func::FuncOp(original).getFunctionType().getNumInputs() + 2); }

private:
  static Value argument(func::FuncOp function, unsigned i) { return function.getArgument(i); }
};

/// Fill the entry blocks of kernel.tasks and kernel.run (empty on entry; terminated by func.return on success).
/// On failure an error has been emitted at the op.
LogicalResult lower(OffsetsOp op, const Kernel &kernel);
LogicalResult lower(PlanOp op, const Kernel &kernel);
LogicalResult lower(RaggedGemmOp op, const Kernel &kernel);
LogicalResult lower(RowsOp op, const Kernel &kernel);

/// Emits a call of context->fault(kind, row, value, limit); row index, value and limit i64.
void emitFault(OpBuilder &builder, Location loc, Value context, FaultKind kind, Value row, Value value, Value limit);

} // namespace mlir::tile::cpu

#endif
