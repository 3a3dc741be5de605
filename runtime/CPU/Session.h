//===- Session.h - a program ready to run on the CPU ---------------------------===//
#ifndef MOERT_CPU_SESSION_H
#define MOERT_CPU_SESSION_H

#include "KernelABI.h"
#include "Object.h"
#include "Program/Program.h"
#include "ThreadPool.h"

struct moe_session {
  struct KernelCode {
    int64_t (*tasks)(void *const *args);
    void (*run)(const moert_cpu_context *context, void *const *args, int64_t begin, int64_t end);
  };

  std::atomic<int64_t> references{1};
  moe_program *program = nullptr; ///< a reference of the session's own
  moert::Object object;
  std::vector<KernelCode> kernels;
  moert::ThreadPool pool;

  moe_session() = default;
  ~moe_session();
  moe_status *create(moe_program *program, uint32_t numThreads);
  /// moe_enqueue, the entry's number checked.
  moe_status *enqueue(const moert::Entry &entry, const moe_buffer *inputs, size_t numInputs, const moe_buffer *outputs,
                      size_t numOutputs, void *workspace, size_t workspaceBytes);
};

#endif
