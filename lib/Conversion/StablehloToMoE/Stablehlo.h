//===- Stablehlo.h - reading and making unregistered StableHLO ops --------===//
//
// The dialect is not linked: its ops are known by name, and attributes of its own are text, such as
// `comparison_direction LT` or `gather<offset_dims = [1], ...>`.
//
//===----------------------------------------------------------------------===//
#ifndef MOE_LIB_CONVERSION_STABLEHLOTOMOE_STABLEHLO_H
#define MOE_LIB_CONVERSION_STABLEHLOTOMOE_STABLEHLO_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringSet.h"
#include <map>
#include <optional>
#include <string>

namespace mlir::moe::stablehlo {

/// The op's attributes, whether it is registered or not, in `<{...}>` or in `{...}`. Operation::getAttrDictionary
/// leaves out those an unregistered op has in `<{...}>`.
DictionaryAttr getAllAttributes(Operation *op);

/// Names that occur in any attribute. Symbol uses cannot be asked for: an unregistered op with a region might be a
/// symbol table.
llvm::StringSet<> findSymbolNames(ModuleOp module);

/// Whether the op is of StableHLO or CHLO.
bool isStablehlo(Operation *op);

/// Whether the op has the operands, results and shapes that patterns rely on. Nobody has verified it.
bool isWellFormed(Operation *op);

/// Whether it is an op of that name, well formed; null is not.
bool isOp(Operation *op, StringRef name);

/// The op of that name that makes the value; null if another op does, or none.
Operation *getProducer(Value value, StringRef name);

/// A list of numbers: an array or a dense attribute. None if there is no such attribute, or it is something else.
std::optional<SmallVector<int64_t>> getNumbers(Operation *op, StringRef attr);
std::optional<int64_t> getNumber(Operation *op, StringRef attr);

/// The last word of an enum's text: LT of `comparison_direction LT`; empty if there is no such attribute.
StringRef getEnum(Operation *op, StringRef attr);

/// The lists of an attribute such as `gather<offset_dims = [1], index_vector_dim = 1>`; a number is a list of one, an
/// empty list is left out. None if the text is not readable.
using Dimensions = std::map<std::string, SmallVector<int64_t>>;
std::optional<Dimensions> getDimensions(Operation *op, StringRef attr);

/// The name of the only op of a region that returns what this op makes of the region's two arguments, in either order.
StringRef getBinaryRegion(Operation *op);

/// The comparison of a sort by its first operand: LT or GT; empty for any other.
StringRef getSortOrder(Operation *sort);

inline RankedTensorType getTensor(Value value) { return dyn_cast<RankedTensorType>(value.getType()); }

/// Makes an op with the attributes where StableHLO prints them.
Operation *create(OpBuilder &builder, Location loc, StringRef name, TypeRange types, ValueRange operands,
                  ArrayRef<NamedAttribute> attrs = {});

Value createReshape(OpBuilder &builder, Location loc, Value value, ArrayRef<int64_t> shape);

/// Whether the op is `chlo.top_k`, or a `stablehlo.composite` of that name.
bool isTopK(Operation *op);

/// Whether the op may be erased if nothing uses it, though MLIR does not know it.
bool canErase(Operation *op);

/// Erases ops that nothing uses, from the end of the block on.
void eraseDead(Block &block);

/// The values of an integer tensor, both inclusive. None if nothing is known.
struct IntegerRange {
  int64_t min, max;
};
std::optional<IntegerRange> getRange(Value value);

} // namespace mlir::moe::stablehlo

#endif
