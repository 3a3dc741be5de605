//===- Partition.cpp - moe-partition --------------------------------------===//
//
// The plan of all experts becomes a route and the plan of this rank's. What hangs on the plan follows it: ragged values
// take the types of the new one, gathers read what was dispatched, and combines go over ranks.
//
//===----------------------------------------------------------------------===//

#include "Ragged.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "moe/Dialect/MoE/IR/MoE.h"
#include "moe/Dialect/MoE/IR/Plan.h"
#include "moe/Dialect/MoE/Transforms/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::moe {
#define GEN_PASS_DEF_MOEPARTITIONPASS
#include "moe/Dialect/MoE/Transforms/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;
using namespace mlir::moe;

namespace {

/// Partitions one plan.
class Partition {
public:
  Partition(PlanOp plan, const MoEPartitionPassOptions &options) : op(plan), options(options), builder(plan) {}

  /// On failure an error has been emitted.
  LogicalResult run();

private:
  FailureOr<int64_t> getMaxTokens();
  FailureOr<int64_t> getLocalGroups();
  FailureOr<Transport> getTransport();
  void createRoute(int64_t groups, int64_t maxTokens, Transport transport);

  LogicalResult convertUser(Operation *user);
  LogicalResult convert(GatherOp gather);
  LogicalResult convert(RaggedMatmulOp product);
  LogicalResult convert(CombineOp combine);
  /// Gives the value the rows and groups of the new plan, and what is computed from it.
  LogicalResult retype(Value value);
  /// An argument that holds something for each expert holds it for this rank's.
  LogicalResult shard(Operation *user, Value weights, StringRef name);
  /// Rows of tokens on the ranks that need them; one exchange, however often it is asked for.
  Value dispatch(Value rows);

  PlanOp op;
  const MoEPartitionPassOptions &options;
  OpBuilder builder;
  RouteOp route;
  PlanOp local;
  llvm::SmallDenseMap<Value, Value> dispatched;
  llvm::SmallDenseSet<Value> retyped;
};

struct MoEPartitionPass : moe::impl::MoEPartitionPassBase<MoEPartitionPass> {
  using MoEPartitionPassBase::MoEPartitionPassBase;

  void runOnOperation() override {
    MoEPartitionPassOptions options;
    options.axis = axis;
    options.size = size;
    options.owners.assign(owners.begin(), owners.end());
    options.maxTokens = maxTokens;
    options.capacity = capacity;
    options.transport = transport;
    options.mesh = mesh;
    options.pairCapacity = pairCapacity;
    options.partialSums = partialSums;
    if (options.axis.empty() || options.size < 1 || options.size > INT32_MAX) {
      getOperation()->emitError("cannot be partitioned: axis is '")
          << options.axis << "' and size is " << options.size
          << ", expected the name of a mesh axis and a number of ranks of at least 1";
      return signalPassFailure();
    }
    SmallVector<PlanOp> plans;
    getOperation()->walk([&](PlanOp plan) { plans.push_back(plan); });
    if (plans.empty()) {
      getOperation()->emitError("cannot be partitioned: there is no moe.plan of expert ids");
      return signalPassFailure();
    }
    for (PlanOp plan : plans)
      if (failed(Partition(plan, options).run()))
        return signalPassFailure();
  }
};

} // namespace

FailureOr<int64_t> Partition::getMaxTokens() {
  int64_t tokens = op.getIds().getType().getDimSize(0);
  if (options.maxTokens > 0)
    return options.maxTokens;
  if (!ShapedType::isDynamic(tokens))
    return std::max<int64_t>(tokens, 1);
  return op.emitOpError("cannot be partitioned: the number of tokens is dynamic, expected max-tokens to say the most "
                        "that a rank may have");
}

FailureOr<int64_t> Partition::getLocalGroups() {
  int64_t experts = op.getPlan().getType().getGroups();
  if (options.owners.empty()) {
    if (experts % options.size == 0 && experts > 0)
      return experts / options.size;
    return op.emitOpError("cannot be partitioned: it has ")
           << experts << " experts, expected a multiple of " << options.size
           << " ranks, or owners that say which rank owns each expert";
  }
  if (static_cast<int64_t>(options.owners.size()) != experts)
    return op.emitOpError("cannot be partitioned: there are ")
           << options.owners.size() << " owners, expected " << experts << ", one for each expert";
  std::vector<int64_t> owned(static_cast<size_t>(options.size), 0);
  for (int64_t owner : options.owners) {
    if (owner < 0 || owner >= options.size)
      return op.emitOpError("cannot be partitioned: an owner is ")
             << owner << ", expected a rank, 0 to " << options.size - 1;
    ++owned[static_cast<size_t>(owner)];
  }
  return *llvm::max_element(owned);
}

