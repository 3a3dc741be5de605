//===- RequireSizes.cpp - moe-require-sizes ---------------------------------===//
//
// Verifiers compare what types say. Here the dynamic sizes that types cannot compare are: each becomes an assertion,
// which folds away where both sizes are one, and which the runtime checks where they come from different inputs.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "moe/Dialect/MoE/IR/MoE.h"
#include "moe/Dialect/MoE/IR/Plan.h"
#include "moe/Pipelines/Pipelines.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::moe {
#define GEN_PASS_DEF_MOEREQUIRESIZESPASS
#include "moe/Pipelines/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;
using namespace mlir::moe;

namespace {

/// The equalities of one op.
class Requirements {
public:
  explicit Requirements(Operation *op) : op(op), builder(op) {}

  void add();

private:
  void add(GatherOp op);
  void add(RaggedMatmulOp op);
  void add(CombineOp op);
  void add(RouteOp op);
  void add(CombineRanksOp op);
  void add(AllToAllOp op);
  void add(linalg::LinalgOp op);

  OpFoldResult planRows(Value plan) { return getPlanRows(builder, op->getLoc(), plan); }
  OpFoldResult planTokens(Value plan) { return getPlanTokens(builder, op->getLoc(), plan); }
  OpFoldResult routeTokens(Value route) { return getRouteTokens(builder, op->getLoc(), route); }
  OpFoldResult arrivals(Value route) { return builder.getIndexAttr(cast<RouteType>(route.getType()).getArrivals()); }
  OpFoldResult dim(Value tensor, int64_t d);

  void require(OpFoldResult found, OpFoldResult expected);
  /// Dimension d of an operand, or of a result whose type says it, is `expected`.
  void require(Value tensor, int64_t d, OpFoldResult expected) {
    if (tensor.getDefiningOp() != op || !cast<RankedTensorType>(tensor.getType()).isDynamicDim(d))
      require(dim(tensor, d), expected);
  }
  /// All dimensions of two tensors are the same.
  void requireSame(Value a, Value b) {
    for (int64_t d = 0, rank = cast<RankedTensorType>(a.getType()).getRank(); d < rank; ++d)
      require(a, d, dim(b, d));
  }

  Operation *op;
  OpBuilder builder;
};

struct RequireSizes : moe::impl::MoERequireSizesPassBase<RequireSizes> {
  void runOnOperation() override {
    SmallVector<Operation *> work;
    getOperation()->walk([&](Operation *op) { work.push_back(op); });
    for (Operation *op : work)
      Requirements(op).add();
  }
};

} // namespace

/// The operand that has the sizes of an upstream op's result, or null; our ops can say it themselves.
static Value getSameShape(OpResult result) {
  Operation *op = result.getOwner();
  if (auto destinationStyle = dyn_cast<DestinationStyleOpInterface>(op))
    return destinationStyle.getTiedOpOperand(result)->get();
  if (!OpTrait::hasElementwiseMappableTraits(op))
    return {};
  auto operand = llvm::find_if(op->getOperands(), [](Value value) { return isa<RankedTensorType>(value.getType()); });
  return operand == op->operand_end() ? Value() : *operand;
}

OpFoldResult Requirements::dim(Value tensor, int64_t d) {
  while (cast<RankedTensorType>(tensor.getType()).isDynamicDim(d)) {
    auto result = dyn_cast<OpResult>(tensor);
    Value same = result ? getSameShape(result) : Value();
    if (!same)
      break;
    tensor = same;
  }
  return tensor::getMixedSize(builder, op->getLoc(), tensor, d);
}

void Requirements::require(OpFoldResult found, OpFoldResult expected) {
  // Two static sizes were compared by the verifier; a plan from a function's argument has none.
  if (!found || !expected || found == expected || (isa<Attribute>(found) && isa<Attribute>(expected)))
    return;
  Location loc = op->getLoc();
  Value a = getValueOrCreateConstantIndexOp(builder, loc, found),
        b = getValueOrCreateConstantIndexOp(builder, loc, expected);
  Value equal = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, a, b);
  cf::AssertOp::create(builder, loc, equal, "the sizes of '" + op->getName().getStringRef().str() + "' fit each other");
}

void Requirements::add(GatherOp op) {
  require(op.getX(), 0, planTokens(op.getThrough() ? op.getThrough() : op.getPlan()));
  if (op.getThrough())
    require(planTokens(op.getPlan()), planRows(op.getThrough()));
  require(op.getResult(), 0, planRows(op.getPlan()));
  require(op.getResult(), 1, dim(op.getX(), 1));
}

