//===- SM90Ops.td - operations of the sm90 dialect ------------------------===//

#ifndef MOE_DIALECT_SM90_IR_SM90OPS_TD
#define MOE_DIALECT_SM90_IR_SM90OPS_TD

include "mlir/Dialect/LLVMIR/LLVMTypes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "moe/Dialect/SM90/IR/SM90Attrs.td"

class SM90_Op<string opMnemonic, list<Trait> traits = []> : Op<SM90_Dialect, opMnemonic, traits>;

def SM90_Global : Type<CPred<"::llvm::isa<::mlir::LLVM::LLVMPointerType>($_self) && ::llvm::cast<::mlir::LLVM::LLVMPointerType>($_self).getAddressSpace() == 1">, "pointer to global memory">;
def SM90_Shared : Type<CPred<"::llvm::isa<::mlir::LLVM::LLVMPointerType>($_self) && ::llvm::cast<::mlir::LLVM::LLVMPointerType>($_self).getAddressSpace() == 3">, "pointer to shared memory">;

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

def SM90_KernelOp : SM90_Op<"kernel", [Symbol, IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "one kernel: its code, how the host makes its parameters, and how it is launched";
  let description = [{
    Argument i of the block is parameter i. Every thread of a block runs the body. `fallback` names the kernel to launch instead, with the same
    arguments, when a tensor map cannot be encoded (a base or stride that is no multiple of 16 bytes).

    Example:
    ```mlir
    sm90.kernel @k <threads = 384, per_sm = 1> params [#sm90.tensor_map<0, bf16, dims = [<constant = 64>, <of = size>],
        strides = [<of = stride>], box = [64, 128]>, #sm90.pointer<1>] {
    ^bb0(%a: !sm90.tensor_map, %bounds: !llvm.ptr<1>):
    }
    ```
    Constraints:
    - (C1) one block argument for each parameter: !sm90.tensor_map, !llvm.ptr<1>, or an integer of the parameter's width.
    - (C2) the shared memory of its rings and staging buffers is at most 232448 bytes.
    - (C3) threads is a multiple of 128 up to 1024, and cluster 1 or 2.
    - (C4) fallback names a kernel beside it.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, SM90_LaunchAttr:$launch, ArrayAttr:$params, OptionalAttr<FlatSymbolRefAttr>:$fallback);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name $launch `params` $params (`fallback` $fallback^)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// Bytes of shared memory that rings and staging buffers take, each from a multiple of 1024.
    int64_t getSharedBytes();
  }];
}

def SM90_YieldOp : SM90_Op<"yield", [Pure, ReturnLike, Terminator]> {
  let summary = "values of a region";
  let arguments = (ins Variadic<AnyType>:$values);
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, ::mlir::ValueRange()); }]>];
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

def SM90_WarpOp : SM90_Op<"warp"> {
  let summary = "index of the warp in its block, known to be uniform";
  let description = [{
    Not pure, so that it is read once: the role of a warp then stays in uniform registers.
  }];
  let results = (outs I32:$index);
  let assemblyFormat = "attr-dict";
}

def SM90_AllocOp : SM90_Op<"alloc"> {
  let summary = "bytes of shared memory, from a multiple of 1024";
  let description = [{
    Constraints:
    - (C1) stands in the block of the kernel; bytes is positive.
  }];
  let arguments = (ins I64Attr:$bytes);
  let results = (outs SM90_Shared:$buffer);
  let assemblyFormat = "$bytes attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def SM90_SpecializeOp : SM90_Op<"specialize", [NoRegionArguments, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "the last warpgroup produces, the others consume";
  let description = [{
    Each role sets its register budget first. One branch for the whole kernel, or ptxas ignores the budgets.

    Example: `sm90.specialize %warp producer 40 { ... } consumers 232 { ... }`

    Constraints:
    - (C1) budgets are multiples of 8 from 24 to 256.
    - (C2) stands in the block of a kernel with at least 256 threads; the budgets of all threads are at most 65536 registers.
  }];
  let arguments = (ins I32:$warp, I64Attr:$producer_registers, I64Attr:$consumer_registers);
  let regions = (region SizedRegion<1>:$producer, SizedRegion<1>:$consumers);
  let assemblyFormat = "$warp `producer` $producer_registers $producer `consumers` $consumer_registers $consumers attr-dict";
  let hasVerifier = 1;
}

def SM90_ElectOp : SM90_Op<"elect", [NoRegionArguments, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "runs its region on one thread of the first warp of the warpgroup";
  let arguments = (ins I32:$warp);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$warp $body attr-dict";
}

