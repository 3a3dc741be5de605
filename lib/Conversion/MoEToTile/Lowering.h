//===- Lowering.h - what the lowerings of convert-moe-to-tile share -------===//
//
// A function is straight-line: its ops are lowered one by one, in order. The result of each is replaced at once by a
// plain tensor, so an op being lowered sees plain operands, while its own result type still has its encoding.
//
//===----------------------------------------------------------------------===//
#ifndef MOE_LIB_CONVERSION_MOETOTILE_LOWERING_H
#define MOE_LIB_CONVERSION_MOETOTILE_LOWERING_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "moe/Dialect/MoE/IR/MoE.h"
#include "moe/Dialect/Tile/IR/Tile.h"

namespace mlir::moe::to_tile {

/// The tensors a plan became (docs/architecture.md). A plan made from sizes has no value of the third line.
struct Plan {
  OpFoldResult rows; ///< M
  Value sizes, bounds;
  Value permutation, token, inverse, dropped;
};

/// The tensors a route became. T are the tokens of this rank, R those that may arrive, n the ranks.
struct Route {
  OpFoldResult tokens; ///< T
  Value ranks;         ///< [T, k] i32: rank of each slot, or -1
  Plan home;           ///< plan of n groups: the slots on each rank; with exact sizes only made where it is needed
  Plan send;           ///< plan of n groups: the tokens that go to each rank, which has a slot for each at most once
  Value arrived;       ///< bounds [n, 2] of the rows that came from each rank; null for equal blocks
  Value ids;           ///< [R, k] i32: experts of this rank, or -1

  /// Bounds of the rows of a plan that go to or come from each rank; null for equal blocks.
  Value getBounds(const Plan &plan) const { return arrived ? plan.bounds : Value(); }
};

/// The type without a ragged encoding; other types as they are.
Type getPlainType(Type type);

/// Builds the body of one tile.rows, at the builder's insertion point. Values are vectors as wide as a row, or scalars.
class RowBody {
public:
  RowBody(ImplicitLocOpBuilder &b, tile::RowsOp op);

  ImplicitLocOpBuilder &b;
  Value row;      ///< index
  Value group;    ///< index; null without bounds
  ValueRange ins; ///< arguments that stand for the op's ins

  /// ins[i][indices...]: a row (one index fewer than the rank) or an element.
  Value load(unsigned i, ValueRange indices);
  /// A float row or scalar in f32, from bf16 or f16 if need be; and back, rounded once.
  Value toF32(Value value);
  Value fromF32(Value value, Type element);
  /// The number in every element of the type (f32 vector or scalar).
  Value constant(Type type, double number);
  /// A scalar in every element of a row.
  Value splat(Value scalar, int64_t width);
  /// 1 / (1 + exp(-value)).
  Value sigmoid(Value value);
  void yield(ValueRange values);
};

/// Lowers the ops of one function.
class Lowering {
public:
  explicit Lowering(func::FuncOp function) : b(function.getLoc(), function.getContext()), function(function) {}

  /// On failure an error has been emitted.
  LogicalResult run();

  /// Inserts before the op being lowered, at its location.
  ImplicitLocOpBuilder b;

  /// The tensors of a plan that has been lowered.
  const Plan &getPlan(Value plan) { return plans.at(plan); }
  void setPlan(Value plan, Plan tensors) { plans[plan] = tensors; }

  /// The tensors of a route that has been lowered.
  const Route &getRoute(Value route) { return routes.at(route); }
  void setRoute(Value route, const Route &tensors) { routes[route] = tensors; }

  /// A tile.plan of expert ids `[T, k]` with `rows` rows (`type` says which of its sizes are static), which may be the
  /// same for every group.
  Plan createPlan(Value ids, PlanType type, OpFoldResult rows, bool equalBlocks = false);
  /// tile.offsets of sizes.
  Value createOffsets(Value sizes, OpFoldResult rows, int64_t align = 1);

