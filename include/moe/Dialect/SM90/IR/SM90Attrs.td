//===- SM90Attrs.td - attributes, enums and types of the sm90 dialect -----===//

#ifndef MOE_DIALECT_SM90_IR_SM90ATTRS_TD
#define MOE_DIALECT_SM90_IR_SM90ATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "moe/Dialect/SM90/IR/SM90Dialect.td"

class SM90_Enum<string name, string summary, list<I32EnumCase> cases> : I32Enum<name, summary, cases> {
  let cppNamespace = "::mlir::sm90";
}
class SM90_Attr<string name, string attrMnemonic> : AttrDef<SM90_Dialect, name> { let mnemonic = attrMnemonic; }

//===----------------------------------------------------------------------===//
// How the host makes a kernel's parameters and launches it
//===----------------------------------------------------------------------===//

def SM90_Extent : SM90_Enum<"Extent", "what a term of a tensor map's dimension or stride reads", [
  I32EnumCase<"None", 0, "none">,       // nothing: the term is its constant
  I32EnumCase<"Size", 1, "size">,       // size of dimension `dim` of the argument
  I32EnumCase<"Stride", 2, "stride">    // stride of dimension `dim` of the argument, in bytes
]>;
def SM90_ExtentAttr : EnumAttr<SM90_Dialect, SM90_Extent, "extent">;

