//===- Executor.cpp - runs programs on the CPU ------------------------------------------===//
#include "Executor.h"
#include "../Comm/Exchange.h"
#include "Faults.h"

#include <algorithm>
#include <cstring>
#include <string>

using namespace moert;

/// The threads of another session, or new ones.
static moe_status *findThreads(const moe_options &options, std::shared_ptr<ThreadPool> &pool) {
  if (!options.threads_of) {
    pool = std::make_shared<ThreadPool>();
    return pool->start(options.num_threads);
  }
  if (options.num_threads)
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "options->num_threads is %u, but must be 0 with threads_of",
                       options.num_threads);
  const auto *other = dynamic_cast<const CPUExecutor *>(options.threads_of->executor.get());
  if (!other)
    return MOERT_ERROR(MOE_INVALID_ARGUMENT,
                       "options->threads_of is a session of another target, which has no threads");
  pool = other->pool;
  return nullptr;
}

moe_status *CPUExecutor::create(const moe_program &from, const moe_options &options) {
  MOERT_TRY(checkArch(from.arch));
  if (!from.kernels.empty())
    MOERT_TRY(object.load(from.object, from.objectBytes));
  for (const Kernel &kernel : from.kernels) {
    std::string tasks = std::string(kernel.name) + ".tasks";
    KernelCode code;
    code.run = reinterpret_cast<decltype(code.run)>(object.find(kernel.name));
    code.tasks = reinterpret_cast<decltype(code.tasks)>(object.find(tasks.c_str()));
    if (!code.run || !code.tasks)
      return MOERT_ERROR(MOE_BAD_PROGRAM, "the program's object has no symbol '%s'",
                         code.run ? tasks.c_str() : kernel.name);
    kernels.push_back(code);
  }
  return findThreads(options, pool);
}

namespace {

/// One enqueue under way. All memory is the caller's workspace.
struct Run {
  CPUExecutor &executor;
  const Entry &entry;
  Frame frame;
  moert_cpu_context context;
  Trace *trace;               ///< or NULL
  Comm *comm;                 ///< or NULL
  size_t first = 0, last = 0; ///< the steps to run next
  int64_t sentToOthers = 0;   ///< bytes of the last exchange

  moe_status *run();
  /// Runs the steps, of which none is an exchange.
  void steps();
  void step(const Step &step);
  moe_status *exchange(const Step &step);
  void launch(const Step &step);
  void move(const Step &step);
};

/// A part of a Memset or Copy: bytes of a tensor, counted as if it had no padding.
struct Move {
  Walk walk;
  char *target;
  const char *source; ///< NULL for a Memset
  int value;
  int64_t bytes;

  static constexpr int64_t kSlice = 1 << 18;
  void run(int64_t begin, int64_t end) const;
};

} // namespace

void Run::launch(const Step &step) {
  struct Launch {
    const CPUExecutor::KernelCode &code;
    const moert_cpu_context *context;
    void **args;
  } state{executor.kernels[step.kernel], &context, frame.args()};
  size_t n = 0;
  for (uint32_t buffer : step.args)
    state.args[n++] = frame.descriptor(buffer);
  for (uint32_t expr : step.scalars)
    state.args[n++] = frame.words + expr;
  executor.pool->parallelFor(
      state.code.tasks(state.args),
      [](void *state, int64_t begin, int64_t end) {
        Launch &launch = *static_cast<Launch *>(state);
        launch.code.run(launch.context, launch.args, begin, end);
      },
      &state);
}

/// Slices begin <= s < end of the tensor.
void Move::run(int64_t begin, int64_t end) const {
  int64_t at = begin * kSlice, stop = std::min(end * kSlice, bytes);
  while (at < stop) {
    int64_t index = at / walk.run, within = at % walk.run, n = std::min(walk.run - within, stop - at);
    int64_t toOffset = within, fromOffset = within;
    for (int32_t d = walk.outer - 1; d >= 0; --d) {
      int64_t i = index % walk.sizes[d];
      index /= walk.sizes[d];
      toOffset += i * walk.to[d];
      fromOffset += i * walk.from[d];
    }
    if (source)
      std::memcpy(target + toOffset, source + fromOffset, size_t(n));
    else
      std::memset(target + toOffset, value, size_t(n));
    at += n;
  }
}

void Run::move(const Step &step) {
  const Buffer &buffer = entry.buffers[step.target];
  const int64_t *source = step.kind == Step::Copy ? frame.descriptor(step.source) : nullptr;
  const int64_t *target = frame.descriptor(step.target);
  Move move{Walk(buffer, target, source), pointerOf(target), source ? pointerOf(source) : nullptr, step.value,
            int64_t(moe_dtype_size(buffer.dtype))};
  for (int32_t d = 0; d < buffer.rank; ++d)
    move.bytes *= sizesOf(target)[d];
  // An output that shares the memory of its input is a copy already.
  if (move.source == move.target)
    return;
  executor.pool->parallelFor(
      (move.bytes + Move::kSlice - 1) / Move::kSlice,
      [](void *state, int64_t begin, int64_t end) { static_cast<Move *>(state)->run(begin, end); }, &move);
}

