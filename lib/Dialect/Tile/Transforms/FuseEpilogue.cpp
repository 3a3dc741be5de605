//===- FuseEpilogue.cpp - an elementwise body moves into a product's epilogue ===//
//
// The body works on whole rows, the epilogue on the scalars that meet in one result column. Translating is one walk:
// a vector as wide as the product becomes one scalar an accumulator, any other value one scalar.
//
//===----------------------------------------------------------------------===//

#include "Fusion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::tile;

/// The operand of `rows` that is loaded; the load's source is an argument of the body.
static Value getLoadedOperand(RowsOp rows, LoadOp load) {
  unsigned first = rows.getInArguments().front().getArgNumber();
  return rows.getIns()[cast<BlockArgument>(load.getSource()).getArgNumber() - first];
}

/// The products of which `rows` reads its own row. One that it reads elsewhere only, as a combine does, is no
/// candidate.
static SmallVector<RaggedGemmOp> getProducts(RowsOp rows) {
  SmallVector<RaggedGemmOp> products;
  Block &body = rows.getBody().front();
  for (auto load : body.getOps<LoadOp>()) {
    auto gemm = getLoadedOperand(rows, load).getDefiningOp<RaggedGemmOp>();
    if (gemm && !load.getIndices().empty() && load.getIndices()[0] == body.getArgument(0) &&
        !llvm::is_contained(products, gemm))
      products.push_back(gemm);
  }
  return products;
}

/// Why this pair cannot be fused, whatever the body is; empty if it can.
static std::string whyNotPair(RowsOp rows, RaggedGemmOp gemm) {
  if (gemm.getMode() != GemmMode::Rows)
    return "the product contracts over the rows";
  if (cast<ShapedType>(gemm.getLhs().getType()).getRank() != 2)
    return "the product is a batch";
  if (gemm.getAccumulate())
    return "the product accumulates";
  if (gemm.getNumResults() != 1)
    return "the product has several outs";
  if (gemm.getAccs() != Accumulators::Single)
    return "the product has two accumulators";
  for (OpOperand &use : gemm->getUses())
    if (use.getOwner() != rows || use.getOperandNumber() >= rows.getIns().size())
      return "the product has other uses";
  if (rows.getOrder())
    return "it has an order";
  if (rows.getBounds() != gemm.getBounds())
    return rows.getBounds() && gemm.getBounds() ? "it has other bounds than the product"
           : rows.getBounds()                   ? "it has bounds and the product has none"
                                                : "the product has bounds and it has none";
  if (gemm.getBounds() && cast<ShapedType>(gemm.getBounds().getType()).getDimSize(0) != gemm.getNumGroups())
    return "the product covers only some of the groups";
  int64_t productRows = cast<ShapedType>(gemm.getResult(0).getType()).getDimSize(0);
  for (Value out : rows.getOuts()) {
    auto type = cast<ShapedType>(out.getType());
    if (type.getRank() != 2)
      return "an out is one value a row";
    if (type.getDimSize(0) != productRows)
      return "an out has another number of rows than the product";
  }
  return "";
}

namespace {

/// Builds the fused epilogue in a block of its own, so that giving up leaves nothing behind.
class Translator {
public:
  Translator(RowsOp rows, RaggedGemmOp gemm)
      : rows(rows), gemm(gemm), body(rows.getBody().front()), builder(rows.getContext()), width(gemm.getN()) {
    llvm::append_range(extras, gemm.getExtras());
    for (unsigned i = 0, e = extras.size(); i < e; ++i)
      kinds.push_back(gemm.getExtraKind(i));
  }

  /// Translates all of it. On failure, `why` and `culprit` say what stood in the way.
  LogicalResult translate();

  /// Replaces both ops by the fused product.
  void commit(RewriterBase &rewriter);

  std::string why;
  Operation *culprit = nullptr;

private:
  LogicalResult refuse(Operation *op, const Twine &reason) {
    culprit = op;
    why = reason.str();
    return failure();
  }
  unsigned lanesOf(Type type) {
    auto vector = dyn_cast<VectorType>(type);
    return vector && vector.getDimSize(0) == width ? numAccumulators : 1;
  }
  /// Vectors are as wide as the product or as the result; nothing else has a column in the epilogue.
  bool hasColumns(Type type) {
    auto vector = dyn_cast<VectorType>(type);
    return !vector || vector.getDimSize(0) == width || vector.getDimSize(0) == width / numAccumulators;
  }
  Value lane(Value value, unsigned i) {
    ArrayRef<Value> lanes = values[value];
    return lanes.size() == 1 ? lanes[0] : lanes[i];
  }

