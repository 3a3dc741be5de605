//===- Tracer.h - times of what is enqueued on a stream -----------------------------===//
#ifndef MOERT_CUDA_TRACER_H
#define MOERT_CUDA_TRACER_H

#include "../Trace.h"
#include "Driver.h"

#include <condition_variable>
#include <mutex>

namespace moert::cuda {

/// Puts events around the steps of one enqueue. The stream stands still until the host has enqueued all of them: else a
/// short step would be as long as the host takes for the next one.
class Tracer {
public:
  Tracer(const Driver &driver, Stream stream, Trace &trace) : driver(driver), stream(stream), trace(trace) {}
  /// Lets the stream go on, and waits for it.
  ~Tracer();
  Tracer(const Tracer &) = delete;
  Tracer &operator=(const Tracer &) = delete;

  /// Makes all that is needed for the records of the trace, and halts the stream.
  moe_status *begin();
  /// Enqueues a step, which `record` is of, between two events.
  template <typename Enqueue> moe_status *step(Trace::Record &record, Enqueue enqueue) {
    MOERT_TRY(mark());
    record.hostBegin = trace.now();
    MOERT_TRY(enqueue());
    record.hostEnd = trace.now();
    return mark();
  }
  /// Puts bounds into a vector of a record, of that size, at the end: those that the last step has left in a buffer.
  moe_status *save(std::vector<int64_t> &to, const int64_t *bounds);
  /// Lets the stream go on, waits for it, and completes the records.
  moe_status *end();

private:
  moe_status *mark();
  void release();

  const Driver &driver;
  const Stream stream;
  Trace &trace;
  std::vector<Event> events; ///< the first when the stream goes on, then two for each step
  size_t marked = 0;
  DevicePtr saved = 0; ///< the bounds of all steps, one behind the other
  size_t savedBytes = 0;
  std::vector<std::vector<int64_t> *> savedTo; ///< in the same order

  std::mutex mutex;
  std::condition_variable changed;
  bool released = false;
};

} // namespace moert::cuda

#endif
