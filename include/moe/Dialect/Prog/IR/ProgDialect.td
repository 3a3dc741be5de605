//===- ProgDialect.td - the prog dialect ---------------------------------===//

#ifndef MOE_DIALECT_PROG_IR_PROGDIALECT_TD
#define MOE_DIALECT_PROG_IR_PROGDIALECT_TD

include "mlir/IR/DialectBase.td"

def Prog_Dialect : Dialect {
  let name = "prog";
  let cppNamespace = "::mlir::prog";
  let summary = "the host program: in which order kernels run, on which buffers";
  let description = [{
    Straight-line code over one arena and the caller's buffers. Sizes are i64 expressions over the sizes of the inputs, written with
    `prog.dim` and `arith` (addi, subi, muli, ceildivsi, maxsi, minsi, constant). Nothing here reads a device value but an exchange of sizes that are not known, so a program can be captured in a graph.
    `docs/prog.md` says why it is so.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let hasConstantMaterializer = 1;
  let useDefaultAttributePrinterParser = 1;
}

#endif
