//===- Tracer.cpp - times of what is enqueued on a stream ---------------------------===//
#include "Tracer.h"

#include <algorithm>

using namespace moert;
using namespace moert::cuda;

/// How long the stream stands still at most. A call of the driver may wait for the stream, though none is known to;
/// the trace then has gaps, but it ends.
static constexpr std::chrono::seconds kLongestHalt{1};

void Tracer::release() {
  std::lock_guard<std::mutex> lock(mutex);
  released = true;
  changed.notify_all();
}

Tracer::~Tracer() {
  release();
  driver.StreamSynchronize(stream);
  for (Event event : events)
    if (event)
      driver.EventDestroy(event);
  if (saved)
    driver.MemFree(saved);
}

moe_status *Tracer::begin() {
  size_t bytes = 0;
  for (const Trace::Record &record : trace.steps)
    bytes += (record.bounds.size() + record.sent.size()) * sizeof(int64_t);
  if (bytes)
    MOERT_CUDA(driver, MemAlloc, &saved, bytes);
  events.resize(1 + 2 * (trace.steps.size() + 1));
  for (Event &event : events)
    MOERT_CUDA(driver, EventCreate, &event, 0);
  auto halt = [](void *self) {
    Tracer &tracer = *static_cast<Tracer *>(self);
    std::unique_lock<std::mutex> lock(tracer.mutex);
    tracer.changed.wait_for(lock, kLongestHalt, [&] { return tracer.released; });
  };
  MOERT_CUDA(driver, LaunchHostFunc, stream, halt, this);
  return mark();
}

moe_status *Tracer::mark() {
  MOERT_CUDA(driver, EventRecord, events[marked++], stream);
  return nullptr;
}

moe_status *Tracer::save(std::vector<int64_t> &to, const int64_t *bounds) {
  size_t bytes = to.size() * sizeof(int64_t);
  if (!bytes)
    return nullptr;
  Memcpy2D copy = {};
  copy.fromType = copy.toType = kMemoryDevice;
  copy.from = reinterpret_cast<uintptr_t>(pointerOf(bounds));
  copy.to = saved + savedBytes;
  copy.fromPitch = boundsPitch(bounds);
  copy.toPitch = copy.width = 2 * sizeof(int64_t);
  copy.height = to.size() / 2;
  MOERT_CUDA(driver, Memcpy2DAsync, &copy, stream);
  savedBytes += bytes;
  savedTo.push_back(&to);
  return nullptr;
}

moe_status *Tracer::end() {
  double begin = trace.now();
  release();
  MOERT_CUDA(driver, StreamSynchronize, stream);
  size_t event = 1, offset = 0;
  auto complete = [&](Trace::Record &record) -> moe_status * {
    for (double *time : {&record.begin, &record.end}) {
      float milliseconds = 0;
      MOERT_CUDA(driver, EventElapsedTime, &milliseconds, events[0], events[event++]);
      *time = begin + double(milliseconds) * 1e3;
    }
    return nullptr;
  };
  MOERT_TRY(complete(trace.clear));
  for (Trace::Record &record : trace.steps)
    MOERT_TRY(complete(record));
  for (std::vector<int64_t> *to : savedTo) {
    size_t bytes = to->size() * sizeof(int64_t);
    MOERT_CUDA(driver, MemcpyDtoH, to->data(), saved + offset, bytes);
    offset += bytes;
  }
  return nullptr;
}