//===----------------------------------------------------------------------===//
// Ring
//===----------------------------------------------------------------------===//

def SM90_RingOp : SM90_Op<"ring"> {
  let summary = "a ring of stages with its barriers, ready for use";
  let description = [{
    A stage is full after `arrivals` arrivals of the producer and all bytes it expects; empty after `releases` releases of consumer warps.

    Example: `%ring = sm90.ring arrivals 1 releases 8 : !sm90.ring<4 x 49152>`

    Constraints:
    - (C1) stands in the block of the kernel; arrivals and releases are at least 1.
  }];
  let arguments = (ins I64Attr:$arrivals, I64Attr:$releases);
  let results = (outs SM90_RingType:$ring);
  let assemblyFormat = "`arrivals` $arrivals `releases` $releases attr-dict `:` type($ring)";
  let hasVerifier = 1;
}

def SM90_StartOp : SM90_Op<"start", [Pure]> {
  let summary = "the first position in a ring";
  let results = (outs SM90_CursorType:$cursor);
  let assemblyFormat = "attr-dict";
}

def SM90_AdvanceOp : SM90_Op<"advance", [Pure]> {
  let summary = "the next position, or the one `count` further; the phase flips when the ring wraps";
  let arguments = (ins SM90_RingType:$ring, SM90_CursorType:$cursor, Optional<I32>:$count);
  let results = (outs SM90_CursorType:$next);
  let assemblyFormat = "$ring `[` $cursor `]` (`by` $count^)? attr-dict `:` type($ring)";
}

class SM90_RingAccess<string opMnemonic> : SM90_Op<opMnemonic> {
  let arguments = (ins SM90_RingType:$ring, SM90_CursorType:$cursor);
  let assemblyFormat = "$ring `[` $cursor `]` attr-dict `:` type($ring)";
}

