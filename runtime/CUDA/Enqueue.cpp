//===- Enqueue.cpp - puts the steps of an entry on a stream ---------------------------===//
//
// Neither allocates nor synchronises on the device, and makes only nodes that a CUDA graph can hold.
//
//===----------------------------------------------------------------------===//
#include "../Comm/Exchange.h"
#include "Executor.h"
#include "TensorMap.h"
#include "Tracer.h"

#include <cstring>
#include <string>

using namespace moert;
using namespace moert::cuda;

/// Blocks of kernels that take more shared memory fill an SM.
static constexpr uint32_t kMostSharedEarly = 96 << 10;

namespace {

/// One enqueue under way.
struct Run {
  CUDAExecutor &executor;
  const Driver &driver;
  const Entry &entry;
  const Call &call;
  Frame frame;
  Stream stream;
  Peers *peers; ///< if some exchange is a kernel's

  /// Zeroes the faults and the counters of all launches.
  moe_status *clear();
  /// Step number i of the entry.
  moe_status *step(size_t i);
  moe_status *launch(const Step &step);
  moe_status *makeParam(const Step &step, const Param &param, void *to);
  /// The first parameter whose tensor map cannot be made of the arguments, or whose argument is not aligned, or NULL.
  const Param *findMisfit(const Step &step, const Kernel &kernel);
  TiledShape shapeOf(const Step &step, const Param &param);
  moe_status *move(const Step &step);
  moe_status *exchange(const Step &step);

  uint32_t launched = 0;    ///< the kernel of the last launch
  int64_t sentToOthers = 0; ///< bytes of the last exchange that is not a kernel's

  DevicePtr workspace() const { return reinterpret_cast<uintptr_t>(call.workspace); }
};

} // namespace

static DevicePtr addressOf(const int64_t *descriptor) { return reinterpret_cast<uintptr_t>(pointerOf(descriptor)); }

TiledShape Run::shapeOf(const Step &step, const Param &param) {
  uint32_t buffer = step.args[param.arg];
  return TiledShape(param, entry.buffers[buffer], frame.descriptor(buffer), workspace());
}

const Param *Run::findMisfit(const Step &step, const Kernel &kernel) {
  for (const Param &param : kernel.cuda.params) {
    bool fits = true;
    if (param.kind == Param::TensorMap) {
      fits = shapeOf(step, param).fits(param.rank);
    } else if (param.kind == Param::Pointer && param.align > 1) {
      uint32_t buffer = step.args[param.arg];
      fits = isAligned(entry.buffers[buffer], frame.descriptor(buffer), param.align);
    }
    if (!fits)
      return &param;
  }
  return nullptr;
}

moe_status *Run::makeParam(const Step &step, const Param &param, void *to) {
  auto argument = [&] { return frame.descriptor(step.args[param.arg]); };
  uint64_t value = 0;
  switch (param.kind) {
  case Param::Pointer:
    value = addressOf(argument());
    break;
  case Param::Size:
    value = uint64_t(sizesOf(argument())[param.dim]);
    break;
  case Param::Stride:
    value = uint64_t(stridesOf(argument(), entry.buffers[step.args[param.arg]].rank)[param.dim]);
    break;
  case Param::Scalar:
    value = uint64_t(frame.value(step.scalars[param.arg]));
    break;
  case Param::Faults:
    value = workspace();
    break;
  case Param::Counter:
    value = workspace() + kFaultBytes + uint64_t(step.counter) * kCounterBytes;
    break;
  case Param::Peers:
    value = peers->table();
    break;
  case Param::TensorMap:
    return encode(driver, param, shapeOf(step, param), *static_cast<TensorMap *>(to));
  }
  if (param.width == 32 && int64_t(value) != int32_t(value))
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "a size, stride or scalar is %lld, which passes 32 bits",
                       (long long)value);
  std::memcpy(to, &value, param.width / 8);
  return nullptr;
}

