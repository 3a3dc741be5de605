//===- Session.cpp - checks the caller's buffers and runs the steps ------------------===//
#include "Session.h"
#include "Faults.h"

#include <algorithm>
#include <cstring>
#include <string>

using namespace moert;

moe_session::~moe_session() {
  if (program)
    moe_program_release(program);
}

moe_status *moe_session::create(moe_program *from, uint32_t numThreads) {
  if (std::strcmp(from->target, "cpu") != 0)
    return MOERT_ERROR(MOE_WRONG_TARGET, "the program was compiled for target '%s'; this runtime has 'cpu'",
                       from->target);
  MOERT_TRY(checkArch(from->arch));
  moe_program_retain(from);
  program = from;
  if (!from->kernels.empty())
    MOERT_TRY(object.load(from->object, from->objectBytes));
  for (const Kernel &kernel : from->kernels) {
    std::string tasks = std::string(kernel.name) + ".tasks";
    KernelCode code;
    code.run = reinterpret_cast<decltype(code.run)>(object.find(kernel.name));
    code.tasks = reinterpret_cast<decltype(code.tasks)>(object.find(tasks.c_str()));
    if (!code.run || !code.tasks)
      return MOERT_ERROR(MOE_BAD_PROGRAM, "the program's object has no symbol '%s'",
                         code.run ? tasks.c_str() : kernel.name);
    kernels.push_back(code);
  }
  return pool.start(numThreads);
}

namespace {

/// One enqueue under way. All memory is the caller's workspace.
struct Run {
  moe_session &session;
  const Entry &entry;
  int64_t *frame;
  uint8_t *arena;
  moert_cpu_context context;

  View &view(size_t argument) { return reinterpret_cast<View *>(frame + entry.viewsWord)[argument]; }
  int64_t *descriptor(uint32_t buffer) { return frame + entry.buffers[buffer].descriptor; }

  moe_status *checkArguments(const moe_buffer *inputs, const moe_buffer *outputs);
  moe_status *checkOverlaps(const moe_buffer *inputs, const moe_buffer *outputs, const View &workspace);
  moe_status *describe(const moe_buffer *inputs, const moe_buffer *outputs);
  void steps();
  void launch(const Step &step);
  void move(const Step &step);
};

/// A part of a Memset or Copy: bytes of a tensor, counted as if it had no padding.
struct Move {
  const Buffer &buffer;
  const int64_t *source, *target; ///< descriptors; source is NULL for a Memset
  int value;
  int64_t bytes;

  static constexpr int64_t kSlice = 1 << 18;
  void run(int64_t begin, int64_t end) const;
};

} // namespace

/// A descriptor of a tensor of rank r has 3 + 2 r words: two pointers, an offset, r sizes, r strides in elements.
static void fillPointers(int64_t *descriptor, const void *data) {
  descriptor[0] = descriptor[1] = int64_t(reinterpret_cast<intptr_t>(data));
  descriptor[2] = 0;
}
static char *pointerOf(const int64_t *descriptor) { return reinterpret_cast<char *>(intptr_t(descriptor[1])); }

/// Checks the memory of every argument; leaves their views in the frame.
moe_status *Run::checkArguments(const moe_buffer *inputs, const moe_buffer *outputs) {
  size_t numInputs = entry.inputs.size();
  int64_t strides[MOE_MAX_RANK];
  for (size_t i = 0; i < numInputs; ++i)
    MOERT_TRY(checkMemory("input", i, entry.inputs[i], inputs[i], view(i), strides));
  for (size_t i = 0; i < entry.outputs.size(); ++i) {
    MOERT_TRY(checkMemory("output", i, entry.outputs[i], outputs[i], view(numInputs + i), strides));
    if (overlapsItself(entry.outputs[i], outputs[i].shape, strides))
      return MOERT_ERROR(MOE_INVALID_ARGUMENT, "output %zu '%s' has strides that let elements share memory", i,
                         entry.outputs[i].name);
  }
  return nullptr;
}

/// Do the two describe the very same elements? Their shapes are those of an output and its alias.
static bool sameMemory(const moe_buffer &a, const moe_buffer &b) {
  if (a.data != b.data || a.rank != b.rank || rawValue(a.dtype) != rawValue(b.dtype))
    return false;
  int64_t dense = int64_t(moe_dtype_size(a.dtype)); // checkMemory has found that these products fit
  for (int32_t d = a.rank - 1; d >= 0; --d) {
    if (a.shape[d] != b.shape[d])
      return false;
    int64_t strideA = a.strides ? a.strides[d] : dense, strideB = b.strides ? b.strides[d] : dense;
    if (a.shape[d] > 1 && strideA != strideB)
      return false;
    dense *= a.shape[d];
  }
  return true;
}

