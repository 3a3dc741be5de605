//===- Stablehlo.cpp - reading and making unregistered StableHLO ops ------===//

#include "Stablehlo.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::moe;

DictionaryAttr stablehlo::getAllAttributes(Operation *op) {
  NamedAttrList attrs(op->getDiscardableAttrDictionary());
  if (auto properties = dyn_cast_or_null<DictionaryAttr>(op->getPropertiesAsAttribute()))
    for (NamedAttribute attr : properties)
      attrs.set(attr.getName(), attr.getValue());
  return attrs.getDictionary(op->getContext());
}

llvm::StringSet<> stablehlo::findSymbolNames(ModuleOp module) {
  llvm::StringSet<> names;
  module->walk([&](Operation *op) {
    getAllAttributes(op).walk([&](SymbolRefAttr symbol) {
      names.insert(symbol.getRootReference().getValue());
      for (FlatSymbolRefAttr nested : symbol.getNestedReferences())
        names.insert(nested.getValue());
    });
  });
  return names;
}

bool stablehlo::isStablehlo(Operation *op) {
  StringRef dialect = op->getName().getDialectNamespace();
  return dialect == "stablehlo" || dialect == "chlo";
}

bool stablehlo::isOp(Operation *op, StringRef name) {
  return op && op->getName().getStringRef() == name && isWellFormed(op);
}

