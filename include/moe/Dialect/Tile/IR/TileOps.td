//===- TileOps.td - operations of the tile dialect -----------------------===//

#ifndef MOE_DIALECT_TILE_IR_TILEOPS_TD
#define MOE_DIALECT_TILE_IR_TILEOPS_TD

include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "moe/Dialect/KnownAttributes.td"
include "moe/Dialect/Tile/IR/TileAttrs.td"
include "moe/Dialect/Tile/IR/TileInterfaces.td"

class Tile_Op<string opMnemonic, list<Trait> traits = []> : Op<Tile_Dialect, opMnemonic, traits # [KnownAttributes]>;

/// A kernel: tensors in, tensors out; or memrefs in, memrefs written, no results.
class Tile_KernelOp<string opMnemonic, list<Trait> traits = [], list<string> methods = []>
    : Tile_Op<opMnemonic, traits # [DestinationStyleOpInterface, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
                                    DeclareOpInterfaceMethods<Tile_KernelOpInterface, methods>]> {
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutsMutable(); }
  }];
}

class Tile_ShapedOf<list<Type> elements, string what> : AnyTypeOf<[RankedTensorOf<elements>, MemRefOf<elements>], what>;
def Tile_Float : AnyTypeOf<[F32, BF16, F16]>;
def Tile_FloatShaped : Tile_ShapedOf<[F32, BF16, F16], "tensor or memref of f32, bf16 or f16">;
def Tile_AnyShaped : Tile_ShapedOf<[F32, BF16, F16, I32, I64, I1, I8], "tensor or memref of a number type">;
def Tile_SizesShaped : Tile_ShapedOf<[I32, I64], "tensor or memref of i32 or i64">;
def Tile_I32Shaped : Tile_ShapedOf<[I32], "tensor or memref of i32">;
def Tile_I64Shaped : Tile_ShapedOf<[I64], "tensor or memref of i64">;

def Tile_OffsetsOp : Tile_KernelOp<"offsets", [], ["getBoundsOut"]> {
  let summary = "bounds of each group from the sizes";
  let description = [{
    Group g begins at the sum of the earlier sizes, each rounded up to `align`, and has sizes[g] rows. A negative size counts
    as 0 and a group that passes `rows` is cut there, with fault `bad_sizes` at the group.

    Example:
    ```mlir
    %b = tile.offsets sizes(%s : tensor<6xi32>) rows(%m) outs(%init : tensor<6x2xi64>) {align = 1 : i64} -> tensor<6x2xi64>
    ```
    Constraints:
    - (C1) sizes is `[G]` with a static G, outs one `[G, 2]` i64.
    - (C2) align is at least 1.
  }];
  let arguments = (ins Tile_SizesShaped:$sizes, Index:$rows, Variadic<Tile_I64Shaped>:$outs,
                   DefaultValuedAttr<I64Attr, "1">:$align);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `sizes` `(` $sizes `:` type($sizes) `)` `rows` `(` $rows `)` `outs` `(` $outs `:` type($outs) `)` attr-dict
    (`->` type($results)^)?
  }];
}

def Tile_PlanOp : Tile_KernelOp<"plan", [], ["getBoundsOut"]> {
  let summary = "routing plan of expert ids: histogram, scan and stable permutation";
  let description = [{
    From ids `[T, k]`: sizes `[G]` i32, bounds `[G, 2]` i64, permutation `[M]` i32 (row -> slot t * k + j, or -1), token `[M]`
    i32 (row -> t, or -1), inverse `[T, k]` i32 (slot -> row, or -1), dropped `[1]` i64. Rows are ordered by expert, then
    token, then slot; group starts are multiples of `align`. An id of -1 is dropped; another id outside 0..G-1 too, with
    fault `bad_id`. Rows past M are dropped and counted, with fault `overflow`; sizes counts what was asked for, bounds what was kept.

    With `equal_blocks` each group has M / G rows of its own, whatever its size: group g begins at g * M / G, what it has too many
    is dropped, and what it has too few are pad rows.

    Example:
    ```mlir
    %p:6 = tile.plan ids(%ids : tensor<?x2xi32>)
        outs(%s, %b, %perm, %tok, %inv, %d : tensor<8xi32>, tensor<8x2xi64>, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>, tensor<1xi64>)
        -> tensor<8xi32>, tensor<8x2xi64>, tensor<?xi32>, tensor<?xi32>, tensor<?x2xi32>, tensor<1xi64>
    ```
    Constraints:
    - (C1) outs are six, of the shapes and types above; G and k are static.
    - (C2) align is at least 1.
    - (C3) with equal_blocks align is 1, and M is static and a multiple of G.
  }];
  let arguments = (ins Tile_I32Shaped:$ids, Variadic<Tile_AnyShaped>:$outs, DefaultValuedAttr<I64Attr, "1">:$align,
                   UnitAttr:$equal_blocks);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    `ids` `(` $ids `:` type($ids) `)` `outs` `(` $outs `:` type($outs) `)` attr-dict (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutsMutable(); }
    /// Rows of each group with `equal_blocks`, otherwise 0.
    int64_t getBlockRows();
  }];
}

