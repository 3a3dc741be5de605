//===- Route.cpp - the ops between ranks to tile.rows, plans and exchanges ===//
//
// What goes to a rank is what a plan puts into its group, and what comes from one lies in bounds made of exchanged
// sizes. So an exchange is a gather by a plan, a prog.all_to_all of contiguous rows, and a read through a plan on the
// other side: the permutation happens in kernels that read or write rows anyway. With a fixed capacity the plans are of
// equal blocks with pad rows, and so are the exchanges: no sizes travel, and no bounds are read by the host.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "moe/Dialect/Prog/IR/Prog.h"

using namespace mlir;
using namespace mlir::moe;
using namespace mlir::moe::to_tile;

namespace {
/// i32 arithmetic on rows and scalars of a body.
struct Integers {
  ImplicitLocOpBuilder &b;

  Value constant(Type type, int64_t number) {
    TypedAttr attr = b.getI32IntegerAttr(static_cast<int32_t>(number));
    if (auto vector = dyn_cast<VectorType>(type))
      attr = DenseElementsAttr::get(vector, Attribute(attr));
    return arith::ConstantOp::create(b, attr);
  }
  Value constantLike(Value value, int64_t number) { return constant(value.getType(), number); }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b2) {
    return arith::CmpIOp::create(b, predicate, a, b2);
  }
  /// 0 <= ids < experts.
  Value isExpert(Value ids, int64_t experts) {
    // Unsigned: a negative id is larger than any expert's.
    return compare(arith::CmpIPredicate::ult, ids, constantLike(ids, experts));
  }
  Value select(Value condition, Value a, Value b2) { return arith::SelectOp::create(b, condition, a, b2); }
};
} // namespace

/// One tensor of numbers of experts.
static Value createTable(Lowering &lowering, ArrayRef<int32_t> numbers) {
  auto type = RankedTensorType::get(static_cast<int64_t>(numbers.size()), lowering.b.getI32Type());
  return arith::ConstantOp::create(lowering.b, DenseElementsAttr::get(type, numbers));
}

//===----------------------------------------------------------------------===//
// Exchanges
//===----------------------------------------------------------------------===//

/// Rows of `x` to and from the ranks by these bounds, or in equal blocks. A function's argument is copied first: a
/// caller's rows may be padded.
static Value createExchange(Lowering &lowering, Value x, Value send, Value receive, RankedTensorType type,
                            OpFoldResult rows, StringRef axis, int64_t ranks,
                            prog::Transport transport = prog::Transport::Exact) {
  Value root = x;
  while (auto cast = root.getDefiningOp<tensor::CastOp>())
    root = cast.getSource();
  auto xType = cast<RankedTensorType>(x.getType());
  if (isa<BlockArgument>(root) && xType.getRank() > 1)
    x = lowering.createRows(x, Value(), xType, lowering.getDim(x, 0),
                            [](RowBody &body) { body.yield(body.load(0, body.row)); })[0];
  Value target = lowering.createEmpty(type, rows);
  return prog::AllToAllOp::create(lowering.b, type, x, send, receive, target, axis, ranks, transport).getResult();
}

static Value createExchange(Lowering &lowering, Value x, Value send, Value receive, RankedTensorType type,
                            OpFoldResult rows, RouteType route) {
  bool isPeer = route.getTransport() == Transport::Peer;
  return createExchange(lowering, x, send, receive, type, rows, route.getAxis(), route.getRanks(),
                        isPeer ? prog::Transport::Peer : prog::Transport::Exact);
}

LogicalResult to_tile::lower(AllToAllOp op, Lowering &lowering) {
  if (failed(checkStatic(op, "x", op.getX().getType(), 1)))
    return failure();
  auto type = cast<RankedTensorType>(getPlainType(op.getType()));
  Value send, receive;
  OpFoldResult rows = lowering.getDim(op.getX(), 0);
  if (op.getFrom()) {
    send = lowering.getPlan(op.getFrom()).bounds;
    receive = lowering.getPlan(op.getTo()).bounds;
    rows = lowering.getPlan(op.getTo()).rows;
  }
  lowering.replace(op, createExchange(lowering, op.getX(), send, receive, type, rows, op.getAxis(), op.getRanks()));
  return success();
}