moe_status *Run::checkOverlaps(const moe_buffer *inputs, const moe_buffer *outputs, const View &workspace) {
  size_t numInputs = entry.inputs.size();
  for (size_t i = 0; i < numInputs; ++i)
    if (overlap(view(i), workspace))
      return MOERT_ERROR(MOE_INVALID_ARGUMENT, "input %zu '%s' at %p overlaps the workspace", i, entry.inputs[i].name,
                         inputs[i].data);
  for (size_t o = 0; o < entry.outputs.size(); ++o) {
    const View &output = view(numInputs + o);
    const Argument &argument = entry.outputs[o];
    if (overlap(output, workspace))
      return MOERT_ERROR(MOE_INVALID_ARGUMENT, "output %zu '%s' at %p overlaps the workspace", o, argument.name,
                         outputs[o].data);
    for (size_t i = 0; i < numInputs; ++i) {
      if (!overlap(output, view(i)))
        continue;
      if (argument.alias != int32_t(i))
        return MOERT_ERROR(MOE_INVALID_ARGUMENT, "output %zu '%s' at %p overlaps input %zu '%s' at %p", o,
                           argument.name, outputs[o].data, i, entry.inputs[i].name, inputs[i].data);
      if (!sameMemory(outputs[o], inputs[i]))
        return MOERT_ERROR(MOE_INVALID_ARGUMENT,
                           "output %zu '%s' at %p overlaps input %zu '%s' at %p, which it may share memory with only "
                           "if address, shape and strides are the same",
                           o, argument.name, outputs[o].data, i, entry.inputs[i].name, inputs[i].data);
    }
    for (size_t p = 0; p < o; ++p)
      if (overlap(output, view(numInputs + p)))
        return MOERT_ERROR(MOE_INVALID_ARGUMENT, "output %zu '%s' at %p overlaps output %zu '%s' at %p", o,
                           argument.name, outputs[o].data, p, entry.outputs[p].name, outputs[p].data);
  }
  return nullptr;
}

/// Writes a descriptor for each buffer of the program. Everything has been checked but the sizes of a copy.
moe_status *Run::describe(const moe_buffer *inputs, const moe_buffer *outputs) {
  for (const Buffer &buffer : entry.buffers) {
    int64_t *words = frame + buffer.descriptor, *sizes = words + 3, *strides = sizes + buffer.rank;
    for (int32_t d = 0; d < buffer.rank; ++d)
      sizes[d] = frame[buffer.dims[d]];
    if (buffer.kind == Buffer::Input || buffer.kind == Buffer::Output) {
      bool isInput = buffer.kind == Buffer::Input;
      const moe_buffer &from = isInput ? inputs[buffer.index] : outputs[buffer.index];
      const Argument &argument = isInput ? entry.inputs[buffer.index] : entry.outputs[buffer.index];
      View unused;
      MOERT_TRY(checkMemory(isInput ? "input" : "output", buffer.index, argument, from, unused, strides));
      fillPointers(words, from.data);
      continue;
    }
    // workspaceLayout or the loader has found that the products fit.
    int64_t stride = 1;
    for (int32_t d = buffer.rank - 1; d >= 0; --d) {
      strides[d] = stride;
      stride *= std::max<int64_t>(sizes[d], 1);
    }
    fillPointers(words, buffer.kind == Buffer::Arena ? arena + frame[buffer.offset] : buffer.data);
  }
  for (size_t i = 0; i < entry.steps.size(); ++i) {
    const Step &step = entry.steps[i];
    if (step.kind != Step::Copy)
      continue;
    const int64_t *source = descriptor(step.source) + 3, *target = descriptor(step.target) + 3;
    for (int32_t d = 0; d < entry.buffers[step.source].rank; ++d)
      if (source[d] != target[d])
        return MOERT_ERROR(MOE_INVALID_ARGUMENT,
                           "step %zu copies buffer %u to buffer %u, whose dimensions %d are %lld and %lld", i,
                           step.source, step.target, d, (long long)source[d], (long long)target[d]);
  }
  return nullptr;
}

void Run::launch(const Step &step) {
  struct Launch {
    const moe_session::KernelCode &code;
    const moert_cpu_context *context;
    void **args;
  } state{session.kernels[step.kernel], &context, reinterpret_cast<void **>(frame + entry.argsWord)};
  size_t n = 0;
  for (uint32_t buffer : step.args)
    state.args[n++] = descriptor(buffer);
  for (uint32_t expr : step.scalars)
    state.args[n++] = frame + expr;
  session.pool.parallelFor(
      state.code.tasks(state.args),
      [](void *state, int64_t begin, int64_t end) {
        Launch &launch = *static_cast<Launch *>(state);
        launch.code.run(launch.context, launch.args, begin, end);
      },
      &state);
}

