//===- Fuse.cpp - tile-fuse -------------------------------------------------===//

#include "Fusion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "moe/Dialect/Tile/Transforms/Passes.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEFUSEPASS
#include "moe/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

namespace {

struct Fusion {
  StringLiteral name;
  void (*run)(RowsOp, RewriterBase &);
};

constexpr Fusion kFusions[] = {{"gather", fuseGather}, {"epilogue", fuseEpilogue}, {"rows", fuseRows}};

struct Fuse : tile::impl::TileFusePassBase<Fuse> {
  using TileFusePassBase::TileFusePassBase;

  LogicalResult initialize(MLIRContext *context) override {
    for (const std::string &name : disable)
      if (llvm::none_of(kFusions, [&](const Fusion &fusion) { return fusion.name == name; }))
        return emitError(UnknownLoc::get(context))
               << "tile-fuse: disable names '" << name << "', expected epilogue, gather or rows";
    return success();
  }

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    for (const Fusion &fusion : kFusions) {
      if (llvm::is_contained(disable, fusion.name))
        continue;
      // In program order, so that a chain of bodies goes into a product one after the other.
      SmallVector<RowsOp> work;
      getOperation()->walk([&](RowsOp rows) { work.push_back(rows); });
      for (RowsOp rows : work)
        fusion.run(rows, rewriter);
    }
  }
};

} // namespace