def Tile_RaggedGemmOp : Tile_KernelOp<"ragged_gemm", [AttrSizedOperandSegments, IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "one matrix product a group, with an epilogue";
  let description = [{
    | mode | lhs | rhs | product |
    |---|---|---|---|
    | `rows` with bounds | `[M, K]` | `[g, K, N]` (`kn`) or `[g, N, K]` (`nk`) | `[M, N]` |
    | `rows`, one product | `[M, K]` | `[K, N]` or `[N, K]` | `[M, N]` |
    | `rows`, batch | `[g, M, K]` | `[g, K, N]` or `[g, N, K]` | `[g, M, N]` |
    | `contraction` | `[M, K]` | `[M, N]` | `[g, K, N]` |
    | `contraction`, sum of rows | absent: all ones with K = 1 | `[M, N]` | `[g, N]` |

    - `bounds` `[G, 2]`: rows of each group; group i of the weights (or of the product) is row `group_offset + i` of it. Without bounds
      (mode `rows`) every row counts: one product for a weight of rank 2, one a group for rank 3.
    - `gather` `[M]` i32: row r of the product reads row gather[r] of lhs; -1 reads zeros. Mode `rows`, lhs of rank 2.
    - Accumulation is f32. `accs` says which columns of the product meet in one result column.
    - The epilogue runs for each element of the result: its arguments are the accumulators (f32), then for each extra operand
      its value (one an accumulator for kind `group`), then with `accumulate` the old value of each out. It yields one value for each out.
      Only elementwise ops on scalars, so that a lowering may run it on vectors or fragments.
    - Rows outside the groups are zero in every out; the epilogue does not run there. A product over no rows (empty group in mode
      `contraction`) is zero and the epilogue runs.

    Example:
    ```mlir
    %y = tile.ragged_gemm lhs(%x : tensor<?x64xbf16>) gather(%tok : tensor<?xi32>) rhs(%w : tensor<8x64x224xbf16>)
        bounds(%b : tensor<8x2xi64>) outs(%init : tensor<?x112xbf16>) attributes {accs = #tile.accs<concatenated>} {
    ^bb0(%gate: f32, %up: f32):
      %0 = arith.mulf %gate, %up : f32
      %1 = arith.truncf %0 : f32 to bf16
      tile.yield %1 : bf16
    } -> tensor<?x112xbf16>
    ```
    Constraints:
    - (C1) ranks and shapes as in the table; lhs and rhs have one element type; only the numbers of rows may be dynamic.
    - (C2) bounds is `[G, 2]` and 0 <= group_offset <= G - g; without bounds group_offset is 0. Mode `contraction` needs bounds.
    - (C3) gather only in mode `rows` with lhs of rank 2.
    - (C4) lhs absent only in mode `contraction`.
    - (C5) there is one kind for each extra operand, shaped as the kind says; kind `slot` needs `slots`. Extras only in
      mode `rows` with lhs of rank 2.
    - (C6) accs other than `single` and layout `nk` only in mode `rows`; N is a multiple of the number of accumulators.
    - (C7) the epilogue's arguments and yielded values are as above, and its ops are elementwise on scalars.
    - (C8) outs have the product's shape, with N divided by the number of accumulators.
  }];
  let arguments = (ins Optional<Tile_FloatShaped>:$lhs, Optional<Tile_I32Shaped>:$gather, Tile_FloatShaped:$rhs,
                   Optional<Tile_I64Shaped>:$bounds, Optional<Tile_I32Shaped>:$slots, Variadic<Tile_FloatShaped>:$extras,
                   Variadic<Tile_FloatShaped>:$outs,
                   DefaultValuedAttr<Tile_GemmModeAttr, "::mlir::tile::GemmMode::Rows">:$mode,
                   DefaultValuedAttr<Tile_RhsLayoutAttr, "::mlir::tile::RhsLayout::KN">:$layout,
                   DefaultValuedAttr<Tile_AccumulatorsAttr, "::mlir::tile::Accumulators::Single">:$accs,
                   DefaultValuedAttr<Tile_ExtraKindArrayAttr, "{}">:$extra_kinds,
                   DefaultValuedAttr<I64Attr, "0">:$group_offset, UnitAttr:$accumulate,
                   DefaultValuedAttr<Tile_PrecisionAttr, "::mlir::tile::Precision::Exact">:$precision);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$epilogue);
  let hasRegionVerifier = 1;
  let assemblyFormat = [{
    (`lhs` `(` $lhs^ `:` type($lhs) `)`)? (`gather` `(` $gather^ `:` type($gather) `)`)?
    `rhs` `(` $rhs `:` type($rhs) `)` (`bounds` `(` $bounds^ `:` type($bounds) `)`)?
    (`slots` `(` $slots^ `:` type($slots) `)`)? (`extras` `(` $extras^ `:` type($extras) `)`)?
    `outs` `(` $outs `:` type($outs) `)` attr-dict-with-keyword $epilogue (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutsMutable(); }
    /// 1 or 2.
    unsigned getNumAccumulators() { return getAccs() == Accumulators::Single ? 1 : 2; }
    /// g: groups of the weights (mode rows) or of the product (mode contraction).
    int64_t getNumGroups();
    /// K, the width of a row of lhs; 1 when lhs is absent.
    int64_t getK();
    /// N, the columns of the product before accumulators meet.
    int64_t getN();
    /// Kind of extra operand i.
    ExtraKind getExtraKind(unsigned i);
    /// Arguments of the epilogue that read extra operand i.
    ::mlir::ArrayRef<::mlir::BlockArgument> getExtraArguments(unsigned i);
  }];
}

