//===- RaggedDot.cpp - reading a ragged dot of unregistered StableHLO -----===//
//
// The ops are unregistered: attributes of their dialects are opaque, that is text such as `precision HIGHEST` or
// `ragged_dot<lhs_contracting_dimensions = [1], ...>`. A composite carries builtin attributes only.
//
//===----------------------------------------------------------------------===//

#include "RaggedDot.h"
#include "Stablehlo.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::moe::stablehlo;

static constexpr llvm::StringLiteral dotName = "chlo.ragged_dot";
static constexpr llvm::StringLiteral compositeName = "stablehlo.composite";
static constexpr llvm::StringLiteral precisionKey = "precision_config";
static constexpr llvm::StringLiteral dimensionsKey = "ragged_dot_dimension_numbers";

static bool isComposite(Operation *op) { return op->getName().getStringRef() == compositeName; }

bool moe::stablehlo::isRaggedDot(Operation *op) {
  if (isComposite(op)) {
    auto name = op->getAttrOfType<StringAttr>("name");
    return name && name.getValue() == dotName;
  }
  return op->getName().getStringRef() == dotName;
}

static std::string print(Attribute attr) {
  std::string text;
  llvm::raw_string_ostream(text) << attr;
  return text;
}

//===----------------------------------------------------------------------===//
// Precision
//===----------------------------------------------------------------------===//

/// `"HIGHEST"`, or the opaque text `precision HIGHEST`.
static std::string readPrecisionName(Attribute attr) {
  if (auto name = dyn_cast<StringAttr>(attr))
    return name.str();
  StringRef text;
  if (auto opaque = dyn_cast<OpaqueAttr>(attr))
    text = opaque.getAttrData();
  if (!text.consume_front("precision"))
    return "";
  return text.trim(" <>").str();
}

static LogicalResult readPrecision(Attribute attr, RaggedDot &dot, std::string &why) {
  auto names = dyn_cast<ArrayAttr>(attr);
  if (!names || (!names.empty() && names.size() != 2)) {
    why = "precision_config is " + print(attr) + ", expected a list of two";
    return failure();
  }
  for (Attribute name : names) {
    dot.precision.push_back(readPrecisionName(name));
    if (!llvm::is_contained({"DEFAULT", "HIGH", "HIGHEST"}, dot.precision.back())) {
      why = "precision_config has " + print(name) + ", expected DEFAULT, HIGH or HIGHEST";
      return failure();
    }
  }
  return success();
}

std::optional<bool> moe::stablehlo::isExact(Attribute precisionConfig) {
  RaggedDot dot;
  std::string why;
  if (precisionConfig && failed(readPrecision(precisionConfig, dot, why)))
    return std::nullopt;
  return !dot.hasDefaultPrecision();
}

//===----------------------------------------------------------------------===//
// Dimension numbers
//===----------------------------------------------------------------------===//

/// The list a key names; null for an unknown key.
static SmallVector<int64_t> *getList(RaggedDot &dot, StringRef key) {
  if (key == "lhs_batching_dimensions")
    return &dot.lhsBatching;
  if (key == "rhs_batching_dimensions")
    return &dot.rhsBatching;
  if (key == "lhs_contracting_dimensions")
    return &dot.lhsContracting;
  if (key == "rhs_contracting_dimensions")
    return &dot.rhsContracting;
  if (key == "lhs_ragged_dimensions")
    return &dot.lhsRagged;
  if (key == "rhs_group_dimensions")
    return &dot.rhsGroup;
  return nullptr;
}

/// Consumes `[1, 2]`.
static bool consumeList(StringRef &text, SmallVector<int64_t> &list) {
  if (!text.consume_front("["))
    return false;
  size_t end = text.find(']');
  if (end == StringRef::npos)
    return false;
  SmallVector<StringRef> items;
  text.take_front(end).split(items, ',', -1, /*KeepEmpty=*/false);
  text = text.drop_front(end + 1);
  for (StringRef item : items) {
    int64_t value;
    if (item.trim().empty())
      continue;
    if (item.trim().getAsInteger(10, value))
      return false;
    list.push_back(value);
  }
  return true;
}

