//===- TensorMap.h - from a parameter and a buffer to a CUtensorMap -----------------===//
#ifndef MOERT_CUDA_TENSORMAP_H
#define MOERT_CUDA_TENSORMAP_H

#include "Driver.h"
#include "Program/Program.h"

namespace moert::cuda {

/// What addresses and strides of a tensor map are multiples of, in bytes.
constexpr uint32_t kGranule = 16;

/// What cuTensorMapEncodeTiled is told.
struct TiledShape {
  uint64_t address;
  uint64_t dims[kMaxMapRank], strides[kMaxMapRank]; ///< strides in bytes, of every dimension but the innermost

  /// Of a parameter and the descriptor of its buffer. A buffer without elements is never read, so its address is
  /// `nowhere`, and its strides are those of rows without padding, rounded up to what a map takes.
  TiledShape(const Param &param, const Buffer &buffer, const int64_t *descriptor, uint64_t nowhere);

  /// Does the hardware take such a map?
  bool fits(uint32_t rank) const;
};

/// Are the address of a buffer and its strides, but the innermost, multiples of `align` bytes? Without elements it is
/// no matter.
bool isAligned(const Buffer &buffer, const int64_t *descriptor, uint32_t align);

moe_status *encode(const Driver &driver, const Param &param, const TiledShape &shape, TensorMap &map);

} // namespace moert::cuda

#endif
