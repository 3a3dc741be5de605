//===- ProgOps.td - operations of the prog dialect -----------------------===//

#ifndef MOE_DIALECT_PROG_IR_PROGOPS_TD
#define MOE_DIALECT_PROG_IR_PROGOPS_TD

include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "moe/Dialect/KnownAttributes.td"
include "moe/Dialect/Prog/IR/ProgAttrs.td"

def Prog_Shaped : AnyTypeOf<[AnyRankedTensor, AnyMemRef], "ranked tensor or memref">;

class Prog_Op<string opMnemonic, list<Trait> traits = []> : Op<Prog_Dialect, opMnemonic, traits # [KnownAttributes]>;

def Prog_ProgramOp : Prog_Op<"program", [Symbol, IsolatedFromAbove, SingleBlock]> {
  let summary = "one entry of a .moe file";
  let description = [{
    The block's arguments are the inputs. `input_names` and `output_names` name what the caller passes; without them the names are
    `in0`, `in1`, ... and `out0`, `out1`, ...

    Example:
    ```mlir
    prog.program @layer(%x: memref<?x64xf32, strided<[?, 1]>>) {
      %m = prog.dim %x, 0 : memref<?x64xf32, strided<[?, 1]>>
      %y = prog.output 0 (%m) : memref<?x64xf32, strided<[?, 1]>>
      prog.launch @kernels::@double(%x, %y) : memref<?x64xf32, strided<[?, 1]>>, memref<?x64xf32, strided<[?, 1]>>
      prog.return
    }
    ```
    Constraints:
    - (C1) only prog ops and arith on i64 (addi, subi, muli, ceildivsi, maxsi, minsi, constant) in the body, ended by prog.return.
    - (C2) outputs are numbered 0, 1, ... without gap.
    - (C3) one name for each input and output, all different.
    - (C4) the inputs are memrefs as the caller's buffers are (see `prog.output`).
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<StrArrayAttr>:$input_names, OptionalAttr<StrArrayAttr>:$output_names);
  let regions = (region SizedRegion<1>:$body);
  let builders = [
    // An empty block with arguments of these types.
    OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::TypeRange":$inputs)>
  ];
  let skipDefaultBuilders = 1;
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The outputs in the order of their numbers.
    ::llvm::SmallVector<::mlir::prog::OutputOp> getOutputs();
    /// What the caller calls input or output i.
    ::std::string getInputName(unsigned i);
    ::std::string getOutputName(unsigned i);
  }];
}

def Prog_DimOp : Prog_Op<"dim", [Pure]> {
  let summary = "size of one dimension of an input";
  let description = [{
    Constraints:
    - (C1) the source is an argument of the program, and the dimension is within its rank.
  }];
  let arguments = (ins AnyMemRef:$source, I64Attr:$dim);
  let results = (outs I64:$size);
  let assemblyFormat = "$source `,` $dim attr-dict `:` type($source)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Prog_RequireOp : Prog_Op<"require", []> {
  let summary = "a size an input must have";
  let description = [{
    The runtime refuses inputs whose `size` is not `expected`, before anything runs. Kernels trust what is required here.

    Example:
    ```mlir
    %m = prog.dim %x, 0 : memref<?x64xf32, strided<[?, 1]>>
    %t = prog.dim %ids, 0 : memref<?x2xi32, strided<[?, 1]>>
    prog.require %t = %m
    ```
    Constraints:
    - (C1) `size` is the result of prog.dim.
  }];
  let arguments = (ins I64:$size, I64:$expected);
  let assemblyFormat = "$size `=` $expected attr-dict";
  let hasVerifier = 1;
}