/// The text `ragged_dot<key = [..], ...>`; a list that is not there is empty.
static LogicalResult readOpaqueDimensions(StringRef text, RaggedDot &dot, std::string &why) {
  std::string all = text.str();
  auto unreadable = [&] {
    why = "ragged_dot_dimension_numbers is not readable: " + all;
    return failure();
  };
  text = text.trim();
  bool named = text.consume_front("ragged_dot");
  text = text.ltrim();
  if (!named || !text.consume_front("<") || !text.consume_back(">"))
    return unreadable();
  for (text = text.trim(); !text.empty(); text = text.ltrim()) {
    size_t end = text.find('=');
    if (end == StringRef::npos)
      return unreadable();
    StringRef key = text.take_front(end).trim();
    text = text.drop_front(end + 1).ltrim();
    SmallVector<int64_t> *list = getList(dot, key);
    if (!list) {
      why = "ragged_dot_dimension_numbers has the unknown key " + key.str();
      return failure();
    }
    if (!list->empty() || !consumeList(text, *list))
      return unreadable();
    text = text.ltrim();
    if (!text.consume_front(",") && !text.empty())
      return unreadable();
  }
  return success();
}

/// The six lists of a composite, in the order of the portable artifact.
static LogicalResult readListedDimensions(ArrayAttr lists, RaggedDot &dot, std::string &why) {
  SmallVector<int64_t> *targets[] = {&dot.lhsBatching,    &dot.rhsBatching, &dot.lhsContracting,
                                     &dot.rhsContracting, &dot.lhsRagged,   &dot.rhsGroup};
  if (lists.size() != std::size(targets)) {
    why = "ragged_dot_dimension_numbers has " + std::to_string(lists.size()) + " lists, expected 6";
    return failure();
  }
  for (auto [attr, target] : llvm::zip_equal(lists, targets)) {
    auto list = dyn_cast<DenseIntElementsAttr>(attr);
    if (!list || !list.getElementType().isInteger(64)) {
      why = "ragged_dot_dimension_numbers has " + print(attr) + ", expected a dense list of i64";
      return failure();
    }
    llvm::append_range(*target, list.getValues<int64_t>());
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The op
//===----------------------------------------------------------------------===//

/// Fails on a key other than the known ones: it could change what the op means.
static LogicalResult checkKeys(DictionaryAttr attrs, ArrayRef<StringRef> known, StringRef where, std::string &why) {
  for (NamedAttribute attr : attrs)
    if (!llvm::is_contained(known, attr.getName().getValue())) {
      why = (where + " has the unknown attribute " + attr.getName().getValue()).str();
      return failure();
    }
  return success();
}

/// The dictionary that holds the dot's own attributes.
static FailureOr<DictionaryAttr> getDotAttributes(Operation *op, std::string &why) {
  DictionaryAttr attrs = getAllAttributes(op);
  if (!isComposite(op))
    return attrs;
  if (failed(checkKeys(attrs, {"name", "version", "decomposition", "composite_attributes"}, "the composite", why)))
    return failure();
  auto version = attrs.getAs<IntegerAttr>("version");
  if (!version || version.getInt() != 1) {
    why = "the composite has version " + (version ? std::to_string(version.getInt()) : "0") + ", expected 1";
    return failure();
  }
  auto inner = attrs.getAs<DictionaryAttr>("composite_attributes");
  if (!inner) {
    why = "the composite has no composite_attributes";
    return failure();
  }
  return inner;
}

FailureOr<RaggedDot> moe::stablehlo::readRaggedDot(Operation *op, std::string &why) {
  FailureOr<DictionaryAttr> attrs = getDotAttributes(op, why);
  if (failed(attrs) || failed(checkKeys(*attrs, {precisionKey, dimensionsKey}, "the ragged dot", why)))
    return failure();
  RaggedDot dot;
  if (Attribute precision = attrs->get(precisionKey))
    if (failed(readPrecision(precision, dot, why)))
      return failure();
  Attribute dimensions = attrs->get(dimensionsKey);
  if (auto opaque = dyn_cast_or_null<OpaqueAttr>(dimensions)) {
    if (failed(readOpaqueDimensions(opaque.getAttrData(), dot, why)))
      return failure();
  } else if (auto lists = dyn_cast_or_null<ArrayAttr>(dimensions)) {
    if (failed(readListedDimensions(lists, dot, why)))
      return failure();
  } else {
    why = "ragged_dot_dimension_numbers is missing";
    return failure();
  }
  return dot;
}
