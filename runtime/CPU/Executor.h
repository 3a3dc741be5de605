//===- Executor.h - a program ready to run on the CPU ---------------------------===//
#ifndef MOERT_CPU_EXECUTOR_H
#define MOERT_CPU_EXECUTOR_H

#include "../Executor.h"
#include "KernelABI.h"
#include "Object.h"
#include "ThreadPool.h"

namespace moert {

class CPUExecutor : public Executor {
public:
  struct KernelCode {
    int64_t (*tasks)(void *const *args);
    void (*run)(const moert_cpu_context *context, void *const *args, int64_t begin, int64_t end);
  };

  moe_status *create(const moe_program &program, const moe_options &options);
  moe_status *enqueue(const Entry &entry, const Call &call) override;
  moe_status *trace(const Entry &entry, const Call &call, Trace &trace) override;
  moe_status *connect(const Entry &entry, const Call &call) override;
  moe_status *readFaults(const void *workspace, FaultBlock &block) override;

  Object object;
  std::vector<KernelCode> kernels;
  std::shared_ptr<ThreadPool> pool; ///< of one or more executors

private:
  /// `trace` may be NULL.
  moe_status *run(const Entry &entry, const Call &call, Trace *trace);
  /// The same with a communicator that has been checked.
  moe_status *runChecked(const Entry &entry, const Call &call, Trace *trace);
};

} // namespace moert

#endif
