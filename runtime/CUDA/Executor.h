//===- Executor.h - a program ready to run on a CUDA device -------------------------===//
#ifndef MOERT_CUDA_EXECUTOR_H
#define MOERT_CUDA_EXECUTOR_H

#include "../Executor.h"
#include "Peers.h"

#include <mutex>

namespace moert::cuda {

/// Host memory for the frames of enqueues, kept from one to the next, so that an enqueue allocates nothing unless more
/// of them run at once than ever before.
class FramePool {
public:
  using Words = std::unique_ptr<int64_t[]>;
  explicit FramePool(size_t words) : words(words) { free.push_back(Words(new int64_t[words])); }
  Words take();
  void give(Words frame);

private:
  const size_t words;
  std::mutex mutex;
  std::vector<Words> free;
};

class CUDAExecutor : public Executor {
public:
  explicit CUDAExecutor(const moe_program &program);
  ~CUDAExecutor() override;
  moe_status *create(int32_t device);
  moe_status *enqueue(const Entry &entry, const Call &call) override;
  moe_status *trace(const Entry &entry, const Call &call, Trace &trace) override;
  moe_status *readFaults(const void *workspace, FaultBlock &block) override;
  moe_status *connect(const Entry &entry, const Call &call) override;

  const moe_program &program;
  Driver driver;
  std::vector<Function> functions; ///< of the kernels
  uint32_t multiprocessors = 0;

private:
  /// Calls work(run) with what an enqueue knows, the device's context current.
  template <typename Work> moe_status *prepared(const Entry &entry, const Call &call, Work work);
  /// The memory that an entry's exchanges share with other ranks, connected now if it is not yet.
  moe_status *findPeers(const Entry &entry, const Call &call, int64_t *values, Peers *&peers);
  moe_status *chooseDevice(int32_t number);
  moe_status *prepare(const Kernel &kernel, Function &function);
  moe_status *uploadConstants();

  FramePool frames;
  Device device = 0;
  Context context = nullptr; ///< the device's primary one, retained
  Module module = nullptr;
  DevicePtr constants = 0;
  std::mutex peersMutex;
  std::vector<std::unique_ptr<Peers>> peers; ///< of each entry
};

} // namespace moert::cuda

#endif
