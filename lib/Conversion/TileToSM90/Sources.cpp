//===- Sources.cpp - how the operands of a product reach a stage --------------===//

#include "Sources.h"

using namespace mlir;
using namespace mlir::sm90;

namespace {

constexpr int64_t kWidth = 64;      // elements of 128 bytes: one row of the swizzle, one block of k
constexpr int64_t kBoxBytes = 8192; // 64 rows of 128 bytes

void loadBox(KernelBuilder &k, Value map, ValueRange coordinates, const Stage &stage, int64_t offset, int64_t bytes) {
  k.op<TmaLoadOp>(map, coordinates, stage.ring, stage.cursor, k.c(stage.offset + offset), bytes, /*multicast=*/false);
}

class Rows : public Source {
public:
  Rows(KernelBuilder &k, Value lhs, int64_t rows)
      : rows(rows), map(k.tensorMap(lhs, {k.sizeTerm(1), k.sizeTerm(0)}, {k.strideTerm(0)}, {kWidth, rows})) {}
  Major major() const override { return Major::K; }
  void load(KernelBuilder &k, const Tile &tile, const Stage &stage) override {
    loadBox(k, map, {k.mul(stage.block, kWidth), tile.row}, stage, 0, rows * 128);
  }

private:
  int64_t rows;
  Value map;
};

/// Weights [g, N, K] (or [N, K]).
class WeightsNK : public Source {
public:
  WeightsNK(KernelBuilder &k, tile::RaggedGemmOp op, int64_t columns)
      : parts(op.getNumAccumulators()), columns(columns / parts), partColumns(op.getN() / parts),
        interleaved(op.getAccs() == tile::Accumulators::Interleaved), grouped(k.memref(op.getRhs()).getRank() == 3) {
    int64_t n = grouped ? 1 : 0;
    SmallVector<TermAttr> dims{k.sizeTerm(n + 1)}, strides;
    SmallVector<int64_t> box{kWidth};
    if (interleaved) { // column 2 j + part is element (part, j)
      dims.append({k.constant(parts), k.constant(partColumns)});
      strides.append({k.strideTerm(n), k.strideTerm(n, 0, parts)});
      box.append({1, this->columns});
    } else {
      dims.push_back(k.sizeTerm(n));
      strides.push_back(k.strideTerm(n));
      box.push_back(this->columns);
    }
    if (grouped) {
      dims.push_back(k.sizeTerm(0));
      strides.push_back(k.strideTerm(0));
      box.push_back(1);
    }
    map = k.tensorMap(op.getRhs(), dims, strides, box);
  }
  Major major() const override { return Major::K; }
  void load(KernelBuilder &k, const Tile &tile, const Stage &stage) override {
    for (int64_t part = 0; part < parts; ++part) {
      SmallVector<Value> at{k.mul(stage.block, kWidth)};
      if (interleaved)
        at.append({k.c(part), tile.column});
      else
        at.push_back(k.add(tile.column, part * partColumns));
      if (grouped)
        at.push_back(tile.group);
      loadBox(k, map, at, stage, part * columns * 128, columns * 128);
    }
  }

private:
  int64_t parts, columns, partColumns;
  bool interleaved, grouped;
  Value map;
};

/// Weights [g, K, N] (or [K, N]): a box for each 64 columns.
class WeightsKN : public Source {
public:
  WeightsKN(KernelBuilder &k, tile::RaggedGemmOp op, int64_t columns)
      : parts(op.getNumAccumulators()), columns(columns / parts), partColumns(op.getN() / parts),
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
  void load(KernelBuilder &k, const Tile &tile, const Stage &stage) override {
    for (int64_t part = 0; part < parts; ++part)
      for (int64_t column = 0; column < columns; column += kWidth) {
        SmallVector<Value> at{k.add(tile.column, part * partColumns + column), k.mul(stage.block, kWidth)};
        if (grouped)
          at.push_back(tile.group);
        loadBox(k, map, at, stage, (part * columns + column) / kWidth * kBoxBytes, kBoxBytes);
      }
  }

private:
  int64_t parts, columns, partColumns;
  bool grouped;
  Value map;
};

/// Rows of one group, ended by hardware: dimension 1 is as long as 2^30 and the group begins at 2^30 minus its length,
/// so that what lies past its end is out of bounds and comes as zero. The last two dimensions bring the address back:
/// the one by the group's end, the other by 2^30 times the row's bytes, modulo 2^64.
class GroupRows : public Source {
public:
  GroupRows(KernelBuilder &k, Value matrix, int64_t columns, Side side)
      : columns(columns), side(side),
        map(k.tensorMap(matrix, {k.sizeTerm(1), k.constant(kMiddle), k.constant(0x7fff0000), k.constant(0x7fff0000)},
                        {k.strideTerm(0), k.strideTerm(0), k.strideTerm(0, 1ll << 35, -1)}, {kWidth, kWidth, 1, 1})) {}
  Major major() const override { return Major::MN; }
  void load(KernelBuilder &k, const Tile &tile, const Stage &stage) override {
    Value length = k.sub(tile.end, tile.begin);
    Value row = k.add(k.sub(k.c(kMiddle), length), k.mul(stage.block, kWidth));
    Value first = side == Side::Row ? tile.row : tile.column;
    for (int64_t column = 0; column < columns; column += kWidth)
      loadBox(k, map, {k.add(first, column), row, tile.end, k.c(kMiddle)}, stage, column / kWidth * kBoxBytes,
              kBoxBytes);
  }

private:
  static constexpr int64_t kMiddle = 1 << 30;
  int64_t columns;
  Side side;
  Value map;
};

} // namespace

std::unique_ptr<Source> sm90::createRows(KernelBuilder &k, Value lhs, int64_t rows) {
  return std::make_unique<Rows>(k, lhs, rows);
}
std::unique_ptr<Source> sm90::createWeights(KernelBuilder &k, tile::RaggedGemmOp op, int64_t columns) {
  if (op.getLayout() == tile::RhsLayout::NK)
    return std::make_unique<WeightsNK>(k, op, columns);
  return std::make_unique<WeightsKN>(k, op, columns);
}
std::unique_ptr<Source> sm90::createGroupRows(KernelBuilder &k, Value matrix, int64_t columns, Side side) {
  return std::make_unique<GroupRows>(k, matrix, columns, side);
}
