//===- Frame.cpp - checks the caller's buffers ---------------------------------------===//
#include "Frame.h"

#include <algorithm>

using namespace moert;

static void fillPointers(int64_t *descriptor, const void *data) {
  descriptor[0] = descriptor[1] = int64_t(reinterpret_cast<intptr_t>(data));
  descriptor[2] = 0;
}

/// Checks the memory of every argument; leaves their views in the frame.
moe_status *Frame::checkArguments(const Call &call) {
  size_t numInputs = entry.inputs.size();
  int64_t strides[MOE_MAX_RANK];
  for (size_t i = 0; i < numInputs; ++i)
    MOERT_TRY(checkMemory("input", i, entry.inputs[i], call.inputs[i], view(i), strides));
  for (size_t i = 0; i < entry.outputs.size(); ++i) {
    MOERT_TRY(checkMemory("output", i, entry.outputs[i], call.outputs[i], view(numInputs + i), strides));
    if (overlapsItself(entry.outputs[i], call.outputs[i].shape, strides))
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

moe_status *Frame::checkOverlaps(const Call &call, const View &workspace) {
  size_t numInputs = entry.inputs.size();
  for (size_t i = 0; i < numInputs; ++i)
    if (overlap(view(i), workspace))
      return MOERT_ERROR(MOE_INVALID_ARGUMENT, "input %zu '%s' at %p overlaps the workspace", i, entry.inputs[i].name,
                         call.inputs[i].data);
  for (size_t o = 0; o < entry.outputs.size(); ++o) {
    const View &output = view(numInputs + o);
    const Argument &argument = entry.outputs[o];
    if (overlap(output, workspace))
      return MOERT_ERROR(MOE_INVALID_ARGUMENT, "output %zu '%s' at %p overlaps the workspace", o, argument.name,
                         call.outputs[o].data);
    for (size_t i = 0; i < numInputs; ++i) {
      if (!overlap(output, view(i)))
        continue;
      if (argument.alias != int32_t(i))
        return MOERT_ERROR(MOE_INVALID_ARGUMENT, "output %zu '%s' at %p overlaps input %zu '%s' at %p", o,
                           argument.name, call.outputs[o].data, i, entry.inputs[i].name, call.inputs[i].data);
      if (!sameMemory(call.outputs[o], call.inputs[i]))
        return MOERT_ERROR(MOE_INVALID_ARGUMENT,
                           "output %zu '%s' at %p overlaps input %zu '%s' at %p, which it may share memory with only "
                           "if address, shape and strides are the same",
                           o, argument.name, call.outputs[o].data, i, entry.inputs[i].name, call.inputs[i].data);
    }
    for (size_t p = 0; p < o; ++p)
      if (overlap(output, view(numInputs + p)))
        return MOERT_ERROR(MOE_INVALID_ARGUMENT, "output %zu '%s' at %p overlaps output %zu '%s' at %p", o,
                           argument.name, call.outputs[o].data, p, entry.outputs[p].name, call.outputs[p].data);
  }
  return nullptr;
}

/// Writes a descriptor for each buffer of the program. Everything has been checked but the sizes of a copy.
moe_status *Frame::describe(const Call &call, const uint8_t *constants, uint8_t *peers) {
  for (const Buffer &buffer : entry.buffers) {
    int64_t *descriptor = words + buffer.descriptor, *sizes = descriptor + 3, *strides = sizes + buffer.rank;
    for (int32_t d = 0; d < buffer.rank; ++d)
      sizes[d] = value(buffer.dims[d]);
    if (buffer.kind == Buffer::Input || buffer.kind == Buffer::Output) {
      bool isInput = buffer.kind == Buffer::Input;
      const moe_buffer &from = isInput ? call.inputs[buffer.index] : call.outputs[buffer.index];
      const Argument &argument = isInput ? entry.inputs[buffer.index] : entry.outputs[buffer.index];
      View unused;
      MOERT_TRY(checkMemory(isInput ? "input" : "output", buffer.index, argument, from, unused, strides));
      fillPointers(descriptor, from.data);
      continue;
    }
    // workspaceLayout or the loader has found that the products fit.
    int64_t stride = 1;
    for (int32_t d = buffer.rank - 1; d >= 0; --d) {
      strides[d] = stride;
      stride *= std::max<int64_t>(sizes[d], 1);
    }
    const uint8_t *data = buffer.data;
    if (buffer.kind == Buffer::Arena)
      data = static_cast<uint8_t *>(call.workspace) + entry.arenaOffset + value(buffer.offset);
    else if (buffer.kind == Buffer::Peer)
      data = peers + value(buffer.offset);
    else if (constants)
      data = constants + buffer.constant;
    fillPointers(descriptor, data);
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

moe_status *moert::checkWorkspace(const Entry &entry, const Call &call) {
  if (!call.workspace)
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "workspace is NULL; ask moe_workspace_query for its size");
  uintptr_t address = reinterpret_cast<uintptr_t>(call.workspace);
  if (address % kAlignment)
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "workspace is at address %p, but must be aligned to %zu bytes",
                       call.workspace, kAlignment);
  if (call.workspaceBytes < entry.arenaOffset || call.workspaceBytes > UINTPTR_MAX - address)
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "workspace has %zu bytes, but must have at least %zu", call.workspaceBytes,
                       entry.arenaOffset);
  return nullptr;
}

moe_status *Frame::prepare(const Call &call, const uint8_t *constants, uint8_t *peers) {
  MOERT_TRY(checkInputs(entry, call.inputs, call.numInputs, words));
  MOERT_TRY(checkOutputs(entry, call.outputs, call.numOutputs, words));
  MOERT_TRY(checkArguments(call));
  size_t bytes = 0;
  MOERT_TRY(workspaceLayout(entry, words, bytes));
  if (call.workspaceBytes < bytes)
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "workspace has %zu bytes, but must have %zu for these inputs",
                       call.workspaceBytes, bytes);
  MOERT_TRY(checkOverlaps(call, {reinterpret_cast<uintptr_t>(call.workspace), bytes, 0, 0}));
  return describe(call, constants, peers);
}

Walk::Walk(const Buffer &buffer, const int64_t *target, const int64_t *source) {
  int64_t element = int64_t(moe_dtype_size(buffer.dtype));
  const int64_t *size = sizesOf(target), *toStrides = stridesOf(target, buffer.rank);
  const int64_t *fromStrides = source ? stridesOf(source, buffer.rank) : toStrides;
  run = element;
  int32_t left = buffer.rank;
  auto follows = [&](int32_t d, const int64_t *strides) { return size[d] == 1 || strides[d] * element == run; };
  for (; left > 0 && follows(left - 1, toStrides) && follows(left - 1, fromStrides); --left)
    run *= size[left - 1];
  outer = 0;
  for (int32_t d = 0; d < left; ++d) {
    int64_t toStride = toStrides[d] * element, fromStride = fromStrides[d] * element;
    if (size[d] == 1)
      continue;
    if (outer && to[outer - 1] == toStride * size[d] && from[outer - 1] == fromStride * size[d]) {
      sizes[outer - 1] *= size[d];
      to[outer - 1] = toStride;
      from[outer - 1] = fromStride;
      continue;
    }
    sizes[outer] = size[d];
    to[outer] = toStride;
    from[outer++] = fromStride;
  }
}
