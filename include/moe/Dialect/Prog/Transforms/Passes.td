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

def ProgOutlineExchangesPass : Pass<"prog-outline-exchanges", "::mlir::ModuleOp"> {
  let summary = "makes the kernels of exchanges by stores into the memory of other ranks";
  let description = [{
    For a target with such kernels: each `prog.all_to_all` of a program with transport `peer` gets one, a function of module @kernels that holds
    the exchange alone. Equal exchanges share it. Runs before `prog-plan-arena`, which puts the targets of such exchanges into the peer arena.

    Example:
    ```mlir
    prog.all_to_all %x into %y {axis = "ep", ranks = 2, transport = #prog.transport<peer>} : memref<8x4xf32>, memref<8x4xf32>
    ```
    becomes
    ```mlir
    prog.all_to_all %x into %y {axis = "ep", kernel = @kernels::@f_exchange, ranks = 2, transport = #prog.transport<peer>} : memref<8x4xf32>, memref<8x4xf32>
    ```
    beside
    ```mlir
    func.func @f_exchange(%x: memref<8x4xf32> {prog.access = "read"}, %y: memref<8x4xf32> {prog.access = "write"}) {
      prog.all_to_all %x into %y {axis = "ep", ranks = 2, transport = #prog.transport<peer>} : memref<8x4xf32>, memref<8x4xf32>
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

def ProgPlanArenaPass : Pass<"prog-plan-arena", "::mlir::prog::ProgramOp"> {
  let summary = "gives every buffer its place in the arena";
  let description = [{
    A buffer lives from its first to its last use. Buffers that live at the same time do not overlap; others may share memory. Offsets are
    multiples of 64 bytes, and expressions where sizes are dynamic. Targets of exchanges by a kernel are planned alike, in the peer arena.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

#endif
