//===- MoETypes.cpp - the ragged encoding and the plan type ---------------===//

#include "mlir/IR/DialectImplementation.h"
#include "moe/Dialect/MoE/IR/MoE.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::moe;

#define GET_ATTRDEF_CLASSES
#include "moe/Dialect/MoE/IR/MoEAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "moe/Dialect/MoE/IR/MoETypes.cpp.inc"

void MoEDialect::registerTypesAndAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "moe/Dialect/MoE/IR/MoEAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "moe/Dialect/MoE/IR/MoETypes.cpp.inc"
      >();
}

/// `minimum` <= value, or dynamic where that is allowed.
static LogicalResult verifyParameter(function_ref<InFlightDiagnostic()> emitError, StringRef name, int64_t value,
                                     int64_t minimum, bool mayBeDynamic = false) {
  if (value >= minimum || (mayBeDynamic && ShapedType::isDynamic(value)))
    return success();
  return emitError() << name << " is " << value << ", expected at least " << minimum;
}

//===----------------------------------------------------------------------===//
// #moe.ragged
//===----------------------------------------------------------------------===//

LogicalResult RaggedAttr::verify(function_ref<InFlightDiagnostic()> emitError, int64_t groups, TailState,
                                 int64_t align) {
  return success(succeeded(verifyParameter(emitError, "groups", groups, 0)) &&
                 succeeded(verifyParameter(emitError, "align", align, 1)));
}

LogicalResult RaggedAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                         function_ref<InFlightDiagnostic()> emitError) const {
  if (!shape.empty())
    return success();
  return emitError() << "a tensor with a ragged encoding has rank 0, expected at least 1 (dimension 0 are the rows)";
}

//===----------------------------------------------------------------------===//
// !moe.plan
//===----------------------------------------------------------------------===//

LogicalResult PlanType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t groups, int64_t rows,
                               int64_t tokens, int64_t topk, int64_t align) {
  if (failed(verifyParameter(emitError, "groups", groups, 0)) ||
      failed(verifyParameter(emitError, "rows", rows, 0, true)) ||
      failed(verifyParameter(emitError, "tokens", tokens, 0, true)) ||
      failed(verifyParameter(emitError, "topk", topk, 0)) || failed(verifyParameter(emitError, "align", align, 1)))
    return failure();
  if (topk == 0 && !ShapedType::isDynamic(tokens))
    return emitError() << "tokens is " << tokens << ", expected ? (a plan with topk = 0 knows no tokens)";
  return success();
}

//===----------------------------------------------------------------------===//
// !moe.route
//===----------------------------------------------------------------------===//

LogicalResult RouteType::verify(function_ref<InFlightDiagnostic()> emitError, StringRef axis, int64_t ranks,
                                int64_t groups, int64_t topk, int64_t maxTokens, int64_t tokens, Transport transport,
                                int64_t pairCapacity) {
  if (axis.empty())
    return emitError() << "axis is empty, expected the name of a mesh axis";
  if (failed(verifyParameter(emitError, "ranks", ranks, 1)) ||
      failed(verifyParameter(emitError, "groups", groups, 1)) || failed(verifyParameter(emitError, "topk", topk, 1)) ||
      failed(verifyParameter(emitError, "max_tokens", maxTokens, 1)) ||
      failed(verifyParameter(emitError, "tokens", tokens, 0, true)))
    return failure();
  // Rows and slots are numbered in i32, and so are experts.
  int64_t slots, experts;
  if (llvm::MulOverflow(ranks, maxTokens, slots) || llvm::MulOverflow(slots, topk, slots) || slots > INT32_MAX)
    return emitError() << "ranks * max_tokens * topk is " << ranks << " * " << maxTokens << " * " << topk
                       << ", expected at most " << INT32_MAX;
  if (llvm::MulOverflow(ranks, groups, experts) || experts > INT32_MAX)
    return emitError() << "ranks * groups is " << ranks << " * " << groups << ", expected at most " << INT32_MAX;
  if (transport != Transport::Capacity) {
    if (pairCapacity != 0)
      return emitError() << "pair_capacity is " << pairCapacity << ", expected it with transport capacity only, not "
                         << stringifyTransport(transport);
    return success();
  }
  if (pairCapacity > maxTokens * topk)
    return emitError() << "pair_capacity is " << pairCapacity << ", expected at most " << maxTokens * topk
                       << " (max_tokens * topk)";
  return verifyParameter(emitError, "pair_capacity", pairCapacity, 1);
}

Type PlanType::parse(AsmParser &parser) {
  struct Key {
    StringRef name;
    int64_t value;
    bool mayBeDynamic, given = false;
  };
  Key keys[] = {{"groups", 0, false},
                {"rows", ShapedType::kDynamic, true},
                {"tokens", ShapedType::kDynamic, true},
                {"topk", 0, false},
                {"align", 1, false}};
  SMLoc start = parser.getCurrentLocation();
  auto parseKey = [&]() -> ParseResult {
    SMLoc loc = parser.getCurrentLocation();
    StringRef name;
    if (parser.parseKeyword(&name))
      return failure();
    auto *key = llvm::find_if(keys, [&](const Key &k) { return k.name == name; });
    if (key == std::end(keys)) {
      auto quoted = llvm::map_range(keys, [](const Key &k) { return k.name; });
      return parser.emitError(loc) << "unknown key '" << name << "' of a plan, expected one of "
                                   << llvm::join(quoted, ", ");
    }
    if (key->given)
      return parser.emitError(loc) << "key '" << name << "' of a plan is given twice";
    key->given = true;
    if (parser.parseEqual())
      return failure();
    if (key->mayBeDynamic && succeeded(parser.parseOptionalQuestion())) {
      key->value = ShapedType::kDynamic;
      return success();
    }
    return parser.parseInteger(key->value);
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, parseKey))
    return {};
  if (!keys[0].given) {
    parser.emitError(start) << "a plan needs the key 'groups'";
    return {};
  }
  return parser.getChecked<PlanType>(start, parser.getContext(), keys[0].value, keys[1].value, keys[2].value,
                                     keys[3].value, keys[4].value);
}

void PlanType::print(AsmPrinter &printer) const {
  printer << "<groups = " << getGroups();
  if (!ShapedType::isDynamic(getRows()))
    printer << ", rows = " << getRows();
  if (!ShapedType::isDynamic(getTokens()))
    printer << ", tokens = " << getTokens();
  if (getTopk() != 0)
    printer << ", topk = " << getTopk();
  if (getAlign() != 1)
    printer << ", align = " << getAlign();
  printer << ">";
}
