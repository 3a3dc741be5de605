//===- Trace.cpp - what the steps of an enqueue cost and took -----------------------===//
#include "Trace.h"

using namespace moert;

void Trace::describe(const Frame &frame) {
  auto sizeOf = [&](uint32_t buffer) {
    // Unsigned: a tensor without elements may have other dimensions whose product passes 64 bits.
    uint64_t bytes = moe_dtype_size(frame.entry.buffers[buffer].dtype);
    for (int32_t d = 0; d < frame.entry.buffers[buffer].rank; ++d)
      bytes *= uint64_t(sizesOf(frame.descriptor(buffer))[d]);
    return int64_t(bytes);
  };
  for (const Step &step : frame.entry.steps) {
    Record &record = steps.emplace_back();
    record.kernel = step.kernel;
    if (step.kind == Step::Memset || step.kind == Step::Copy) {
      record.flops = 0;
      record.bytes = sizeOf(step.target) * (step.kind == Step::Copy ? 2 : 1);
    }
    if (step.flops)
      record.flops = frame.value(*step.flops);
    if (step.bytes)
      record.bytes = frame.value(*step.bytes);
    auto boundsOf = [&](uint32_t buffer) { return size_t(sizesOf(frame.descriptor(buffer))[0]) * 2; };
    if (step.bounds)
      record.bounds.resize(boundsOf(*step.bounds));
    if (step.stores && step.send >= 0)
      record.sent.resize(boundsOf(uint32_t(step.send)));
  }
}
