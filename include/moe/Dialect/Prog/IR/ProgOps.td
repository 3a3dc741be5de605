//===- ProgOps.td - operations of the prog dialect -----------------------===//

#ifndef MOE_DIALECT_PROG_IR_PROGOPS_TD
#define MOE_DIALECT_PROG_IR_PROGOPS_TD

include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "moe/Dialect/Prog/IR/ProgDialect.td"

class Prog_Op<string opMnemonic, list<Trait> traits = []> : Op<Prog_Dialect, opMnemonic, traits>;

def Prog_ProgramOp : Prog_Op<"program", [Symbol, IsolatedFromAbove, SingleBlock]> {
  let summary = "one entry of a .moe file";
  let description = [{
    The block's arguments are the inputs. `input_names` and `output_names` name what the caller passes.

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
    - (C1) only prog ops and arith on i64 in the body, ended by prog.return.
    - (C2) outputs are numbered 0, 1, ... without gap.
    - (C3) one name for each input and output, all different.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<StrArrayAttr>:$input_names, OptionalAttr<StrArrayAttr>:$output_names);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
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
}

def Prog_OutputOp : Prog_Op<"output", [MemoryEffects<[MemAlloc]>]> {
  let summary = "a buffer the caller passes for a result";
  let description = [{
    `dims` are the sizes of its dynamic dimensions.
    Constraints:
    - (C1) one size for each dynamic dimension.
  }];
  let arguments = (ins I64Attr:$index, Variadic<I64>:$dims);
  let results = (outs AnyMemRef:$buffer);
  let assemblyFormat = "$index `(` $dims `)` attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Prog_BufferOp : Prog_Op<"buffer", [AttrSizedOperandSegments, MemoryEffects<[MemAlloc]>]> {
  let summary = "a piece of the arena";
  let description = [{
    Row-major. `offset`, in bytes, is set by `prog-plan-arena`. The contents are undefined at first.
    Constraints:
    - (C1) one size for each dynamic dimension.
    - (C2) the memref has the identity layout.
  }];
  let arguments = (ins Variadic<I64>:$dims, Optional<I64>:$offset);
  let results = (outs AnyMemRef:$buffer);
  let assemblyFormat = "`(` $dims `)` (`at` $offset^)? attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Prog_ConstantOp : Prog_Op<"constant", [Pure]> {
  let summary = "a tensor stored in the file; read only";
  let description = [{
    Constraints:
    - (C1) the value has the memref's shape and element type.
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs AnyStaticShapeMemRef:$buffer);
  let assemblyFormat = "$value attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Prog_LaunchOp : Prog_Op<"launch", [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "runs a kernel";
  let description = [{
    Operands are buffers first, then i64 scalars. Whether a kernel reads or writes a buffer is known from the argument attribute
    `prog.access` = "read", "write" or "readwrite" on the kernel's function.
    Constraints:
    - (C1) the callee is a function and takes these types (i64 scalars as index or i64).
  }];
  let arguments = (ins SymbolRefAttr:$kernel, Variadic<AnyTypeOf<[AnyMemRef, I64]>>:$operands);
  let assemblyFormat = "$kernel `(` $operands `)` attr-dict (`:` type($operands)^)?";
}

def Prog_MemsetOp : Prog_Op<"memset"> {
  let summary = "fills a buffer with one byte value";
  let arguments = (ins AnyMemRef:$buffer, I8Attr:$value);
  let assemblyFormat = "$buffer `,` $value attr-dict `:` type($buffer)";
}

def Prog_CopyOp : Prog_Op<"copy"> {
  let summary = "copies a buffer";
  let description = [{
    Constraints:
    - (C1) both have the same shape and element type.
  }];
  let arguments = (ins AnyMemRef:$source, AnyMemRef:$target);
  let assemblyFormat = "$source `,` $target attr-dict `:` type($source) `,` type($target)";
  let hasVerifier = 1;
}

def Prog_WaitOp : Prog_Op<"wait"> {
  let summary = "waits for everything before it";
  let assemblyFormat = "attr-dict";
}

def Prog_ReturnOp : Prog_Op<"return", [Terminator, HasParent<"ProgramOp">]> {
  let summary = "ends a program";
  let assemblyFormat = "attr-dict";
}

#endif