  /// Bounds of the groups of an op's ragged result; null value for a result that is not ragged. The plan is the one
  /// whose op made or uses the value, or a value it was computed from or into. On failure an error has been emitted.
  FailureOr<Value> getBounds(Operation *op);

  /// Dimension `dim` of a plain tensor, as an attribute if it is static.
  OpFoldResult getDim(Value tensor, int64_t dim);
  Value getIndex(OpFoldResult value);
  /// An uninitialised tensor of the type; `sizes` are its leading dimensions, the others are static.
  Value createEmpty(RankedTensorType type, ArrayRef<OpFoldResult> sizes);

  /// Replaces the op's results, through a tensor.cast where only static dimensions differ. The op is erased later.
  void replace(Operation *op, ValueRange values);
  /// The op is erased once the whole function has been lowered.
  void erase(Operation *op) { lowered.push_back(op); }

  /// A tile.rows over the rows of `types` (plain, of rank 1 or 2), each with `rows` rows; `body` fills it and yields.
  /// Where rows have no columns there is nothing to compute, and no kernel.
  SmallVector<Value> createRows(ValueRange ins, Value bounds, ArrayRef<RankedTensorType> types, OpFoldResult rows,
                                llvm::function_ref<void(RowBody &)> body);

private:
  LogicalResult lowerOp(Operation *op);
  void findPlans();

  func::FuncOp function;
  llvm::DenseMap<Value, Plan> plans;
  llvm::DenseMap<Value, Route> routes;
  llvm::DenseMap<Value, Value> planOf; ///< ragged value before it was lowered -> plan
  llvm::SmallVector<Operation *> lowered;
};

/// Emits an error unless the operand's dimensions from `first` on are static: widths of rows are part of a kernel's
/// code.
LogicalResult checkStatic(Operation *op, StringRef name, Type type, int64_t first);
/// The same for one dimension.
LogicalResult checkStaticDim(Operation *op, StringRef name, Type type, int64_t dim);

// Router.cpp
LogicalResult lower(LogitsOp op, Lowering &lowering);
LogicalResult lower(ScoresOp op, Lowering &lowering);
LogicalResult lower(SelectOp op, Lowering &lowering);
LogicalResult lower(NormalizeOp op, Lowering &lowering);
// Plan.cpp
LogicalResult lower(PlanOp op, Lowering &lowering);
LogicalResult lower(PlanFromSizesOp op, Lowering &lowering);
LogicalResult lower(PlanGetOp op, Lowering &lowering);
// Ragged.cpp
LogicalResult lower(RaggedMatmulOp op, Lowering &lowering);
LogicalResult lower(GroupSumOp op, Lowering &lowering);
// Rows.cpp
LogicalResult lower(GatherOp op, Lowering &lowering);
LogicalResult lower(GatedActivationOp op, Lowering &lowering);
LogicalResult lower(CombineOp op, Lowering &lowering);
// Elementwise.cpp
/// True for an op of another dialect that works elementwise on tensors.
bool isElementwise(Operation *op);
LogicalResult lowerElementwise(Operation *op, Lowering &lowering);

/// Rows of type `type`: row t is the sum over the slots j of weights[t, j] * y[inverse[t, j]], in slot order in f32.
/// Slots without a row or with weight 0 contribute nothing. `weights` may be null, for 1.
Value createCombine(Lowering &lowering, Value y, Value inverse, Value weights, RankedTensorType type, OpFoldResult rows,
                    NanPolicy nan = NanPolicy::Last);
// Route.cpp
LogicalResult lower(RouteOp op, Lowering &lowering);
LogicalResult lower(RouteIdsOp op, Lowering &lowering);
LogicalResult lower(DispatchOp op, Lowering &lowering);
LogicalResult lower(CollectOp op, Lowering &lowering);
LogicalResult lower(CombineRanksOp op, Lowering &lowering);
LogicalResult lower(AllToAllOp op, Lowering &lowering);

} // namespace mlir::moe::to_tile

#endif
