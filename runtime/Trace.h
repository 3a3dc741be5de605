//===- Trace.h - what the steps of an enqueue cost and took -------------------------===//
#ifndef MOERT_TRACE_H
#define MOERT_TRACE_H

#include "Frame.h"

#include <chrono>

namespace moert {

/// One enqueue that is traced. Times are in microseconds since it began.
struct Trace {
  struct Record {
    double begin = 0, end = 0;         ///< on the device
    double hostBegin = 0, hostEnd = 0; ///< on the host, while it enqueued the step
    uint32_t kernel = 0;               ///< launches: the one that ran, which may be a fallback
    int64_t flops = -1, bytes = -1;    ///< -1 if the program does not say
    std::vector<int64_t> bounds;       ///< launches that find them: [begin, end) of the rows of each group
    std::vector<int64_t> sent;         ///< exchanges by kernels that take bounds: the same of the rows for each rank
  };
  std::vector<Record> steps; ///< of the entry
  Record clear;              ///< cuda: the fill of faults and counters before the first step

  /// Makes room for all that will be recorded, and works out what the steps cost. The frame has been prepared.
  void describe(const Frame &frame);

  double now() const {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - origin).count();
  }
  /// Leaves out of the host's time what has passed since `from`.
  void forgetSince(double from) { origin += std::chrono::steady_clock::now() - at(from); }

private:
  std::chrono::steady_clock::time_point at(double microseconds) const {
    return origin + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                        std::chrono::duration<double, std::micro>(microseconds));
  }
  std::chrono::steady_clock::time_point origin = std::chrono::steady_clock::now();
};

/// Bytes from one row of a launch's bounds to the next.
inline size_t boundsPitch(const int64_t *descriptor) { return size_t(stridesOf(descriptor, 2)[0]) * sizeof(int64_t); }

} // namespace moert

#endif
