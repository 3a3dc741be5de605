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

// Found by least squares on measured products (docs/performance.md). Cycles of an SM, unless it says otherwise.
constexpr double kTile = 1000;               ///< a tile, whatever its size,
constexpr double kElement = 3.0 / 256;       ///< and an element of it, of 2 bytes, in the epilogue
constexpr double kHandover = 60;             ///< from one warpgroup to the other
constexpr double kTake = 250;                ///< a tile that is asked for (order dynamic),
constexpr double kTakeInTurns = 700;         ///< by two warpgroups
constexpr double kLatency = 1500;            ///< from a load's issue until its stage is full
constexpr double kSharedBytes = 157;         ///< bytes a cycle to and from shared memory that cost nothing,
constexpr double kSharedPower = 1.4;         ///< and how what is beyond them costs
constexpr double kWait[] = {0.45, 0.12};     ///< of the time that SMs wait for the last: orders static and dynamic
constexpr double kDrift[] = {0.004, 0.023};  ///< of the whole, order static: rows and contraction,
constexpr double kUneven[] = {0.052, 0.22};  ///< and as much as tiles differ: cooperative and pingpong
constexpr double kCluster[] = {0.98, 1.08};  ///< times a block of k, in a cluster: cooperative and pingpong
constexpr double kGather[] = {1.10, 1.09};   ///< the same where rows are gathered
constexpr double kL2BytesPerSecond = 21e12;  ///< to all SMs
constexpr double kPace = 0.91;               ///< of the clock: the card is limited by power
constexpr double kCopyBytesPerSecond = 3e12; ///< written by a copy of rows, which reads each token once,
constexpr double kLaunch = 3e-6;             ///< and what a kernel more costs
constexpr double kSpread = 0.8;              ///< deviation of the logarithm of a group's size, where they are unequal

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
    pingpong = s.getRoles() == Roles::Pingpong;
    contraction = p.mode == tile::GemmMode::Contraction;
    columnTiles = static_cast<int64_t>(llvm::divideCeil(p.columns, s.getN() / p.parts));
    // A stage is 128 bytes of k, whatever the type: wgmma's rate falls as elements grow.
    depthOfBlock = kChip.swizzleBytes * 8.0 / p.in.getIntOrFloatBitWidth();
    double m = s.getM(), n = s.getN(), mma = 2 * m * n * (kChip.swizzleBytes / 2.0) / kChip.flopsPerCycle;
    // wgmma reads 64 rows and all columns for 16 of k (32 bytes) each time; TMA writes the stage once.
    double rows = kChip.wgmmaRows, reads = (rows + n) * 32 / (2 * rows * n * 16 / kChip.flopsPerCycle);
    double shared = reads + s.getStageBytes() / mma;
    block = mma * std::max(1.0, std::pow(shared / kSharedBytes, kSharedPower)) *
            std::max(1.0, kLatency / ((s.getStages() - 1) * mma)) * (s.getCluster() == 1 ? 1 : kCluster[pingpong]) *
            (p.gather ? kGather[pingpong] : 1);
    double elements = m * n / p.parts;
    epilogue = kTile + kElement * elements * p.outs * p.out.getIntOrFloatBitWidth() / 16 +
               elements * p.functions / kChip.functionsPerCycle;
    take = s.getOrder() == Order::Static ? 0 : pingpong ? kTakeInTurns : kTake;
  }

  double seconds(double spread) const {
    std::vector<double> sizes = drawSizes(p.groups, p.rows, spread);
    // All go on at once; where they are close they are in each other's way.
    double times[] = {cycles(sizes) / (kChip.clock * kPace), memoryBytes(sizes) / kChip.hbmBytesPerSecond,
                      loadedBytes(sizes) / kL2BytesPerSecond};
    double sum = 0;
    for (double time : times)
      sum += time * time * time;
    return std::cbrt(sum);
  }

