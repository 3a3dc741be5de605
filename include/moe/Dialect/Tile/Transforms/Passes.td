//===- Passes.td - passes within the tile dialect ------------------------===//

#ifndef MOE_DIALECT_TILE_TRANSFORMS_PASSES_TD
#define MOE_DIALECT_TILE_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def TileFusePass : Pass<"tile-fuse"> {
  let summary = "fuses row-wise ops into the matrix products around them, and with each other";
  let description = [{
    - **epilogue**: a `tile.rows` whose body is elementwise on the row of a product moves into the product's epilogue. The product has no
      other use, the same bounds, one accumulator and one out. The body may read, beside the product's row: a value a row, a row of
      the result's shape, a row of a `[g, N]` operand by group, splat constants. Halves of the product's row (concatenated or
      interleaved) become two accumulators, for each of which the product's own epilogue runs.
    - **gather**: a `tile.rows` that only copies row `index[r]` of a tensor becomes the `gather` of the products that use it, if all its
      uses are their left sides.
    - **rows**: a `tile.rows` that reads of another one its own row, and nothing else, takes over its body: nothing goes through memory between
      the two. Both have the same number of rows, the same bounds and no order; the second is at most 4 times as wide as the first, and together
      they read at most 16 rows at once. Results of the first that have other uses become results of the fused op.

    A fused result skips the rounding of the product that stood between the two ops: `extf(truncf(acc))` becomes `acc`.
    What applies but is not fused gets a remark that says why.

    Example of **epilogue**: a product with bf16 result, halved, multiplied and rounded
    ```mlir
    %h = tile.ragged_gemm lhs(%x : tensor<?x8xbf16>) rhs(%w : tensor<4x8x32xbf16>) bounds(%b : tensor<4x2xi64>) outs(%i0 : tensor<?x32xbf16>) {
    ^bb0(%acc: f32):
      %0 = arith.truncf %acc : f32 to bf16
      tile.yield %0 : bf16
    } -> tensor<?x32xbf16>
    %y = tile.rows ins(%h : tensor<?x32xbf16>) bounds(%b : tensor<4x2xi64>) outs(%i1 : tensor<?x16xbf16>) {
    ^bb0(%r: index, %g: index, %p: tensor<?x32xbf16>):
      %row = tile.load %p[%r] : tensor<?x32xbf16> -> vector<32xbf16>
      %f = arith.extf %row : vector<32xbf16> to vector<32xf32>
      %gate = vector.extract_strided_slice %f {offsets = [0], sizes = [16], strides = [1]} : vector<32xf32> to vector<16xf32>
      %up = vector.extract_strided_slice %f {offsets = [16], sizes = [16], strides = [1]} : vector<32xf32> to vector<16xf32>
      %m = arith.mulf %gate, %up : vector<16xf32>
      %t = arith.truncf %m : vector<16xf32> to vector<16xbf16>
      tile.yield %t : vector<16xbf16>
    } -> tensor<?x16xbf16>
    ```
    becomes
    ```mlir
    %y = tile.ragged_gemm lhs(%x : tensor<?x8xbf16>) rhs(%w : tensor<4x8x32xbf16>) bounds(%b : tensor<4x2xi64>) outs(%i1 : tensor<?x16xbf16>)
        attributes {accs = #tile.accs<concatenated>} {
    ^bb0(%gate: f32, %up: f32):
      %0 = arith.mulf %gate, %up : f32
      %1 = arith.truncf %0 : f32 to bf16
      tile.yield %1 : bf16
    } -> tensor<?x16xbf16>
    ```

    Example of **gather**:
    ```mlir
    %xs = tile.rows ins(%x, %tok : tensor<?x64xbf16>, tensor<?xi32>) outs(%i0 : tensor<?x64xbf16>) {
    ^bb0(%r: index, %p: tensor<?x64xbf16>, %q: tensor<?xi32>):
      %t = tile.load %q[%r] : tensor<?xi32> -> i32
      %i = arith.index_cast %t : i32 to index
      %v = tile.load %p[%i] : tensor<?x64xbf16> -> vector<64xbf16>
      tile.yield %v : vector<64xbf16>
    } -> tensor<?x64xbf16>
    %y = tile.ragged_gemm lhs(%xs : tensor<?x64xbf16>) rhs(%w : tensor<8x64x32xbf16>) bounds(%b : tensor<8x2xi64>) outs(%i1 : tensor<?x32xf32>) {
    ```
    becomes
    ```mlir
    %y = tile.ragged_gemm lhs(%x : tensor<?x64xbf16>) gather(%tok : tensor<?xi32>) rhs(%w : tensor<8x64x32xbf16>) bounds(%b : tensor<8x2xi64>)
        outs(%i1 : tensor<?x32xf32>) {
    ```

    Example of **rows**:
    ```mlir
    %0 = tile.rows ins(%x : tensor<?x8xf32>) outs(%i : tensor<?x8xf32>) {
    ^bb0(%r: index, %xs: tensor<?x8xf32>):
      %1 = tile.load %xs[%r] : tensor<?x8xf32> -> vector<8xf32>
      %2 = arith.negf %1 : vector<8xf32>
      tile.yield %2 : vector<8xf32>
    } -> tensor<?x8xf32>
    %3 = tile.rows ins(%0 : tensor<?x8xf32>) outs(%i : tensor<?x8xf32>) {
    ^bb0(%r: index, %xs: tensor<?x8xf32>):
      %1 = tile.load %xs[%r] : tensor<?x8xf32> -> vector<8xf32>
      %2 = math.exp %1 : vector<8xf32>
      tile.yield %2 : vector<8xf32>
    } -> tensor<?x8xf32>
    ```
    becomes
    ```mlir
    %3 = tile.rows ins(%x : tensor<?x8xf32>) outs(%i : tensor<?x8xf32>) {
    ^bb0(%r: index, %xs: tensor<?x8xf32>):
      %1 = tile.load %xs[%r] : tensor<?x8xf32> -> vector<8xf32>
      %2 = arith.negf %1 : vector<8xf32>
      %4 = math.exp %2 : vector<8xf32>
      tile.yield %4 : vector<8xf32>
    } -> tensor<?x8xf32>
    ```
  }];
  let options = [
    ListOption<"disable", "disable", "std::string", "fusions to leave out: epilogue, gather, rows">
  ];
  let dependentDialects = ["::mlir::tile::TileDialect"];
}

