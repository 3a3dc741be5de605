//===- TracerTest.cpp - what a trace takes from a device, with host memory in its place ------===//
#include "CUDA/Tracer.h"
#include "TestPrograms.h"

#include <cstdlib>
#include <cstring>

using namespace moe_test;
using namespace moert;
using namespace moert::cuda;

static Driver hostDriver() {
  Driver d;
  d.MemAlloc = [](DevicePtr *to, size_t bytes) {
    *to = reinterpret_cast<uintptr_t>(std::malloc(bytes));
    return 0;
  };
  d.MemFree = [](DevicePtr memory) {
    std::free(reinterpret_cast<void *>(memory));
    return 0;
  };
  d.MemcpyDtoH = [](void *to, DevicePtr from, size_t bytes) {
    std::memcpy(to, reinterpret_cast<void *>(from), bytes);
    return 0;
  };
  d.Memcpy2DAsync = [](const Memcpy2D *copy, Stream) {
    for (size_t row = 0; row < copy->height; ++row)
      std::memcpy(reinterpret_cast<char *>(copy->to) + row * copy->toPitch,
                  reinterpret_cast<char *>(copy->from) + row * copy->fromPitch, copy->width);
    return 0;
  };
  d.EventCreate = [](Event *event, unsigned) {
    *event = nullptr;
    return 0;
  };
  d.EventRecord = [](Event, Stream) { return 0; };
  d.EventElapsedTime = [](float *milliseconds, Event, Event) {
    *milliseconds = 0.5;
    return 0;
  };
  d.StreamSynchronize = [](Stream) { return 0; };
  d.LaunchHostFunc = [](Stream, void (*)(void *), void *) { return 0; };
  return d;
}

TEST(Tracer, KeepsTheBoundsOfGroupsAndOfWhatIsSent) {
  // A descriptor: two pointers, an offset, sizes, strides. Rows of three words, of which two are bounds.
  auto describe = [](int64_t *data, int64_t rows) {
    auto address = int64_t(reinterpret_cast<uintptr_t>(data));
    return std::vector<int64_t>{address, address, 0, rows, 2, 3, 1};
  };
  int64_t groups[] = {0, 5, -1, 5, 7, -1, 7, 7, -1}, ranks[] = {1, 4, -1, 4, 9, -1};
  Driver driver = hostDriver();
  Trace trace;
  trace.steps.resize(3);
  trace.steps[0].bounds.resize(6);
  trace.steps[2].sent.resize(4);
  Tracer tracer(driver, nullptr, trace);
  expectOk(tracer.begin());
  expectOk(tracer.step(trace.clear, [] { return static_cast<moe_status *>(nullptr); }));
  for (Trace::Record &record : trace.steps) {
    expectOk(tracer.step(record, [] { return static_cast<moe_status *>(nullptr); }));
    if (!record.bounds.empty())
      expectOk(tracer.save(record.bounds, describe(groups, 3).data()));
    if (!record.sent.empty())
      expectOk(tracer.save(record.sent, describe(ranks, 2).data()));
  }
  // A later step may use the memory.
  std::memset(groups, 0, sizeof(groups));
  std::memset(ranks, 0, sizeof(ranks));
  expectOk(tracer.end());
  EXPECT_EQ(trace.steps[0].bounds, (std::vector<int64_t>{0, 5, 5, 7, 7, 7}));
  EXPECT_EQ(trace.steps[2].sent, (std::vector<int64_t>{1, 4, 4, 9}));
  EXPECT_TRUE(trace.steps[1].bounds.empty());
}
