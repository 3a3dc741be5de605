//===- Passes.td - passes within the tile dialect ------------------------===//

#ifndef MOE_DIALECT_TILE_TRANSFORMS_PASSES_TD
#define MOE_DIALECT_TILE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def TileFusePass : Pass<"tile-fuse"> {
  let summary = "fuses row-wise ops into the matrix products around them";
  let description = [{
    - **epilogue**: a `tile.rows` whose body is elementwise on the row r of a product's only use moves into the product's epilogue; halves of
      the row (gate and up) become two accumulators.
    - **gather**: a `tile.rows` that only copies row `index[r]` of a tensor, feeding a product's lhs, becomes the product's `gather`.

    What is not fused gets a remark that says why.
  }];
  let options = [
    ListOption<"disable", "disable", "std::string", "fusions to leave out: epilogue, gather">
  ];
  let dependentDialects = ["::mlir::tile::TileDialect"];
}

def TileOutlineKernelsPass : Pass<"tile-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "moves each tile op on memrefs into a kernel function of module @kernels";
  let description = [{
    A kernel is named after its function, its place and its op, such as `layer_2_ragged_gemm`; equal ops share one kernel. Operands become
    arguments with the attribute `prog.access`; index operands come last. The op is replaced by a `prog.launch`; index scalars are cast to i64 for it.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::prog::ProgDialect"];
}

#endif