/// `count` times `factor`: a constant, and as a size of a type, where the count is one.
static std::pair<OpFoldResult, int64_t> times(Lowering &lowering, OpFoldResult count, int64_t factor) {
  ImplicitLocOpBuilder &b = lowering.b;
  if (auto known = getConstantIntValue(count))
    return {b.getIndexAttr(*known * factor), *known * factor};
  Value product = arith::MulIOp::create(b, lowering.getIndex(count), lowering.getIndex(b.getIndexAttr(factor)));
  return {product, ShapedType::kDynamic};
}

/// Bounds of what comes from each rank, by what the others have in `sizes` for this one.
static Value createArrivalBounds(Lowering &lowering, Value sizes, int64_t rows, RouteType route) {
  auto type = cast<RankedTensorType>(sizes.getType());
  Value arriving = createExchange(lowering, sizes, {}, {}, type, {}, route);
  return lowering.createOffsets(arriving, lowering.b.getIndexAttr(rows));
}

/// Rows of x, one for each token, on the ranks that the tokens go to.
static Value createDispatch(Lowering &lowering, Value x, const Route &route, RouteType type) {
  auto xType = cast<RankedTensorType>(x.getType());
  auto withRows = [&](int64_t rows) {
    return RankedTensorType::get({rows, xType.getDimSize(1)}, xType.getElementType());
  };
  auto token = route.send.token;
  int64_t rows = cast<RankedTensorType>(token.getType()).getDimSize(0);
  Value packed = lowering.createRows({x, token}, Value(), withRows(rows), route.send.rows, [](RowBody &body) {
    Value index = arith::IndexCastOp::create(body.b, body.b.getIndexType(), body.load(1, body.row));
    body.yield(body.load(0, index));
  })[0];
  return createExchange(lowering, packed, route.getBounds(route.send), route.arrived, withRows(type.getArrivals()), {},
                        type);
}

/// Rows for arrived tokens back on the tokens' ranks, where they are added.
static Value createCollect(Lowering &lowering, Value y, const Route &route, RouteType type, RankedTensorType result) {
  auto yType = cast<RankedTensorType>(y.getType());
  int64_t rows = cast<RankedTensorType>(route.send.token.getType()).getDimSize(0);
  auto backType = RankedTensorType::get({rows, yType.getDimSize(1)}, yType.getElementType());
  Value back = createExchange(lowering, y, route.arrived, route.getBounds(route.send), backType, route.send.rows, type);
  return createCombine(lowering, back, route.send.inverse, Value(), result, route.tokens);
}

LogicalResult to_tile::lower(DispatchOp op, Lowering &lowering) {
  if (failed(checkStatic(op, "x", op.getX().getType(), 1)))
    return failure();
  RouteType type = op.getRoute().getType();
  lowering.replace(op, createDispatch(lowering, op.getX(), lowering.getRoute(op.getRoute()), type));
  return success();
}

LogicalResult to_tile::lower(CollectOp op, Lowering &lowering) {
  if (failed(checkStatic(op, "y", op.getY().getType(), 1)))
    return failure();
  RouteType type = op.getRoute().getType();
  lowering.replace(op, createCollect(lowering, op.getY(), lowering.getRoute(op.getRoute()), type,
                                     cast<RankedTensorType>(op.getType())));
  return success();
}

//===----------------------------------------------------------------------===//
// Routes
//===----------------------------------------------------------------------===//

/// The ranks of a token's slots, with each rank only at the first of its slots.
static Value getFirsts(RowBody &body, Value ranks) {
  ImplicitLocOpBuilder &b = body.b;
  Integers i{b};
  Value none = i.constantLike(ranks, -1), firsts = ranks;
  int64_t topk = cast<VectorType>(ranks.getType()).getDimSize(0);
  Value step = vector::StepOp::create(b, VectorType::get(topk, b.getIndexType()));
  for (int64_t j = 0; j + 1 < topk; ++j) {
    Value here = body.splat(vector::ExtractOp::create(b, ranks, j), topk);
    Value slot = body.splat(arith::ConstantIndexOp::create(b, j), topk);
    Value after = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, step, slot);
    Value again = arith::AndIOp::create(b, after, i.compare(arith::CmpIPredicate::eq, ranks, here));
    firsts = i.select(again, none, firsts);
  }
  return firsts;
}

