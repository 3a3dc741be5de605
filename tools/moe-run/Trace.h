//===- Trace.h - what the steps of a run cost and took -----------------------------===//
#ifndef MOE_RUN_TRACE_H
#define MOE_RUN_TRACE_H

#include "moert/moert.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace moe_run {

/// A launch, fill or copy. Times in microseconds since the run was enqueued.
struct Step {
  std::string name;
  moe_step_kind kind;
  double begin, end, hostBegin, hostEnd;
  std::optional<int64_t> flops, bytes; ///< at most, if the program says
  std::vector<int64_t> rows;           ///< of each group, if the step finds them

  double time() const { return end - begin; }
  std::optional<double> tflops() const { return rate(flops); }
  std::optional<double> tbs() const { return rate(bytes); }

private:
  std::optional<double> rate(std::optional<int64_t> n) const {
    return n && time() > 0 ? std::optional(double(*n) / time() * 1e-6) : std::nullopt;
  }
};

/// What a device can do at best.
struct Ceilings {
  std::optional<double> tflops, tbs;

  bool known() const { return tflops && tbs; }
  /// The least time that a step could take, as a part of the time it took; nothing if the ceilings or its cost are
  /// unknown.
  std::optional<double> share(const Step &step) const;
};

/// Ceilings that were measured on devices of this name; unknown for others.
Ceilings findCeilings(const std::string &device);

struct Trace {
  std::string program, entry, device;
  Ceilings ceilings;
  std::vector<Step> steps;
  double enqueued = 0; ///< microseconds until the host was done
  int32_t rank = 0;
  std::vector<uint64_t> sent; ///< bytes to each rank, this one included; none without ranks

  /// Whether the host enqueues for a device; the cpu runs each step as it meets it.
  bool hasHost() const {
    return std::any_of(steps.begin(), steps.end(), [](const Step &s) { return s.hostEnd != s.end; });
  }
  /// From the beginning of the first step on the device to the end of the last.
  double deviceTime() const { return steps.empty() ? 0 : steps.back().end - steps.front().begin; }
  /// In steps of a kind.
  double timeIn(moe_step_kind kind) const {
    double time = 0;
    for (const Step &step : steps)
      time += step.kind == kind ? step.time() : 0;
    return time;
  }
};

/// Calls run(report, user), a traced enqueue, and returns its steps.
std::vector<Step> traceSteps(const std::function<void(moe_step_function report, void *user)> &run);

/// Writes the Chrome trace that Perfetto and chrome://tracing load.
void writeTrace(const std::string &path, const Trace &trace);

/// Prints a line for each step, with the median time of several runs of it.
void printSteps(const std::vector<std::vector<Step>> &runs, const Ceilings &ceilings);

/// Such as "3.21 MB" for (3.21e6, "B").
std::string withUnit(double value, const char *unit);

/// Replaces the file. Throws Error if it cannot be written.
void writeText(const std::string &path, const std::string &text);

} // namespace moe_run

#endif
