//===- Shapes.cpp - sizes, strides and overlaps of the caller's buffers -----------===//
#include "Program.h"

#include <algorithm>

using namespace moert;

/// False if the result passes 64 bits.
static bool add(int64_t a, int64_t b, int64_t &sum) { return !__builtin_add_overflow(a, b, &sum); }
static bool mul(int64_t a, int64_t b, int64_t &product) { return !__builtin_mul_overflow(a, b, &product); }

moe_status *moert::evaluate(const Entry &entry, size_t i, const int64_t *values, int64_t dim, int64_t &value) {
  const Expr &expr = entry.exprs[i];
  if (expr.kind == Expr::Const || expr.kind == Expr::Dim) {
    value = expr.kind == Expr::Const ? expr.a : dim;
    return nullptr;
  }
  int64_t a = values[expr.a], b = values[expr.b];
  switch (expr.kind) {
  case Expr::Add:
    if (add(a, b, value))
      return nullptr;
    break;
  case Expr::Mul:
    if (mul(a, b, value))
      return nullptr;
    break;
  case Expr::CeilDiv:
    if (b <= 0)
      return MOERT_ERROR(MOE_INVALID_ARGUMENT, "size expression %zu divides by %lld", i, (long long)b);
    value = a / b + (a % b > 0);
    return nullptr;
  default:
    value = std::max(a, b);
    return nullptr;
  }
  return MOERT_ERROR(MOE_INVALID_ARGUMENT, "size expression %zu, %lld %s %lld, passes 64 bits", i, (long long)a,
                     expr.kind == Expr::Add ? "+" : "*", (long long)b);
}

/// Checks what can be said about a buffer without the expressions.
static moe_status *checkArgument(const char *what, size_t i, const Argument &argument, const moe_buffer &buffer) {
  int dtype = rawValue(buffer.dtype);
  if (dtype != int(argument.dtype))
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "%s %zu '%s' has element type %s (%d), but must be %s", what, i,
                       argument.name, moe_dtype_name(moe_dtype(dtype)), dtype, moe_dtype_name(argument.dtype));
  if (buffer.rank != argument.rank)
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "%s %zu '%s' has rank %d, but must have rank %d", what, i, argument.name,
                       buffer.rank, argument.rank);
  if (!buffer.shape && buffer.rank)
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "%s %zu '%s' has shape NULL", what, i, argument.name);
  for (int32_t d = 0; d < buffer.rank; ++d) {
    if (buffer.shape[d] < 0)
      return MOERT_ERROR(MOE_INVALID_ARGUMENT, "%s %zu '%s': dimension %d is %lld, but must not be negative", what, i,
                         argument.name, d, (long long)buffer.shape[d]);
    if (argument.dims[d] >= 0 && buffer.shape[d] != argument.dims[d])
      return MOERT_ERROR(MOE_INVALID_ARGUMENT, "%s %zu '%s': dimension %d is %lld, but must be %lld", what, i,
                         argument.name, d, (long long)buffer.shape[d], (long long)argument.dims[d]);
  }
  return nullptr;
}

static moe_status *checkSizes(const char *what, size_t i, const Argument &argument, const moe_buffer &buffer,
                              const uint32_t *exprs, const int64_t *values) {
  for (int32_t d = 0; d < argument.rank; ++d)
    if (buffer.shape[d] != values[exprs[d]])
      return MOERT_ERROR(MOE_INVALID_ARGUMENT, "%s %zu '%s': dimension %d is %lld, but must be %lld for these inputs",
                         what, i, argument.name, d, (long long)buffer.shape[d], (long long)values[exprs[d]]);
  return nullptr;
}

static moe_status *checkCount(const char *what, const void *buffers, size_t found, size_t expected) {
  if (found != expected)
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "%zu %ss were given, but the entry has %zu", found, what, expected);
  if (!buffers && expected)
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "the %ss are NULL, but the entry has %zu", what, expected);
  return nullptr;
}