def SM90_TermAttr : SM90_Attr<"Term", "term"> {
  let summary = "a size or stride of a tensor map: constant + sign * (size or stride of the argument)";
  let description = [{
    64-bit. `of` is `none`, `size` (of dimension `dim`) or `stride` (of dimension `dim`, in bytes); `sign` is 1, -1, or a factor.

    Example: `#sm90.term<constant = 4096>`, `#sm90.term<of = size, dim = 0>`, `#sm90.term<constant = 34359738368, of = stride, dim = 0, sign = -1>`.
  }];
  let parameters = (ins DefaultValuedParameter<"int64_t", "0">:$constant,
    DefaultValuedParameter<"::mlir::sm90::Extent", "::mlir::sm90::Extent::None">:$of,
    DefaultValuedParameter<"int64_t", "0">:$dim, DefaultValuedParameter<"int64_t", "1">:$sign);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def SM90_PointerAttr : SM90_Attr<"Pointer", "pointer"> {
  let summary = "parameter: device address of launch argument `arg` (64 bit)";
  let description = [{
    With `align` the address and the strides of all dimensions but the innermost are multiples of so many bytes: for an argument with elements of which that is
    not so, the kernel's fallback runs.

    Example: `#sm90.pointer<2>`, `#sm90.pointer<0, align = 16>`

    Constraints:
    - (C1) align is a power of two up to 128.
  }];
  let parameters = (ins "int64_t":$arg, DefaultValuedParameter<"int64_t", "1">:$align);
  let assemblyFormat = "`<` $arg (`,` `align` `=` $align^)? `>`";
  let genVerifyDecl = 1;
}
def SM90_SizeAttr : SM90_Attr<"Size", "size"> {
  let summary = "parameter: size of dimension `dim` of argument `arg`, of `width` bits";
  let parameters = (ins "int64_t":$arg, "int64_t":$dim, DefaultValuedParameter<"int64_t", "32">:$width);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}
def SM90_StrideAttr : SM90_Attr<"Stride", "stride"> {
  let summary = "parameter: stride of dimension `dim` of argument `arg`, in elements, of `width` bits";
  let parameters = (ins "int64_t":$arg, "int64_t":$dim, DefaultValuedParameter<"int64_t", "64">:$width);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}
def SM90_ScalarAttr : SM90_Attr<"Scalar", "scalar"> {
  let summary = "parameter: scalar `index` of the launch (they follow the buffers), of `width` bits";
  let parameters = (ins "int64_t":$index, DefaultValuedParameter<"int64_t", "64">:$width);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}
def SM90_FaultsAttr : SM90_Attr<"Faults", "faults"> {
  let summary = "parameter: device address of the fault block";
  let assemblyFormat = "";
}
def SM90_CounterAttr : SM90_Attr<"Counter", "counter"> {
  let summary = "parameter: device address of a u32 that is zero when the kernel starts";
  let assemblyFormat = "";
}
def SM90_PeersAttr : SM90_Attr<"Peers", "peers"> {
  let summary = "parameter: device address of what says where the memory of other ranks is (runtime/CUDA/PeerABI.h)";
  let assemblyFormat = "";
}
def SM90_TensorMapAttr : SM90_Attr<"TensorMap", "tensor_map"> {
  let summary = "parameter: a CUtensorMap of argument `arg`, 128 bytes by value";
  let description = [{
    Encoded on the host at each enqueue with `cuTensorMapEncodeTiled`: element type `element` (`tf32`: an argument of f32, whose elements are rounded on the
    way), rank `dims.size()`, innermost dimension first; `strides` has one entry fewer, in bytes; `box` in elements. Element strides are 1, no interleave, 128-byte swizzle, L2 promotion of 256 bytes,
    out-of-bounds elements read as zero. A dimension that comes out as 0 is passed as 1: the kernel reads none of it then.

    Constraints:
    - (C1) rank 1 to 5, one stride fewer than dims, one box size for each dim.
    - (C2) box sizes are 1 to 256, and the inner box is 128 bytes.
  }];
  let parameters = (ins "int64_t":$arg, "::mlir::Type":$element, ArrayRefParameter<"::mlir::sm90::TermAttr">:$dims,
    ArrayRefParameter<"::mlir::sm90::TermAttr">:$strides, ArrayRefParameter<"int64_t">:$box);
  let assemblyFormat = "`<` $arg `,` $element `,` `dims` `=` `[` $dims `]` `,` `strides` `=` `[` $strides `]` `,` `box` `=` `[` $box `]` `>`";
  let genVerifyDecl = 1;
}

def SM90_LaunchAttr : SM90_Attr<"Launch", "launch"> {
  let summary = "how a kernel is launched";
  let description = [{
    `threads` a block, blocks a `cluster` (1 or 2), `shared` bytes of dynamic shared memory, and the grid: `per_sm` blocks for each SM
    (rounded down to a multiple of the cluster) if that is not 0, else `blocks` blocks.
  }];
  let parameters = (ins "int64_t":$threads, DefaultValuedParameter<"int64_t", "1">:$cluster, DefaultValuedParameter<"int64_t", "0">:$shared,
    DefaultValuedParameter<"int64_t", "0">:$per_sm, DefaultValuedParameter<"int64_t", "0">:$blocks);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

def SM90_Roles : SM90_Enum<"Roles", "how two consumer warpgroups share the work", [
  I32EnumCase<"Cooperative", 0, "cooperative">,  // each takes half the rows of a tile
  I32EnumCase<"Pingpong", 1, "pingpong">         // each takes a whole tile; one multiplies while the other stores
]>;
def SM90_RolesAttr : EnumAttr<SM90_Dialect, SM90_Roles, "roles">;

def SM90_Order : SM90_Enum<"Order", "which tiles a block takes", [
  I32EnumCase<"Static", 0, "static">,   // every n-th, n blocks (clusters) in all
  I32EnumCase<"Dynamic", 1, "dynamic">  // the next one that no other has taken, by a counter in global memory
]>;
def SM90_OrderAttr : EnumAttr<SM90_Dialect, SM90_Order, "order">;

def SM90_ScheduleAttr : SM90_Attr<"Schedule", "schedule"> {
  let summary = "how a ragged product runs: the tile, the pipeline, who does what";
  let description = [{
    Attached to a `tile.ragged_gemm` as `sm90.schedule`, by hand or by `sm90-choose-schedules`. `m` rows and `n` columns of the product (before accumulators
    meet) a tile, 128 bytes of k a stage; blocks in a `cluster`; tiles are listed in bands of `raster` rows of tiles and taken in this `order`; `buffers` staging buffers of
    2 KB a consumer warp; `registers` for a thread of the producer and of the consumers.

    Example: `#sm90.schedule<roles = cooperative, m = 128, n = 256, stages = 4>`

    Constraints:
    - (C1) m is 128 (cooperative), or 64 or 128 (pingpong); n is 64, 128, 192 or 256; m * n / 128 (cooperative: half of it) is at most 128 registers.
    - (C2) the stages and staging buffers fit the shared memory.
    - (C3) cluster is 1, or 2 if n is at least 128; raster and buffers are at least 1.
  }];
  let parameters = (ins DefaultValuedParameter<"::mlir::sm90::Roles", "::mlir::sm90::Roles::Cooperative">:$roles,
    "int64_t":$m, "int64_t":$n, "int64_t":$stages, DefaultValuedParameter<"int64_t", "1">:$cluster, DefaultValuedParameter<"int64_t", "16">:$raster,
    DefaultValuedParameter<"::mlir::sm90::Order", "::mlir::sm90::Order::Static">:$order,
    DefaultValuedParameter<"int64_t", "2">:$buffers, DefaultValuedParameter<"int64_t", "40">:$producer_registers,
    DefaultValuedParameter<"int64_t", "232">:$consumer_registers);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Bytes of a stage: 128 of k of both operands.
    int64_t getStageBytes() const { return (getM() + getN()) * 128; }
  }];
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

class SM90_Type<string name, string typeMnemonic> : TypeDef<SM90_Dialect, name> { let mnemonic = typeMnemonic; }

def SM90_TensorMapType : SM90_Type<"TensorMap", "tensor_map"> {
  let summary = "a kernel argument that is a CUtensorMap by value";
}

def SM90_RingType : SM90_Type<"Ring", "ring"> {
  let summary = "a ring of stages in shared memory, each with a full and an empty barrier";
  let description = [{
    `stages` pieces of `bytes` bytes, filled by the producer and read by the consumers in order.
    Example: `!sm90.ring<4 x 49152>`
    Constraints:
    - (C1) at least 2 stages; bytes is a positive multiple of 16.
  }];
  let parameters = (ins "int64_t":$stages, "int64_t":$bytes);
  let assemblyFormat = "`<` $stages `x` $bytes `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Bytes of shared memory: the stages, then the barriers of each.
    int64_t getSharedBytes() const { return getStages() * (getBytes() + 16); }
  }];
}

