//===- Passes.td - passes between the dialects ---------------------------===//

#ifndef MOE_PIPELINES_PASSES_TD
#define MOE_PIPELINES_PASSES_TD

include "mlir/Pass/PassBase.td"

def MoEPrepareInputPass : Pass<"moe-prepare-input", "::mlir::ModuleOp"> {
  let summary = "refuses what nothing later can compile";
  let description = [{
    Runs after the imports. Ops of unknown dialects in a function that a public one reaches are errors, which say where they are.
    Private functions that no public one reaches, such as the decomposition of an imported composite, are erased. Without a public function with a
    body there is nothing to compile, which is an error, too. So is a tensor that would take more than 2^56 bytes: sizes in bytes must not wrap.
  }];
}

def MoERequireSizesPass : Pass<"moe-require-sizes"> {
  let summary = "asserts the equalities of sizes that kernels trust";
  let description = [{
    Kernels check nothing: they read as many rows of an operand as the other operands have, and where an index of a plan points. The verifiers
    compare static sizes; this pass adds a `cf.assert` for each pair of which one is dynamic. Most fold away, since both are one value once
    dimensions of results are resolved (`resolve-ranked-shaped-type-result-dims`, `canonicalize`, `cse`). The others become
    `prog.require`, and the runtime refuses inputs that do not fit each other before anything runs.

    Example:
    ```mlir
    %g = moe.gather %x, %p : tensor<?x64xf32>, !moe.plan<groups = 8, topk = 2> -> tensor<?x64xf32, #moe.ragged<groups = 8>>
    ```
    where `%p` is the plan of `%ids`, gets
    ```mlir
    %m = tensor.dim %x, %c0 : tensor<?x64xf32>
    %t = tensor.dim %ids, %c0 : tensor<?x2xi32>
    %equal = arith.cmpi eq, %m, %t : index
    cf.assert %equal, "the sizes of 'moe.gather' fit each other"
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect", "::mlir::tensor::TensorDialect"];
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