FailureOr<Transport> Partition::getTransport() {
  if (options.pairCapacity < 0)
    return op.emitOpError("cannot be partitioned: pair-capacity is ")
           << options.pairCapacity << ", expected at least 1";
  bool isNVLink = options.mesh == "nvlink";
  if (!isNVLink && options.mesh != "network")
    return op.emitOpError("cannot be partitioned: mesh is '") << options.mesh << "', expected nvlink or network";
  if (options.transport.empty())
    return options.pairCapacity > 0 ? Transport::Capacity : isNVLink ? Transport::Peer : Transport::Exact;
  std::optional<Transport> transport = symbolizeTransport(options.transport);
  if (!transport)
    return op.emitOpError("cannot be partitioned: transport is '")
           << options.transport << "', expected exact, capacity or peer";
  if (*transport != Transport::Capacity && options.pairCapacity > 0)
    return op.emitOpError("cannot be partitioned: pair-capacity is ")
           << options.pairCapacity << ", expected none with transport " << options.transport;
  return *transport;
}

void Partition::createRoute(int64_t groups, int64_t maxTokens, Transport transport) {
  PlanType type = op.getPlan().getType();
  MLIRContext *context = op.getContext();
  Location loc = op.getLoc();
  // Slots of a token, and all of a rank's tokens.
  int64_t topk = type.getTopk(), most = maxTokens * topk, pairCapacity = 0;
  if (transport == Transport::Capacity)
    pairCapacity = options.pairCapacity > 0 ? std::min(options.pairCapacity, most) : most;
  auto routeType = RouteType::get(context, options.axis, options.size, groups, topk, maxTokens,
                                  op.getIds().getType().getDimSize(0), transport, pairCapacity);
  DenseI32ArrayAttr owners;
  if (!options.owners.empty())
    owners = builder.getDenseI32ArrayAttr(llvm::to_vector_of<int32_t>(options.owners));
  route = RouteOp::create(builder, loc, routeType, op.getIds(), owners);
  int64_t arrivals = routeType.getArrivals();
  Value ids = RouteIdsOp::create(builder, loc, RankedTensorType::get({arrivals, topk}, builder.getI32Type()), route);
  IntegerAttr capacity = options.capacity >= 0 ? builder.getI64IntegerAttr(options.capacity) : op.getCapacityAttr();
  if (!capacity && pairCapacity > 0 && pairCapacity < routeType.getPairRows() * topk) // no more slots arrive
    if (std::optional<int64_t> most = getStaticPlanRows(options.size, pairCapacity, groups, type.getAlign()))
      capacity = builder.getI64IntegerAttr(*most);
  int64_t rows = capacity ? capacity.getInt()
                          : getStaticPlanRows(arrivals, topk, groups, type.getAlign()).value_or(ShapedType::kDynamic);
  auto planType = PlanType::get(context, groups, rows, arrivals, topk, type.getAlign());
  local = PlanOp::create(builder, loc, planType, ids, capacity);
}

Value Partition::dispatch(Value rows) {
  Value &result = dispatched[rows];
  if (result)
    return result;
  auto type = cast<RankedTensorType>(rows.getType());
  OpBuilder::InsertionGuard guard(builder);
  // Where both the rows and the route are there.
  Operation *made = rows.getDefiningOp();
  if (made && made->getBlock() == local->getBlock() && local->isBeforeInBlock(made))
    builder.setInsertionPointAfter(made);
  else
    builder.setInsertionPointAfter(local);
  auto arrived =
      RankedTensorType::get({route.getRoute().getType().getArrivals(), type.getDimSize(1)}, type.getElementType());
  return result = DispatchOp::create(builder, op.getLoc(), arrived, rows, route);
}

LogicalResult Partition::shard(Operation *user, Value weights, StringRef name) {
  auto argument = dyn_cast<BlockArgument>(weights);
  auto function = argument ? dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp()) : func::FuncOp();
  if (!function)
    return user->emitOpError("cannot be partitioned: ")
           << name
           << " is not an argument of the function, expected one, of which each rank is given its experts' part";
  auto type = cast<RankedTensorType>(argument.getType());
  int64_t groups = local.getPlan().getType().getGroups(), all = op.getPlan().getType().getGroups();
  if (type.getDimSize(0) == groups && groups != all)
    return success(); // by another user
  for (Operation *other : argument.getUsers())
    if (!isa<RaggedMatmulOp>(other)) {
      InFlightDiagnostic diagnostic = user->emitOpError("cannot be partitioned: ")
                                      << name << " is used by an op that needs the part of all experts";
      diagnostic.attachNote(other->getLoc()) << "which is here";
      return diagnostic;
    }
  SmallVector<int64_t> shape(type.getShape());
  shape[0] = groups;
  argument.setType(RankedTensorType::get(shape, type.getElementType()));
  function.setFunctionType(FunctionType::get(function.getContext(), function.getBody().getArgumentTypes(),
                                             function.getFunctionType().getResults()));
  return success();
}