/// Slices begin <= s < end of the tensor.
void Move::run(int64_t begin, int64_t end) const {
  int64_t element = int64_t(moe_dtype_size(buffer.dtype));
  const int64_t *sizes = target + 3, *to = sizes + buffer.rank;
  const int64_t *from = source ? source + 3 + buffer.rank : to;
  // Trailing dimensions without padding on either side are one run of bytes.
  int64_t run = element;
  int32_t outer = buffer.rank;
  while (outer > 0 && (sizes[outer - 1] == 1 || (to[outer - 1] * element == run && from[outer - 1] * element == run))) {
    run *= sizes[outer - 1];
    --outer;
  }
  int64_t at = begin * kSlice, stop = std::min(end * kSlice, bytes);
  while (at < stop) {
    int64_t index = at / run, within = at % run, n = std::min(run - within, stop - at);
    int64_t toOffset = within, fromOffset = within;
    for (int32_t d = outer - 1; d >= 0; --d) {
      int64_t i = index % sizes[d];
      index /= sizes[d];
      toOffset += i * to[d] * element;
      fromOffset += i * from[d] * element;
    }
    if (source)
      std::memcpy(pointerOf(target) + toOffset, pointerOf(source) + fromOffset, size_t(n));
    else
      std::memset(pointerOf(target) + toOffset, value, size_t(n));
    at += n;
  }
}

void Run::move(const Step &step) {
  Move move{entry.buffers[step.target], step.kind == Step::Copy ? descriptor(step.source) : nullptr,
            descriptor(step.target), step.value, int64_t(moe_dtype_size(entry.buffers[step.target].dtype))};
  for (int32_t d = 0; d < move.buffer.rank; ++d)
    move.bytes *= move.target[3 + d];
  // An output that shares the memory of its input is a copy already.
  if (move.source && pointerOf(move.source) == pointerOf(move.target))
    return;
  session.pool.parallelFor((move.bytes + Move::kSlice - 1) / Move::kSlice,
                           [](void *state, int64_t begin, int64_t end) { static_cast<Move *>(state)->run(begin, end); },
                           &move);
}

void Run::steps() {
  for (const Step &step : entry.steps) {
    switch (step.kind) {
    case Step::Launch:
      launch(step);
      break;
    case Step::Memset:
    case Step::Copy:
      move(step);
      break;
    case Step::Wait:
      break; // Every step is finished before the next begins.
    }
  }
}

moe_status *moe_session::enqueue(const Entry &entry, const moe_buffer *inputs, size_t numInputs,
                                 const moe_buffer *outputs, size_t numOutputs, void *workspace, size_t workspaceBytes) {
  if (entry.flags & MOE_ENTRY_NEEDS_COMM)
    return MOERT_ERROR(MOE_UNSUPPORTED, "entry '%s' needs a communicator, which the cpu target does not have",
                       entry.name);
  if (!workspace)
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "workspace is NULL; ask moe_workspace_query for its size");
  uintptr_t address = reinterpret_cast<uintptr_t>(workspace);
  if (address % kAlignment)
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "workspace is at address %p, but must be aligned to %zu bytes", workspace,
                       kAlignment);
  size_t least = kFaultBytes + size_t(entry.frameWords) * 8;
  if (workspaceBytes < least || workspaceBytes > UINTPTR_MAX - address)
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "workspace has %zu bytes, but must have at least %zu", workspaceBytes,
                       least);

  Run run{*this,
          entry,
          reinterpret_cast<int64_t *>(static_cast<uint8_t *>(workspace) + kFaultBytes),
          nullptr,
          {recordFault, workspace}};
  MOERT_TRY(checkInputs(entry, inputs, numInputs, run.frame));
  MOERT_TRY(checkOutputs(entry, outputs, numOutputs, run.frame));
  MOERT_TRY(run.checkArguments(inputs, outputs));
  size_t arenaOffset = 0, bytes = 0;
  MOERT_TRY(workspaceLayout(entry, run.frame, arenaOffset, bytes));
  if (workspaceBytes < bytes)
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "workspace has %zu bytes, but must have %zu for these inputs",
                       workspaceBytes, bytes);
  View used = {address, bytes, 0, 0};
  MOERT_TRY(run.checkOverlaps(inputs, outputs, used));
  run.arena = static_cast<uint8_t *>(workspace) + arenaOffset;
  MOERT_TRY(run.describe(inputs, outputs));

  *static_cast<FaultBlock *>(workspace) = FaultBlock();
  return pool.run([](void *state) { static_cast<Run *>(state)->steps(); }, &run);
}