  LogicalResult chooseAccumulators();
  LogicalResult cloneProduct();
  ArrayRef<Value> getExtra(Value operand, ExtraKind kind);

  LogicalResult translate(Operation *op);
  LogicalResult translate(LoadOp load);
  LogicalResult translate(arith::ConstantOp constant);
  LogicalResult translate(vector::ExtractStridedSliceOp slice);
  LogicalResult translateElementwise(Operation *op);

  RowsOp rows;
  RaggedGemmOp gemm;
  Block &body;
  OpBuilder builder;
  int64_t width; ///< of a row of the product
  Accumulators accs = Accumulators::Single;
  unsigned numAccumulators = 1;

  Block block; ///< the fused epilogue
  SmallVector<Value> extras;
  SmallVector<ExtraKind> kinds;
  SmallVector<SmallVector<Value, 2>> extraArguments; ///< for each of `extras`
  SmallVector<Value, 2> product;                     ///< for each accumulator, what the product's epilogue yields
  DenseMap<Value, SmallVector<Value, 2>> values;     ///< of the body, in the epilogue
};

} // namespace

/// Reading halves of the product's row asks for two accumulators.
LogicalResult Translator::chooseAccumulators() {
  auto choose = [&](Operation *op, Accumulators choice) -> LogicalResult {
    if (accs != Accumulators::Single && accs != choice)
      return refuse(op, "it reads the product's columns both as halves and as pairs");
    accs = choice;
    return success();
  };
  for (Operation &op : body) {
    if (auto slice = dyn_cast<vector::ExtractStridedSliceOp>(op);
        slice && slice.getSourceVectorType().getDimSize(0) == width && slice.getType().getDimSize(0) != width)
      if (failed(choose(&op, Accumulators::Concatenated)))
        return failure();
    if (auto pairs = dyn_cast<vector::DeinterleaveOp>(op); pairs && pairs.getSourceVectorType().getDimSize(0) == width)
      if (failed(choose(&op, Accumulators::Interleaved)))
        return failure();
  }
  if (accs == Accumulators::Single)
    return success();
  numAccumulators = 2;
  if (width % 2 != 0)
    return refuse(rows, "the product has an odd number of columns");
  return success();
}

/// The product's own epilogue, once for each accumulator.
LogicalResult Translator::cloneProduct() {
  Block &epilogue = gemm.getEpilogue().front();
  for (unsigned i = 0; i < numAccumulators; ++i)
    block.addArgument(builder.getF32Type(), gemm.getLoc());
  for (unsigned i = 0, e = extras.size(); i < e; ++i) {
    if (kinds[i] == ExtraKind::Elem && numAccumulators > 1)
      return refuse(gemm, "the product's epilogue reads an operand of its whole width");
    unsigned count = kinds[i] == ExtraKind::Group ? numAccumulators : 1;
    auto &arguments = extraArguments.emplace_back();
    for (unsigned j = 0; j < count; ++j)
      arguments.push_back(block.addArgument(getElementTypeOrSelf(extras[i]), gemm.getLoc()));
  }
  builder.setInsertionPointToEnd(&block);
  for (unsigned i = 0; i < numAccumulators; ++i) {
    IRMapping mapping;
    mapping.map(epilogue.getArgument(0), block.getArgument(i));
    for (auto [extra, arguments] : llvm::enumerate(extraArguments))
      mapping.map(gemm.getExtraArguments(extra)[0], arguments.size() == 1 ? arguments[0] : arguments[i]);
    for (Operation &op : epilogue.without_terminator())
      builder.clone(op, mapping);
    product.push_back(mapping.lookupOrDefault(epilogue.getTerminator()->getOperand(0)));
  }
  return success();
}

/// The epilogue's arguments for an extra operand, which is added if the product does not have it yet.
ArrayRef<Value> Translator::getExtra(Value operand, ExtraKind kind) {
  for (unsigned i = 0, e = extras.size(); i < e; ++i)
    if (extras[i] == operand && kinds[i] == kind)
      return extraArguments[i];
  extras.push_back(operand);
  kinds.push_back(kind);
  auto &arguments = extraArguments.emplace_back();
  for (unsigned i = 0, e = kind == ExtraKind::Group ? numAccumulators : 1; i < e; ++i)
    arguments.push_back(block.addArgument(getElementTypeOrSelf(operand), rows.getLoc()));
  return arguments;
}

