//===- Sources.cpp - how the operands of a product reach a stage --------------===//

#include "Sources.h"

using namespace mlir;
using namespace mlir::sm90;

namespace {

constexpr int64_t kWidth = 64;      // elements of 128 bytes: one row of the swizzle, one block of k
constexpr int64_t kBoxBytes = 8192; // 64 rows of 128 bytes

/// An operand that comes in equal boxes of a tensor map, one behind the other in the stage. They fall into two halves,
/// which is how a cluster shares them, unless there is one.
class Boxes : public Source {
public:
  void load(KernelBuilder &k, const Tile &tile, const Stage &stage, Value half) override {
    int64_t halves = boxes == 1 ? 1 : 2, each = boxes / halves;
    assert((!half || halves == 2) && "one box has no halves");
    auto loadHalf = [&](Value half, bool multicast) {
      for (int64_t i = 0; i < each; ++i) {
        Value offset = k.add(k.mul(half, each * bytes), stage.offset + i * bytes);
        k.op<TmaLoadOp>(map, place(k, tile, stage.block, half, i), stage.ring, stage.cursor, offset, bytes, multicast);
      }
    };
    if (half)
      return loadHalf(half, /*multicast=*/true);
    for (int64_t i = 0; i < halves; ++i)
      loadHalf(k.c(i), /*multicast=*/false);
  }

protected:
  Boxes(int64_t boxes, int64_t bytes) : boxes(boxes), bytes(bytes) {}
  /// Coordinates of box `i` of a half.
  virtual SmallVector<Value> place(KernelBuilder &k, const Tile &tile, Value block, Value half, int64_t i) = 0;

  Value map;

private:
  int64_t boxes, bytes;
};

class Rows : public Boxes {
public:
  Rows(KernelBuilder &k, Value lhs, int64_t rows, int64_t boxes) : Boxes(boxes, rows / boxes * 128), height(rows / 2) {
    map = k.tensorMap(lhs, {k.sizeTerm(1), k.sizeTerm(0)}, {k.strideTerm(0)}, {kWidth, rows / boxes});
  }
  Major major() const override { return Major::K; }
  SmallVector<Value> place(KernelBuilder &k, const Tile &tile, Value block, Value half, int64_t) override {
    return {k.mul(block, kWidth), k.add(tile.row, k.mul(half, height))};
  }

private:
  int64_t height; // rows from half to half
};

/// From half to half of a tile's columns: to the next part, if there are two.
int64_t stepOfHalves(tile::RaggedGemmOp op, int64_t columns) {
  return op.getNumAccumulators() == 2 ? op.getN() / 2 : columns / 2;
}

/// Weights [g, N, K] (or [N, K]).
class WeightsNK : public Boxes {
public:
  WeightsNK(KernelBuilder &k, tile::RaggedGemmOp op, int64_t columns, int64_t boxes)
      : Boxes(boxes, columns / boxes * 128), step(stepOfHalves(op, columns)),
        interleaved(op.getAccs() == tile::Accumulators::Interleaved), grouped(k.memref(op.getRhs()).getRank() == 3) {
    int64_t n = grouped ? 1 : 0;
    SmallVector<TermAttr> dims{k.sizeTerm(n + 1)}, strides;
    SmallVector<int64_t> box{kWidth};
    if (interleaved) { // column 2 j + part is element (part, j)
      dims.append({k.constant(2), k.constant(step)});
      strides.append({k.strideTerm(n), k.strideTerm(n, 0, 2)});
      box.append({1, columns / boxes});
    } else {
      dims.push_back(k.sizeTerm(n));
      strides.push_back(k.strideTerm(n));
      box.push_back(columns / boxes);
    }
    if (grouped) {
      dims.push_back(k.sizeTerm(0));
      strides.push_back(k.strideTerm(0));
      box.push_back(1);
    }
    map = k.tensorMap(op.getRhs(), dims, strides, box);
  }
  Major major() const override { return Major::K; }
  SmallVector<Value> place(KernelBuilder &k, const Tile &tile, Value block, Value half, int64_t) override {
    SmallVector<Value> at{k.mul(block, kWidth)};
    if (interleaved)
      at.append({half, tile.column});
    else
      at.push_back(k.add(tile.column, k.mul(half, step)));
    if (grouped)
      at.push_back(tile.group);
    return at;
  }

private:
  int64_t step;
  bool interleaved, grouped;
};

/// Weights [g, K, N] (or [K, N]): a box for each 64 columns.
class WeightsKN : public Boxes {
public:
  WeightsKN(KernelBuilder &k, tile::RaggedGemmOp op, int64_t columns)
      : Boxes(columns / kWidth, kBoxBytes), step(stepOfHalves(op, columns)),
        grouped(k.memref(op.getRhs()).getRank() == 3) {
    SmallVector<TermAttr> dims{k.sizeTerm(1), k.sizeTerm(0)}, strides{k.strideTerm(0)};
    SmallVector<int64_t> box{kWidth, kWidth};
    if (grouped) {
      dims = {k.sizeTerm(2), k.sizeTerm(1), k.sizeTerm(0)};
      strides = {k.strideTerm(1), k.strideTerm(0)};
      box.push_back(1);
    }
    map = k.tensorMap(op.getRhs(), dims, strides, box);
  }
  Major major() const override { return Major::MN; }
  SmallVector<Value> place(KernelBuilder &k, const Tile &tile, Value block, Value half, int64_t i) override {
    SmallVector<Value> at{k.add(k.add(tile.column, i * kWidth), k.mul(half, step)), k.mul(block, kWidth)};
    if (grouped)
      at.push_back(tile.group);
    return at;
  }

private:
  int64_t step;
  bool grouped;
};

/// Rows of one group, ended by hardware: dimension 1 is as long as 2^30 and the group begins at 2^30 minus its length,
/// so that what lies past its end is out of bounds and comes as zero. The last two dimensions bring the address back:
/// the one by the group's end, the other by 2^30 times the row's bytes, modulo 2^64.
class GroupRows : public Boxes {
public:
  GroupRows(KernelBuilder &k, Value matrix, int64_t columns, Side side)
      : Boxes(columns / kWidth, kBoxBytes), step(columns / 2), side(side) {
    map = k.tensorMap(matrix, {k.sizeTerm(1), k.constant(kMiddle), k.constant(0x7fff0000), k.constant(0x7fff0000)},
                      {k.strideTerm(0), k.strideTerm(0), k.strideTerm(0, 1ll << 35, -1)}, {kWidth, kWidth, 1, 1});
  }
  Major major() const override { return Major::MN; }
  SmallVector<Value> place(KernelBuilder &k, const Tile &tile, Value block, Value half, int64_t i) override {
    Value length = k.sub(tile.end, tile.begin);
    Value row = k.add(k.sub(k.c(kMiddle), length), k.mul(block, kWidth));
    Value first = side == Side::Row ? tile.row : tile.column;
    return {k.add(k.add(first, i * kWidth), k.mul(half, step)), row, tile.end, k.c(kMiddle)};
  }

private:
  static constexpr int64_t kMiddle = 1 << 30;
  int64_t step;
  Side side;
};

} // namespace

std::unique_ptr<Source> sm90::createRows(KernelBuilder &k, Value lhs, int64_t rows, bool cut) {
  return std::make_unique<Rows>(k, lhs, rows, cut ? 2 : 1);
}
std::unique_ptr<Source> sm90::createWeights(KernelBuilder &k, tile::RaggedGemmOp op, int64_t columns, bool cut) {
  if (op.getLayout() == tile::RhsLayout::NK)
    return std::make_unique<WeightsNK>(k, op, columns, cut || op.getNumAccumulators() == 2 ? 2 : 1);
  return std::make_unique<WeightsKN>(k, op, columns);
}
std::unique_ptr<Source> sm90::createGroupRows(KernelBuilder &k, Value matrix, int64_t columns, Side side) {
  return std::make_unique<GroupRows>(k, matrix, columns, side);
}
