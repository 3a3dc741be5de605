//===- Frame.h - what an enqueue knows before it runs ------------------------------===//
#ifndef MOERT_FRAME_H
#define MOERT_FRAME_H

#include "Program/Program.h"

namespace moert {

/// The arguments of moe_enqueue.
struct Call {
  const moe_buffer *inputs;
  size_t numInputs;
  const moe_buffer *outputs;
  size_t numOutputs;
  void *workspace;
  size_t workspaceBytes;
  moe_comm *comm;
  void *stream;
};

/// Checks all that is known of the workspace before the sizes are.
moe_status *checkWorkspace(const Entry &entry, const Call &call);

/// A memref descriptor of a tensor of rank r has 3 + 2 r words: two pointers, an offset, r sizes, r strides in
/// elements.
inline char *pointerOf(const int64_t *descriptor) { return reinterpret_cast<char *>(intptr_t(descriptor[1])); }
// NOLINTNEXTLINE(clang-analyzer-core.NullPointerArithm): a descriptor lies within a frame.
inline const int64_t *sizesOf(const int64_t *descriptor) { return descriptor + 3; }
inline const int64_t *stridesOf(const int64_t *descriptor, int32_t rank) { return descriptor + 3 + rank; }

/// Values, views and descriptors of one enqueue, in entry.frameWords words of somebody else's memory.
struct Frame {
  const Entry &entry;
  int64_t *words;

  int64_t value(uint32_t expr) const { return words[expr]; }
  View &view(size_t argument) const { return reinterpret_cast<View *>(words + entry.viewsWord)[argument]; }
  int64_t *descriptor(uint32_t buffer) const { return words + entry.buffers[buffer].descriptor; }
  void **args() const { return reinterpret_cast<void **>(words + entry.argsWord); }

  /// Checks every argument, evaluates the sizes and describes every buffer. checkWorkspace has passed. `constants` is
  /// where the program's constants are on the device, NULL for where the file has them; `peers` is the peer arena.
  moe_status *prepare(const Call &call, const uint8_t *constants, uint8_t *peers = nullptr);

private:
  moe_status *checkArguments(const Call &call);
  moe_status *checkOverlaps(const Call &call, const View &workspace);
  moe_status *describe(const Call &call, const uint8_t *constants, uint8_t *peers);
};

/// How to walk a tensor that a Memset fills or a Copy writes: runs of `run` bytes without padding on either side, at
/// every index of the `outer` dimensions before them. Neighbours among these that are as far apart as one dimension
/// would be are one.
struct Walk {
  int64_t run;
  int32_t outer;
  int64_t sizes[MOE_MAX_RANK], to[MOE_MAX_RANK], from[MOE_MAX_RANK]; ///< of the outer dimensions; strides in bytes

  /// `source` is NULL for a Memset.
  Walk(const Buffer &buffer, const int64_t *target, const int64_t *source);
};

} // namespace moert

#endif
