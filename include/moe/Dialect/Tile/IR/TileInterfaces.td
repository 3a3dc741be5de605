//===- TileInterfaces.td - what every kernel op says of itself -----------===//

#ifndef MOE_DIALECT_TILE_IR_TILEINTERFACES_TD
#define MOE_DIALECT_TILE_IR_TILEINTERFACES_TD

include "mlir/IR/OpBase.td"

def Tile_KernelOpInterface : OpInterface<"KernelOpInterface"> {
  let cppNamespace = "::mlir::tile";
  let description = [{
    A kernel of memrefs says what a run of it costs, so that a trace can compare its time with what the chip could do. Costs are upper
    bounds by the numbers of rows, because the sizes of groups are known on the device only; a ragged product is at its bound when every row
    is in a group.
  }];
  let methods = [
    InterfaceMethod<"Builds what one run computes and moves.", "::mlir::tile::Cost", "getCost", (ins "::mlir::OpBuilder &":$builder)>,
    InterfaceMethod<"The out that this kernel fills with the rows [begin, end) of each group, or null.", "::mlir::Value", "getBoundsOut",
                    (ins), "", "return nullptr;">,
  ];
}

#endif