def SM90_AcquireOp : SM90_Op<"acquire"> {
  let summary = "producer: waits until the stage is empty and says how many bytes will come";
  let description = [{
    One thread. The loads that follow in its block complete the stage.

    Constraints:
    - (C1) bytes is what the `sm90.tma_load` ops of its block on the same cursor move (those of one arm where an `scf.if` chooses), a
      multicast load counted for each block of the cluster that it reaches in one step.
  }];
  let arguments = (ins SM90_RingType:$ring, SM90_CursorType:$cursor, I64Attr:$bytes);
  let assemblyFormat = "$ring `[` $cursor `]` `expect` $bytes attr-dict `:` type($ring)";
  let hasVerifier = 1;
}
def SM90_WaitOp : SM90_RingAccess<"wait"> {
  let summary = "consumer: waits until the stage is full";
}
def SM90_ReleaseOp : SM90_Op<"release"> {
  let summary = "consumer warp, or one `thread`: is done with the stage, in all blocks of the cluster";
  let description = [{
    Loads before it that the program only orders may still be under way when another block sees the release, and read what that one writes next. So what was loaded from the
    stage, a number that is not negative, stands in `read`: the release then goes out when the number is there.
  }];
  let arguments = (ins SM90_RingType:$ring, SM90_CursorType:$cursor, Optional<I32>:$read, UnitAttr:$thread);
  let assemblyFormat = "(`thread` $thread^)? $ring `[` $cursor `]` (`read` $read^)? attr-dict `:` type($ring)";
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

def SM90_TurnsOp : SM90_Op<"turns"> {
  let summary = "barriers by which two consumer warpgroups read a ring in turns";
  let description = [{
    Tile `number`, counted from 0, is the turn of warpgroup number mod 2. It may wait for its stages once the other has waited for all of its own: a wait that begins
    more than one phase early passes on the phase before.

    Example:
    ```mlir
    %turns = sm90.turns : !llvm.ptr<3>
    sm90.wait_turn %turns[%number] : !llvm.ptr<3>
    sm90.pass_turn %turns[%number] : !llvm.ptr<3>
    ```
    Constraints:
    - (C1) stands in the block of the kernel.
  }];
  let results = (outs SM90_Shared:$turns);
  let assemblyFormat = "attr-dict `:` type($turns)";
  let hasVerifier = 1;
}

class SM90_TurnAccess<string opMnemonic> : SM90_Op<opMnemonic> {
  let arguments = (ins SM90_Shared:$turns, I32:$number);
  let assemblyFormat = "$turns `[` $number `]` attr-dict `:` type($turns)";
}

def SM90_WaitTurnOp : SM90_TurnAccess<"wait_turn"> {
  let summary = "consumer warpgroup: waits until it is its turn";
}
def SM90_PassTurnOp : SM90_TurnAccess<"pass_turn"> {
  let summary = "consumer warpgroup: ends its turn";
}

//===----------------------------------------------------------------------===//
// Loads
//===----------------------------------------------------------------------===//

def SM90_TmaLoadOp : SM90_Op<"tma_load"> {
  let summary = "one box of a tensor map into a stage";
  let description = [{
    One thread. Coordinates are innermost first. `offset` is where in the stage, in bytes. `bytes` is the size of the box. With `multicast` the box lands at the same
    place of both blocks of the cluster, and completes on the barrier of each.

    Constraints:
    - (C1) 1 to 5 coordinates; bytes is positive and within the stage.
    - (C2) multicast only in a kernel with a cluster of 2.
    - (C3) stages are a multiple of 1024 bytes, which is what the 128-byte swizzle needs.
  }];
  let arguments = (ins SM90_TensorMapType:$map, Variadic<I32>:$coordinates, SM90_RingType:$ring, SM90_CursorType:$cursor, I32:$offset,
                   I64Attr:$bytes, UnitAttr:$multicast);
  let assemblyFormat = "$map `[` $coordinates `]` `to` $ring `[` $cursor `]` `+` $offset `bytes` $bytes (`multicast` $multicast^)? attr-dict `:` type($ring)";
  let hasVerifier = 1;
}

def SM90_GatherRowsOp : SM90_Op<"gather_rows"> {
  let summary = "the numbers of the rows that a tile is made of";
  let description = [{
    The last two warps of a warpgroup. Row `row` + i of the tile is made of row `index`[`row` + i]; of none (-1) at and past `end`.

    Example: `%rows = sm90.gather_rows %index[%row to %end] : !llvm.ptr<1> -> !sm90.rows<128>`
  }];
  let arguments = (ins SM90_Global:$index, I32:$row, I32:$end);
  let results = (outs SM90_RowsType:$rows);
  let assemblyFormat = "$index `[` $row `to` $end `]` attr-dict `:` type($index) `->` type($rows)";
}

def SM90_GatherLoadOp : SM90_Op<"gather_load"> {
  let summary = "128 bytes of k of gathered rows into a stage";
  let description = [{
    The last two warps of a warpgroup. They wait until the stage is empty and copy, by cp.async, bytes 128 `block` to 128 `block` + 127 of each row to `offset` in the
    stage, in the pattern of TMA's 128-byte swizzle; each thread arrives once what it copied is there. Rows of a negative number, and what lies at or past `width`
    bytes in a row, are zero, and nothing is read for them. With `whole`, `width` is a multiple of 16. Rows of the matrix at `base` are `pitch` bytes apart; both are multiples of 16. A consumer needs `nvvm.fence.proxy`
    between its wait and the wgmma.

    Example: `sm90.gather_load %x pitch %pitch width %bytes [%rows] block %k to %ring[%cursor] + %zero : !llvm.ptr<1>, !sm90.rows<128>, !sm90.ring<4 x 49152>`

    Constraints:
    - (C1) the rows fit the stage.
    - (C2) a stage of the ring is full after 65 arrivals: one says how many bytes TMA will bring, and 64 threads gather.
  }];
  let arguments = (ins SM90_Global:$base, I32:$pitch, I32:$width, SM90_RowsType:$rows, I32:$block, SM90_RingType:$ring, SM90_CursorType:$cursor, I32:$offset, UnitAttr:$whole);
  let assemblyFormat = [{
    $base `pitch` $pitch `width` $width (`whole` $whole^)? `[` $rows `]` `block` $block `to` $ring `[` $cursor `]` `+` $offset attr-dict `:` type($base) `,` type($rows) `,` type($ring)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

def SM90_OperandOp : SM90_Op<"operand", [Pure]> {
  let summary = "where an operand stands in every stage of a ring";
  let arguments = (ins SM90_RingType:$ring, I32:$offset);
  let results = (outs SM90_OperandType:$operand);
  let assemblyFormat = "$ring `+` $offset attr-dict `:` type($ring) `->` type($operand)";
}

def SM90_UndefOp : SM90_Op<"undef", [Pure]> {
  let summary = "an accumulator of no value yet";
  let results = (outs SM90_AccType:$acc);
  let assemblyFormat = "attr-dict `:` type($acc)";
}

def SM90_WgmmaOp : SM90_Op<"wgmma"> {
  let summary = "adds the product of a stage to accumulators, asynchronously";
  let description = [{
    A warpgroup. Accumulator i takes rows 64 i to 64 i + 63 of operand a. A stage has 128 bytes of k: 64 elements of bf16 or f16, 32 of tf32 (4 bytes each). Opens and commits one group of wgmmas. With `first` the accumulators are
    overwritten. With `apart` the second half of the columns lies so many bytes behind the first in operand b. The results may be passed to `sm90.wgmma` and must pass through `sm90.wgmma_wait` with `pending` 0 before anything else reads them.

    Constraints:
    - (C1) at least one accumulator, all of one type; element is bf16, f16 or tf32.
    - (C2) operands of tf32 are K-major: the hardware transposes 16-bit elements only.
    - (C3) with `apart` an accumulator's columns are two halves, each a multiple of 64.
  }];
  let arguments = (ins Variadic<SM90_AccType>:$accs, SM90_RingType:$ring, SM90_CursorType:$cursor, SM90_OperandType:$a, SM90_OperandType:$b,
                   TypeAttr:$element, UnitAttr:$first, OptionalAttr<I64Attr>:$apart);
  let results = (outs Variadic<SM90_AccType>:$results);
  let assemblyFormat = [{
    (`first` $first^)? $element $ring `[` $cursor `]` $a `,` $b `,` `into` $accs attr-dict `:` type($ring) `,` type($a) `,` type($b) `,` type($accs) `->` type($results)
  }];
  let hasVerifier = 1;
}

def SM90_WgmmaWaitOp : SM90_Op<"wgmma_wait"> {
  let summary = "waits until at most `pending` groups of wgmmas are in flight";
  let arguments = (ins Variadic<SM90_AccType>:$accs, I64Attr:$pending);
  let results = (outs Variadic<SM90_AccType>:$results);
  let assemblyFormat = "$pending $accs attr-dict `:` type($accs) `->` type($results)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Numbers of tiles, handed on through a ring
//===----------------------------------------------------------------------===//

def SM90_TakeOp : SM90_Op<"take"> {
  let summary = "the number of a tile that no other block (cluster) has taken";
  let description = [{
    One thread, in the first block of a cluster; in the other the result is 0. The counter, a u32, begins with 0; the first tiles, as many as there are
    blocks (clusters), are not counted: each has one of them to begin with.
  }];
  let arguments = (ins SM90_Global:$counter);
  let results = (outs I32:$number);
  let assemblyFormat = "$counter attr-dict `:` type($counter)";
}

def SM90_SendOp : SM90_Op<"send"> {
  let summary = "a number from the first block of the cluster to a stage in every block of it";
  let description = [{
    One thread of every block: waits until the stage is empty and has it filled. It is full when it holds the first block's number.
  }];
  let arguments = (ins I32:$number, SM90_RingType:$ring, SM90_CursorType:$cursor);
  let assemblyFormat = "$number `to` $ring `[` $cursor `]` attr-dict `:` type($ring)";
}

def SM90_ReceiveOp : SM90_Op<"receive"> {
  let summary = "the number in a stage that was waited for";
  let arguments = (ins SM90_RingType:$ring, SM90_CursorType:$cursor);
  let results = (outs I32:$number);
  let assemblyFormat = "$ring `[` $cursor `]` attr-dict `:` type($ring)";
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

def SM90_ForTilesOp : SM90_Op<"for_tiles", [AttrSizedOperandSegments, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "visits this block's tiles of a ragged product";
  let description = [{
    Every block, and every role in it, walks the same list of tiles and visits every n-th, n being the number of blocks (clusters). With a `queue` it visits those whose
    numbers arrive there, in ascending order; one role `takes` them from a counter, by one thread, and sends them to all.

    With `ragged` `rows` the rows of the result fall into sections: rows between groups and rows of a group, in turn; `bounds` has the ends of all but the last section, as i64, the
    last ends at `rows`. Tiles of rows between groups come with `live` false: they are to be written as zero. Without bounds there is one
    section for each of `groups`, [0, rows), live. With `ragged` `contraction` each group has all tiles of a `rows` by columns matrix, and its section is what is
    summed over.

    The region's arguments: first row and column of the tile, group, first and last + 1 row of the section (i32), live (i1), then the values carried.
    In a cluster of 2 the two blocks take tiles of one group that are neighbours in rows (`pair` i1 true: they share columns) or, in the last row of
    tiles if their number is odd, in columns; and an argument `pair` follows `live`.

    Tiles of a section are visited in bands of `raster` tiles of rows, columns outside.

    Constraints:
    - (C1) tile_m, tile_n, columns and raster are positive, groups is not negative.
    - (C2) the region's arguments and the values yielded are as above.
    - (C3) a role takes tiles only for a queue.
  }];
  let arguments = (ins Optional<SM90_Global>:$bounds, I32:$rows, Optional<SM90_RingType>:$queue, Optional<SM90_Global>:$counter, Variadic<AnyType>:$inits, I64Attr:$groups, I64Attr:$columns, I64Attr:$tile_m, I64Attr:$tile_n,
                   I64Attr:$raster, UnitAttr:$contraction);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`contraction` $contraction^)? (`bounds` `(` $bounds^ `:` type($bounds) `)`)? `rows` `(` $rows `)` (`queue` `(` $queue^ `:` type($queue) `)`)?
    (`takes` `(` $counter^ `:` type($counter) `)`)? (`init` `(` $inits^ `:` type($inits) `)`)? attr-dict-with-keyword $body
    (`->` type($results)^)?
  }];
  let hasRegionVerifier = 1;
  let hasVerifier = 1;
}

def SM90_EpilogueOp : SM90_Op<"epilogue", [AttrSizedOperandSegments, IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "from accumulators to the outs, element by element";
  let description = [{
    A warpgroup. Element (i, j) of accumulator a is row `row` + 64 a + i; the columns of an accumulator are split into `parts` equal halves (with `interleaved`, neighbours) that meet in
    one result column: column j of the result is `column` + j. Rows at or past `end` and columns at or past `columns` are not written. The region runs on f32 accumulators (one a part),
    then the values of the extra operands, then with `accumulate` the old values of the outs, and yields one value for each out.

    An extra of kind row is read by row, slot by the row's slot, group by group and by the accumulator's column (with `interleaved` 2 j + part, else j + part * columns), elem by row and
    column.

    Strips of 16 full rows go through `staging` (a warp each) and TMA; at the end of a group through masked stores. With `plane` (mode contraction) an out is a
    stack of matrices; TMA clips at their edges. With `reduce` TMA adds the values yielded to the outs, in the L2: what is there is not read by the region.

    Constraints:
    - (C1) one map, pointer and pitch for each out, whose element types are in `types`.
    - (C2) result columns of an accumulator are a multiple of 64.
    - (C3) one pointer, pitch, kind and type for each extra.
    - (C4) `reduce` only with `plane`, without `accumulate`, into outs of f32.
  }];
  let arguments = (ins Variadic<SM90_AccType>:$accs, I32:$row, I32:$column, I32:$end, I32:$group, I32:$warp, SM90_Shared:$staging,
                   Variadic<SM90_TensorMapType>:$maps, Variadic<SM90_Global>:$outs, Variadic<I64>:$pitches,
                   Optional<SM90_Global>:$slots, Variadic<SM90_Global>:$extras, Variadic<I64>:$extra_pitches,
                   ArrayAttr:$types, ArrayAttr:$extra_types, DenseI64ArrayAttr:$extra_kinds, I64Attr:$columns, I64Attr:$parts, DefaultValuedAttr<I64Attr, "1">:$slots_per_token, I64Attr:$buffers, UnitAttr:$interleaved, UnitAttr:$accumulate,
                   UnitAttr:$plane, UnitAttr:$reduce);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $accs `at` `(` $row `,` $column `)` `end` $end `group` $group `warp` $warp `staging` $staging `maps` `(` $maps `)` `outs` `(` $outs `pitches` $pitches `)`
    (`slots` `(` $slots^ `)`)? (`extras` `(` $extras^ `pitches` $extra_pitches `)`)? attr-dict-with-keyword $body `:` type($staging) `,` type($accs) `outs` type($outs) (`slots` type($slots)^)? (`extras` type($extras)^)?
  }];
  let hasVerifier = 1;
}

def SM90_StoreZerosOp : SM90_Op<"store_zeros"> {
  let summary = "writes zero to 64 rows of a tile of an out";
  let description = [{
    A warpgroup. Rows [row, min(row + rows, end)), columns [column, min(column + width, columns)) of an out with rows `pitch` elements apart.
  }];
  let arguments = (ins SM90_Global:$out, I64:$pitch, I32:$row, I32:$column, I32:$end, TypeAttr:$element, I64Attr:$columns, I64Attr:$height, I64Attr:$width);
  let assemblyFormat = "$out `pitch` $pitch `at` `(` $row `,` $column `)` `end` $end attr-dict `:` type($out)";
}

#endif