/// The rank of each slot; and the same, with a rank only at the first of a token's slots on it.
static std::pair<Value, Value> createRanks(RouteOp op, Lowering &lowering, Value owners) {
  auto type = cast<RankedTensorType>(op.getIds().getType());
  int64_t topk = type.getDimSize(1), experts = cast<RankedTensorType>(owners.getType()).getDimSize(0);
  SmallVector<Value> results = lowering.createRows(
      {op.getIds(), owners}, Value(), {type, type}, lowering.getDim(op.getIds(), 0), [&](RowBody &body) {
        ImplicitLocOpBuilder &b = body.b;
        Integers i{b};
        Value ids = body.load(0, body.row);
        Value isExpert = i.isExpert(ids, experts);
        Value table = body.load(1, {});
        Value rank = tile::LookupOp::create(b, ids.getType(), table, i.select(isExpert, ids, i.constantLike(ids, 0)));
        Value ranks = i.select(isExpert, rank, i.constantLike(ids, -1));
        for (int64_t j = 0; j < topk; ++j) {
          Value slot = arith::ConstantIndexOp::create(b, j);
          Value id = body.load(0, {body.row, slot});
          // -1 is dropped on purpose.
          Value isNone = i.compare(arith::CmpIPredicate::eq, id, i.constantLike(id, -1));
          Value known = arith::OrIOp::create(b, isNone, i.isExpert(id, experts));
          Value one = arith::ConstantIntOp::create(b, b.getI1Type(), 1);
          Value bad = arith::XOrIOp::create(b, known, one);
          Value first = arith::MulIOp::create(b, body.row, arith::ConstantIndexOp::create(b, topk));
          Value number = arith::AddIOp::create(b, first, slot);
          Value value = arith::ExtSIOp::create(b, b.getI64Type(), id);
          Value limit = arith::ConstantOp::create(b, b.getI64IntegerAttr(experts));
          tile::FaultOp::create(b, tile::FaultKind::BadId, bad, number, value, limit);
        }
        body.yield({ranks, getFirsts(body, ranks)});
      });
  return {results[0], results[1]};
}

/// The same of the slots that have a row in a plan of `ranks`.
static std::pair<Value, Value> createKeptRanks(Lowering &lowering, Value ranks, const Plan &plan) {
  auto type = cast<RankedTensorType>(ranks.getType());
  SmallVector<Value> results =
      lowering.createRows({ranks, plan.inverse}, Value(), {type, type}, lowering.getDim(ranks, 0), [&](RowBody &body) {
        Integers i{body.b};
        Value rows = body.load(1, body.row), none = i.constantLike(rows, -1);
        Value isDropped = i.compare(arith::CmpIPredicate::eq, rows, none);
        Value kept = i.select(isDropped, none, body.load(0, body.row));
        body.yield({kept, getFirsts(body, kept)});
      });
  return {results[0], results[1]};
}

/// A plan with as many rows for each rank.
static Plan createBlocks(Lowering &lowering, Value ranks, RouteType type, int64_t rows) {
  ImplicitLocOpBuilder &b = lowering.b;
  auto ranksType = cast<RankedTensorType>(ranks.getType());
  rows *= type.getRanks();
  auto planType =
      PlanType::get(b.getContext(), type.getRanks(), rows, ranksType.getDimSize(0), ranksType.getDimSize(1), 1);
  return lowering.createPlan(ranks, planType, b.getIndexAttr(rows), /*equalBlocks=*/true);
}