def Tile_RowsOp : Tile_KernelOp<"rows", [AttrSizedOperandSegments, IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "one body for each row of the results";
  let description = [{
    The body computes row r of every out. Its arguments are r, with `bounds` the row's group g, and one for each of `ins`. It works
    on whole rows as vectors: `tile.load` reads a row or an element, upstream `arith` and `math` ops work elementwise,
    `vector.broadcast`, `vector.reduction`, `vector.extract` (of one element at a static position), `vector.extract_strided_slice`, `vector.deinterleave`, `vector.interleave`, `vector.step`
    and `vector.insert_strided_slice` rearrange, and `tile.select` and `tile.lookup` choose. `tile.yield` gives a vector for each out of
    rank 2 and a scalar for each out of rank 1. With `bounds`, rows outside every group are zero and the body does not run for them.

    `order` says in which order rows are best computed: element i names the i-th, -1 none, and no row is named twice. Rows that it does not name have no
    particular value. A copy of tokens in the order of a plan's slots reads each token once from memory, where the order of rows reads it once for each
    of its slots.

    A row vector can be thousands of elements wide; lowerings walk it in chunks and never hold it in registers.

    Example:
    ```mlir
    %o = tile.rows ins(%x, %w : tensor<?x64xbf16>, tensor<?xf32>) outs(%init : tensor<?x64xbf16>) {
    ^bb0(%r: index, %xs: tensor<?x64xbf16>, %ws: tensor<?xf32>):
      %row = tile.load %xs[%r] : tensor<?x64xbf16> -> vector<64xbf16>
      %f = arith.extf %row : vector<64xbf16> to vector<64xf32>
      %s = tile.load %ws[%r] : tensor<?xf32> -> f32
      %b = vector.broadcast %s : f32 to vector<64xf32>
      %m = arith.mulf %f, %b : vector<64xf32>
      %t = arith.truncf %m : vector<64xf32> to vector<64xbf16>
      tile.yield %t : vector<64xbf16>
    } -> tensor<?x64xbf16>
    ```
    Constraints:
    - (C1) at least one out; outs have rank 1 or 2, one number of rows, and a static width of at least 1; bounds is `[G, 2]`.
    - (C2) the body's arguments are as above.
    - (C3) the body yields one value for each out, of its element type and width.
    - (C4) the body has only the ops above, on scalars and fixed vectors of rank 1; `vector.broadcast` takes a scalar.
    - (C5) order has rank 1, or rank 2 and a static width of at least 1; with order there are no bounds.
  }];
  let arguments = (ins Variadic<Tile_AnyShaped>:$ins, Optional<Tile_I64Shaped>:$bounds, Optional<Tile_I32Shaped>:$order,
                   Variadic<Tile_AnyShaped>:$outs);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasRegionVerifier = 1;
  let assemblyFormat = [{
    (`ins` `(` $ins^ `:` type($ins) `)`)? (`bounds` `(` $bounds^ `:` type($bounds) `)`)? (`order` `(` $order^ `:` type($order) `)`)?
    `outs` `(` $outs `:` type($outs) `)` attr-dict-with-keyword $body (`->` type($results)^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getOutsMutable(); }
    /// The body's arguments for `ins`.
    ::mlir::ArrayRef<::mlir::BlockArgument> getInArguments() {
      return getBody().getArguments().drop_front(getBounds() ? 2 : 1);
    }
  }];
}