private:
  /// What a tile of so many blocks of k adds to its SM's time. Of two warpgroups in turns, one multiplies while the
  /// other stores.
  double tile(double blocks) const {
    double multiply = blocks * block;
    return take + (pingpong ? std::max(multiply + kHandover, (multiply + epilogue) / 2) : multiply + epilogue);
  }

  double blocks(double depth) const { return std::max(1.0, std::ceil(depth / depthOfBlock)); }

  /// Rows of a group's product, and what is summed over: one of them is the group's size.
  std::pair<double, double> extents(double size) const {
    if (contraction)
      return {p.k, size};
    return {size, p.k};
  }

  /// Tiles of a product of so many rows, or pairs of tiles in a cluster, and how many of them cost half: those of the
  /// last row of tiles if half its rows are left or fewer and the kernel splits their columns. A cluster pairs rows of
  /// tiles, and an odd last one in columns; in a pair of rows the whole tile decides.
  std::pair<int64_t, int64_t> tiles(double height) const {
    int64_t rows = static_cast<int64_t>(height), rowTiles = llvm::divideCeil(rows, s.getM());
    bool isShort = splitsColumns(p, s) && rows > 0 && (rows - 1) % s.getM() < s.getM() / 2;
    if (s.getCluster() == 1)
      return {rowTiles * columnTiles, isShort ? columnTiles : 0};
    int64_t half = llvm::divideCeil(columnTiles, 2);
    bool isOdd = rowTiles % 2;
    return {rowTiles / 2 * columnTiles + (isOdd ? half : 0), isShort && isOdd ? half : 0};
  }

  double cycles(const std::vector<double> &sizes) const {
    int64_t units = kChip.sms / s.getCluster();
    // Tiles are dealt out in turn. load[i] is what unit i does beyond what all do.
    std::vector<double> load(units);
    double common = 0, saved = 0, sum = 0, squares = 0, all = 0;
    int64_t next = 0;
    for (double size : sizes) {
      auto [height, depth] = extents(size);
      auto [count, halves] = tiles(height);
      double cost = tile(blocks(depth));
      saved += halves * (cost - tile(blocks(depth) / 2)) / units;
      int64_t whole = count / units;
      common += static_cast<double>(whole) * cost;
      all += count, sum += count * cost, squares += count * cost * cost;
      for (int64_t i = 0; i < count % units; ++i)
        load[(next + i) % units] += cost;
      next = (next + count) % units;
    }
    double mean = std::accumulate(load.begin(), load.end(), 0.0) / units;
    double wait = *std::max_element(load.begin(), load.end()) - mean;
    bool isStatic = s.getOrder() == Order::Static;
    double deviation = std::sqrt(std::max(0.0, squares * all / (sum * sum) - 1)); // of a tile's cost, to the mean
    double drift = isStatic ? kDrift[contraction] + kUneven[pingpong] * deviation : 0;
    return (common + mean - saved) * (1 + drift) + kWait[!isStatic] * wait;
  }

  /// What comes from memory and goes there. Tiles are visited in bands of `raster` rows of tiles: the right side is
  /// read once for each band, unless it stays in the L2; the left side once, or if a band of it does not stay there,
  /// once for each wave of tiles.
  double memoryBytes(const std::vector<double> &sizes) const {
    double in = p.in.getIntOrFloatBitWidth() / 8.0, out = p.out.getIntOrFloatBitWidth() / 8.0 * (p.accumulate ? 2 : 1);
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

  /// What SMs load: in a cluster each block loads half of what both need.
  double loadedBytes(const std::vector<double> &sizes) const {
    double bytes = kChip.swizzleBytes * (s.getM() + s.getN() / (s.getCluster() == 2 ? 2.0 : 1)), total = 0;
    for (double size : sizes) {
      auto [height, depth] = extents(size);
      total += tiles(height).first * s.getCluster() * blocks(depth) * bytes;
    }
    return total;
  }

  const Problem &p;
  ScheduleAttr s;
  bool pingpong, contraction;
  double block, depthOfBlock, epilogue, take;
  int64_t columnTiles;
};

} // namespace

double sm90::predictSeconds(const Problem &problem, ScheduleAttr schedule) {
  CostModel model(problem, schedule);
  return std::sqrt(model.seconds(0) * model.seconds(kSpread));
}

double sm90::predictCopySeconds(const Problem &problem) {
  double bytes = 1.0 * problem.rows * problem.k * problem.in.getIntOrFloatBitWidth() / 8;
  return kLaunch + bytes / kCopyBytesPerSecond;
}