void Requirements::add(RaggedMatmulOp op) {
  Value lhs = op.getLhs(), rhs = op.getRhs(), result = op.getResult();
  bool kn = op.getLayout() == WeightLayout::KN;
  switch (op.getMode()) {
  case RaggedMode::Rows:
    require(lhs, 0, planRows(op.getPlan()));
    require(lhs, 1, dim(rhs, kn ? 1 : 2));
    require(result, 0, dim(lhs, 0));
    require(result, 1, dim(rhs, kn ? 2 : 1));
    if (op.getWeights())
      require(op.getWeights(), 0, planTokens(op.getPlan()));
    if (op.getBias())
      require(op.getBias(), 1, dim(rhs, kn ? 2 : 1));
    break;
  case RaggedMode::Contraction:
    require(lhs, 0, planRows(op.getPlan()));
    require(rhs, 0, planRows(op.getPlan()));
    require(result, 1, dim(lhs, 1));
    require(result, 2, dim(rhs, 1));
    if (op.getAcc()) {
      require(op.getAcc(), 1, dim(lhs, 1));
      require(op.getAcc(), 2, dim(rhs, 1));
    }
    break;
  case RaggedMode::Batch:
    require(rhs, 0, dim(lhs, 0));
    require(lhs, 2, dim(rhs, kn ? 1 : 2));
    require(result, 0, dim(lhs, 0));
    require(result, 1, dim(lhs, 1));
    require(result, 2, dim(rhs, kn ? 2 : 1));
    break;
  }
}

void Requirements::add(CombineOp op) {
  require(op.getY(), 0, planRows(op.getPlan()));
  if (op.getWeights())
    require(op.getWeights(), 0, planTokens(op.getPlan()));
  require(op.getResult(), 0, planTokens(op.getPlan()));
  require(op.getResult(), 1, dim(op.getY(), 1));
}

void Requirements::add(RouteOp op) {
  OpFoldResult tokens = dim(op.getIds(), 0);
  if (isa<Attribute>(tokens))
    return;
  // A size is at most another if it is the smaller of both.
  Value most = arith::ConstantIndexOp::create(builder, op.getLoc(), op.getRoute().getType().getMaxTokens());
  require(tokens, arith::MinSIOp::create(builder, op.getLoc(), cast<Value>(tokens), most).getResult());
}

void Requirements::add(CombineRanksOp op) {
  require(op.getY(), 0, planRows(op.getPlan()));
  require(planTokens(op.getPlan()), arrivals(op.getRoute()));
  if (op.getWeights())
    require(op.getWeights(), 0, routeTokens(op.getRoute()));
  require(op.getResult(), 0, routeTokens(op.getRoute()));
  require(op.getResult(), 1, dim(op.getY(), 1));
}

void Requirements::add(AllToAllOp op) {
  if (op.getFrom()) {
    require(op.getX(), 0, planRows(op.getFrom()));
    require(op.getResult(), 0, planRows(op.getTo()));
  } else {
    require(op.getResult(), 0, dim(op.getX(), 0));
  }
}

void Requirements::add(linalg::LinalgOp op) {
  // Dimensions of operands that one loop walks.
  llvm::SmallDenseMap<unsigned, std::pair<Value, int64_t>> first;
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<RankedTensorType>(operand.get().getType()))
      continue;
    for (auto [d, expr] : llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults()))
      if (auto loop = dyn_cast<AffineDimExpr>(expr)) {
        auto [it, isNew] = first.try_emplace(loop.getPosition(), operand.get(), d);
        if (!isNew)
          require(operand.get(), d, dim(it->second.first, it->second.second));
      }
  }
}

void Requirements::add() {
  llvm::TypeSwitch<Operation *>(op)
      .Case<GatherOp, RaggedMatmulOp, CombineOp, RouteOp, CombineRanksOp, AllToAllOp>([&](auto typed) { add(typed); })
      .Case([&](GroupSumOp sum) { require(sum.getX(), 0, planRows(sum.getPlan())); })
      .Case([&](DispatchOp dispatch) { require(dispatch.getX(), 0, routeTokens(dispatch.getRoute())); })
      .Case([&](CollectOp collect) {
        require(collect.getY(), 0, arrivals(collect.getRoute()));
        require(collect.getResult(), 0, routeTokens(collect.getRoute()));
      })
      .Case([&](LogitsOp logits) {
        require(logits.getRouter(), logits.getLayout() == WeightLayout::KN ? 0 : 1, dim(logits.getX(), 1));
        require(logits.getResult(), 0, dim(logits.getX(), 0));
      })
      .Case<ScoresOp, SelectOp, NormalizeOp, GatedActivationOp>([&](Operation *rows) {
        for (Value result : rows->getResults())
          require(result, 0, dim(rows->getOperand(0), 0));
      })
      .Case([&](tensor::CastOp cast) {
        // A cast to a static size says that it is this size.
        auto type = dyn_cast<RankedTensorType>(cast.getType());
        for (int64_t d = 0; type && isa<RankedTensorType>(cast.getSource().getType()) && d < type.getRank(); ++d)
          if (!type.isDynamicDim(d))
            require(cast.getSource(), d, builder.getIndexAttr(type.getDimSize(d)));
      })
      .Case<linalg::LinalgOp>([&](linalg::LinalgOp linalgOp) { add(linalgOp); })
      .Default([&](Operation *other) {
        if (!OpTrait::hasElementwiseMappableTraits(other))
          return;
        SmallVector<Value> tensors(other->getOperands());
        llvm::append_range(tensors, other->getResults());
        llvm::erase_if(tensors, [](Value value) { return !isa<RankedTensorType>(value.getType()); });
        for (Value tensor : llvm::drop_begin(tensors, tensors.empty() ? 0 : 1))
          requireSame(tensor, tensors.front());
      });
}
