//===- KnownAttributes.td - no op ignores a misspelt attribute ------------===//

#ifndef MOE_DIALECT_KNOWNATTRIBUTES_TD
#define MOE_DIALECT_KNOWNATTRIBUTES_TD

include "mlir/IR/OpBase.td"

// On every op of our dialects. MLIR keeps attributes that an op does not declare; an option that is misspelt would be one,
// and silently do nothing. Attributes of another dialect, such as `vendor.hint`, are left alone.
def KnownAttributes : NativeOpTrait<"KnownAttributes"> {
  let cppNamespace = "::mlir::moe";
}

#endif
