//===- Passes.td - passes from one dialect to another --------------------===//

#ifndef MOE_CONVERSION_PASSES_TD
#define MOE_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertStablehloToMoEPass : Pass<"convert-stablehlo-to-moe", "::mlir::ModuleOp"> {
  let summary = "imports ragged dots from generic StableHLO text";
  let description = [{
    Rewrites `chlo.ragged_dot`, direct or as a version-1 `stablehlo.composite`, to `moe.ragged_matmul`; everything else is left as it is.
    What it cannot take is left with a remark that says why.
  }];
  let dependentDialects = ["::mlir::moe::MoEDialect", "::mlir::tensor::TensorDialect", "::mlir::arith::ArithDialect"];
}

def ConvertMoEToTilePass : Pass<"convert-moe-to-tile"> {
  let summary = "chooses the kernels: moe ops and elementwise ops on tensors become tile ops";
  let description = [{
    Plans become tensors; ragged encodings are dropped (their facts are now in `bounds`). Elementwise `arith`, `math` and `linalg` ops on
    tensors of rank 1 and 2 become `tile.rows`.
  }];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::tensor::TensorDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

def ConvertToProgPass : Pass<"convert-to-prog", "::mlir::ModuleOp"> {
  let summary = "turns functions of kernel calls on memrefs into host programs";
  let dependentDialects = ["::mlir::prog::ProgDialect", "::mlir::arith::ArithDialect"];
}

def ConvertTileToCPUPass : Pass<"convert-tile-to-cpu", "::mlir::ModuleOp"> {
  let summary = "lowers kernels to scf, vector and memref for a CPU";
  let description = [{
    Runs on module @kernels: every kernel function becomes a task function and a function that counts its tasks.
  }];
  let options = [
    Option<"lanes", "lanes", "int64_t", "16", "f32 elements in a vector register">,
    Option<"registers", "registers", "int64_t", "32", "vector registers">
  ];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::func::FuncDialect"];
}

def ConvertKernelsToLLVMPass : Pass<"convert-kernels-to-llvm", "::mlir::ModuleOp"> {
  let summary = "lowers CPU kernels to the LLVM dialect, with the C functions that the runtime calls";
  let description = [{
    Runs on module @kernels after `convert-tile-to-cpu`: every function takes memrefs with an innermost stride of 1, and `index` last.
    Conversions to and from bf16 become integer arithmetic that rounds to nearest even, `math` ops become polynomials and other
    `arith` ops, so that no kernel calls a library. Each public function `@k` is then what `runtime/CPU/KernelABI.h` says:

    ```mlir
    llvm.func @k(%context: !llvm.ptr, %args: !llvm.ptr, %begin: i64, %end: i64)   // from @k(%context, ..., %begin, %end)
    llvm.func @k.tasks(%args: !llvm.ptr) -> i64                                   // from @k.tasks(...) -> index
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif
