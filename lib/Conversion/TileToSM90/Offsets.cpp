//===- Offsets.cpp - tile.offsets as one block ---------------------------------===//
//
// A group starts at the sum of the sizes before it, each clamped to [0, rows] and rounded up, or at `rows` if that is
// less: what is clamped away lies past the end anyway.
//
//===----------------------------------------------------------------------===//

#include "Simt.h"

using namespace mlir;
using namespace mlir::sm90;

namespace {

class Offsets : Simt {
public:
  Offsets(tile::OffsetsOp op, KernelBuilder &kernel) : Simt(kernel), offsets(op) {}

  void build() {
    View sizes = view(offsets.getSizes()), bounds = view(offsets.getOuts()[0]);
    int64_t groups = sizes.type.getDimSize(0);
    Value sums = op<AllocOp>(LLVM::LLVMPointerType::get(k.b.getContext(), 3), kScanBytes);
    Value rows = max(k.scalar(offsets.getRows()), c64(0)), index = thread(), zero = c64(0);
    // All threads take all rounds: they meet in the sum.
    loop(c(0), c(groups), c(kScanThreads), zero, [&](Value round, ValueRange state) {
      Value first = state[0];
      Value group = add(round, index), inside = less(group, c(groups));
      Value place = ext64(min(group, c(groups - 1)));
      Value given = load(sizes.element(), at(sizes.pointer, place, sizes.element()));
      Value size = select(inside, sizes.bytes() == 8 ? given : ext64(given), zero);
      Value clamped = min(max(size, zero), rows);
      auto sum = sumBefore(roundUp(clamped, offsets.getAlign(), rows), index, sums);
      Value start = min(add(first, sum.first), rows), left = sub(rows, start);
      ifThen(inside, [&] {
        store(start, address(bounds, {ext64(group), zero}));
        store(add(start, min(clamped, left)), address(bounds, {ext64(group), c64(1)}));
        // Unsigned, so that a negative size is too large as well.
        ifThen(below(left, size), [&] { report(tile::FaultKind::BadSizes, ext64(group), size, left); });
      });
      return SmallVector<Value>{add(first, sum.second)};
    });
  }

private:
  tile::OffsetsOp offsets;
};

} // namespace

LogicalResult sm90::lower(tile::OffsetsOp op, OpBuilder &builder, StringRef name) {
  KernelBuilder kernel(builder, op.getLoc(), name);
  Offsets(op, kernel).build();
  kernel.finish(LaunchAttr::get(builder.getContext(), Simt::kScanThreads, 1, 0, 0, /*blocks=*/1));
  return success();
}