Operation *stablehlo::getProducer(Value value, StringRef name) {
  Operation *op = value.getDefiningOp();
  return isOp(op, name) ? op : nullptr;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

std::optional<SmallVector<int64_t>> stablehlo::getNumbers(Operation *op, StringRef name) {
  Attribute attr = op->getAttr(name);
  if (auto array = dyn_cast_or_null<DenseI64ArrayAttr>(attr))
    return llvm::to_vector(array.asArrayRef());
  if (auto dense = dyn_cast_or_null<DenseIntElementsAttr>(attr); dense && dense.getElementType().isInteger(64))
    return llvm::to_vector(dense.getValues<int64_t>());
  return std::nullopt;
}

std::optional<int64_t> stablehlo::getNumber(Operation *op, StringRef name) {
  if (auto number = dyn_cast_or_null<IntegerAttr>(op->getAttr(name)))
    return number.getInt();
  return std::nullopt;
}

StringRef stablehlo::getEnum(Operation *op, StringRef name) {
  auto opaque = dyn_cast_or_null<OpaqueAttr>(op->getAttr(name));
  return opaque ? opaque.getAttrData().rsplit(' ').second.trim(" <>") : StringRef();
}

std::optional<stablehlo::Dimensions> stablehlo::getDimensions(Operation *op, StringRef name) {
  auto opaque = dyn_cast_or_null<OpaqueAttr>(op->getAttr(name));
  if (!opaque)
    return std::nullopt;
  StringRef text = opaque.getAttrData().split('<').second.trim();
  if (!text.consume_back(">"))
    return std::nullopt;
  Dimensions dimensions;
  for (text = text.trim(); !text.empty(); text = text.ltrim(", ")) {
    auto [key, rest] = text.split('=');
    text = rest.ltrim();
    bool isList = text.consume_front("[");
    size_t end = text.find_first_of(isList ? "]" : ",");
    if (isList && end == StringRef::npos)
      return std::nullopt;
    SmallVector<int64_t> numbers;
    SmallVector<StringRef> items;
    text.take_front(end).split(items, ',', -1, /*KeepEmpty=*/false);
    for (StringRef item : items)
      if (item.trim().getAsInteger(10, numbers.emplace_back()))
        return std::nullopt;
    text = text.drop_front(std::min(text.size(), isList ? end + 1 : end));
    if (!numbers.empty())
      dimensions[key.trim().str()] = numbers;
  }
  return dimensions;
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// The op before the terminator, if the region has two ops and returns the first one's result.
static Operation *getOnlyOp(Operation *op) {
  if (op->getNumRegions() != 1 || !op->getRegion(0).hasOneBlock())
    return nullptr;
  Block &block = op->getRegion(0).front();
  if (block.getOperations().size() != 2)
    return nullptr;
  Operation &only = block.front(), &last = block.back();
  bool returned = only.getNumResults() == 1 && last.getNumOperands() == 1 && last.getOperand(0) == only.getResult(0);
  return returned ? &only : nullptr;
}

StringRef stablehlo::getBinaryRegion(Operation *op) {
  Operation *only = getOnlyOp(op);
  if (!only || only->getNumOperands() != 2)
    return {};
  Block &block = op->getRegion(0).front();
  if (block.getNumArguments() != 2)
    return {};
  Value first = block.getArgument(0), second = block.getArgument(1), a = only->getOperand(0), b = only->getOperand(1);
  bool both = (a == first && b == second) || (a == second && b == first);
  return both ? only->getName().getStringRef() : StringRef();
}

StringRef stablehlo::getSortOrder(Operation *sort) {
  Operation *compare = getOnlyOp(sort);
  if (!isOp(compare, "stablehlo.compare"))
    return {};
  Block &block = sort->getRegion(0).front();
  StringRef direction = getEnum(compare, "comparison_direction");
  if (block.getNumArguments() < 2 || (direction != "LT" && direction != "GT"))
    return {};
  Value first = block.getArgument(0), second = block.getArgument(1);
  if (compare->getOperand(0) == first && compare->getOperand(1) == second)
    return direction;
  if (compare->getOperand(0) == second && compare->getOperand(1) == first)
    return direction == "LT" ? "GT" : "LT";
  return {};
}

bool stablehlo::isTopK(Operation *op) {
  StringRef name = op->getName().getStringRef();
  if (name != "stablehlo.composite")
    return name == "chlo.top_k";
  auto composite = op->getAttrOfType<StringAttr>("name");
  return composite && composite.getValue() == "chlo.top_k";
}

//===----------------------------------------------------------------------===//
// Making and erasing
//===----------------------------------------------------------------------===//

Operation *stablehlo::create(OpBuilder &builder, Location loc, StringRef name, TypeRange types, ValueRange operands,
                             ArrayRef<NamedAttribute> attrs) {
  OperationState state(loc, name);
  state.addTypes(types);
  state.addOperands(operands);
  if (!attrs.empty())
    state.propertiesAttr = builder.getDictionaryAttr(attrs);
  return builder.create(state);
}

Value stablehlo::createReshape(OpBuilder &builder, Location loc, Value value, ArrayRef<int64_t> shape) {
  RankedTensorType type = getTensor(value);
  if (type.getShape() == shape)
    return value;
  return create(builder, loc, "stablehlo.reshape", RankedTensorType::get(shape, type.getElementType()), value)
      ->getResult(0);
}

bool stablehlo::canErase(Operation *op) {
  if (!isStablehlo(op))
    return isMemoryEffectFree(op) && !op->hasTrait<OpTrait::IsTerminator>();
  static const llvm::StringSet<> kEffects{"all_gather",
                                          "all_reduce",
                                          "all_to_all",
                                          "after_all",
                                          "case",
                                          "collective_broadcast",
                                          "collective_permute",
                                          "composite",
                                          "create_token",
                                          "custom_call",
                                          "if",
                                          "infeed",
                                          "optimization_barrier",
                                          "outfeed",
                                          "recv",
                                          "reduce_scatter",
                                          "return",
                                          "rng",
                                          "send",
                                          "while"};
  StringRef name = op->getName().stripDialect();
  // A composite of CHLO stands for a pure op.
  if (name == "composite")
    if (auto inner = op->getAttrOfType<StringAttr>("name"))
      return inner.getValue().starts_with("chlo.");
  return !kEffects.contains(name);
}

void stablehlo::eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (op.use_empty() && canErase(&op))
      op.erase();
}
