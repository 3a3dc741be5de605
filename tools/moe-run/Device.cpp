//===- Device.cpp -------------------------------------------------------------------===//
#include "Device.h"
#include "Arrays.h"
#include "CUDA/Driver.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

using namespace moe_run;
namespace cuda = moert::cuda;

void moe_run::check(moe_status *status) {
  if (!status)
    return;
  std::string message = std::string(moe_code_name(moe_status_code(status))) + ": " + moe_status_message(status);
  moe_status_free(status);
  throw Error(message);
}

namespace {

/// An array without elements may have no memory, which memcpy may not be given.
void copy(void *to, const void *from, size_t bytes) {
  if (bytes)
    std::memcpy(to, from, bytes);
}

class Host : public Device {
public:
  void *allocate(size_t bytes) override {
    void *memory = std::aligned_alloc(64, std::max<size_t>(64, (bytes + 63) / 64 * 64));
    if (!memory)
      throw Error("cannot allocate " + std::to_string(bytes) + " bytes");
    std::memset(memory, 0xff, bytes);
    return memory;
  }
  void free(void *memory) noexcept override { std::free(memory); }
  void upload(void *to, const void *from, size_t bytes) override { copy(to, from, bytes); }
  void download(void *to, const void *from, size_t bytes) override { copy(to, from, bytes); }
  std::string name() override { return "CPU"; }
  std::function<void()> capture(const std::function<void()> &) override {
    throw Error("--graph needs a program for cuda; this one is for cpu");
  }
  std::vector<double> time(const std::function<void()> &run, uint32_t warmup, uint32_t repeat) override {
    std::vector<double> times;
    for (uint32_t i = 0; i < warmup; ++i)
      run();
    for (uint32_t i = 0; i < repeat; ++i) {
      auto begin = std::chrono::steady_clock::now();
      run();
      times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    }
    return times;
  }
};

/// A CUDA device with a stream of its own; the runtime opens the same context.
class Gpu : public Device {
public:
  explicit Gpu(int32_t number) { check(open(number)); }
  ~Gpu() override {
    if (exec)
      driver.GraphExecDestroy(exec);
    if (queue)
      driver.StreamDestroy(queue);
    cuda::Context popped;
    if (context) {
      driver.CtxPopCurrent(&popped);
      driver.DevicePrimaryCtxRelease(device);
    }
  }

  void *allocate(size_t bytes) override {
    cuda::DevicePtr memory = 0;
    check(allocate(bytes, memory));
    return reinterpret_cast<void *>(uintptr_t(memory));
  }
  void free(void *memory) noexcept override { driver.MemFree(address(memory)); }
  void upload(void *to, const void *from, size_t bytes) override { check(doUpload(to, from, bytes)); }
  void download(void *to, const void *from, size_t bytes) override { check(doDownload(to, from, bytes)); }
  std::string name() override {
    char text[128] = "";
    driver.DeviceGetName(text, sizeof(text), device);
    return text;
  }
  void *stream() override { return queue; }
  void synchronize() override { check(wait()); }
  std::function<void()> capture(const std::function<void()> &run) override {
    check(doCapture(run));
    return [this] { check(replay()); };
  }
  std::vector<double> time(const std::function<void()> &run, uint32_t warmup, uint32_t repeat) override {
    std::vector<double> times;
    check(doTime(run, warmup, repeat, times));
    return times;
  }

private:
  static cuda::DevicePtr address(const void *memory) { return reinterpret_cast<uintptr_t>(memory); }

  moe_status *open(int32_t number) {
    MOERT_TRY(driver.open());
    MOERT_CUDA(driver, DeviceGet, &device, number);
    cuda::Context primary = nullptr;
    MOERT_CUDA(driver, DevicePrimaryCtxRetain, &primary, device);
    context = primary;
    MOERT_CUDA(driver, CtxPushCurrent, context);
    MOERT_CUDA(driver, StreamCreate, &queue, cuda::kNonBlockingStream);
    return nullptr;
  }
  moe_status *allocate(size_t bytes, cuda::DevicePtr &memory) {
    MOERT_CUDA(driver, MemAlloc, &memory, std::max<size_t>(bytes, 256));
    MOERT_CUDA(driver, MemsetD8Async, memory, 0xff, std::max<size_t>(bytes, 256), queue);
    return wait();
  }
  moe_status *doUpload(void *to, const void *from, size_t bytes) {
    if (bytes)
      MOERT_CUDA(driver, MemcpyHtoD, address(to), from, bytes);
    return nullptr;
  }
  moe_status *doDownload(void *to, const void *from, size_t bytes) {
    MOERT_TRY(wait());
    if (bytes)
      MOERT_CUDA(driver, MemcpyDtoH, to, address(from), bytes);
    return nullptr;
  }
  moe_status *wait() {
    MOERT_CUDA(driver, StreamSynchronize, queue);
    return nullptr;
  }
  moe_status *doCapture(const std::function<void()> &run) {
    cuda::Graph graph = nullptr;
    MOERT_CUDA(driver, StreamBeginCapture, queue, cuda::kCaptureThreadLocal);
    run();
    MOERT_CUDA(driver, StreamEndCapture, queue, &graph);
    MOERT_CUDA(driver, GraphInstantiateWithFlags, &exec, graph, 0);
    driver.GraphDestroy(graph);
    return nullptr;
  }
  moe_status *replay() {
    MOERT_CUDA(driver, GraphLaunch, exec, queue);
    return nullptr;
  }
  /// A burst: the card has rested, so that its clock is not yet limited by power.
  moe_status *doTime(const std::function<void()> &run, uint32_t warmup, uint32_t repeat, std::vector<double> &times) {
    MOERT_TRY(wait());
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    for (uint32_t i = 0; i < warmup; ++i)
      run();
    std::vector<cuda::Event> events(repeat + 1, nullptr);
    for (cuda::Event &event : events)
      MOERT_CUDA(driver, EventCreate, &event, 0);
    MOERT_CUDA(driver, EventRecord, events[0], queue);
    for (uint32_t i = 0; i < repeat; ++i) {
      run();
      MOERT_CUDA(driver, EventRecord, events[i + 1], queue);
    }
    MOERT_TRY(wait());
    for (uint32_t i = 0; i < repeat; ++i) {
      float milliseconds = 0;
      MOERT_CUDA(driver, EventElapsedTime, &milliseconds, events[i], events[i + 1]);
      times.push_back(milliseconds);
    }
    for (cuda::Event event : events)
      driver.EventDestroy(event);
    return nullptr;
  }

  cuda::Driver driver;
  cuda::Device device = 0;
  cuda::Context context = nullptr;
  cuda::Stream queue = nullptr;
  cuda::GraphExec exec = nullptr;
};

} // namespace

std::unique_ptr<Device> moe_run::openDevice(const std::string &target, int32_t number) {
  if (target == "cuda")
    return std::make_unique<Gpu>(number);
  return std::make_unique<Host>();
}
