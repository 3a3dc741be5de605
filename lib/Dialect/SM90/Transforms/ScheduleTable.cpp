//===- ScheduleTable.cpp - schedules that were measured --------------------------===//

#include "moe/Dialect/SM90/Transforms/ScheduleTable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cmath>
#include <tuple>

using namespace mlir;
using namespace mlir::sm90;

static constexpr llvm::StringLiteral kDefault =
#include "H200.inc"
    ;

int64_t sm90::roundRowsPerGroup(const Problem &problem) {
  return int64_t(1) << std::lround(std::log2(problem.getRowsPerGroup()));
}

llvm::Expected<ScheduleTable> ScheduleTable::parse(StringRef text, StringRef name) {
  ScheduleTable table;
  unsigned number = 0;
  for (StringRef line : llvm::split(text, '\n')) {
    ++number;
    line = line.trim();
    if (line.empty() || line.starts_with("#"))
      continue;
    auto [arch, afterArch] = llvm::getToken(line);
    auto [problem, afterProblem] = llvm::getToken(afterArch);
    auto [rows, afterRows] = llvm::getToken(afterProblem);
    auto [time, schedule] = llvm::getToken(afterRows);
    Line entry{arch.str(), problem.str(), 0, 0, schedule.trim().str()};
    if (rows.getAsInteger(10, entry.rowsPerGroup) || time.getAsDouble(entry.microseconds) || entry.schedule.empty())
      return llvm::createStringError(llvm::formatv("{0}:{1}: line is '{2}', expected a chip, a product, rows a group, "
                                                   "microseconds and a schedule",
                                                   name, number, line)
                                         .str());
    table.set(std::move(entry));
  }
  return table;
}

llvm::Expected<ScheduleTable> ScheduleTable::read(StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file)
    return llvm::createStringError("cannot read '" + path + "': " + file.getError().message());
  return parse((*file)->getBuffer(), path);
}

ScheduleTable ScheduleTable::getDefault() { return llvm::cantFail(parse(kDefault, "H200.txt")); }

llvm::Expected<ScheduleTable> ScheduleTable::choose(StringRef option) {
  if (option == "none")
    return ScheduleTable();
  return option.empty() ? getDefault() : read(option);
}

static auto getKey(const ScheduleTable::Line &line) { return std::tie(line.arch, line.problem, line.rowsPerGroup); }
static bool isBefore(const ScheduleTable::Line &a, const ScheduleTable::Line &b) { return getKey(a) < getKey(b); }

const ScheduleTable::Line *ScheduleTable::find(const Problem &problem) const {
  Line wanted{kChip.arch.str(), problem.getName(), roundRowsPerGroup(problem), 0, ""};
  auto found = llvm::lower_bound(lines, wanted, isBefore);
  return found != lines.end() && getKey(*found) == getKey(wanted) ? &*found : nullptr;
}

void ScheduleTable::set(Line line) {
  auto place = llvm::lower_bound(lines, line, isBefore);
  if (place != lines.end() && getKey(*place) == getKey(line))
    *place = std::move(line);
  else
    lines.insert(place, std::move(line));
}

void ScheduleTable::print(llvm::raw_ostream &os) const {
  os << "# chip, product, rows a group, microseconds, schedule\n";
  for (const Line &line : lines)
    os << line.arch << " " << line.problem << " " << line.rowsPerGroup << " "
       << llvm::formatv("{0:f1}", line.microseconds) << " " << line.schedule << "\n";
}
