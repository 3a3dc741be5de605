//===- KnownAttributes.h - no op ignores a misspelt attribute ---*- C++ -*-===//
#ifndef MOE_DIALECT_KNOWNATTRIBUTES_H
#define MOE_DIALECT_KNOWNATTRIBUTES_H

#include "mlir/IR/OpDefinition.h"

namespace mlir::moe {

/// Trait of every op of our dialects: refuses an attribute that the op does not declare and no dialect owns.
template <typename ConcreteType> class KnownAttributes : public OpTrait::TraitBase<ConcreteType, KnownAttributes> {
public:
  static LogicalResult verifyTrait(Operation *op) {
    for (NamedAttribute attr : op->getDiscardableAttrs()) {
      StringRef name = attr.getName().getValue();
      if (name.contains('.'))
        continue;
      InFlightDiagnostic error = op->emitOpError() << "has the unknown attribute '" << name << "', expected ";
      ArrayRef<StringAttr> known = op->getName().getAttributeNames();
      llvm::interleaveComma(known, error, [&](StringAttr attr) { error << attr.getValue(); });
      return error << (known.empty() ? "none" : "");
    }
    return success();
  }
};

} // namespace mlir::moe

#endif
