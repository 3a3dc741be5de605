//===- FuseGather.cpp - a copy of gathered rows becomes a product's gather --===//

#include "Fusion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::tile;

/// What a body copies: row index[r] of source.
struct GatheredRows {
  Value source, index;
};

/// The operand of `rows` that is loaded; the load's source is an argument of the body.
static Value getLoadedOperand(RowsOp rows, LoadOp load) {
  unsigned first = rows.getInArguments().front().getArgNumber();
  return rows.getIns()[cast<BlockArgument>(load.getSource()).getArgNumber() - first];
}

/// Matches a body that is nothing but `yield x[index[r]]`.
static std::optional<GatheredRows> matchGather(RowsOp rows) {
  Block &body = rows.getBody().front();
  if (rows.getOuts().size() != 1)
    return std::nullopt;
  auto copy = body.getTerminator()->getOperand(0).getDefiningOp<LoadOp>();
  if (!copy || copy.getIndices().size() != 1 || !isa<VectorType>(copy.getResult().getType()))
    return std::nullopt;
  auto cast = copy.getIndices()[0].getDefiningOp<arith::IndexCastOp>();
  auto read = cast ? cast.getIn().getDefiningOp<LoadOp>() : LoadOp();
  if (!read || read.getIndices().size() != 1 || read.getIndices()[0] != body.getArgument(0) ||
      !read.getResult().getType().isInteger(32))
    return std::nullopt;
  return GatheredRows{getLoadedOperand(rows, copy), getLoadedOperand(rows, read)};
}

/// Why a use of the gathered rows cannot gather by itself; empty if it can.
static std::string whyNotUse(RowsOp rows, OpOperand &use) {
  auto gemm = dyn_cast<RaggedGemmOp>(use.getOwner());
  if (!gemm || !gemm.getLhs() || gemm.getLhsMutable()[0].getOperandNumber() != use.getOperandNumber())
    return "the rows are used by something else than the left side of a product";
  if (gemm.getMode() != GemmMode::Rows)
    return "the product contracts over the rows";
  if (gemm.getGather())
    return "the product gathers already";
  if (rows.getOrder())
    return "the rows have an order";
  if (rows.getBounds() && rows.getBounds() != gemm.getBounds())
    return "the rows have other bounds than the product";
  return "";
}

void mlir::tile::fuseGather(RowsOp rows, RewriterBase &rewriter) {
  if (!rows.getNumResults())
    return;
  std::optional<GatheredRows> gathered = matchGather(rows);
  auto isProduct = [](OpOperand &use) { return isa<RaggedGemmOp>(use.getOwner()); };
  if (!gathered || llvm::none_of(rows->getUses(), isProduct))
    return;
  auto refuse = [&](StringRef why) -> InFlightDiagnostic { return rows.emitRemark("not fused as a gather: ") << why; };

  auto rowsOf = [](Value value) { return cast<ShapedType>(value.getType()).getDimSize(0); };
  if (rowsOf(gathered->index) != rowsOf(rows.getOuts()[0])) {
    refuse("the index and the rows differ in length");
    return;
  }
  for (OpOperand &use : rows->getUses())
    if (std::string why = whyNotUse(rows, use); !why.empty()) {
      refuse(why).attachNote(use.getOwner()->getLoc()) << "used here";
      return;
    }
  for (OpOperand &use : llvm::make_early_inc_range(rows->getUses())) {
    auto gemm = cast<RaggedGemmOp>(use.getOwner());
    rewriter.modifyOpInPlace(gemm, [&] {
      use.set(gathered->source);
      gemm.getGatherMutable().assign(gathered->index);
    });
  }
  rewriter.eraseOp(rows);
}