def Tile_YieldOp : Tile_Op<"yield", [Pure, ReturnLike, Terminator, ParentOneOf<["RaggedGemmOp", "RowsOp"]>]> {
  let summary = "values of a region, one for each out";
  let arguments = (ins Variadic<AnyType>:$values);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

def Tile_LoadOp : Tile_Op<"load", [HasParent<"RowsOp">, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "a row or an element of an input";
  let description = [{
    With one index fewer than the source's rank the result is the row as a vector, with as many indices an element. If the first index
    is -1 nothing is read and the result is zero.

    Example: `%row = tile.load %x[%r] : memref<?x64xf32> -> vector<64xf32>`, `%id = tile.load %ids[%t, %j] : memref<?x2xi32> -> i32`

    Constraints:
    - (C1) the result is a vector of the source's width and element type for rank - 1 indices, the element type for rank indices.
    - (C2) the source is an argument of the body.
  }];
  let arguments = (ins Tile_AnyShaped:$source, Variadic<Index>:$indices);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$source `[` $indices `]` attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_SelectOp : Tile_Op<"select", [Pure]> {
  let summary = "ids of the k largest elements of a row, within the best groups";
  let description = [{
    Best first; ties go to the lowest id; ids are distinct. The row's E elements form `groups` equal, consecutive groups; a group's
    score is the sum of its `group_top` largest elements (in order, in f32); only elements of the `keep_groups` best groups can be chosen.
    `nan` says whether NaN ranks below or above every number. If above, elements of the other groups count as -inf, as where a program masks
    them and sorts: they are chosen where what is left of the best groups is -inf too, with a higher id.

    Example: `%ids = tile.select %s {groups = 8 : i64, keep_groups = 4 : i64, group_top = 2 : i64} : vector<64xf32> -> vector<8xi32>`

    Constraints:
    - (C1) k is at most E; groups divides E; keep_groups is 1 to groups and keep_groups * E / groups at least k; group_top is 1 to E / groups.
  }];
  let arguments = (ins FixedVectorOfRankAndType<[1], [F32]>:$scores, DefaultValuedAttr<I64Attr, "1">:$groups,
                   DefaultValuedAttr<I64Attr, "1">:$keep_groups, DefaultValuedAttr<I64Attr, "1">:$group_top,
                   DefaultValuedAttr<Tile_NanOrderAttr, "::mlir::tile::NanOrder::Last">:$nan);
  let results = (outs FixedVectorOfRankAndType<[1], [I32]>:$ids);
  let assemblyFormat = "$scores attr-dict `:` type($scores) `->` type($ids)";
  let hasVerifier = 1;
}

def Tile_LookupOp : Tile_Op<"lookup", [Pure]> {
  let summary = "elements of a row by index";
  let description = [{
    `result[j] = row[ids[j]]`; ids are within the row.

    Example: `%v = tile.lookup %row[%ids] : vector<64xf32>, vector<8xi32> -> vector<8xf32>`

    Constraints:
    - (C1) the result has the length of the ids and the element type of the row.
  }];
  let arguments = (ins FixedVectorOfRankAndType<[1], [F32, I32]>:$row, FixedVectorOfRankAndType<[1], [I32]>:$ids);
  let results = (outs FixedVectorOfRankAndType<[1], [F32, I32]>:$result);
  let assemblyFormat = "$row `[` $ids `]` attr-dict `:` type($row) `,` type($ids) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_FaultOp : Tile_Op<"fault", [HasParent<"RowsOp">, MemoryEffects<[MemWrite]>]> {
  let summary = "reports a fault of this row";
  let description = [{
    If the condition holds, records a fault of this kind at this row with the value and the limit.

    Example: `tile.fault nan_router if %none row %r value %c0 limit %c8`
  }];
  let arguments = (ins Tile_FaultKindAttr:$kind, I1:$condition, Index:$row, I64:$value, I64:$limit);
  let assemblyFormat = "$kind `if` $condition `row` $row `value` $value `limit` $limit attr-dict";
}

#endif