LogicalResult Translator::translate(LoadOp load) {
  Value operand = getLoadedOperand(rows, load);
  auto type = cast<ShapedType>(operand.getType());
  OperandRange indices = load.getIndices();
  bool isRow = isa<VectorType>(load.getResult().getType());
  bool atRow = indices.size() == 1 && indices[0] == body.getArgument(0);
  bool atGroup = indices.size() == 1 && rows.getBounds() && indices[0] == body.getArgument(1);

  if (operand == gemm.getResult(0)) {
    if (!isRow || !atRow)
      return refuse(load, "it reads the product at another place than its own row");
    values[load.getResult()] = product;
    return success();
  }
  if (!isa<FloatType>(type.getElementType()))
    return refuse(load, "it reads integers");

  std::optional<ExtraKind> kind;
  if (type.getRank() == 1 && !isRow && atRow)
    kind = ExtraKind::Row;
  else if (type.getRank() == 2 && isRow && atRow && type.getDimSize(1) == width / numAccumulators)
    kind = ExtraKind::Elem;
  else if (type.getRank() == 2 && isRow && atGroup && type.getDimSize(1) == width &&
           type.getDimSize(0) == gemm.getNumGroups())
    kind = ExtraKind::Group;
  else if (type.getRank() == 1 && isRow && type.getDimSize(0) == width && !gemm.getBounds())
    kind = ExtraKind::Group; // of a product with one weight
  if (!kind)
    return refuse(load, "it reads an operand that an epilogue cannot read");
  int64_t productRows = cast<ShapedType>(gemm.getResult(0).getType()).getDimSize(0);
  if (*kind != ExtraKind::Group && type.getDimSize(0) != productRows)
    return refuse(load, "it reads an operand with another number of rows than the product");
  values[load.getResult()] = llvm::to_vector<2>(getExtra(operand, *kind));
  return success();
}

LogicalResult Translator::translate(arith::ConstantOp constant) {
  TypedAttr value = constant.getValue();
  if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
    if (!dense.isSplat())
      return refuse(constant, "it has a constant that differs by column");
    value = cast<TypedAttr>(dense.getSplatValue<Attribute>());
  } else if (isa<ElementsAttr>(value)) {
    return refuse(constant, "it has a constant that differs by column");
  }
  values[constant.getResult()] = {arith::ConstantOp::create(builder, constant.getLoc(), value)};
  return success();
}

LogicalResult Translator::translate(vector::ExtractStridedSliceOp slice) {
  int64_t size = slice.getType().getDimSize(0);
  int64_t offset = cast<IntegerAttr>(slice.getOffsets()[0]).getInt();
  Value source = slice.getSource();
  if (size == slice.getSourceVectorType().getDimSize(0)) {
    values[slice.getResult()] = SmallVector<Value, 2>(values[source]);
    return success();
  }
  // A slice of something narrower, or one that is no half, is refused: its elements come from other columns.
  if (slice.getSourceVectorType().getDimSize(0) != width || size != width / 2 || (offset != 0 && offset != width / 2))
    return refuse(slice, "it takes a slice that is not one half of the product's columns");
  values[slice.getResult()] = {lane(source, offset == 0 ? 0 : 1)};
  return success();
}

LogicalResult Translator::translateElementwise(Operation *op) {
  unsigned lanes = lanesOf(op->getResult(0).getType());
  for (unsigned i = 0; i < lanes; ++i) {
    // The fused result skips the rounding of the product that stood between the two ops.
    if (auto extend = dyn_cast<arith::ExtFOp>(op)) {
      Value operand = lane(extend.getIn(), i);
      auto round = operand.getDefiningOp<arith::TruncFOp>();
      if (round && llvm::is_contained(product, operand) &&
          round.getIn().getType() == getElementTypeOrSelf(extend.getType())) {
        values[extend.getResult()].push_back(round.getIn());
        continue;
      }
    }
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, lane(operand, i));
    Operation *clone = builder.clone(*op, mapping);
    for (auto [from, to] : llvm::zip(op->getResults(), clone->getResults())) {
      to.setType(getElementTypeOrSelf(from.getType()));
      values[from].push_back(to);
    }
  }
  return success();
}