moe_status *Run::launch(const Step &step) {
  uint32_t number = step.kernel;
  if (const Param *misfit = findMisfit(step, executor.program.kernels[number])) {
    const Kernel &kernel = executor.program.kernels[number];
    if (kernel.cuda.fallback < 0)
      return MOERT_ERROR(MOE_UNSUPPORTED,
                         "kernel '%s' cannot take argument %u: its address, %p, or a stride is not a multiple of %u "
                         "bytes or too large",
                         kernel.name, misfit->arg, pointerOf(frame.descriptor(step.args[misfit->arg])),
                         misfit->kind == Param::TensorMap ? kGranule : misfit->align);
    number = uint32_t(kernel.cuda.fallback);
  }
  launched = number;
  const Kernel &kernel = executor.program.kernels[number];
  const CudaKernel &cuda = kernel.cuda;

  alignas(64) uint8_t block[kMaxParamBytes];
  void *pointers[kMaxParams];
  for (size_t i = 0; i < cuda.params.size(); ++i) {
    pointers[i] = block + cuda.params[i].offset;
    if (moe_status *status = makeParam(step, cuda.params[i], pointers[i]))
      return named(("kernel '" + std::string(kernel.name) + "', parameter " + std::to_string(i)).c_str(), status);
  }
  uint32_t blocks = cuda.perSM ? cuda.perSM * executor.multiprocessors / cuda.cluster * cuda.cluster : cuda.blocks;
  // Kernels begin with griddepcontrol.wait, so a launch may overlap the end of the kernel before it. But blocks that
  // fill an SM would be strewn over the SMs as those come free, and blocks that read the same weights at the same time
  // belong on neighbours, which the L2 serves together.
  LaunchAttribute attributes[] = {{kProgrammaticStreamSerialization, 0, {cuda.shared <= kMostSharedEarly}},
                                  {kClusterDimension, 0, {cuda.cluster, 1, 1}}};
  LaunchConfig config = {blocks, 1, 1, cuda.threads, 1, 1, cuda.shared, stream, attributes, cuda.cluster > 1 ? 2u : 1u};
  if (Result result = driver.LaunchKernelEx(&config, executor.functions[number], pointers, nullptr))
    return named(("kernel '" + std::string(kernel.name) + "'").c_str(),
                 driver.error(result, "cuLaunchKernelEx", __FILE__, __LINE__));
  return nullptr;
}

moe_status *Run::move(const Step &step) {
  const int64_t *source = step.kind == Step::Copy ? frame.descriptor(step.source) : nullptr;
  const int64_t *target = frame.descriptor(step.target);
  // An output that shares the memory of its input is a copy already.
  if (source && pointerOf(source) == pointerOf(target))
    return nullptr;
  const Walk walk(entry.buffers[step.target], target, source);
  // The driver takes two dimensions at once.
  int64_t rows = walk.outer ? walk.sizes[walk.outer - 1] : 1, times = 1;
  for (int32_t d = 0; d + 1 < walk.outer; ++d)
    times *= walk.sizes[d];
  if (walk.run * rows * times == 0)
    return nullptr;
  size_t toPitch = size_t(walk.outer ? walk.to[walk.outer - 1] : walk.run);
  size_t fromPitch = size_t(walk.outer ? walk.from[walk.outer - 1] : walk.run);
  for (int64_t t = 0; t < times; ++t) {
    int64_t toOffset = 0, fromOffset = 0, index = t;
    for (int32_t d = walk.outer - 2; d >= 0; --d) {
      int64_t i = index % walk.sizes[d];
      index /= walk.sizes[d];
      toOffset += i * walk.to[d];
      fromOffset += i * walk.from[d];
    }
    DevicePtr to = addressOf(target) + uint64_t(toOffset);
    size_t width = size_t(walk.run), height = size_t(rows);
    if (!source) {
      if (height == 1)
        MOERT_CUDA(driver, MemsetD8Async, to, step.value, width, stream);
      else
        MOERT_CUDA(driver, MemsetD2D8Async, to, toPitch, step.value, width, height, stream);
      continue;
    }
    DevicePtr from = addressOf(source) + uint64_t(fromOffset);
    if (height == 1) {
      MOERT_CUDA(driver, MemcpyDtoDAsync, to, from, width, stream);
      continue;
    }
    Memcpy2D copy = {};
    copy.fromType = copy.toType = kMemoryDevice;
    copy.from = from;
    copy.to = to;
    copy.fromPitch = fromPitch;
    copy.toPitch = toPitch;
    copy.width = width;
    copy.height = height;
    MOERT_CUDA(driver, Memcpy2DAsync, &copy, stream);
  }
  return nullptr;
}

moe_status *Run::exchange(const Step &step) {
  Comm &comm = *call.comm->comm;
  if (step.stores) {
    MOERT_TRY(checkRows(frame, step, comm.size));
    return launch(step);
  }
  // Only an exchange by bounds has to know them here; its entry says HOST_SYNC.
  bool exact = step.send >= 0;
  std::vector<int64_t> send, receive;
  auto fetch = [&](int32_t buffer, std::vector<int64_t> &bounds) -> moe_status * {
    const int64_t *descriptor = frame.descriptor(uint32_t(buffer));
    bounds.resize(size_t(sizesOf(descriptor)[0] * sizesOf(descriptor)[1]));
    MOERT_CUDA(driver, MemcpyDtoH, bounds.data(), addressOf(descriptor), bounds.size() * sizeof(int64_t));
    return nullptr;
  };
  if (exact) {
    MOERT_CUDA(driver, StreamSynchronize, stream);
    MOERT_TRY(fetch(step.send, send));
    MOERT_TRY(fetch(step.receive, receive));
  }
  MOERT_TRY(setPieces(frame, step, exact ? send.data() : nullptr, exact ? receive.data() : nullptr, comm));
  sentToOthers = countSent(frame, step, exact ? send.data() : nullptr, comm);
  MOERT_TRY(forEachGap(frame, step, comm, [&](char *data, size_t bytes) -> moe_status * {
    MOERT_CUDA(driver, MemsetD8Async, reinterpret_cast<uintptr_t>(data), 0, bytes, stream);
    return nullptr;
  }));
  return comm.exchange(stream);
}

