//===- OutlineIslands.cpp - moe-outline-islands ---------------------------===//

#include "Islands.h"
#include "RaggedDot.h"
#include "Stablehlo.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "moe/Conversion/Passes.h"
#include "moe/Dialect/MoE/IR/MoE.h"
#include "moe/Dialect/Tile/IR/Tile.h"
#include <functional>

namespace mlir::moe {
#define GEN_PASS_DEF_MOEOUTLINEISLANDSPASS
#include "moe/Conversion/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;
using namespace mlir::moe;
using namespace mlir::moe::stablehlo;

namespace {

/// Cuts the islands out of one function.
class Outliner {
public:
  Outliner(func::FuncOp function, RaisedCopy &copy, Islands &islands, SymbolTable &symbols)
      : function(function), copy(copy), islands(islands), symbols(symbols), parts(islands.getCount()) {}

  /// False if the islands cannot be cut out; the function and the islands are then to be thrown away.
  bool run();
  void eraseIslands();
  /// Says what an island begins after or ends before.
  void remark();

private:
  /// A value of the copy, as one of the function: from there, from an island's call, or computed anew.
  Value materialize(Value raised);
  void need(Value original);
  void needRaised(Value raised);
  /// What a member of the island needs from outside it.
  void addToPart(Value raised, unsigned number);
  void createCall(unsigned number);
  /// Whether the op may go if nothing uses it, a call of a function of such ops included.
  bool canErase(Operation *op);

  struct Part {
    llvm::SetVector<Operation *> ops;
    llvm::SetVector<Value> inputs, outputs; ///< of the copy
    func::FuncOp island;
  };

  func::FuncOp function;
  RaisedCopy &copy;
  Islands &islands;
  SymbolTable &symbols;
  std::vector<Part> parts;
  DenseSet<Operation *> calls;
  bool good = true;
  DenseSet<Value> needed;
  DenseMap<Value, Value> fromIslands; ///< of the copy -> a call's result
};

} // namespace

static bool isRaggedValue(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return isa<PlanType>(value.getType()) || (type && type.getEncoding());
}

/// Ops that may be computed in several islands: they cost little, or their result cannot leave one.
static bool isRepeated(Operation *op) { return isa<arith::ConstantOp, PlanOp, PlanFromSizesOp>(op); }

void Outliner::addToPart(Value raised, unsigned number) {
  Part &part = parts[number];
  Operation *op = raised.getDefiningOp();
  if (op && islands.contains(op) && (isRepeated(op) || islands.getNumber(op) == number)) {
    if (!part.ops.insert(op))
      return;
    for (Value operand : op->getOperands())
      addToPart(operand, number);
    return;
  }
  if (part.inputs.insert(raised))
    needRaised(raised);
}

void Outliner::needRaised(Value raised) {
  Operation *op = raised.getDefiningOp();
  if (op && islands.contains(op) && !isa<arith::ConstantOp>(op)) {
    unsigned number = islands.getNumber(op);
    if (parts[number].outputs.insert(raised))
      addToPart(raised, number);
  } else if (Value original = copy.getOriginal(raised)) {
    need(original);
  } else if (op) { // made by the copy alone: it is computed from what is there
    for (Value operand : op->getOperands())
      needRaised(operand);
  }
}

void Outliner::need(Value original) {
  SmallVector<Value> work{original};
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!needed.insert(value).second)
      continue;
    Value raised = copy.getRaised(value);
    Operation *op = value.getDefiningOp();
    if (raised && islands.contains(raised) && !isa<arith::ConstantOp>(raised.getDefiningOp())) {
      needRaised(raised);
      continue;
    }
    if (op)
      op->walk([&](Operation *inner) { llvm::append_range(work, inner->getOperands()); });
  }
}

Value Outliner::materialize(Value raised) {
  if (Value value = fromIslands.lookup(raised))
    return value;
  Operation *op = raised.getDefiningOp();
  auto constant = dyn_cast_or_null<arith::ConstantOp>(op);
  if (!islands.contains(raised) || constant)
    if (Value original = copy.getOriginal(raised))
      return original;
  OpBuilder builder(function.getBody().front().getTerminator());
  if (constant)
    return create(builder, op->getLoc(), "stablehlo.constant", raised.getType(), {},
                  builder.getNamedAttr("value", constant.getValue()))
        ->getResult(0);
  // Only StableHLO is understood where this goes.
  good &= isStablehlo(op);
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, materialize(operand));
  Operation *clone = builder.clone(*op, mapping);
  for (auto [result, value] : llvm::zip_equal(op->getResults(), clone->getResults()))
    fromIslands[result] = value;
  return fromIslands[raised];
}