LogicalResult Translator::translate(Operation *op) {
  for (Value operand : op->getOperands())
    if (isa<IndexType>(operand.getType()) && isa<BlockArgument>(operand) && !isa<LoadOp>(op))
      return refuse(op, "it computes with the number of the row or group");
  for (Type type : op->getResultTypes())
    if (!hasColumns(type))
      return refuse(op, "it has a row that is as wide as neither the product nor the result");
  if (auto load = dyn_cast<LoadOp>(op))
    return translate(load);
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return translate(constant);
  if (auto slice = dyn_cast<vector::ExtractStridedSliceOp>(op))
    return translate(slice);
  if (auto broadcast = dyn_cast<vector::BroadcastOp>(op)) {
    values[broadcast.getResult()] = {lane(broadcast.getSource(), 0)};
    return success();
  }
  if (auto pairs = dyn_cast<vector::DeinterleaveOp>(op); pairs && pairs.getSourceVectorType().getDimSize(0) == width) {
    values[pairs.getRes1()] = {lane(pairs.getSource(), 0)};
    values[pairs.getRes2()] = {lane(pairs.getSource(), 1)};
    return success();
  }
  if (OpTrait::hasElementwiseMappableTraits(op))
    return translateElementwise(op);
  return refuse(op, "its body has a '" + op->getName().getStringRef() + "', which is not elementwise");
}

LogicalResult Translator::translate() {
  if (failed(chooseAccumulators()))
    return failure();
  if (failed(cloneProduct()))
    return failure();
  for (Operation &op : body.without_terminator())
    if (failed(translate(&op)))
      return failure();
  for (Value out : rows.getOuts())
    if (cast<ShapedType>(out.getType()).getDimSize(1) != width / numAccumulators)
      return refuse(rows, "an out is not as wide as the product's result columns");
  SmallVector<Value> yields;
  for (Value value : body.getTerminator()->getOperands())
    yields.push_back(lane(value, 0));
  YieldOp::create(builder, rows.getLoc(), yields);
  for (Value value : product) // a rounding that the fused result skips
    if (Operation *op = value.getDefiningOp(); op && op->use_empty())
      op->erase();
  return success();
}

void Translator::commit(RewriterBase &rewriter) {
  rewriter.setInsertionPoint(rows);
  auto kindAttrs = llvm::map_to_vector(
      kinds, [&](ExtraKind kind) -> Attribute { return ExtraKindAttr::get(rewriter.getContext(), kind); });
  auto fused = RaggedGemmOp::create(rewriter, rewriter.getFusedLoc({gemm.getLoc(), rows.getLoc()}),
                                    rows.getResultTypes(), gemm.getLhs(), gemm.getGather(), gemm.getRhs(),
                                    gemm.getBounds(), gemm.getSlots(), extras, rows.getOuts(), GemmMode::Rows,
                                    gemm.getLayout(), accs, rewriter.getArrayAttr(kindAttrs), gemm.getGroupOffset(),
                                    /*accumulate=*/false, gemm.getPrecision());
  auto *epilogue = new Block();
  fused.getEpilogue().push_back(epilogue);
  for (BlockArgument argument : block.getArguments())
    argument.replaceAllUsesWith(epilogue->addArgument(argument.getType(), argument.getLoc()));
  epilogue->getOperations().splice(epilogue->end(), block.getOperations());
  rewriter.replaceOp(rows, fused.getResults());
  rewriter.eraseOp(gemm);
}

void mlir::tile::fuseEpilogue(RowsOp rows, RewriterBase &rewriter) {
  SmallVector<RaggedGemmOp> products = getProducts(rows);
  if (products.empty() || !rows.getNumResults())
    return;
  // Of two products, one takes the body and reads the other's result as an operand.
  std::string why;
  Operation *culprit = nullptr;
  auto refuse = [&](StringRef reason, Operation *op) {
    if (culprit)
      return;
    why = reason;
    culprit = op;
  };
  for (RaggedGemmOp gemm : products) {
    if (std::string reason = whyNotPair(rows, gemm); !reason.empty()) {
      refuse(reason, gemm);
      continue;
    }
    Translator translator(rows, gemm);
    if (succeeded(translator.translate()))
      return translator.commit(rewriter);
    refuse(translator.why, translator.culprit);
  }
  InFlightDiagnostic remark = rows.emitRemark("not fused into the product's epilogue: ") << why;
  remark.attachNote(culprit->getLoc()) << "because of this op";
}