moe_status *Run::clear() {
  MOERT_CUDA(driver, MemsetD8Async, workspace(), 0, entry.arenaOffset, stream);
  return nullptr;
}

moe_status *Run::step(size_t i) {
  const Step &step = entry.steps[i];
  moe_status *status = nullptr; // a Wait: the stream keeps the order
  if (step.kind == Step::Launch)
    status = launch(step);
  else if (step.kind == Step::Memset || step.kind == Step::Copy)
    status = move(step);
  else if (step.kind == Step::AllToAll)
    status = exchange(step);
  return status ? named(("step " + std::to_string(i)).c_str(), status) : nullptr;
}

template <typename Work> moe_status *CUDAExecutor::prepared(const Entry &entry, const Call &call, Work work) {
  MOERT_TRY(checkComm(entry, call.comm, /*onDevice=*/true));
  CommUse use(call.comm);
  MOERT_TRY(use.take());
  MOERT_TRY(checkWorkspace(entry, call));
  FramePool::Words words = frames.take();
  auto run = [&]() -> moe_status * {
    CurrentContext current(driver, context);
    Run run{*this, driver, entry, call, {entry, words.get()}, static_cast<Stream>(call.stream), nullptr};
    if (entry.peer)
      MOERT_TRY(findPeers(entry, call, words.get(), run.peers));
    MOERT_TRY(run.frame.prepare(call, reinterpret_cast<const uint8_t *>(uintptr_t(constants)),
                                reinterpret_cast<uint8_t *>(run.peers ? uintptr_t(run.peers->arena()) : 0)));
    return work(run);
  };
  moe_status *status = run();
  frames.give(std::move(words));
  return use.finish(status);
}

moe_status *CUDAExecutor::enqueue(const Entry &entry, const Call &call) {
  return prepared(entry, call, [&](Run &run) -> moe_status * {
    MOERT_TRY(run.clear());
    for (size_t i = 0; i < entry.steps.size(); ++i)
      MOERT_TRY(run.step(i));
    return nullptr;
  });
}

moe_status *CUDAExecutor::connect(const Entry &entry, const Call &call) {
  MOERT_TRY(checkComm(entry, call.comm, /*onDevice=*/true));
  if (!entry.ranks)
    return nullptr;
  CommUse use(call.comm);
  MOERT_TRY(use.take());
  CurrentContext current(driver, context);
  moe_status *status = compareExchanges(entry, call, [&](const void *own, void *all, size_t bytes) {
    return tell(driver, *call.comm->comm, own, all, bytes, static_cast<Stream>(call.stream));
  });
  if (!status && entry.peer) {
    FramePool::Words words = frames.take();
    Peers *found = nullptr;
    status = findPeers(entry, call, words.get(), found);
    frames.give(std::move(words));
  }
  return use.finish(status);
}

moe_status *CUDAExecutor::trace(const Entry &entry, const Call &call, Trace &trace) {
  // The stream is held back until everything is enqueued.
  if (entry.flags & MOE_ENTRY_HOST_SYNC)
    return MOERT_ERROR(MOE_UNSUPPORTED, "entry '%s' waits for the device while it is enqueued; it cannot be traced",
                       entry.name);
  return prepared(entry, call, [&](Run &run) -> moe_status * {
    double ready = trace.now();
    trace.describe(run.frame);
    trace.clear.flops = 0;
    trace.clear.bytes = int64_t(entry.arenaOffset);
    Tracer tracer(driver, run.stream, trace);
    MOERT_TRY(tracer.begin());
    trace.forgetSince(ready);
    MOERT_TRY(tracer.step(trace.clear, [&] { return run.clear(); }));
    for (size_t i = 0; i < entry.steps.size(); ++i) {
      Trace::Record &record = trace.steps[i];
      MOERT_TRY(tracer.step(record, [&] { return run.step(i); }));
      record.kernel = run.launched;
      if (entry.steps[i].kind == Step::AllToAll && !entry.steps[i].stores)
        record.bytes = run.sentToOthers;
      if (entry.steps[i].bounds)
        MOERT_TRY(tracer.save(record.bounds, run.frame.descriptor(*entry.steps[i].bounds)));
      if (!record.sent.empty())
        MOERT_TRY(tracer.save(record.sent, run.frame.descriptor(uint32_t(entry.steps[i].send))));
    }
    MOERT_TRY(tracer.end());
    // What a kernel has sent is known now, if it has.
    if (run.peers)
      MOERT_TRY(run.peers->failure());
    for (size_t i = 0; i < entry.steps.size(); ++i)
      if (entry.steps[i].stores) {
        Trace::Record &record = trace.steps[i];
        const int64_t *sent = record.sent.empty() ? nullptr : record.sent.data();
        record.bytes = countSent(run.frame, entry.steps[i], sent, *call.comm->comm);
      }
    return nullptr;
  });
}