/// Checks the sizes that the argument itself or a buffer of the program that stands for it says it must have.
static moe_status *checkAllSizes(const char *what, Buffer::Kind kind, const Entry &entry,
                                 const std::vector<Argument> &arguments, const moe_buffer *buffers,
                                 const int64_t *values) {
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].hasExprs)
      MOERT_TRY(checkSizes(what, i, arguments[i], buffers[i], arguments[i].exprs, values));
  for (const Buffer &buffer : entry.buffers)
    if (buffer.kind == kind)
      MOERT_TRY(checkSizes(what, buffer.index, arguments[buffer.index], buffers[buffer.index], buffer.dims, values));
  return nullptr;
}

moe_status *moert::checkInputs(const Entry &entry, const moe_buffer *inputs, size_t numInputs, int64_t *values) {
  MOERT_TRY(checkCount("input", inputs, numInputs, entry.inputs.size()));
  for (size_t i = 0; i < numInputs; ++i)
    MOERT_TRY(checkArgument("input", i, entry.inputs[i], inputs[i]));
  for (size_t i = 0; i < entry.exprs.size(); ++i) {
    const Expr &expr = entry.exprs[i];
    int64_t dim = expr.kind == Expr::Dim ? inputs[expr.a].shape[expr.b] : 0;
    MOERT_TRY(evaluate(entry, i, values, dim, values[i]));
  }
  return checkAllSizes("input", Buffer::Input, entry, entry.inputs, inputs, values);
}

moe_status *moert::checkOutputs(const Entry &entry, const moe_buffer *outputs, size_t numOutputs,
                                const int64_t *values) {
  MOERT_TRY(checkCount("output", outputs, numOutputs, entry.outputs.size()));
  for (size_t i = 0; i < numOutputs; ++i)
    MOERT_TRY(checkArgument("output", i, entry.outputs[i], outputs[i]));
  return checkAllSizes("output", Buffer::Output, entry, entry.outputs, outputs, values);
}

moe_status *moert::checkMemory(const char *what, size_t i, const Argument &argument, const moe_buffer &buffer,
                               View &view, int64_t *strides) {
  int64_t element = int64_t(moe_dtype_size(argument.dtype));
  int32_t rank = argument.rank;
  bool empty = std::find(buffer.shape, buffer.shape + rank, 0) != buffer.shape + rank;
  view = {reinterpret_cast<uintptr_t>(buffer.data), 0, 0, 0};
  if (empty) {
    // There is nothing to address, whatever the strides say.
    std::fill(strides, strides + rank, 1);
    return nullptr;
  }
  if (!buffer.data)
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "%s %zu '%s' has data NULL, but has elements", what, i, argument.name);
  if (view.begin % uintptr_t(element))
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "%s %zu '%s' has data at address %p, but must be aligned to %lld bytes",
                       what, i, argument.name, buffer.data, (long long)element);

  // From the innermost dimension outwards; `contiguous` is the stride without padding.
  int64_t contiguous = element, span = element;
  for (int32_t d = rank - 1; d >= 0; --d) {
    int64_t size = buffer.shape[d], stride = contiguous;
    // The stride of a dimension of size 1 is never multiplied by anything but 0, so callers may say what they like.
    if (buffer.strides && size != 1)
      stride = buffer.strides[d];
    if (stride < 0 || stride % element)
      return MOERT_ERROR(MOE_INVALID_ARGUMENT,
                         "%s %zu '%s': stride %d is %lld bytes, but must be a multiple of the element's %lld and not "
                         "negative",
                         what, i, argument.name, d, (long long)stride, (long long)element);
    if (d == rank - 1 && stride != element)
      return MOERT_ERROR(MOE_INVALID_ARGUMENT,
                         "%s %zu '%s': stride %d, the innermost, is %lld bytes, but must be one element, %lld bytes",
                         what, i, argument.name, d, (long long)stride, (long long)element);
    int64_t extent;
    if (!mul(stride, size - 1, extent) || !add(span, extent, span) || !mul(stride, size, contiguous))
      return MOERT_ERROR(MOE_INVALID_ARGUMENT, "%s %zu '%s': stride %d of %lld bytes times size %lld passes 64 bits",
                         what, i, argument.name, d, (long long)stride, (long long)size);
    strides[d] = stride / element;
    if (size > 1 && uint64_t(stride) > view.pitch) {
      view.pitch = uint64_t(stride);
      view.row = uint64_t(extent);
    }
  }
  if (uint64_t(span) > buffer.size_bytes)
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "%s %zu '%s' has %zu bytes, but its shape and strides need %lld", what, i,
                       argument.name, buffer.size_bytes, (long long)span);
  if (view.begin + uint64_t(span) < view.begin)
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "%s %zu '%s' has data at %p and %lld bytes, past the end of memory", what,
                       i, argument.name, buffer.data, (long long)span);
  view.span = uint64_t(span);
  view.row = view.span - view.row;
  return nullptr;
}

