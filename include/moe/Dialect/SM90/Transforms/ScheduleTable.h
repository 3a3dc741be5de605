//===- ScheduleTable.h - schedules that were measured ---------------------------===//
#ifndef MOE_DIALECT_SM90_TRANSFORMS_SCHEDULETABLE_H
#define MOE_DIALECT_SM90_TRANSFORMS_SCHEDULETABLE_H

#include "moe/Dialect/SM90/Transforms/Schedule.h"
#include "llvm/Support/Error.h"

namespace mlir::sm90 {

/// A table is text. A line is a chip, the name of a problem, its rows a group (to the nearest power of 2), the
/// microseconds measured and the schedule, with spaces between; empty lines and those that begin with # say nothing.
class ScheduleTable {
public:
  struct Line {
    std::string arch, problem;
    int64_t rowsPerGroup;
    double microseconds;
    std::string schedule; ///< the attribute, as MLIR prints it
  };

  /// The error names the line, and `name` as where it is.
  static llvm::Expected<ScheduleTable> parse(StringRef text, StringRef name);
  /// The table in a file; a missing one is an error.
  static llvm::Expected<ScheduleTable> read(StringRef path);
  /// What was measured on an H200 for well-known models.
  static ScheduleTable getDefault();
  /// What a pass option names: a file, the default for "", an empty table for "none".
  static llvm::Expected<ScheduleTable> choose(StringRef option);

  /// The line for a problem, or null.
  const Line *find(const Problem &problem) const;
  /// The line replaces one for the same chip, problem and rows. Lines stand in the order of these.
  void set(Line line);
  void print(llvm::raw_ostream &os) const;

private:
  std::vector<Line> lines;
};

/// Rows a group of a problem as a table has them: the nearest power of 2.
int64_t roundRowsPerGroup(const Problem &problem);

} // namespace mlir::sm90

#endif