bool Outliner::canErase(Operation *op) {
  auto call = dyn_cast<func::CallOp>(op);
  if (!call)
    return stablehlo::canErase(op);
  auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
  if (!callee || callee.isExternal() || callee == function)
    return false;
  return !callee
              .walk([&](Operation *inner) {
                bool isCallee =
                    inner == callee || inner->hasTrait<OpTrait::IsTerminator>() || isOp(inner, "stablehlo.return");
                return isCallee || canErase(inner) ? WalkResult::advance() : WalkResult::interrupt();
              })
              .wasInterrupted();
}

void Outliner::eraseIslands() {
  for (Part &part : parts)
    if (part.island)
      symbols.erase(part.island);
}

static Type getPlain(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(), tensor.getElementType());
}

void Outliner::createCall(unsigned number) {
  Part &part = parts[number];
  auto plain = [](Value value) { return getPlain(value.getType()); };
  OpBuilder builder(function.getContext());
  Location loc = function.getLoc();
  auto type =
      builder.getFunctionType(llvm::map_to_vector(part.inputs, plain), llvm::map_to_vector(part.outputs, plain));
  std::string name = (function.getName() + ".island" + Twine(number)).str();
  auto island = func::FuncOp::create(loc, name, type);
  island.setPrivate();
  symbols.insert(island);
  part.island = island;
  island->setAttr("moe.island", builder.getUnitAttr());

  builder.setInsertionPointToStart(island.addEntryBlock());
  IRMapping mapping;
  for (auto [input, argument] : llvm::zip_equal(part.inputs, island.getArguments()))
    mapping.map(input, isRaggedValue(input) ? Value(tensor::CastOp::create(builder, loc, input.getType(), argument))
                                            : Value(argument));
  for (Operation &op : copy.block())
    if (part.ops.contains(&op))
      builder.clone(op, mapping);
  SmallVector<Value> results;
  for (Value output : part.outputs) {
    Value value = mapping.lookup(output);
    results.push_back(isRaggedValue(value) ? Value(tensor::CastOp::create(builder, loc, plain(value), value)) : value);
  }
  func::ReturnOp::create(builder, loc, results);

  builder.setInsertionPoint(function.getBody().front().getTerminator());
  SmallVector<Value> operands = llvm::map_to_vector(part.inputs, [&](Value input) { return materialize(input); });
  auto call = func::CallOp::create(builder, loc, island, operands);
  calls.insert(call);
  for (auto [output, result] : llvm::zip_equal(part.outputs, call.getResults()))
    fromIslands[output] = result;
}

/// Puts ops before their users, and leaves them in their order otherwise. False if some need one another.
static bool sortOps(Block &block) {
  DenseMap<Operation *, bool> placed; // false while what the op needs is being placed
  SmallVector<Operation *> order;
  std::function<bool(Operation *)> place = [&](Operation *op) {
    auto [entry, isNew] = placed.try_emplace(op, false);
    if (!isNew)
      return entry->second;
    WalkResult result = op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (Operation *producer = operand.getDefiningOp(); producer && producer->getBlock() == &block)
          if (!place(producer))
            return WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return false;
    placed[op] = true;
    order.push_back(op);
    return true;
  };
  for (Operation &op : block)
    if (!place(&op))
      return false;
  for (Operation *op : order)
    op->moveBefore(&block, block.end());
  return true;
}

void Outliner::remark() {
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (calls.contains(&op) || isOp(&op, "stablehlo.reshape")) // a reshape is no work
      continue;
    auto isCall = [&](Operation *other) { return other && calls.contains(other); };
    StringRef where;
    if (llvm::any_of(op.getUsers(), isCall))
      where = "begins after";
    else if (llvm::any_of(op.getOperands(), [&](Value value) { return isCall(value.getDefiningOp()); }))
      where = "ends before";
    if (!where.empty())
      op.emitRemark() << "an island " << where << " '" << op.getName()
                      << "', which is no part of an idiom that is known";
  }
}

