//===- Passes.td - passes that choose how kernels run on sm90 ------------===//

#ifndef MOE_DIALECT_SM90_TRANSFORMS_PASSES_TD
#define MOE_DIALECT_SM90_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def SM90ChooseGathersPass : Pass<"sm90-choose-gathers", "::mlir::func::FuncOp"> {
  let summary = "copies gathered rows before a product that is faster on a copy";
  let description = [{
    A product that gathers its rows by itself spares a copy of them, but TMA cannot bring those rows and blocks of a cluster cannot share them. Where the
    cost model (docs/sm90.md) says that the product on contiguous rows and a copy together take less time, a `tile.rows` that copies the rows comes before
    it. Products that gather the same rows share the copy. A remark says both times. One that wgmma cannot compute, or that has a schedule, is left alone.

    Before:
    ```mlir
    %y = tile.ragged_gemm lhs(%x : tensor<512x4096xbf16>) gather(%g : tensor<1024xi32>) rhs(%w : tensor<8x4096x28672xbf16>) bounds(%b : tensor<8x2xi64>) outs(%e : tensor<1024x28672xbf16>) {
    ```
    After:
    ```mlir
    %c = tile.rows ins(%x, %g : tensor<512x4096xbf16>, tensor<1024xi32>) outs(%d : tensor<1024x4096xbf16>) {
    ^bb0(%row: index, %xs: tensor<512x4096xbf16>, %gs: tensor<1024xi32>):
      %n = tile.load %gs[%row] : tensor<1024xi32> -> i32
      %i = arith.index_cast %n : i32 to index
      %v = tile.load %xs[%i] : tensor<512x4096xbf16> -> vector<4096xbf16>
      tile.yield %v : vector<4096xbf16>
    } -> tensor<1024x4096xbf16>
    %y = tile.ragged_gemm lhs(%c : tensor<1024x4096xbf16>) rhs(%w : tensor<8x4096x28672xbf16>) bounds(%b : tensor<8x2xi64>) outs(%e : tensor<1024x28672xbf16>) {
    ```
  }];
  let options = [
    Option<"rows", "rows", "int64_t", "0", "as for sm90-choose-schedules">,
    Option<"table", "table", "std::string", "\"\"", "as for sm90-choose-schedules">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::sm90::SM90Dialect", "::mlir::tensor::TensorDialect", "::mlir::tile::TileDialect"];
}

def SM90ChooseSchedulesPass : Pass<"sm90-choose-schedules", "::mlir::ModuleOp"> {
  let summary = "chooses the schedules of ragged products";
  let description = [{
    Runs on module @kernels before `convert-tile-to-sm90`: each `tile.ragged_gemm` that wgmma can compute gets the attribute `sm90.schedule`. One
    that has it keeps it. The others get the one that a table says was the fastest on a GPU, or else of all that the chip and the product allow the one
    that the cost model (docs/sm90.md) says is the fastest; a remark says which. A product that wgmma cannot compute is left alone and will run on ordinary loads; a remark says why. If it
    has a schedule, that is an error.

    Before:
    ```mlir
    tile.ragged_gemm lhs(%x : memref<?x512xbf16>) rhs(%w : memref<8x512x768xbf16>) bounds(%b : memref<8x2xi64>) outs(%y : memref<?x768xbf16>) {
    ```
    After:
    ```mlir
    tile.ragged_gemm lhs(%x : memref<?x512xbf16>) rhs(%w : memref<8x512x768xbf16>) bounds(%b : memref<8x2xi64>) outs(%y : memref<?x768xbf16>)
        attributes {sm90.schedule = #sm90.schedule<m = 128, n = 256, stages = 4>} {
    ```
  }];
  let options = [
    Option<"schedule", "schedule", "std::string", "\"\"", "a #sm90.schedule<...> for every product that has none; empty: the pass chooses">,
    Option<"rows", "rows", "int64_t", "0", "rows that products are expected to have in all groups together, where their types do not say; 0: 512 a group, and at least 4096">,
    Option<"table", "table", "std::string", "\"\"", "a file with a table of measured schedules; empty: the one that comes with the compiler; none: none">,
    Option<"report", "report", "int64_t", "0", "so many of the fastest schedules to list in remarks, with their predicted times">
  ];
  let dependentDialects = ["::mlir::sm90::SM90Dialect"];
}

#endif
