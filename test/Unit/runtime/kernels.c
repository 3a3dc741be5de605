/* Kernels of the unit tests, written against CPU/KernelABI.h. */
#include "CPU/KernelABI.h"

#define KERNEL(name)                                                                                                   \
  int64_t name##_tasks(void *const *args) __asm__(#name ".tasks");                                                     \
  void name(const moert_cpu_context *context, void *const *args, int64_t begin, int64_t end)

typedef struct {
  char *allocated, *aligned;
  int64_t offset, words[]; /* sizes, then strides in elements */
} Tensor;

/* add(a, b, out), f32[r, c]: out = a + b. A task is a row. */
KERNEL(add);
int64_t add_tasks(void *const *args) { return ((const Tensor *)args[2])->words[0]; }
void add(const moert_cpu_context *context, void *const *args, int64_t begin, int64_t end) {
  const Tensor *a = args[0], *b = args[1], *out = args[2];
  (void)context;
  for (int64_t i = begin; i < end; ++i)
    for (int64_t j = 0; j < out->words[1]; ++j)
      ((float *)out->aligned)[out->offset + i * out->words[2] + j * out->words[3]] =
          ((const float *)a->aligned)[a->offset + i * a->words[2] + j * a->words[3]] +
          ((const float *)b->aligned)[b->offset + i * b->words[2] + j * b->words[3]];
}

/* visit(out, add, times), i64[n]: each task adds `add` to its element `times` times, so that a task done twice or
 * not at all is seen. */
KERNEL(visit);
int64_t visit_tasks(void *const *args) { return ((const Tensor *)args[0])->words[0]; }
void visit(const moert_cpu_context *context, void *const *args, int64_t begin, int64_t end) {
  const Tensor *out = args[0];
  int64_t add = *(const int64_t *)args[1], times = *(const int64_t *)args[2];
  (void)context;
  for (int64_t t = begin; t < end; ++t)
    for (int64_t i = 0; i < times; ++i)
      ((volatile int64_t *)out->aligned)[t] += add;
}

/* ids(ids, limit), i32[n]: fault BAD_ID for each id outside -1..limit-1. */
KERNEL(ids);
int64_t ids_tasks(void *const *args) { return ((const Tensor *)args[0])->words[0]; }
void ids(const moert_cpu_context *context, void *const *args, int64_t begin, int64_t end) {
  const Tensor *ids = args[0];
  int64_t limit = *(const int64_t *)args[1];
  for (int64_t t = begin; t < end; ++t) {
    int32_t id = ((const int32_t *)ids->aligned)[t * ids->words[1]];
    if (id < -1 || id >= limit)
      context->fault(context, 2, t, id, limit);
  }
}

/* bounds(out, rows), i64[n,2]: each group has as many rows as its number, or what is left of them. */
KERNEL(bounds);
int64_t bounds_tasks(void *const *args) {
  (void)args;
  return 1;
}
void bounds(const moert_cpu_context *context, void *const *args, int64_t begin, int64_t end) {
  const Tensor *out = args[0];
  int64_t rows = *(const int64_t *)args[1], at = 0;
  (void)context, (void)begin, (void)end;
  for (int64_t g = 0; g < out->words[0]; ++g) {
    int64_t *bounds = (int64_t *)out->aligned + g * out->words[2];
    bounds[0] = at;
    at = at + g < rows ? at + g : rows;
    bounds[1] = at;
  }
}

/* deep(out), i64[1]: touches all the stack that a task may use. */
KERNEL(deep);
int64_t deep_tasks(void *const *args) {
  (void)args;
  return 1;
}
void deep(const moert_cpu_context *context, void *const *args, int64_t begin, int64_t end) {
  volatile char stack[MOERT_CPU_TASK_STACK_BYTES - 4096];
  int64_t sum = 0;
  (void)context, (void)begin, (void)end;
  for (int64_t i = 0; i < (int64_t)sizeof(stack); i += 1024)
    stack[i] = 1;
  for (int64_t i = 0; i < (int64_t)sizeof(stack); i += 1024)
    sum += stack[i];
  *(int64_t *)((const Tensor *)args[0])->aligned = sum;
}
