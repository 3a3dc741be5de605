//===- KernelABI.h - what compiled CPU kernels and the runtime agree on ---===//
//
// A program for the cpu target carries one shared object without DT_NEEDED entries, undefined symbols or
// constructors. Each kernel `k` in it is two C functions:
//
//   int64_t k.tasks(void *const *args)
//   void    k(const moert_cpu_context *context, void *const *args, int64_t begin, int64_t end)
//
// `k.tasks` says into how many independent tasks the work on these arguments splits (0: nothing to do);
// `k` runs tasks begin <= t < end, from any thread, in any order, at most once each. No task depends on
// another, and the result does not depend on who runs which, so the bits are the same for any number of threads.
//
// args[i] points to argument i: for a tensor of rank r the descriptor MLIR's C interface uses,
//   { T *allocated; T *aligned; int64_t offset; int64_t sizes[r]; int64_t strides[r]; }   (strides in elements)
// and after the tensors args[i] points to one int64_t for each scalar.
//
// A task may use up to MOERT_CPU_TASK_STACK_BYTES of stack, and finds the default floating-point environment.
//
//===----------------------------------------------------------------------===//
#ifndef MOERT_CPU_KERNELABI_H
#define MOERT_CPU_KERNELABI_H

#include <stdint.h>

#define MOERT_CPU_TASK_STACK_BYTES (8 * 1024 * 1024)

/// Passed to every kernel. The compiler addresses the fields by position.
typedef struct moert_cpu_context {
  /// Records fault `kind` (a moe_fault_kind) at `row`: of all records of a kind within one enqueue the
  /// lowest row is kept, with its `value` and `limit`, and the records are counted. Thread safe.
  void (*fault)(const struct moert_cpu_context *context, int32_t kind, int64_t row, int64_t value, int64_t limit);
  /// The runtime's own.
  void *state;
} moert_cpu_context;

#endif