def TileOutlineKernelsPass : Pass<"tile-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "moves each tile op on memrefs into a kernel function of module @kernels";
  let description = [{
    A kernel is named after its function, its place among the kernels of the function, and its op, such as `layer_2_ragged_gemm`; equal ops
    share one kernel. Memrefs become its first arguments, in the order of the op's operands, with the attribute `prog.access` (`read`, `write`,
    or `readwrite` for an accumulated out); index scalars come last. The op is replaced by a `prog.launch`, for which index scalars are
    cast to i64. Expects memrefs: runs after bufferization.

    Example:
    ```mlir
    func.func @layer(%s: memref<4xi32>, %m: index, %b: memref<4x2xi64>) {
      tile.offsets sizes(%s : memref<4xi32>) rows(%m) outs(%b : memref<4x2xi64>)
      return
    }
    ```
    becomes
    ```mlir
    func.func @layer(%s: memref<4xi32>, %m: index, %b: memref<4x2xi64>) {
      %0 = arith.index_cast %m : index to i64
      prog.launch @kernels::@layer_0_offsets(%s, %b, %0) : memref<4xi32>, memref<4x2xi64>, i64
      return
    }
    module @kernels {
      func.func @layer_0_offsets(%s: memref<4xi32> {prog.access = "read"}, %b: memref<4x2xi64> {prog.access = "write"}, %m: index) {
        tile.offsets sizes(%s : memref<4xi32>) rows(%m) outs(%b : memref<4x2xi64>)
        return
      }
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::prog::ProgDialect"];
}

#endif