moe_status *Run::exchange(const Step &step) {
  auto boundsOf = [&](int32_t buffer) {
    return buffer < 0 ? nullptr : reinterpret_cast<const int64_t *>(pointerOf(frame.descriptor(uint32_t(buffer))));
  };
  MOERT_TRY(setPieces(frame, step, boundsOf(step.send), boundsOf(step.receive), *comm));
  sentToOthers = countSent(frame, step, boundsOf(step.send), *comm);
  MOERT_TRY(forEachGap(frame, step, *comm, [](char *data, size_t bytes) -> moe_status * {
    std::memset(data, 0, bytes);
    return nullptr;
  }));
  return comm->exchange(nullptr);
}

void Run::step(const Step &step) {
  switch (step.kind) {
  case Step::Launch:
    launch(step);
    break;
  case Step::Memset:
  case Step::Copy:
    move(step);
    break;
  case Step::AllToAll: // not on a worker
  case Step::Wait:
    break; // Every step is finished before the next begins.
  }
}

void Run::steps() {
  for (size_t i = first; i < last; ++i) {
    if (!trace) {
      step(entry.steps[i]);
      continue;
    }
    Trace::Record &record = trace->steps[i];
    record.begin = record.hostBegin = trace->now();
    step(entry.steps[i]);
    record.end = record.hostEnd = trace->now();
    for (size_t g = 0; g < record.bounds.size() / 2; ++g) {
      const int64_t *bounds = frame.descriptor(*entry.steps[i].bounds);
      std::memcpy(&record.bounds[2 * g], pointerOf(bounds) + g * boundsPitch(bounds), 2 * sizeof(int64_t));
    }
  }
}

moe_status *Run::run() {
  const std::vector<Step> &all = entry.steps;
  while (last < all.size()) {
    first = last;
    // An exchange waits for other ranks, which may need the same workers to get there: the caller's thread does it.
    if (all[first].kind == Step::AllToAll) {
      double begin = trace ? trace->now() : 0;
      MOERT_TRY(exchange(all[first]));
      if (trace) {
        Trace::Record &record = trace->steps[first];
        record.begin = record.hostBegin = begin;
        record.end = record.hostEnd = trace->now();
        record.bytes = sentToOthers;
      }
      ++last;
      continue;
    }
    while (last < all.size() && all[last].kind != Step::AllToAll)
      ++last;
    MOERT_TRY(executor.pool->run([](void *state) { static_cast<Run *>(state)->steps(); }, this));
  }
  return nullptr;
}

moe_status *CPUExecutor::enqueue(const Entry &entry, const Call &call) { return run(entry, call, nullptr); }
moe_status *CPUExecutor::trace(const Entry &entry, const Call &call, Trace &trace) { return run(entry, call, &trace); }

moe_status *CPUExecutor::connect(const Entry &entry, const Call &call) {
  MOERT_TRY(checkComm(entry, call.comm, /*onDevice=*/false));
  if (!entry.ranks)
    return nullptr;
  CommUse use(call.comm);
  MOERT_TRY(use.take());
  return use.finish(compareExchanges(entry, call, [&](const void *own, void *all, size_t bytes) {
    return tellOnHost(*call.comm->comm, own, all, bytes);
  }));
}

moe_status *CPUExecutor::run(const Entry &entry, const Call &call, Trace *trace) {
  if (call.stream)
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "stream is not NULL, but the cpu target takes none");
  MOERT_TRY(checkComm(entry, call.comm, /*onDevice=*/false));
  CommUse use(call.comm);
  MOERT_TRY(use.take());
  return use.finish(runChecked(entry, call, trace));
}

moe_status *CPUExecutor::runChecked(const Entry &entry, const Call &call, Trace *trace) {
  MOERT_TRY(checkWorkspace(entry, call));
  uint8_t *workspace = static_cast<uint8_t *>(call.workspace);
  Run run{*this,
          entry,
          {entry, reinterpret_cast<int64_t *>(workspace + kFaultBytes)},
          {recordFault, workspace},
          trace,
          call.comm ? call.comm->comm.get() : nullptr};
  MOERT_TRY(run.frame.prepare(call, nullptr));
  if (trace)
    trace->describe(run.frame);
  *static_cast<FaultBlock *>(call.workspace) = FaultBlock();
  return run.run();
}

moe_status *CPUExecutor::readFaults(const void *workspace, FaultBlock &block) {
  block = *static_cast<const FaultBlock *>(workspace);
  return nullptr;
}

moe_status *moert::createCPUExecutor(const moe_program &program, int32_t device, const moe_options &options,
                                     std::unique_ptr<Executor> &executor) {
  if (device != 0)
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "device is %d; the cpu target has device 0 only", device);
  auto result = std::make_unique<CPUExecutor>();
  MOERT_TRY(result->create(program, options));
  executor = std::move(result);
  return nullptr;
}