bool Outliner::run() {
  Block &block = function.getBody().front();
  for (Operation &op : block)
    if (!canErase(&op))
      op.walk([&](Operation *inner) { llvm::for_each(inner->getOperands(), [&](Value value) { need(value); }); });

  SmallVector<Operation *> before = llvm::map_to_vector(block, [](Operation &op) { return &op; });
  for (unsigned number = 0; number < parts.size(); ++number)
    if (!parts[number].outputs.empty())
      createCall(number);
  // What an island gives replaces what gave it, and what fed only that goes.
  SmallVector<Operation *> replaced;
  for (Operation *op : before)
    for (Value result : op->getResults())
      if (Value raised = copy.getRaised(result); raised && islands.contains(raised))
        if (Value value = fromIslands.lookup(raised)) {
          result.replaceAllUsesWith(value);
          replaced.push_back(op);
        }
  SetVector<Operation *> dead(llvm::from_range, replaced);
  for (Operation *op : llvm::reverse(before)) {
    if (!dead.contains(op) || !op->use_empty() || !canErase(op))
      continue;
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp())
        dead.insert(producer);
    dead.remove(op);
    op->erase();
  }
  return good && sortOps(block);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Functions that have a ragged dot, or call one that has.
static llvm::SetVector<func::FuncOp> findCandidates(ModuleOp module, SymbolTable &symbols) {
  llvm::SetVector<func::FuncOp> found;
  for (bool changed = true; changed;) {
    changed = false;
    for (auto function : module.getOps<func::FuncOp>()) {
      if (found.contains(function) || !function.getBody().hasOneBlock())
        continue;
      bool has = llvm::any_of(function.getBody().front(), [&](Operation &op) {
        auto call = dyn_cast<func::CallOp>(op);
        auto callee = call ? symbols.lookup<func::FuncOp>(call.getCallee()) : func::FuncOp();
        return isRaggedDot(&op) || (callee && found.contains(callee));
      });
      if (has)
        changed |= found.insert(function);
    }
  }
  return found;
}

/// Tries to cut out islands: one of whole results, which must have all ragged products, or those around the products.
static bool outline(func::FuncOp function, SymbolTable &symbols, bool whole) {
  OwningOpRef<ModuleOp> scratch = ModuleOp::create(function.getLoc());
  // What is cut is a clone: it is thrown away if the cut fails.
  OwningOpRef<func::FuncOp> cut = cast<func::FuncOp>(OpBuilder(function).clone(*function));
  RaisedCopy copy(*cut, *scratch, whole);
  auto raised = [&](Value value) { return copy.getRaised(value); };
  Islands islands = whole ? Islands(llvm::map_to_vector(cut->getBody().front().getTerminator()->getOperands(), raised))
                          : Islands(copy);
  if (islands.empty())
    return !whole;
  Outliner outliner(*cut, copy, islands, symbols);
  bool good = outliner.run();
  if (whole)
    good &= llvm::none_of(cut->getBody().front(), [](Operation &op) { return isRaggedDot(&op); });
  if (!good) {
    outliner.eraseIslands();
    return false;
  }
  outliner.remark();
  function.getBody().takeBody(cut->getBody());
  return true;
}

static void outline(func::FuncOp function, SymbolTable &symbols) {
  if (!outline(function, symbols, /*whole=*/true) && !outline(function, symbols, /*whole=*/false))
    function.emitRemark("is left as it is: its islands cannot be cut out");
}

/// Private functions that nothing names.
static llvm::StringSet<> findUnused(ModuleOp module) {
  llvm::StringSet<> used = findSymbolNames(module), unused;
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPrivate() && !used.contains(function.getName()))
      unused.insert(function.getName());
  return unused;
}

namespace {
struct MoEOutlineIslandsPass : moe::impl::MoEOutlineIslandsPassBase<MoEOutlineIslandsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    llvm::StringSet<> unusedBefore = findUnused(module);
    llvm::SetVector<func::FuncOp> candidates = findCandidates(module, symbols);
    // A call of what has islands would hide them.
    for (func::FuncOp function : candidates)
      for (bool changed = true; changed;) {
        changed = false;
        for (auto call : llvm::make_early_inc_range(function.getBody().front().getOps<func::CallOp>()))
          if (candidates.contains(symbols.lookup<func::FuncOp>(call.getCallee())))
            changed |= inlineCall(call, symbols);
      }
    for (func::FuncOp function : candidates)
      outline(function, symbols);
    // Functions that lost their last call.
    for (bool changed = true; changed;) {
      changed = false;
      llvm::StringSet<> unused = findUnused(module);
      for (StringRef name : unused.keys())
        if (!unusedBefore.contains(name)) {
          symbols.erase(symbols.lookup(name));
          changed = true;
        }
    }
  }
};
} // namespace
