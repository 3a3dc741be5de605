//===- Measure.h - times compiled products on a GPU -------------------------------===//
#ifndef MOE_TOOLS_MOE_COMPILE_MEASURE_H
#define MOE_TOOLS_MOE_COMPILE_MEASURE_H

#include "moert/moert.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mlir::moe {

/// An operand of a product, row-major.
struct MeasureBuffer {
  enum class Content {
    Random, ///< normal numbers, divided by 8
    Bounds, ///< first row and end of each group, [groups, 2]
    Index,  ///< random numbers below `limit`
    Count,  ///< 0, 1, 2, ...
    Out,    ///< written
    Sum     ///< added to
  };
  Content content;
  moe_dtype dtype;
  std::vector<int64_t> shape;
  int64_t limit = 0;

  bool isOutput() const { return content == Content::Out || content == Content::Sum; }
};

/// How rows are spread over groups: alike, or in proportion to exp(0.8 * normal).
enum class GroupSizes { Even, Skewed };

/// Programs for one product, each of one entry that takes its other buffers as inputs and those that are Out or Sum as
/// outputs.
class Measure {
public:
  /// On GPU 0. Fills the buffers; what is random comes from the seed.
  static moe_status *create(std::vector<MeasureBuffer> buffers, int64_t rows, uint64_t seed,
                            std::unique_ptr<Measure> &measure);
  virtual ~Measure() = default;

  /// Program number 0, 1, ...
  virtual moe_status *add(const void *program, size_t bytes) = 0;
  virtual moe_status *use(GroupSizes sizes) = 0;
  /// Runs it on outputs that are NaN (or zero, if it adds to them); `hash` is of a sample of what it wrote.
  virtual moe_status *run(unsigned program, uint64_t &hash) = 0;
  /// Appends the microseconds of each of so many runs.
  virtual moe_status *time(unsigned program, unsigned warmup, unsigned runs, std::vector<double> &times) = 0;
};

} // namespace mlir::moe

#endif
