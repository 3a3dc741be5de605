//===- SM90Dialect.td - the sm90 dialect ---------------------------------===//

#ifndef MOE_DIALECT_SM90_IR_SM90DIALECT_TD
#define MOE_DIALECT_SM90_IR_SM90DIALECT_TD

include "mlir/IR/DialectBase.td"

def SM90_Dialect : Dialect {
  let name = "sm90";
  let cppNamespace = "::mlir::sm90";
  let summary = "how a kernel runs on a Hopper chip";
  let description = [{
    The few ops where control decides speed: a pipeline ring in shared memory, warp roles with register budgets, tiles loaded and
    stored by TMA, groups of wgmma on opaque accumulators, the ragged tile scheduler and the epilogue on fragments. Between them
    stand upstream `arith`, `scf`, `nvvm` and `llvm` ops. Each op lowers by a pattern of its own. `docs/sm90.md` says why it is so.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

#endif