def Prog_OutputOp : Prog_Op<"output", [MemoryEffects<[MemAlloc]>]> {
  let summary = "a buffer the caller passes for a result";
  let description = [{
    `dims` are the sizes of its dynamic dimensions.
    Constraints:
    - (C1) one size for each dynamic dimension.
    - (C2) the caller's buffers carry strides: the innermost is one element, the others are dynamic. A memref of rank 0 or 1 has the identity
      layout, others `strided<[?, ..., 1]>`. The element type is one of f32, bf16, f16, i64, i32, i8, ui8, i1, and the rank at most 8.
  }];
  let arguments = (ins I64Attr:$index, Variadic<I64>:$dims);
  let results = (outs AnyMemRef:$buffer);
  let assemblyFormat = "$index `(` $dims `)` attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Prog_BufferOp : Prog_Op<"buffer", [AttrSizedOperandSegments]> {
  let summary = "a piece of the arena";
  let description = [{
    Row-major. `offset`, in bytes, is set by `prog-plan-arena`. The contents are undefined at first. With `peer` it is a piece of the
    peer arena, which belongs to the session and into which kernels of other ranks store.
    Constraints:
    - (C1) one size for each dynamic dimension.
    - (C2) the memref has the identity layout, and an element type and rank as of `prog.output`.
  }];
  let arguments = (ins Variadic<I64>:$dims, Optional<I64>:$offset, UnitAttr:$peer);
  let results = (outs Res<AnyMemRef, "", [MemAlloc]>:$buffer);
  let assemblyFormat = "`(` $dims `)` (`at` $offset^)? attr-dict `:` type($buffer)";
  let builders = [OpBuilder<(ins "::mlir::Type":$buffer, "::mlir::ValueRange":$dims, "::mlir::Value":$offset), [{
    build($_builder, $_state, buffer, dims, offset, /*peer=*/false);
  }]>];
  let hasVerifier = 1;
}

