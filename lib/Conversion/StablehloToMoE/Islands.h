//===- Islands.h - what of a function moe can compute ---------------------===//
#ifndef MOE_LIB_CONVERSION_STABLEHLOTOMOE_ISLANDS_H
#define MOE_LIB_CONVERSION_STABLEHLOTOMOE_ISLANDS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::moe::stablehlo {

/// A function, and what became of a copy of it when its idioms were raised: the copy returns what each value of the
/// original became, so that both sides of an island can be found in the original.
class RaisedCopy {
public:
  /// Makes the copy in `module`, and raises it there: its idioms, and with `rest` what else works row by row.
  RaisedCopy(func::FuncOp original, ModuleOp module, bool rest);

  Block &block() { return copy.getBody().front(); }
  /// What a value of the original became.
  Value getRaised(Value original) const { return raised.lookup(original); }
  /// The first value of the original that became this; null if there is none.
  Value getOriginal(Value raised) const { return originals.lookup(raised); }

private:
  func::FuncOp copy;
  DenseMap<Value, Value> raised, originals;
};

/// The ops of a block that moe can compute around its ragged products, as islands: whatever leaves an island comes back
/// only into a later one.
class Islands {
public:
  explicit Islands(RaisedCopy &copy);
  /// All that results are made of, as one island: those of which moe can compute everything.
  explicit Islands(ValueRange results);

  bool empty() const { return members.empty(); }
  bool contains(Value value) const { return value.getDefiningOp() && members.contains(value.getDefiningOp()); }
  bool contains(Operation *op) const { return members.contains(op); }
  /// The number of the op's island, or of those that come before it.
  unsigned getNumber(Operation *op) const { return numbers.lookup(op); }
  unsigned getCount() const { return count; }

private:
  /// Adds the op, if moe computes it, and what it is made of.
  void add(Operation *op);

  llvm::SetVector<Operation *> members;
  DenseMap<Operation *, unsigned> numbers;
  unsigned count = 0;
};

/// Functions without StableHLO are none of these steps' business.
bool hasStablehlo(func::FuncOp function);

/// Raises the idioms of all functions of the module, in place; then what else works row by row.
void raiseIdioms(ModuleOp module);
void raiseRest(ModuleOp module);
/// The same for the other two steps before them.
void normalize(ModuleOp module);
void importRaggedDots(ModuleOp module);

/// Replaces a call by the body of a private function of one block. MLIR's inliner asks the ops' dialects.
bool inlineCall(func::CallOp call, SymbolTable &symbols);

} // namespace mlir::moe::stablehlo

#endif
