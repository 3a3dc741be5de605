//===- PlanArena.cpp - prog-plan-arena --------------------------------------===//
//
// The bytes of a buffer are a coefficient times a monomial in the program's sizes, such as 512 * T. Buffers with the
// same monomial can be compared whatever its value, so they are planned together like buffers of static size, in units
// of the monomial: sorted by size, each is put into the smallest gap that is free while it lives. The regions of the
// monomials lie one after the other.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "moe/Dialect/Prog/Transforms/Passes.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::prog {
#define GEN_PASS_DEF_PROGPLANARENAPASS
#include "moe/Dialect/Prog/Transforms/Passes.h.inc"
} // namespace mlir::prog

using namespace mlir;
using namespace mlir::prog;

/// Where a buffer may begin: a cache line, and the widest vector.
static constexpr int64_t kAlignment = 64;

namespace {

struct Buffer {
  BufferOp op;
  unsigned first, last;     ///< the steps between which it lives
  int64_t size, offset = 0; ///< in units of its region
};

/// Buffers that are planned together.
struct Region {
  SmallVector<Value> factors; ///< the monomial, as sizes in a fixed order
  /// Whether the unit is the monomial rounded up to the alignment, for the sizes that are not multiples of it
  /// themselves.
  bool rounded;
  bool peer; ///< in the peer arena
  SmallVector<Buffer> buffers;
  int64_t size = 0; ///< in units
};

struct PlanArena : prog::impl::ProgPlanArenaPassBase<PlanArena> {
  void runOnOperation() override;

  LogicalResult collect();
  LogicalResult addBuffer(BufferOp op, unsigned first, unsigned last);
  static LogicalResult factorize(Value size, int64_t &coefficient, SmallVectorImpl<Value> &factors);
  static LogicalResult place(Region &region);
  void emit(OpBuilder &builder);
  /// Sets the offsets of one of the two arenas and returns its size, null for 0.
  Value emitArena(OpBuilder &builder, bool peer);

  SmallVector<Region> regions;
};

} // namespace

/// Makes equal sizes one value, and moves them all before the first step so that any offset may use them.
static void hoistSizes(ProgramOp program) {
  IRRewriter rewriter(program.getContext());
  DominanceInfo dominance(program);
  eliminateCommonSubExpressions(rewriter, dominance, program);
  Block &body = program.getBody().front();
  Operation *last = nullptr;
  for (Operation &op : llvm::make_early_inc_range(body)) {
    if (op.getNumResults() != 1 || !op.getResult(0).getType().isInteger(64))
      continue;
    if (last)
      op.moveAfter(last);
    else
      op.moveBefore(&body, body.begin());
    last = &op;
  }
}

/// Multiplies coefficient and factors by a size.
LogicalResult PlanArena::factorize(Value size, int64_t &coefficient, SmallVectorImpl<Value> &factors) {
  APInt constant;
  if (matchPattern(size, m_ConstantInt(&constant)))
    return failure(llvm::MulOverflow(coefficient, constant.getSExtValue(), coefficient));
  if (auto product = size.getDefiningOp<arith::MulIOp>())
    return failure(failed(factorize(product.getLhs(), coefficient, factors)) ||
                   failed(factorize(product.getRhs(), coefficient, factors)));
  factors.push_back(size);
  return success();
}

LogicalResult PlanArena::addBuffer(BufferOp op, unsigned first, unsigned last) {
  auto type = cast<MemRefType>(op.getBuffer().getType());
  int64_t coefficient = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  SmallVector<Value> factors;
  bool overflow = false;
  for (int64_t size : type.getShape())
    if (!ShapedType::isDynamic(size))
      overflow |= llvm::MulOverflow(coefficient, size, coefficient) != 0;
  for (Value size : op.getDims())
    overflow |= failed(factorize(size, coefficient, factors));
  if (overflow || coefficient > std::numeric_limits<int64_t>::max() - kAlignment)
    return op.emitOpError("has a size in bytes that passes 64 bits");
  if (coefficient < 0)
    return op.emitOpError("has a negative size");

  // All sizes are results of ops of one block, so their order is total.
  llvm::sort(factors, [](Value a, Value b) { return a != b && a.getDefiningOp()->isBeforeInBlock(b.getDefiningOp()); });
  bool rounded = !factors.empty() && coefficient % kAlignment != 0;
  if (factors.empty())
    coefficient = llvm::alignTo(coefficient, kAlignment);
  auto region = llvm::find_if(
      regions, [&](const Region &r) { return r.factors == factors && r.rounded == rounded && r.peer == op.getPeer(); });
  if (region == regions.end())
    region = &regions.emplace_back(Region{factors, rounded, op.getPeer(), {}});
  region->buffers.push_back({op, first, last, coefficient});
  return success();
}

