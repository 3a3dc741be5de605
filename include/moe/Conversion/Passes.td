//===- Passes.td - passes from one dialect to another --------------------===//

#ifndef MOE_CONVERSION_PASSES_TD
#define MOE_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def MoENormalizeStablehloPass : Pass<"moe-normalize-stablehlo", "::mlir::ModuleOp"> {
  let summary = "gives generic StableHLO text one form for what can be written in many";
  let description = [{
    What `convert-stablehlo-to-moe` and `moe-raise-stablehlo` match. In functions that have StableHLO:
    - calls of private functions of one block are inlined;
    - elementwise ops become ops of `arith` and `math`, constants become `arith.constant`, `1 / (1 + exp(-x))` becomes
      `stablehlo.logistic`. Division and sign of integers stay, and what `arith` would leave undefined;
    - a change of shape that repeats nothing is a `reshape`; a `broadcast_in_dim` has no dimension of size 1 and no other
      broadcast or reshape below it; elementwise ops come before reshapes;
    - with the ranges of integers (ids of a `top_k`, an `iota`, constants and what is computed from them) comparisons
      are decided, limits dropped and floor divisions simplified: so are indices mended that cannot be out of range;
    - ops that nothing uses are erased.

    Before:
    ```mlir
    %0 = "stablehlo.constant"() <{value = dense<1.0> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.broadcast_in_dim"(%0) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<4x8xf32>
    %2 = "stablehlo.add"(%x, %1) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
    After:
    ```mlir
    %c = arith.constant dense<1.0> : tensor<4x8xf32>
    %0 = arith.addf %x, %c : tensor<4x8xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def ConvertStablehloToMoEPass : Pass<"convert-stablehlo-to-moe", "::mlir::ModuleOp"> {
  let summary = "imports ragged dots from generic StableHLO text";
  let description = [{
    Rewrites `chlo.ragged_dot`, direct or as a version-1 `stablehlo.composite`, to `moe.ragged_matmul`; everything else is left as it is.
    The ops are unregistered: their attributes are read as text. Runs before anything that asks for symbol uses, which an
    unregistered op with a region hides.

    | dimension numbers | becomes |
    |---|---|
    | ragged rows: contracting 1x1 or 1x2, ragged 0, group 0 | mode `rows`, weights `kn` or `nk` |
    | ragged contraction: contracting 0x0, ragged 0, no group | mode `contraction` |
    | ragged batch: batching 0x0, contracting 2x1 or 2x2, ragged 0 | mode `batch`; the sizes do not change the result |

    Rows past the last group are taken as undefined in operands and are zero in results. `DEFAULT` precision of f32 operands is
    `tf32`, `HIGH` and `HIGHEST` are exact. Private decompositions of composites that nothing else uses are erased. What cannot be
    taken stays, with a remark that says why: other dimension numbers, a group offset, group sizes of rank other than 1, element
    types or shapes that do not fit, attributes or composite versions that are not known.

    Before:
    ```mlir
    %0 = "chlo.ragged_dot"(%x, %w, %s) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1],
        rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>, ...}>
        : (tensor<24x32xf32>, tensor<6x32x48xf32>, tensor<6xi32>) -> tensor<24x48xf32>
    ```
    After:
    ```mlir
    %p = moe.plan_from_sizes %s : tensor<6xi32> -> !moe.plan<groups = 6, rows = 24>
    %r = tensor.cast %x : tensor<24x32xf32> to tensor<24x32xf32, #moe.ragged<groups = 6, tail = undefined>>
    %y = moe.ragged_matmul %r, %w plan %p
        : tensor<24x32xf32, #moe.ragged<groups = 6, tail = undefined>>, tensor<6x32x48xf32>, !moe.plan<groups = 6, rows = 24>
        -> tensor<24x48xf32, #moe.ragged<groups = 6>>
    %0 = tensor.cast %y : tensor<24x48xf32, #moe.ragged<groups = 6>> to tensor<24x48xf32>
    ```
  }];
  let dependentDialects = ["::mlir::moe::MoEDialect", "::mlir::tensor::TensorDialect", "::mlir::arith::ArithDialect"];
}

def MoERaiseStablehloPass : Pass<"moe-raise-stablehlo", "::mlir::ModuleOp"> {
  let summary = "makes moe ops of the idioms that MoE layers are written in";
  let description = [{
    Runs after `moe-normalize-stablehlo` and `convert-stablehlo-to-moe`. Each pattern knows one small idiom: a softmax, a
    top_k, an argsort of expert ids, a gather of tokens' rows, ...; [docs/stablehlo.md](../stablehlo.md) lists them, each with
    its test. What is no idiom stays. CSE finds afterwards that idioms share a plan.

    An idiom becomes a moe op only where both mean the same on every input: ids must be in range for whatever the router
    computes, and NaN goes where JAX lets it go (`nan = propagate`). Narrow floats may be kept in f32 inside an idiom and
    are then rounded once.

    Before:
    ```mlir
    %i = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<12xi32>
    %0:2 = "stablehlo.sort"(%ids, %i) <{dimension = 0 : i64, is_stable = true}> ({...}) : (tensor<12xi32>, tensor<12xi32>) -> ...
    ```
    After:
    ```mlir
    %p = moe.plan %ids2 : tensor<6x2xi32> -> !moe.plan<groups = 8, rows = 12, tokens = 6, topk = 2>
    %0 = moe.plan_get %p {field = #moe.field<permutation>} : !moe.plan<groups = 8, rows = 12, tokens = 6, topk = 2> -> tensor<12xi32>
    ```
  }];
  let dependentDialects = ["::mlir::moe::MoEDialect", "::mlir::tensor::TensorDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def MoERaiseRestPass : Pass<"moe-raise-rest", "::mlir::ModuleOp"> {
  let summary = "makes tile.rows of what is left of StableHLO and works row by row";
  let description = [{
    Runs after `moe-raise-stablehlo`, for what no idiom explains: the work between the products of a backward pass. Broadcasts
    along rows or columns, slices and concatenations of columns, reshapes between matrices of few columns and vectors, sums
    and maxima of rows, elements by number where the numbers are in range, and their adjoints become a `tile.rows` each, which
    `tile-fuse` joins. Products over all tokens whose one side has as many columns as there are experts become ragged products
    with one group, and those of the other side `moe.logits`. Before that, work on the rows of slots, which the gradient of a
    sum over each token's slots does, is moved to the rows of groups. What else there is stays.

    Before:
    ```mlir
    %0 = "stablehlo.slice"(%x) <{limit_indices = array<i64: 4, 3>, start_indices = array<i64: 0, 1>, strides = array<i64: 1, 1>}>
        : (tensor<4x6xf32>) -> tensor<4x2xf32>
    ```
    After:
    ```mlir
    %0 = tile.rows ins(%x : tensor<4x6xf32>) outs(%init : tensor<4x2xf32>) {
    ^bb0(%r: index, %xs: tensor<4x6xf32>):
      %row = tile.load %xs[%r] : tensor<4x6xf32> -> vector<6xf32>
      %s = vector.extract_strided_slice %row {offsets = [1], sizes = [2], strides = [1]} : vector<6xf32> to vector<2xf32>
      tile.yield %s : vector<2xf32>
    } -> tensor<4x2xf32>
    ```
  }];
  let dependentDialects = ["::mlir::moe::MoEDialect", "::mlir::tile::TileDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect", "::mlir::vector::VectorDialect"];
}

def MoEOutlineIslandsPass : Pass<"moe-outline-islands", "::mlir::ModuleOp"> {
  let summary = "moves what moe can compute of StableHLO functions into functions of its own";
  let description = [{
    For every function with a ragged dot. A copy of it is normalised, imported and raised; what of the copy is in the moe
    dialect, and the elementwise work between, forms islands around the ragged products. Each becomes a private function
    with the attribute `moe.island`, which the function calls. All other ops stay as they were, but for what only fed the
    islands. Whatever leaves an island comes back only into a later one; plans do not leave, they are made again.

    Results of which nothing is left after `moe-raise-rest` are one island, if all ragged products of the function are in it.

    A remark says which op an island begins after or ends before.
  }];
  let dependentDialects = ["::mlir::moe::MoEDialect", "::mlir::tile::TileDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

def ConvertMoEToTilePass : Pass<"convert-moe-to-tile"> {
  let summary = "chooses the kernels: moe ops and elementwise ops on tensors become tile ops";
  let description = [{
    Every op of a straight-line function becomes one kernel. Plans become tensors; ragged encodings are dropped, in the signature too
    (their facts are now in `bounds`). Elementwise `arith`, `math` and `linalg` ops on tensors of rank 1 and 2 become `tile.rows`;
    bf16 and f16 are computed in f32 and rounded once an op. The plan of a ragged elementwise result is the one that an op names
    for it, or for a value it was computed from or into.

    Refused by name: other ops, several blocks, rows whose width is dynamic, scale operands, a ragged elementwise result that no op
    ties to a plan.

    Before:
    ```mlir
    func.func @rows(%x: tensor<8x64xbf16, #moe.ragged<groups = 8>>, %w: tensor<8x64x32xbf16>, %s: tensor<8xi32>)
        -> tensor<8x32xbf16, #moe.ragged<groups = 8>> {
      %p = moe.plan_from_sizes %s : tensor<8xi32> -> !moe.plan<groups = 8, rows = 8>
      %y = moe.ragged_matmul %x, %w plan %p
          : tensor<8x64xbf16, #moe.ragged<groups = 8>>, tensor<8x64x32xbf16>, !moe.plan<groups = 8, rows = 8>
          -> tensor<8x32xbf16, #moe.ragged<groups = 8>>
      return %y : tensor<8x32xbf16, #moe.ragged<groups = 8>>
    }
    ```
    After:
    ```mlir
    func.func @rows(%x: tensor<8x64xbf16>, %w: tensor<8x64x32xbf16>, %s: tensor<8xi32>) -> tensor<8x32xbf16> {
      %m = arith.constant 8 : index
      %0 = tensor.empty() : tensor<8x2xi64>
      %b = tile.offsets sizes(%s : tensor<8xi32>) rows(%m) outs(%0 : tensor<8x2xi64>) -> tensor<8x2xi64>
      %1 = tensor.empty() : tensor<8x32xbf16>
      %y = tile.ragged_gemm lhs(%x : tensor<8x64xbf16>) rhs(%w : tensor<8x64x32xbf16>) bounds(%b : tensor<8x2xi64>)
          outs(%1 : tensor<8x32xbf16>) {
      ^bb0(%acc: f32):
        %2 = arith.truncf %acc : f32 to bf16
        tile.yield %2 : bf16
      } -> tensor<8x32xbf16>
      return %y : tensor<8x32xbf16>
    }
    ```
  }];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::prog::ProgDialect", "::mlir::tensor::TensorDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect", "::mlir::vector::VectorDialect"];
}

def ConvertToProgPass : Pass<"convert-to-prog", "::mlir::ModuleOp"> {
  let summary = "turns functions of kernel calls on memrefs into host programs";
  let description = [{
    Each public function becomes a `prog.program`; `moe.name` on its arguments and results gives their names. It is straight-line and holds
    only what a host can do: launches, allocations, copies, fills whose bytes are all the same, constants, and arithmetic on sizes.
    Everything else is an error that names the op. Allocations that are returned become outputs, as `prog-prepare-results` left them; the
    others become pieces of the arena. `cf.assert` on the equality of two sizes becomes `prog.require`.

    Example:
    ```mlir
    func.func @double(%x: memref<?xf32>) -> memref<?xf32> {
      %c0 = arith.constant 0 : index
      %m = memref.dim %x, %c0 : memref<?xf32>
      %y = memref.alloc(%m) : memref<?xf32>
      prog.launch @kernels::@k(%x, %y) : memref<?xf32>, memref<?xf32>
      return %y : memref<?xf32>
    }
    ```
    becomes
    ```mlir
    prog.program @double(%x: memref<?xf32>) {
      %m = prog.dim %x, 0 : memref<?xf32>
      %y = prog.output 0(%m) : memref<?xf32>
      prog.launch @kernels::@k(%x, %y) : memref<?xf32>, memref<?xf32>
      prog.return
    }
    ```
  }];
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

def ConvertTileToSM90Pass : Pass<"convert-tile-to-sm90", "::mlir::ModuleOp"> {
  let summary = "lowers kernels to the sm90 dialect";
  let description = [{
    Runs on module @kernels, in which every kernel is a function of one tile op on memrefs: beside each other in a `gpu.module` @kernels inside, they become `sm90.kernel` ops
    with the same names. A product with the attribute `sm90.schedule`, as `sm90-choose-schedules` leaves it, runs on wgmma by that schedule;
    one without it runs on ordinary loads.
  }];
  let dependentDialects = ["::mlir::sm90::SM90Dialect", "::mlir::gpu::GPUDialect", "::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect",
                           "::mlir::NVVM::NVVMDialect", "::mlir::LLVM::LLVMDialect"];
}

def ConvertSM90ToNVVMPass : Pass<"convert-sm90-to-nvvm"> {
  let summary = "lowers sm90 kernels to nvvm, llvm, scf and arith";
  let description = [{
    A kernel becomes an `llvm.func` whose attributes `sm90.params`, `sm90.launch` (with the bytes of shared memory) and `sm90.fallback` say how to launch it.
    Upstream passes lower what is left: `convert-scf-to-cf`, `convert-nvvm-to-llvm`, `convert-arith-to-llvm`, `convert-cf-to-llvm`.
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::arith::ArithDialect", "::mlir::NVVM::NVVMDialect", "::mlir::LLVM::LLVMDialect"];
}

#endif
