//===- ProgAttrs.td - attributes of the prog dialect ----------------------===//

#ifndef MOE_DIALECT_PROG_IR_PROGATTRS_TD
#define MOE_DIALECT_PROG_IR_PROGATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "moe/Dialect/Prog/IR/ProgDialect.td"

def Prog_Transport : I32Enum<"Transport", "how rows travel between ranks", [
  I32EnumCase<"Exact", 0, "exact">,  // by the communicator, which the host tells how many rows there are
  I32EnumCase<"Peer", 1, "peer">     // by a kernel's stores into the other ranks' memory
]> {
  let cppNamespace = "::mlir::prog";
}
def Prog_TransportAttr : EnumAttr<Prog_Dialect, Prog_Transport, "transport"> { let assemblyFormat = "`<` $value `>`"; }

#endif