def Prog_ConstantOp : Prog_Op<"constant", [Pure]> {
  let summary = "a tensor stored in the file; read only";
  let description = [{
    Constraints:
    - (C1) the value has the memref's shape and element type.
    - (C2) the memref has the identity layout, and an element type and rank as of `prog.output`.
    - (C3) nothing writes it: it is no target of `prog.memset` or `prog.copy`, and no kernel's argument with another access than "read".
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs AnyStaticShapeMemRef:$buffer);
  let assemblyFormat = "$value attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Prog_LaunchOp : Prog_Op<"launch", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a kernel";
  let description = [{
    Operands are buffers first, then i64 scalars. Whether a kernel reads or writes a buffer is known from the argument attribute
    `prog.access` = "read", "write" or "readwrite" on the kernel's function; without it both is assumed.

    The rest is for traces and changes nothing: `flops` and `bytes` are what the kernel computes and moves at most, and `bounds` is the number of the
    operand that it fills with the rows [begin, end) of each group.

    Example: `prog.launch @kernels::@offsets(%sizes, %b, %m) flops(%c0) bytes(%n) {bounds = 1 : i64} : memref<8xi32>, memref<8x2xi64>, i64`
    Constraints:
    - (C1) the callee is a function and takes these types (i64 scalars as index or i64; a buffer's sizes and strides where it takes any).
    - (C2) buffers come before scalars.
    - (C3) in a program, no input or constant is passed where the kernel writes.
    - (C4) `bounds` is the number of an operand that is `[G, 2]` of i64.
  }];
  let arguments = (ins SymbolRefAttr:$kernel, Variadic<AnyTypeOf<[AnyMemRef, I64]>>:$arguments, Optional<I64>:$flops, Optional<I64>:$bytes,
                   OptionalAttr<I64Attr>:$bounds);
  let builders = [OpBuilder<(ins "::mlir::SymbolRefAttr":$kernel, "::mlir::ValueRange":$arguments), [{
    build($_builder, $_state, kernel, arguments, ::mlir::Value(), ::mlir::Value(), ::mlir::IntegerAttr());
  }]>];
  let assemblyFormat = [{
    $kernel `(` $arguments `)` (`flops` `(` $flops^ `)`)? (`bytes` `(` $bytes^ `)`)? attr-dict (`:` type($arguments)^)?
  }];
  let hasVerifier = 1;
}

def Prog_MemsetOp : Prog_Op<"memset"> {
  let summary = "fills a buffer with one byte value";
  let description = [{
    Constraints:
    - (C1) the buffer is an output or a piece of the arena.
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemWrite]>:$buffer, I8Attr:$value);
  let assemblyFormat = "$buffer `,` $value attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Prog_CopyOp : Prog_Op<"copy"> {
  let summary = "copies a buffer";
  let description = [{
    Constraints:
    - (C1) both have the same shape and element type.
    - (C2) the target is an output or a piece of the arena.
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$source, Arg<AnyMemRef, "", [MemWrite]>:$target);
  let assemblyFormat = "$source `,` $target attr-dict `:` type($source) `,` type($target)";
  let hasVerifier = 1;
}

def Prog_AllToAllOp : Prog_Op<"all_to_all", [AttrSizedOperandSegments, DestinationStyleOpInterface,
                                              DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
                                              DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "exchanges rows with every rank of a mesh axis";
  let description = [{
    With bounds, rows `[send[d, 0], send[d, 1])` of the source go to rank d, and rows `[receive[s, 0], receive[s, 1])` of the target
    come from rank s; the other rows of the target become zero. Without bounds the rows are `ranks` equal blocks: block d goes to
    rank d, and block s comes from rank s. Every rank of the axis runs the same exchanges in the same order.
    Before bufferization it works on tensors, and its result is the target.

    Bounds are device values: the executor of a target that has to know them on the host waits for them, and the entry says
    HOST_SYNC.

    With `transport = #prog.transport<peer>` the rows of a target with such kernels travel by one: `prog-outline-exchanges` makes it and
    names it in `kernel`. The kernel stores rows into the target on the other ranks, which lies in the peer arena for that, and learns
    the sizes there. A target without such kernels exchanges exactly.

    Example:
    ```mlir
    prog.all_to_all %x send %sb receive %rb into %y {axis = "ep", ranks = 4 : i64}
        : memref<?x64xf32>, memref<4x2xi64>, memref<4x2xi64>, memref<64x64xf32>
    ```
    Constraints:
    - (C1) source and target are all tensors or all memrefs, of one element type and with the same dimensions after the first; there
      is a result, of the target's type, exactly for tensors.
    - (C2) memrefs have the identity layout: what is sent is one piece of memory.
    - (C3) send and receive come together and are `[ranks, 2]` i64; without them static numbers of rows are equal and divisible by ranks.
    - (C4) ranks is at least 1, and the axis has a name.
    - (C5) the target is an output or a piece of the arena.
    - (C6) all exchanges of a program are over one axis and number of ranks.
    - (C7) for transport `peer` the target is a piece of the arena; `kernel` comes with that transport only, and is a function that takes
      the operands.
  }];
  let arguments = (ins Prog_Shaped:$source, Optional<Prog_Shaped>:$send, Optional<Prog_Shaped>:$receive, Prog_Shaped:$target,
                   StrAttr:$axis, I64Attr:$ranks, DefaultValuedAttr<Prog_TransportAttr, "Transport::Exact">:$transport,
                   OptionalAttr<SymbolRefAttr>:$kernel);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$source, "::mlir::Value":$send, "::mlir::Value":$receive,
                                 "::mlir::Value":$target, "::llvm::StringRef":$axis, "uint64_t":$ranks,
                                 CArg<"::mlir::prog::Transport", "::mlir::prog::Transport::Exact">:$transport), [{
    build($_builder, $_state, result, source, send, receive, target, axis, ranks, transport, ::mlir::SymbolRefAttr());
  }]>];
  let assemblyFormat = [{
    $source (`send` $send^)? (`receive` $receive^)? `into` $target attr-dict `:` type(operands) (`->` type($result)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return ::mlir::MutableOperandRange(getTargetMutable()); }
  }];
}

def Prog_WaitOp : Prog_Op<"wait"> {
  let summary = "waits for everything before it";
  let assemblyFormat = "attr-dict";
}

def Prog_ReturnOp : Prog_Op<"return", [AttrSizedOperandSegments, Terminator, HasParent<"ProgramOp">]> {
  let summary = "ends a program";
  let description = [{
    `arena` is the number of bytes of the arena, and `peer` of the peer arena, both set by `prog-plan-arena`; a program without buffers
    in one has none.
  }];
  let arguments = (ins Optional<I64>:$arena, Optional<I64>:$peer);
  let assemblyFormat = "(`arena` `(` $arena^ `)`)? (`peer` `(` $peer^ `)`)? attr-dict";
  let builders = [OpBuilder<(ins), "build($_builder, $_state, ::mlir::Value(), ::mlir::Value());">];
}

#endif
