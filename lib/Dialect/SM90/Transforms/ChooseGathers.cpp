//===- ChooseGathers.cpp - gathered rows are copied first where that is faster ---===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "moe/Dialect/SM90/Transforms/Passes.h"
#include "moe/Dialect/SM90/Transforms/ScheduleTable.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::sm90 {
#define GEN_PASS_DEF_SM90CHOOSEGATHERSPASS
#include "moe/Dialect/SM90/Transforms/Passes.h.inc"
} // namespace mlir::sm90

using namespace mlir;
using namespace mlir::sm90;

namespace {

struct ChooseGathers : sm90::impl::SM90ChooseGathersPassBase<ChooseGathers> {
  using Base::Base;

  void runOnOperation() override {
    llvm::Expected<ScheduleTable> chosen = ScheduleTable::choose(table);
    if (!chosen) {
      getOperation().emitError() << llvm::toString(chosen.takeError());
      return signalPassFailure();
    }
    measured = std::move(*chosen);
    // Products that gather the same rows share a copy of them.
    llvm::MapVector<std::tuple<Block *, Value, Value>, SmallVector<tile::RaggedGemmOp>> sharing;
    getOperation().walk([&](tile::RaggedGemmOp op) {
      std::string why;
      if (op.getGather() && op.getNumResults() && !op->hasAttr(kScheduleName) && suitsWgmma(op, why))
        sharing[{op->getBlock(), op.getLhs(), op.getGather()}].push_back(op);
    });
    for (auto &[rows, products] : sharing)
      visit(products);
  }

private:
  void visit(ArrayRef<tile::RaggedGemmOp> products) {
    double gathered = 0, copied = predictCopySeconds(Problem(products.front(), rows));
    for (tile::RaggedGemmOp op : products) {
      Problem before(op, rows), after = before;
      after.gather = false;
      // Measured times compare with each other only.
      const ScheduleTable::Line *own = measured.find(before), *other = measured.find(after);
      bool known = own && other;
      gathered += known ? own->microseconds / 1e6 : predict(before);
      copied += known ? other->microseconds / 1e6 : predict(after);
    }
    for (tile::RaggedGemmOp op : products)
      op.emitRemark() << (copied < gathered ? "its rows are copied first: " : "gathers its rows: ")
                      << llvm::formatv("gathered {0:f1} us, copied {1:f1} us", gathered * 1e6, copied * 1e6).str();
    if (copied < gathered)
      copy(products);
  }

  double predict(const Problem &problem) { return rankSchedules(&getContext(), problem).front().seconds; }

  void copy(ArrayRef<tile::RaggedGemmOp> products) {
    tile::RaggedGemmOp first = products.front(); // the walk goes in order
    OpBuilder b(first);
    Location loc = first.getLoc();
    Value source = first.getLhs(), index = first.getGather();
    auto type = cast<RankedTensorType>(source.getType());
    SmallVector<OpFoldResult> sizes{tensor::getMixedSize(b, loc, index, 0), b.getIndexAttr(type.getDimSize(1))};
    Value empty = tensor::EmptyOp::create(b, loc, sizes, type.getElementType());
    // Only these products read the copy, and no rows but those of slots. In the order of slots, of which a token's are
    // neighbours, each token comes from memory once.
    Value order;
    if (auto plan = index.getDefiningOp<tile::PlanOp>(); plan && index == plan.getResult(3))
      if (llvm::all_of(products, [&](tile::RaggedGemmOp op) { return op.getBounds() == plan.getResult(1); }))
        order = plan.getResult(4);
    auto rows = tile::RowsOp::create(b, loc, TypeRange(empty.getType()), ValueRange{source, index}, /*bounds=*/Value(),
                                     order, ValueRange(empty));
    Block *body = b.createBlock(&rows.getBody(), {}, {b.getIndexType(), type, index.getType()}, {loc, loc, loc});
    Value number = tile::LoadOp::create(b, loc, b.getI32Type(), body->getArgument(2), body->getArgument(0));
    Value at = arith::IndexCastOp::create(b, loc, b.getIndexType(), number);
    auto vector = VectorType::get(type.getDimSize(1), type.getElementType());
    tile::YieldOp::create(b, loc, tile::LoadOp::create(b, loc, vector, body->getArgument(1), at).getResult());
    for (tile::RaggedGemmOp op : products) {
      op.getLhsMutable().assign(rows.getResult(0));
      op.getGatherMutable().clear();
    }
  }

  ScheduleTable measured;
};

} // namespace
