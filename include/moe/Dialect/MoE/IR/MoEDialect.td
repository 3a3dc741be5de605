//===- MoEDialect.td - the moe dialect -----------------------------------===//

#ifndef MOE_DIALECT_MOE_IR_MOEDIALECT_TD
#define MOE_DIALECT_MOE_IR_MOEDIALECT_TD

include "mlir/IR/DialectBase.td"

def MoE_Dialect : Dialect {
  let name = "moe";
  let cppNamespace = "::mlir::moe";
  let summary = "what a Mixture-of-Experts layer computes";
  let description = [{
    Router, routing plan, ragged matrix products, gated activations and weighted combine on tensors with value
    semantics. Elementwise work between them is left to upstream dialects. `docs/moe.md` says why it is so.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasCanonicalizer = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
  let extraClassDeclaration = "void registerTypesAndAttributes();";
}

#endif