def SM90_CursorType : SM90_Type<"Cursor", "cursor"> {
  let summary = "a position in a ring: stage and phase";
}

def SM90_AccType : SM90_Type<"Acc", "acc"> {
  let summary = "the f32 accumulator of 64 rows and `columns` columns, in the registers of a warpgroup";
  let description = [{
    Example: `!sm90.acc<256>`
    Constraints:
    - (C1) columns is a multiple of 8 between 8 and 256.
  }];
  let parameters = (ins "int64_t":$columns);
  let assemblyFormat = "`<` $columns `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// f32 registers of a thread.
    int64_t getRegisters() const { return getColumns() / 2; }
  }];
}

def SM90_RowsType : SM90_Type<"Rows", "rows"> {
  let summary = "numbers of the `count` rows that a tile gathers, in the registers of two warps";
  let description = [{
    Thread t of the 64 has those of rows t / 8 + 8 i.
    Example: `!sm90.rows<128>`
    Constraints:
    - (C1) count is a multiple of 8 from 8 to 256.
  }];
  let parameters = (ins "int64_t":$count);
  let assemblyFormat = "`<` $count `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// i32 registers of a thread.
    int64_t getRegisters() const { return getCount() / 8; }
  }];
}

def SM90_Major : SM90_Enum<"Major", "which dimension of an operand tile is contiguous in shared memory", [
  I32EnumCase<"K", 0, "k">,   // rows of 128 bytes of k
  I32EnumCase<"MN", 1, "mn">  // boxes of 64 columns by 64 of k (8 KB), one behind the other
]>;

def SM90_ExtraKind : SM90_Enum<"ExtraKind", "how an epilogue reads an extra operand", [
  I32EnumCase<"Row", 0, "row">, I32EnumCase<"Slot", 1, "slot">, I32EnumCase<"Group", 2, "group">, I32EnumCase<"Elem", 3, "elem">]>;

def SM90_OperandType : SM90_Type<"Operand", "operand"> {
  let summary = "where an operand of wgmma stands in the stages of a ring";
  let parameters = (ins "::mlir::sm90::Major":$major);
  let assemblyFormat = "`<` $major `>`";
}

#endif
