//===- Passes.td - passes within the prog dialect ------------------------===//

#ifndef MOE_DIALECT_PROG_TRANSFORMS_PASSES_TD
#define MOE_DIALECT_PROG_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def ProgPrepareResultsPass : Pass<"prog-prepare-results", "::mlir::ModuleOp"> {
  let summary = "gives the results of functions on memrefs the layout of a caller's buffers";
  let description = [{
    The caller of a program passes a buffer for each result, whose rows may be padded. So that kernels write there themselves, each
    allocation that a public function returns is used through a cast to `strided<[?, ..., 1]>` (rank 0 and 1: as it is). Whatever cannot be such a
    buffer, an argument, a constant, or a buffer returned twice or reshaped, is copied into one. Runs after bufferization and before
    `tile-outline-kernels`, since it decides the types of the kernels' arguments.

    Example:
    ```mlir
    func.func @f(%x: memref<?x64xf32, strided<[?, 1]>>, %m: index) -> memref<?x64xf32> {
      %y = memref.alloc(%m) : memref<?x64xf32>
      tile.rows ... outs(%y : memref<?x64xf32>)
      return %y : memref<?x64xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: memref<?x64xf32, strided<[?, 1]>>, %m: index) -> memref<?x64xf32, strided<[?, 1]>> {
      %0 = memref.alloc(%m) : memref<?x64xf32>
      %y = memref.cast %0 : memref<?x64xf32> to memref<?x64xf32, strided<[?, 1]>>
      tile.rows ... outs(%y : memref<?x64xf32, strided<[?, 1]>>)
      return %y : memref<?x64xf32, strided<[?, 1]>>
    }
    ```
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect"];
}

def ProgPlanArenaPass : Pass<"prog-plan-arena", "::mlir::prog::ProgramOp"> {
  let summary = "gives every buffer its place in the arena";
  let description = [{
    A buffer lives from its first to its last use. Buffers that live at the same time do not overlap; others may share memory. Offsets are
    multiples of 64 bytes, and expressions where sizes are dynamic.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

#endif