bool moert::overlap(const View &a, const View &b) {
  if (!a.span || !b.span || a.begin + a.span <= b.begin || b.begin + b.span <= a.begin)
    return false;
  // Column windows of one matrix interleave without sharing a byte.
  if (a.pitch && a.pitch == b.pitch && a.row <= a.pitch && b.row <= b.pitch) {
    bool aFirst = a.begin <= b.begin;
    const View &low = aFirst ? a : b, &high = aFirst ? b : a;
    uint64_t column = (high.begin - low.begin) % low.pitch;
    if (column >= low.row && column + high.row <= low.pitch)
      return false;
  }
  return true;
}

bool moert::overlapsItself(const Argument &argument, const int64_t *shape, const int64_t *strides) {
  // Every dimension, from the smallest stride on, must step over all that the smaller ones reach.
  int32_t order[MOE_MAX_RANK], n = 0;
  for (int32_t d = 0; d < argument.rank; ++d) {
    if (shape[d] == 0)
      return false;
    if (shape[d] == 1)
      continue;
    int32_t at = n++;
    for (; at > 0 && strides[order[at - 1]] > strides[d]; --at)
      order[at] = order[at - 1];
    order[at] = d;
  }
  int64_t reach = 1; // cannot overflow: checkMemory found the span
  for (int32_t i = 0; i < n; ++i) {
    if (strides[order[i]] < reach)
      return true;
    reach += strides[order[i]] * (shape[order[i]] - 1);
  }
  return false;
}

moe_status *moert::bufferBytes(const Buffer &buffer, const int64_t *values, size_t i, uint64_t &bytes) {
  int64_t product = int64_t(moe_dtype_size(buffer.dtype));
  for (int32_t d = 0; d < buffer.rank; ++d) {
    int64_t size = values[buffer.dims[d]];
    if (size < 0)
      return MOERT_ERROR(MOE_INVALID_ARGUMENT, "dimension %d of the program's buffer %zu is %lld for these inputs", d,
                         i, (long long)size);
    if (!mul(product, size, product))
      return MOERT_ERROR(MOE_INVALID_ARGUMENT, "the program's buffer %zu passes 64 bits for these inputs", i);
  }
  bytes = uint64_t(product);
  return nullptr;
}

moe_status *moert::workspaceLayout(const Entry &entry, const int64_t *values, size_t &bytes) {
  int64_t arena = values[entry.arena], total;
  if (arena < 0)
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "the arena has %lld bytes for these inputs", (long long)arena);
  if (!add(arena, int64_t(entry.arenaOffset), total))
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "the workspace passes 64 bits for these inputs");
  bytes = size_t(total);
  int64_t peer = entry.peer ? values[*entry.peer] : 0;
  if (peer < 0)
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "the peer arena has %lld bytes for these inputs", (long long)peer);

  for (size_t i = 0; i < entry.buffers.size(); ++i) {
    const Buffer &buffer = entry.buffers[i];
    if (buffer.kind != Buffer::Arena && buffer.kind != Buffer::Peer)
      continue;
    int64_t room = buffer.kind == Buffer::Peer ? peer : arena;
    uint64_t need = 0;
    MOERT_TRY(bufferBytes(buffer, values, i, need));
    int64_t offset = values[buffer.offset];
    if (offset < 0 || uint64_t(offset) % moe_dtype_size(buffer.dtype) || offset > room ||
        need > uint64_t(room - offset))
      return MOERT_ERROR(MOE_BAD_PROGRAM, "buffer %zu has %llu bytes at %lld of an arena of %lld bytes", i,
                         (unsigned long long)need, (long long)offset, (long long)room);
  }
  return nullptr;
}