/// The ids of arrived tokens among this rank's experts.
static Value createArrivedIds(RouteOp op, Lowering &lowering, const Route &route, Value numbers) {
  RouteType type = op.getRoute().getType();
  auto idsType = cast<RankedTensorType>(op.getIds().getType());
  int64_t topk = type.getTopk();
  int64_t rows = cast<RankedTensorType>(route.send.token.getType()).getDimSize(0);
  auto withRows = [&](int64_t rows) { return RankedTensorType::get({rows, topk}, idsType.getElementType()); };
  // They travel plus one: what nobody sent is zero.
  Value sent =
      lowering.createRows({op.getIds(), route.send.token, route.ranks, numbers}, route.send.bounds, withRows(rows),
                          route.send.rows, [&](RowBody &body) {
                            ImplicitLocOpBuilder &b = body.b;
                            Integers i{b};
                            Value token = arith::IndexCastOp::create(b, b.getIndexType(), body.load(1, body.row));
                            Value ids = body.load(0, token), zero = i.constantLike(ids, 0);
                            Value rank = body.splat(arith::IndexCastOp::create(b, b.getI32Type(), body.group), topk);
                            Value mine = i.compare(arith::CmpIPredicate::eq, body.load(2, token), rank);
                            Value safe = i.select(mine, ids, zero);
                            Value number = tile::LookupOp::create(b, ids.getType(), body.load(3, {}), safe);
                            Value next = arith::AddIOp::create(b, number, i.constantLike(ids, 1));
                            body.yield(i.select(mine, next, zero));
                          })[0];
  auto arrivedType = withRows(type.getArrivals());
  Value arrived = createExchange(lowering, sent, route.getBounds(route.send), route.arrived, arrivedType, {}, type);
  return lowering.createRows(arrived, Value(), arrivedType, lowering.b.getIndexAttr(type.getArrivals()),
                             [](RowBody &body) {
                               Integers i{body.b};
                               Value ids = body.load(0, body.row);
                               body.yield(arith::SubIOp::create(body.b, ids, i.constantLike(ids, 1)).getResult());
                             })[0];
}

LogicalResult to_tile::lower(RouteOp op, Lowering &lowering) {
  ImplicitLocOpBuilder &b = lowering.b;
  RouteType type = op.getRoute().getType();
  SmallVector<int32_t> ownerNumbers, placeNumbers;
  for (auto [owner, number] : op.getPlaces()) {
    ownerNumbers.push_back(owner);
    placeNumbers.push_back(number);
  }
  Value owners = createTable(lowering, ownerNumbers), numbers = createTable(lowering, placeNumbers);
  Route route;
  route.tokens = lowering.getDim(op.getIds(), 0);
  Value firsts;
  std::tie(route.ranks, firsts) = createRanks(op, lowering, owners);

  if (type.hasEqualBlocks()) {
    route.home = createBlocks(lowering, route.ranks, type, type.getPairCapacity());
    std::tie(route.ranks, firsts) = createKeptRanks(lowering, route.ranks, route.home);
    route.send = createBlocks(lowering, firsts, type, type.getPairRows());
  } else {
    // A token goes to no more ranks than there are, nor than it has slots.
    int64_t most = std::min(type.getTopk(), type.getRanks());
    auto [rows, staticRows] = times(lowering, route.tokens, most);
    auto planType = PlanType::get(b.getContext(), type.getRanks(), staticRows, ShapedType::kDynamic, type.getTopk(), 1);
    route.send = lowering.createPlan(firsts, planType, rows);
    route.arrived = createArrivalBounds(lowering, route.send.sizes, type.getArrivals(), type);
  }
  route.ids = createArrivedIds(op, lowering, route, numbers);
  lowering.setRoute(op.getRoute(), route);
  lowering.erase(op);
  return success();
}

LogicalResult to_tile::lower(RouteIdsOp op, Lowering &lowering) {
  lowering.replace(op, lowering.getRoute(op.getRoute()).ids);
  return success();
}

//===----------------------------------------------------------------------===//
// Combine
//===----------------------------------------------------------------------===//

