//===- Device.h - where a program runs ---------------------------------------------===//
#ifndef MOE_RUN_DEVICE_H
#define MOE_RUN_DEVICE_H

#include "moert/moert.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace moe_run {

/// Throws what a failed call of the runtime says, and frees its status.
void check(moe_status *status);

/// Memory and time of the target that a program was compiled for. Every call throws Error if it fails.
class Device {
public:
  virtual ~Device() = default;

  /// Memory aligned as a kernel likes it, filled with 0xFF: NaN, and -1 for integers, so that what a program leaves
  /// unwritten is seen.
  virtual void *allocate(size_t bytes) = 0;
  virtual void free(void *memory) noexcept = 0;
  /// Both wait until the copy is done.
  virtual void upload(void *to, const void *from, size_t bytes) = 0;
  virtual void download(void *to, const void *from, size_t bytes) = 0;

  /// What the maker calls it, such as "NVIDIA H200"; "CPU" for the cpu.
  virtual std::string name() = 0;
  /// What moe_enqueue takes as stream.
  virtual void *stream() { return nullptr; }
  /// Waits for everything enqueued.
  virtual void synchronize() {}

  /// Makes `run` one that replays what it enqueues once.
  virtual std::function<void()> capture(const std::function<void()> &run) = 0;
  /// Milliseconds of each of `repeat` runs after `warmup` of them.
  virtual std::vector<double> time(const std::function<void()> &run, uint32_t warmup, uint32_t repeat) = 0;
};

/// The device that a program of this target ("cpu" or "cuda") runs on.
std::unique_ptr<Device> openDevice(const std::string &target, int32_t number);

} // namespace moe_run

#endif
