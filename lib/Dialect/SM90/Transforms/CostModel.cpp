//===- CostModel.cpp - how long a ragged product takes ---------------------------===//
//
// docs/sm90.md says what the terms are and how their constants were found.
//
//===----------------------------------------------------------------------===//

#include "moe/Dialect/SM90/Transforms/Schedule.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace mlir::sm90;

namespace {

/// Found by least squares on measured products. Cycles of an SM.
constexpr double kWgmma = 1.07;        // of the cycles that the tensor cores need at least
constexpr double kTwoTiles = 1.05;     // of these, where two tiles are in flight
constexpr double kTile = 890;          // a tile, whatever its size,
constexpr double kElement = 3.3 / 256; // and an element of it, in the epilogue
constexpr double kHandover = 215;      // from one warpgroup to the other
constexpr double kImbalance = 0.4;     // of the time that SMs wait for the last
constexpr double kSpread = 0.8;        // deviation of the logarithm of a group's size, where they are unequal

/// Sizes of groups that together have the rows: alike, or as exp(spread * normal). The quantiles of the normal come in
/// the order of a low-discrepancy sequence, so that neighbours differ.
std::vector<double> drawSizes(int64_t groups, int64_t rows, double spread) {
  std::vector<double> sizes(groups);
  for (int64_t g = 0; g < groups; ++g) {
    double u = std::fmod((g + 0.5) * 0.6180339887, 1.0);
    sizes[g] = std::exp(spread * std::log(u / (1 - u)) / 1.702); // the logistic curve is close to the normal's
  }
  double sum = std::accumulate(sizes.begin(), sizes.end(), 0.0);
  for (double &size : sizes)
    size = std::floor(size / sum * rows + 0.5);
  return sizes;
}

class CostModel {
public:
  CostModel(const Problem &problem, ScheduleAttr schedule) : p(problem), s(schedule) {
    // A stage is 128 bytes of k, whatever the type: wgmma's rate falls as elements grow.
    double mma = 2.0 * s.getM() * s.getN() * (kChip.swizzleBytes / 2) / kChip.flopsPerCycle;
    depthOfBlock = kChip.swizzleBytes * 8.0 / p.in.getIntOrFloatBitWidth();
    pingpong = s.getRoles() == Roles::Pingpong;
    block = mma * kWgmma * (pingpong ? kTwoTiles : 1);
    epilogue = kTile + kElement * s.getM() * s.getN();
    columnTiles = static_cast<int64_t>(llvm::divideCeil(p.columns, s.getN() / p.parts));
  }

  double seconds(double spread) const {
    std::vector<double> sizes = drawSizes(p.groups, p.rows, spread);
    double compute = cycles(sizes) / kChip.clock, memory = bytes(sizes) / kChip.hbmBytesPerSecond;
    // Both go on at once; where they are close they are in each other's way.
    return std::pow(std::pow(compute, 4) + std::pow(memory, 4), 0.25);
  }

private:
  /// What a tile of so many blocks of k adds to its SM's time. Of two warpgroups in turns, one multiplies while the
  /// other stores.
  double tile(double blocks) const {
    double multiply = blocks * block;
    return pingpong ? std::max(multiply + kHandover, (multiply + epilogue) / 2) : multiply + epilogue;
  }

  /// Tiles of a group, or pairs of tiles in a cluster: an odd last row of tiles pairs its columns.
  int64_t tiles(int64_t rowTiles) const {
    if (s.getCluster() == 1)
      return rowTiles * columnTiles;
    return rowTiles / 2 * columnTiles + rowTiles % 2 * llvm::divideCeil(columnTiles, 2);
  }

  /// Rows of a group's product, and what is summed over: one of them is the group's size.
  std::pair<double, double> extents(double size) const {
    if (p.mode == tile::GemmMode::Contraction)
      return {p.k, size};
    return {size, p.k};
  }

  double cycles(const std::vector<double> &sizes) const {
    int64_t units = kChip.sms / s.getCluster();
    // Tiles are dealt out in turn. load[i] is what unit i does beyond what all do.
    std::vector<double> load(units);
    double common = 0;
    int64_t next = 0;
    for (double size : sizes) {
      auto [height, depth] = extents(size);
      int64_t count = tiles(std::ceil(height / s.getM()));
      double cost = tile(std::max(1.0, std::ceil(depth / depthOfBlock)));
      common += count / units * cost;
      for (int64_t i = 0; i < count % units; ++i)
        load[(next + i) % units] += cost;
      next = (next + count) % units;
    }
    double mean = std::accumulate(load.begin(), load.end(), 0.0) / units;
    double wait = *std::max_element(load.begin(), load.end()) - mean;
    return common + mean + (s.getOrder() == Order::Static ? kImbalance * wait : 0);
  }

  /// What comes from memory and goes there. Tiles are visited in bands of `raster` rows of tiles: the right side is
  /// read once for each band, unless it stays in the L2; the left side once, or if a band of it does not stay there,
  /// once for each wave of tiles.
  double bytes(const std::vector<double> &sizes) const {
    double in = p.in.getIntOrFloatBitWidth() / 8, out = p.out.getIntOrFloatBitWidth() / 8.0 * (p.accumulate ? 2 : 1);
    double band = s.getRaster() * s.getM(), room = kChip.l2Bytes / 2.0, total = 0;
    for (double size : sizes) {
      auto [height, depth] = extents(size);
      double line = in * depth, right = line * p.columns * p.parts;
      double waves = line * band <= room ? 1 : std::ceil(1.0 * s.getRaster() * columnTiles / kChip.sms);
      double passes = right <= room ? 1 : std::ceil(height / band);
      total += line * height * waves + right * passes + out * height * p.columns * p.outs;
    }
    return total;
  }

  const Problem &p;
  ScheduleAttr s;
  bool pingpong;
  double block, depthOfBlock, epilogue;
  int64_t columnTiles;
};

} // namespace

double sm90::predictSeconds(const Problem &problem, ScheduleAttr schedule) {
  CostModel model(problem, schedule);
  return std::sqrt(model.seconds(0) * model.seconds(kSpread));
}