/// The slots of arrived tokens that are here, in the order of source rank, token and slot: a plan of one group, or of a
/// block for each source.
static Plan createPlanOfHere(Lowering &lowering, const Route &route, RouteType type) {
  ImplicitLocOpBuilder &b = lowering.b;
  Value sources =
      lowering.createRows(route.ids, Value(), cast<RankedTensorType>(route.ids.getType()),
                          b.getIndexAttr(type.getArrivals()), [&](RowBody &body) {
                            Integers i{b};
                            Value ids = body.load(0, body.row), source = i.constantLike(ids, 0);
                            if (type.hasEqualBlocks()) {
                              Value rows = arith::ConstantIndexOp::create(b, type.getPairRows());
                              Value rank = arith::DivUIOp::create(b, body.row, rows);
                              source = body.splat(arith::IndexCastOp::create(b, b.getI32Type(), rank), type.getTopk());
                            }
                            Value none = i.constantLike(ids, -1);
                            Value isNone = i.compare(arith::CmpIPredicate::eq, ids, none);
                            body.yield(i.select(isNone, none, source));
                          })[0];
  if (type.hasEqualBlocks())
    return createBlocks(lowering, sources, type, type.getPairCapacity());
  int64_t rows = type.getArrivals() * type.getTopk();
  auto planType = PlanType::get(b.getContext(), 1, rows, type.getArrivals(), type.getTopk(), 1);
  return lowering.createPlan(sources, planType, b.getIndexAttr(rows));
}

/// Every slot's row back to its token's rank, in the order of source rank, token and slot; there a plan of the slots'
/// ranks says where it lies.
static Value createSlotCombine(CombineRanksOp op, Lowering &lowering, const Route &route) {
  ImplicitLocOpBuilder &b = lowering.b;
  RouteType type = op.getRoute().getType();
  int64_t topk = type.getTopk();
  auto yType = cast<RankedTensorType>(op.getY().getType());

  Plan home = route.home, here = createPlanOfHere(lowering, route, type);
  Value leaving;
  if (!type.hasEqualBlocks()) {
    auto [slots, staticSlots] = times(lowering, route.tokens, topk);
    home = lowering.createPlan(
        route.ranks, PlanType::get(b.getContext(), type.getRanks(), staticSlots, ShapedType::kDynamic, topk, 1), slots);
    leaving = createArrivalBounds(lowering, home.sizes, type.getArrivals() * topk, type);
  }

  const Plan &plan = lowering.getPlan(op.getPlan());
  auto withRowsOf = [&](const Plan &other) {
    int64_t rows = cast<RankedTensorType>(other.token.getType()).getDimSize(0);
    return RankedTensorType::get({rows, yType.getDimSize(1)}, yType.getElementType());
  };
  Value packed = lowering.createRows({op.getY(), here.permutation, plan.inverse}, here.bounds, withRowsOf(here),
                                     here.rows, [&](RowBody &body) {
                                       Type index = b.getIndexType();
                                       Value slot = arith::IndexCastOp::create(b, index, body.load(1, body.row));
                                       Value count = arith::ConstantIndexOp::create(b, topk);
                                       Value token = arith::DivUIOp::create(b, slot, count);
                                       Value row = body.load(2, {token, arith::RemUIOp::create(b, slot, count)});
                                       body.yield(body.load(0, arith::IndexCastOp::create(b, index, row).getResult()));
                                     })[0];
  Value back = createExchange(lowering, packed, leaving, route.getBounds(home), withRowsOf(home), home.rows, type);
  return createCombine(lowering, back, home.inverse, op.getWeights(), cast<RankedTensorType>(op.getType()),
                       route.tokens);
}

/// One sum for each arrived token back to the token's rank.
static Value createPartialCombine(CombineRanksOp op, Lowering &lowering, const Route &route) {
  RouteType type = op.getRoute().getType();
  auto yType = cast<RankedTensorType>(op.getY().getType());
  Value weights = op.getWeights();
  if (weights)
    weights = createDispatch(lowering, weights, route, type);
  int64_t arrivals = type.getArrivals();
  auto sumType = RankedTensorType::get({arrivals, yType.getDimSize(1)}, yType.getElementType());
  Value sums = createCombine(lowering, op.getY(), lowering.getPlan(op.getPlan()).inverse, weights, sumType,
                             lowering.b.getIndexAttr(arrivals));
  return createCollect(lowering, sums, route, type, cast<RankedTensorType>(op.getType()));
}

LogicalResult to_tile::lower(CombineRanksOp op, Lowering &lowering) {
  if (failed(checkStatic(op, "y", op.getY().getType(), 1)))
    return failure();
  const Route &route = lowering.getRoute(op.getRoute());
  lowering.replace(op, op.getPartialSums() ? createPartialCombine(op, lowering, route)
                                           : createSlotCombine(op, lowering, route));
  return success();
}
