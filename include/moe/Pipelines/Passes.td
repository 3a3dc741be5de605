//===- Passes.td - passes between the dialects ---------------------------===//

#ifndef MOE_PIPELINES_PASSES_TD
#define MOE_PIPELINES_PASSES_TD

include "mlir/Pass/PassBase.td"

def MoEPrepareInputPass : Pass<"moe-prepare-input", "::mlir::ModuleOp"> {
  let summary = "refuses what nothing later can compile";
  let description = [{
    Runs after the imports. Ops of unknown dialects in a function that a public one reaches are errors, which say where they are.
    Private functions that no public one reaches, such as the decomposition of an imported composite, are erased. Without a public function with a
    body there is nothing to compile, which is an error, too.
  }];
}

def MoEBufferizePass : Pass<"moe-bufferize", "::mlir::ModuleOp"> {
  let summary = "turns tensors into buffers, and function arguments into those of a caller";
  let description = [{
    One-shot bufferization of whole functions. Arguments become `strided<[?, ..., 1]>` memrefs, since a caller's rows may be padded, and are never
    written; rank 0 and 1 have the identity layout. Results have the layout that they come with; `prog-prepare-results` gives them a
    caller's.

    Example:
    ```mlir
    func.func @f(%x: tensor<?x64xf32>) -> tensor<?x64xf32>
    ```
    becomes
    ```mlir
    func.func @f(%x: memref<?x64xf32, strided<[?, 1]>>) -> memref<?x64xf32>
    ```
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect", "::mlir::memref::MemRefDialect"];
}

#endif
