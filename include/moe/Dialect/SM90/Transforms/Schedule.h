//===- Schedule.h - which schedules a product can have, and how fast they are ----===//
#ifndef MOE_DIALECT_SM90_TRANSFORMS_SCHEDULE_H
#define MOE_DIALECT_SM90_TRANSFORMS_SCHEDULE_H

#include "moe/Dialect/SM90/IR/SM90.h"
#include "moe/Dialect/Tile/IR/Tile.h"

#include <string>
#include <vector>

namespace mlir::sm90 {

/// Whether the wgmma kernel computes this product; if not, `why` says what stands against it.
bool suitsWgmma(tile::RaggedGemmOp op, std::string &why);

/// Rows that a product is expected to have when neither its type nor a user says: so many a group, and at least so
/// many.
constexpr int64_t kRowsPerGroup = 512, kLeastRows = 4096;

/// What the speed of a product depends on, beside its schedule.
struct Problem {
  /// The product, of `rows` rows in all groups, which its type overrides; 0 for what is assumed.
  Problem(tile::RaggedGemmOp op, int64_t rows);

  tile::GemmMode mode;
  tile::RhsLayout layout;
  int64_t parts;   ///< accumulators that meet in a result
  int64_t groups;  ///< that are computed
  int64_t rows;    ///< of all groups together, as expected
  int64_t k;       ///< columns of lhs
  int64_t columns; ///< of the result
  Type in, out;
  int64_t outs;      ///< results
  int64_t functions; ///< that the epilogue computes for an element: exponentials, reciprocals and the like
  bool gather, accumulate;

  /// The problem in a word, such as "rows.kn.bf16.bf16.k2048.n1536.g128": all but the rows.
  std::string getName() const;
  int64_t getRowsPerGroup() const { return std::max<int64_t>(rows / groups, 1); }
};

/// Whether the product, which suits wgmma, can run by this schedule; if not, `why` says what was expected.
bool suitsSchedule(const Problem &problem, ScheduleAttr schedule, std::string &why);

/// Whether warpgroups that share tiles take half the columns each, instead of half the rows, where a group ends within
/// the first half of a tile's rows. Not in a static order, where it is slower: blocks that are done with short tiles
/// run ahead of the others, into other weights.
bool splitsColumns(const Problem &problem, ScheduleAttr schedule);

/// Seconds that the product takes on the chip, by the cost model (docs/sm90.md), where groups are of one size and where
/// they are as unequal as a router makes them: the geometric mean.
double predictSeconds(const Problem &problem, ScheduleAttr schedule);

/// Seconds of a copy of the rows that the product reads, which a kernel of its own gathers.
double predictCopySeconds(const Problem &problem);

struct Candidate {
  ScheduleAttr schedule;
  double seconds;
};
/// All schedules that the chip and the product allow, by what the cost model says of them, the fastest first.
std::vector<Candidate> rankSchedules(MLIRContext *context, const Problem &problem);

} // namespace mlir::sm90

#endif
