//===- Kernels.h - the module of kernels beside a program -------------------===//
#ifndef MOE_DIALECT_PROG_IR_KERNELS_H
#define MOE_DIALECT_PROG_IR_KERNELS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::prog {

/// Module @kernels: `module` itself, or the one in it; null if there is none.
ModuleOp findKernels(ModuleOp module);

/// Module @kernels of `top`, made at its end if missing; null after an error.
ModuleOp getOrCreateKernels(ModuleOp top);

/// Whether two kernels do the same with the same arguments.
bool isSameKernel(FunctionOpInterface a, FunctionOpInterface b);

} // namespace mlir::prog

#endif