/// Buffers by region, with their lifetimes; unused ones are erased.
LogicalResult PlanArena::collect() {
  Block &body = getOperation().getBody().front();
  llvm::DenseMap<Operation *, unsigned> positions;
  for (auto [position, op] : llvm::enumerate(body))
    positions[&op] = position;
  for (auto op : llvm::make_early_inc_range(body.getOps<BufferOp>())) {
    if (op.getBuffer().use_empty()) {
      op.erase();
      continue;
    }
    unsigned first = std::numeric_limits<unsigned>::max(), last = 0;
    op.setPeer(llvm::any_of(op.getBuffer().getUsers(), [&](Operation *user) {
      auto exchange = dyn_cast<AllToAllOp>(user);
      return exchange && exchange.getKernel() && exchange.getTarget() == op.getBuffer();
    }));
    for (Operation *user : op.getBuffer().getUsers()) {
      first = std::min(first, positions.lookup(user));
      last = std::max(last, positions.lookup(user));
    }
    if (failed(addBuffer(op, first, last)))
      return failure();
  }
  return success();
}

/// Sets the offsets of a region's buffers, large ones first, each into the smallest gap it fits.
LogicalResult PlanArena::place(Region &region) {
  SmallVector<Buffer *> order = llvm::to_vector(llvm::make_pointer_range(region.buffers));
  llvm::stable_sort(order, [](Buffer *a, Buffer *b) { return a->size > b->size; });
  SmallVector<Buffer *> placed; // by offset
  for (Buffer *buffer : order) {
    int64_t end = 0, best = -1, bestGap = std::numeric_limits<int64_t>::max();
    for (Buffer *other : placed) {
      if (other->last < buffer->first || buffer->last < other->first)
        continue;
      int64_t gap = other->offset - end;
      if (gap >= buffer->size && gap < bestGap) {
        best = end;
        bestGap = gap;
      }
      end = std::max(end, other->offset + other->size);
    }
    buffer->offset = best >= 0 ? best : end;
    if (llvm::AddOverflow(buffer->offset, buffer->size, end))
      return buffer->op.emitOpError("does not fit an arena of 2^63 bytes");
    region.size = std::max(region.size, end);
    placed.insert(llvm::upper_bound(placed, buffer, [](Buffer *a, Buffer *b) { return a->offset < b->offset; }),
                  buffer);
  }
  return success();
}

Value PlanArena::emitArena(OpBuilder &builder, bool peer) {
  Location loc = getOperation().getLoc();
  llvm::SmallDenseMap<int64_t, Value> constants;
  auto constant = [&](int64_t value) {
    Value &slot = constants[value];
    if (!slot)
      slot = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(value));
    return slot;
  };
  auto product = [&](Value a, int64_t b) -> Value {
    return b == 1 ? a : arith::MulIOp::create(builder, loc, a, constant(b)).getResult();
  };

  Value base; // where the region begins; null for 0
  for (Region &region : regions) {
    if (region.peer != peer)
      continue;
    Value unit; // null for 1
    for (Value factor : region.factors)
      unit = unit ? arith::MulIOp::create(builder, loc, unit, factor) : factor;
    if (region.rounded)
      unit = product(arith::CeilDivSIOp::create(builder, loc, unit, constant(kAlignment)), kAlignment);
    llvm::SmallDenseMap<int64_t, Value> places;
    auto place = [&](int64_t offset) {
      Value &slot = places[offset];
      if (slot)
        return slot;
      if (offset == 0)
        return slot = base ? base : constant(0);
      Value inside = unit ? product(unit, offset) : constant(offset);
      return slot = base ? arith::AddIOp::create(builder, loc, base, inside) : inside;
    };
    for (Buffer &buffer : region.buffers)
      buffer.op.getOffsetMutable().assign(place(buffer.offset));
    base = place(region.size);
  }
  return base;
}

void PlanArena::emit(OpBuilder &builder) {
  Block &body = getOperation().getBody().front();
  auto terminator = cast<ReturnOp>(body.getTerminator());
  auto step = llvm::find_if(
      body, [](Operation &op) { return op.getNumResults() != 1 || !op.getResult(0).getType().isInteger(64); });
  builder.setInsertionPoint(&body, step);
  auto set = [&](MutableOperandRange operand, Value bytes) { bytes ? operand.assign(bytes) : operand.clear(); };
  set(terminator.getArenaMutable(), emitArena(builder, /*peer=*/false));
  set(terminator.getPeerMutable(), emitArena(builder, /*peer=*/true));
}

void PlanArena::runOnOperation() {
  regions.clear();
  hoistSizes(getOperation());
  if (failed(collect()))
    return signalPassFailure();
  for (Region &region : regions)
    if (failed(place(region)))
      return signalPassFailure();
  OpBuilder builder(&getContext());
  emit(builder);
}
