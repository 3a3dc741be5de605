//===- Executor.h - what a target does for a session -------------------------------===//
#ifndef MOERT_EXECUTOR_H
#define MOERT_EXECUTOR_H

#include "Frame.h"
#include "Program/Program.h"
#include "Trace.h"

namespace moert {

/// Runs the entries of one program on one device. May be used from several threads at once. The program outlives it.
class Executor {
public:
  virtual ~Executor() = default;
  /// moe_enqueue, the entry's number checked.
  virtual moe_status *enqueue(const Entry &entry, const Call &call) = 0;
  /// moe_enqueue_traced, the entry's number checked.
  virtual moe_status *trace(const Entry &entry, const Call &call, Trace &trace) = 0;
  /// moe_session_connect, the entry's number checked.
  virtual moe_status *connect(const Entry &, const Call &) { return nullptr; }
  /// Reads the faults that the last enqueue with this workspace left.
  virtual moe_status *readFaults(const void *workspace, FaultBlock &block) = 0;
};

/// One for the target of the program; refuses a device or option that the target does not have.
moe_status *createExecutor(const moe_program &program, int32_t device, const moe_options &options,
                           std::unique_ptr<Executor> &executor);

moe_status *createCPUExecutor(const moe_program &program, int32_t device, const moe_options &options,
                              std::unique_ptr<Executor> &executor);
moe_status *createCUDAExecutor(const moe_program &program, int32_t device, const moe_options &options,
                               std::unique_ptr<Executor> &executor);

} // namespace moert

struct moe_session {
  std::atomic<int64_t> references{1};
  moe_program *program; ///< a reference of the session's own
  std::unique_ptr<moert::Executor> executor;

  explicit moe_session(moe_program *from) : program(from) { moe_program_retain(from); }
  ~moe_session() {
    executor.reset();
    moe_program_release(program);
  }
};

#endif
