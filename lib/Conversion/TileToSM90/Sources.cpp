//===- Sources.cpp - how the operands of a product reach a stage --------------===//

#include "Sources.h"

using namespace mlir;
using namespace mlir::sm90;

namespace {

constexpr int64_t kBoxRows = 64; // of a box that is MN-major: elements of k, and of 2 bytes in 128
constexpr int64_t kBoxBytes = kBoxRows * 128;

/// An operand that comes in equal boxes of a tensor map, one behind the other in the stage. They fall into two halves,
/// which is how a cluster shares them, unless their number is odd.
class Boxes : public Source {
public:
  void load(KernelBuilder &k, const Tile &tile, const Stage &stage, Value half) override {
    int64_t halves = boxes % 2 ? 1 : 2, each = boxes / halves;
    assert((!half || halves == 2) && "an odd number of boxes has no halves");
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
  Boxes(Value operand, int64_t boxes, int64_t bytes)
      : operand(operand), width(getBlock(operand)), boxes(boxes), bytes(bytes) {}
  void createMap(KernelBuilder &k, ArrayRef<TermAttr> dims, ArrayRef<TermAttr> strides, ArrayRef<int64_t> box) {
    map = k.tensorMap(operand, getLoadedType(operand), dims, strides, box);
  }
  /// A box of `height` rows of a map whose rows end where the tile's group ends.
  static SmallVector<Value> ended(KernelBuilder &k, const Tile &tile, Value column, Value row, int64_t height) {
    Value end = k.min(tile.end, k.add(row, height));
    return {column, k.add(k.sub(row, end), kEndedRows), end, k.c(kEndedRows)};
  }
  /// Coordinates of box `i` of a half.
  virtual SmallVector<Value> place(KernelBuilder &k, const Tile &tile, Value block, Value half, int64_t i) = 0;

  Value operand, map;
  int64_t width; // elements of 128 bytes: a row of a box, a block of k

private:
  int64_t boxes, bytes;
};

class Rows : public Boxes {
public:
  Rows(KernelBuilder &k, Value lhs, int64_t rows, int64_t boxes, bool zeros)
      : Boxes(lhs, boxes, rows / boxes * 128), step(rows / 2), height(rows / boxes), zeros(zeros) {
    if (zeros)
      map = k.endedMap(lhs, getLoadedType(lhs), width, height);
    else
      createMap(k, {k.sizeTerm(1), k.sizeTerm(0)}, {k.strideTerm(0)}, {width, height});
  }
  Major major() const override { return Major::K; }
  SmallVector<Value> place(KernelBuilder &k, const Tile &tile, Value block, Value half, int64_t) override {
    Value column = k.mul(block, width), row = k.add(tile.row, k.mul(half, step));
    if (zeros)
      return ended(k, tile, column, row, height);
    return {column, row};
  }

private:
  int64_t step, height; // rows from half to half, and of a box
  bool zeros;
};

/// Rows that other warps gather: the thread that loads has nothing to do.
class Gathered : public Source {
public:
  Major major() const override { return Major::K; }
  void load(KernelBuilder &, const Tile &, const Stage &, Value) override {}
};

/// Weights, whose halves are of the two accumulators if those have parts of the columns. Interleaved ones are one piece
/// of neighbouring columns, which the epilogue tells apart.
class Weights : public Boxes {
public:
  Weights(KernelBuilder &k, tile::RaggedGemmOp op, int64_t columns, int64_t boxes, int64_t height)
      : Boxes(op.getRhs(), boxes, height * 128), columnsEach(op.getAccs() == tile::Accumulators::Interleaved ? 2 : 1),
        step(op.getAccs() == tile::Accumulators::Concatenated ? op.getN() / 2 : columns / 2) {
    grouped = k.memref(op.getRhs()).getRank() == 3;
    if (grouped)
      createMap(k, {k.sizeTerm(2), k.sizeTerm(1), k.sizeTerm(0)}, {k.strideTerm(1), k.strideTerm(0)},
                {width, height, 1});
    else
      createMap(k, {k.sizeTerm(1), k.sizeTerm(0)}, {k.strideTerm(0)}, {width, height});
  }

protected:
  SmallVector<Value> coordinates(const Tile &tile, Value inner, Value outer) {
    SmallVector<Value> at{inner, outer};
    if (grouped)
      at.push_back(tile.group);
    return at;
  }
  /// First column of a half.
  Value firstColumn(KernelBuilder &k, const Tile &tile, Value half) {
    Value column = columnsEach == 1 ? tile.column : k.mul(tile.column, columnsEach);
    return k.add(column, k.mul(half, step));
  }

private:
  int64_t columnsEach, step;
  bool grouped;
};

/// [g, N, K] (or [N, K]).
class WeightsNK : public Weights {
public:
  WeightsNK(KernelBuilder &k, tile::RaggedGemmOp op, int64_t columns, int64_t boxes)
      : Weights(k, op, columns, boxes, columns / boxes) {}
  Major major() const override { return Major::K; }
  SmallVector<Value> place(KernelBuilder &k, const Tile &tile, Value block, Value half, int64_t) override {
    return coordinates(tile, k.mul(block, width), firstColumn(k, tile, half));
  }
};

/// [g, K, N] (or [K, N]): a box for each 64 columns.
class WeightsKN : public Weights {
public:
  WeightsKN(KernelBuilder &k, tile::RaggedGemmOp op, int64_t columns)
      : Weights(k, op, columns, columns / kBoxRows, kBoxRows) {}
  Major major() const override { return Major::MN; }
  SmallVector<Value> place(KernelBuilder &k, const Tile &tile, Value block, Value half, int64_t i) override {
    return coordinates(tile, k.add(firstColumn(k, tile, half), i * width), k.mul(block, width));
  }
};

/// Columns of a matrix whose rows are summed over.
class GroupRows : public Boxes {
public:
  GroupRows(KernelBuilder &k, Value matrix, int64_t columns, Side side)
      : Boxes(matrix, columns / kBoxRows, kBoxBytes), step(columns / 2), side(side) {
    map = k.endedMap(matrix, getLoadedType(matrix), width, width);
  }
  Major major() const override { return Major::MN; }
  SmallVector<Value> place(KernelBuilder &k, const Tile &tile, Value block, Value half, int64_t i) override {
    Value first = side == Side::Row ? tile.row : tile.column;
    Value column = k.add(k.add(first, i * width), k.mul(half, step));
    return ended(k, tile, column, k.add(tile.begin, k.mul(block, width)), width);
  }

private:
  int64_t step;
  Side side;
};

} // namespace

Type sm90::getLoadedType(Value operand) {
  Type type = KernelBuilder::memref(operand).getElementType();
  return type.isF32() ? FloatTF32Type::get(type.getContext()) : type;
}

int64_t sm90::getBlock(Value operand) { return 128 * 8 / KernelBuilder::memref(operand).getElementTypeBitWidth(); }

std::unique_ptr<Source> sm90::createRows(KernelBuilder &k, Value lhs, int64_t rows, bool cut, bool zeros) {
  return std::make_unique<Rows>(k, lhs, rows, cut ? 2 : 1, zeros);
}
std::unique_ptr<Source> sm90::createGathered() { return std::make_unique<Gathered>(); }
std::unique_ptr<Source> sm90::createWeights(KernelBuilder &k, tile::RaggedGemmOp op, int64_t columns, bool cut) {
  if (op.getLayout() == tile::RhsLayout::NK)
    return std::make_unique<WeightsNK>(k, op, columns, cut || op.getAccs() == tile::Accumulators::Concatenated ? 2 : 1);
  return std::make_unique<WeightsKN>(k, op, columns);
}
std::unique_ptr<Source> sm90::createGroupRows(KernelBuilder &k, Value matrix, int64_t columns, Side side) {
  return std::make_unique<GroupRows>(k, matrix, columns, side);
}