LogicalResult Partition::retype(Value value) {
  if (!retyped.insert(value).second)
    return success();
  auto type = cast<RankedTensorType>(value.getType());
  PlanType plan = local.getPlan().getType();
  SmallVector<int64_t> shape(type.getShape());
  shape[0] = plan.getRows();
  auto ragged = RaggedAttr::get(type.getContext(), plan.getGroups(), getRagged(type).getTail(), plan.getAlign());
  value.setType(RankedTensorType::get(shape, type.getElementType(), ragged));
  for (Operation *user : value.getUsers()) {
    if (isa<tensor::DimOp>(user) || llvm::is_contained(user->getOperands(), op.getPlan()))
      continue; // those that name the plan are converted for its sake
    bool isRowWise = isa<GatedActivationOp, linalg::LinalgOp>(user) || OpTrait::hasElementwiseMappableTraits(user);
    if (!isRowWise || !llvm::all_of(user->getResultTypes(), getRagged))
      return user->emitOpError(
          "cannot be partitioned: it uses rows of a plan of experts, expected an op that works row "
          "by row");
    for (Value operand : user->getOperands()) {
      if (!getRagged(operand.getType()) || retyped.contains(operand))
        continue;
      // What belongs to no plan: only its shape matters.
      Operation *made = operand.getDefiningOp();
      DenseElementsAttr constant;
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPoint(user);
      auto newType = cast<RankedTensorType>(operand.getType());
      SmallVector<int64_t> newShape(newType.getShape());
      newShape[0] = plan.getRows();
      newType = RankedTensorType::get(newShape, newType.getElementType(), ragged);
      Value fresh;
      if (isa_and_present<tensor::EmptyOp>(made) && newType.hasStaticShape())
        fresh = tensor::EmptyOp::create(builder, made->getLoc(), newType, ValueRange());
      else if (matchPattern(operand, m_Constant(&constant)) && constant.isSplat() && newType.hasStaticShape())
        fresh = arith::ConstantOp::create(builder, made->getLoc(),
                                          DenseElementsAttr::get(newType, constant.getSplatValue<Attribute>()));
      else
        continue; // of the same plan, and on its way
      user->replaceUsesOfWith(operand, fresh);
    }
    for (Value result : user->getResults())
      if (failed(retype(result)))
        return failure();
  }
  return success();
}

LogicalResult Partition::convert(GatherOp gather) {
  if (gather.getThrough())
    return gather.emitOpError("cannot be partitioned: it reads through a second plan");
  gather.getXMutable().assign(dispatch(gather.getX()));
  gather.getPlanMutable().assign(local);
  return retype(gather.getResult());
}

LogicalResult Partition::convert(RaggedMatmulOp product) {
  if (product.getMode() != RaggedMode::Rows || product.getGroupOffset() || product.getRhsScale())
    return product.emitOpError("cannot be partitioned: expected mode rows, without group_offset and scales");
  if (failed(shard(product, product.getRhs(), "rhs")) ||
      (product.getBias() && failed(shard(product, product.getBias(), "bias"))))
    return failure();
  if (product.getWeights()) {
    product.getWeightsMutable().assign(dispatch(product.getWeights()));
  }
  product.getPlanMutable().assign(local);
  return retype(product.getResult());
}

LogicalResult Partition::convert(CombineOp combine) {
  if (combine.getNan() != NanPolicy::Last)
    return combine.emitOpError("cannot be partitioned: it has nan = propagate, expected last");
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(combine);
  auto combined = CombineRanksOp::create(builder, combine.getLoc(), combine.getType(), combine.getY(), local, route,
                                         combine.getWeights(), options.partialSums);
  combine.replaceAllUsesWith(combined.getResult());
  combine.erase();
  return success();
}

LogicalResult Partition::convertUser(Operation *user) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(user)
      .Case<GatherOp, RaggedMatmulOp, CombineOp>([&](auto typed) { return convert(typed); })
      .Default([](Operation *other) {
        return other->emitOpError("cannot be partitioned: it uses a plan of experts, expected moe.gather, "
                                  "moe.ragged_matmul or moe.combine");
      });
}

LogicalResult Partition::run() {
  FailureOr<int64_t> groups = getLocalGroups(), maxTokens = getMaxTokens();
  FailureOr<Transport> transport = getTransport();
  if (failed(groups) || failed(maxTokens) || failed(transport))
    return failure();
  int64_t tokens = op.getIds().getType().getDimSize(0);
  if (!ShapedType::isDynamic(tokens) && tokens > *maxTokens)
    return op.emitOpError("cannot be partitioned: it has ")
           << tokens << " tokens, expected at most max-tokens, " << *maxTokens;
  createRoute(*groups, *maxTokens, *transport);
  // Producers first: rows have their new type when their users are looked at.
  SmallVector<Operation *> users(op.getPlan().getUsers());
  llvm::sort(users, [](Operation *a, Operation *b) { return a->getBlock() == b->getBlock() && a->isBeforeInBlock(b); });
  users.erase(llvm::unique(users), users.end());
  for (Operation *user : users)
    if (user->getBlock() != op->getBlock())
      return user->emitOpError("cannot be partitioned: it is not in the block of its plan");
  for (Operation *user : users)
    if (failed(convertUser(user)))
      return failure();
  op.erase();
  return success();
}
