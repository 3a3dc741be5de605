//===- TileAttrs.td - attributes and enums of the tile dialect -----------===//

#ifndef MOE_DIALECT_TILE_IR_TILEATTRS_TD
#define MOE_DIALECT_TILE_IR_TILEATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "moe/Dialect/Tile/IR/TileDialect.td"

class Tile_Enum<string name, string summary, list<I32EnumCase> cases> : I32Enum<name, summary, cases> {
  let cppNamespace = "::mlir::tile";
}
class Tile_EnumAttr<EnumInfo info, string attrMnemonic> : EnumAttr<Tile_Dialect, info, attrMnemonic> {
  let assemblyFormat = "`<` $value `>`";
}

def Tile_GemmMode : Tile_Enum<"GemmMode", "which dimension of the product is ragged", [
  I32EnumCase<"Rows", 0, "rows">, I32EnumCase<"Contraction", 1, "contraction">]>;
def Tile_GemmModeAttr : Tile_EnumAttr<Tile_GemmMode, "mode">;

def Tile_RhsLayout : Tile_Enum<"RhsLayout", "order of a weight's dimensions", [
  I32EnumCase<"KN", 0, "kn">, I32EnumCase<"NK", 1, "nk">]>;
def Tile_RhsLayoutAttr : Tile_EnumAttr<Tile_RhsLayout, "rhs">;

def Tile_Accumulators : Tile_Enum<"Accumulators", "how the columns of the product become accumulators of one result column", [
  I32EnumCase<"Single", 0, "single">,              // column n
  I32EnumCase<"Concatenated", 1, "concatenated">,  // columns n and n + N / 2
  I32EnumCase<"Interleaved", 2, "interleaved">     // columns 2 n and 2 n + 1
]>;
def Tile_AccumulatorsAttr : Tile_EnumAttr<Tile_Accumulators, "accs">;

def Tile_ExtraKind : Tile_Enum<"ExtraKind", "how an epilogue reads an extra operand", [
  I32EnumCase<"Row", 0, "row">,      // [M]: one value a row
  I32EnumCase<"Slot", 1, "slot">,    // [T, k]: the value of the row's slot; needs `slots`
  I32EnumCase<"Group", 2, "group">,  // [g, N], or [N] for a weight of rank 2: by the row's group and the accumulator's column; one argument an accumulator
  I32EnumCase<"Elem", 3, "elem">     // shaped like the result: by row and result column
]>;
def Tile_ExtraKindAttr : Tile_EnumAttr<Tile_ExtraKind, "extra">;
def Tile_ExtraKindArrayAttr : TypedArrayAttrBase<Tile_ExtraKindAttr, "kinds of the extra operands">;

def Tile_Precision : Tile_Enum<"Precision", "how f32 operands are multiplied", [
  I32EnumCase<"Exact", 0, "exact">, I32EnumCase<"TF32", 1, "tf32">]>;
def Tile_PrecisionAttr : Tile_EnumAttr<Tile_Precision, "precision">;

def Tile_NanOrder : Tile_Enum<"NanOrder", "where NaN ranks in a selection", [
  I32EnumCase<"Last", 0, "last">, I32EnumCase<"First", 1, "first">]>;
def Tile_NanOrderAttr : Tile_EnumAttr<Tile_NanOrder, "nan">;

// The values are those of moe_fault_kind in moert.h.
def Tile_FaultKind : Tile_Enum<"FaultKind", "kinds of fault a kernel reports", [
  I32EnumCase<"BadSizes", 0, "bad_sizes">, I32EnumCase<"NanRouter", 1, "nan_router">,
  I32EnumCase<"BadId", 2, "bad_id">, I32EnumCase<"Overflow", 3, "overflow">]>;
def Tile_FaultKindAttr : EnumAttr<Tile_Dialect, Tile_FaultKind, "fault">;  // bare in the op's own form

#endif
