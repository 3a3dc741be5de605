//===- TensorMap.cpp ----------------------------------------------------------------===//
#include "TensorMap.h"
#include "Frame.h"

#include <algorithm>

using namespace moert;
using namespace moert::cuda;

static constexpr uint64_t kMostDim = uint64_t(1) << 32, kMostStride = uint64_t(1) << 40;

TiledShape::TiledShape(const Param &param, const Buffer &buffer, const int64_t *descriptor, uint64_t nowhere) {
  const int64_t *sizes = sizesOf(descriptor), *strides = stridesOf(descriptor, buffer.rank);
  bool empty = std::find(sizes, sizes + buffer.rank, 0) != sizes + buffer.rank;
  address = empty ? nowhere : uint64_t(reinterpret_cast<uintptr_t>(pointerOf(descriptor)));
  uint64_t element = moe_dtype_size(buffer.dtype);
  auto strideOf = [&](int32_t dim) {
    if (!empty)
      return uint64_t(strides[dim]) * element;
    uint64_t bytes = element;
    for (int32_t d = buffer.rank - 1; d > dim; --d)
      bytes *= uint64_t(std::max<int64_t>(sizes[d], 1));
    return std::min((bytes + kGranule - 1) / kGranule * kGranule, kMostStride / 2);
  };
  // Modulo 2^64, as the hardware computes addresses.
  auto value = [&](const Term &term) {
    uint64_t read = term.of == Term::None ? 0 : term.of == Term::Size ? uint64_t(sizes[term.dim]) : strideOf(term.dim);
    return uint64_t(term.constant) + uint64_t(term.factor) * read;
  };
  for (uint32_t d = 0; d < param.rank; ++d)
    dims[d] = std::max<uint64_t>(value(param.dims[d]), 1);
  for (uint32_t d = 0; d + 1 < param.rank; ++d)
    this->strides[d] = value(param.strides[d]);
}

bool TiledShape::fits(uint32_t rank) const {
  if (address % kGranule)
    return false;
  for (uint32_t d = 0; d < rank; ++d)
    if (dims[d] > kMostDim)
      return false;
  for (uint32_t d = 0; d + 1 < rank; ++d)
    if (!strides[d] || strides[d] % kGranule || strides[d] >= kMostStride)
      return false;
  return true;
}

bool moert::cuda::isAligned(const Buffer &buffer, const int64_t *descriptor, uint32_t align) {
  const int64_t *sizes = sizesOf(descriptor), *strides = stridesOf(descriptor, buffer.rank);
  if (std::find(sizes, sizes + buffer.rank, 0) != sizes + buffer.rank)
    return true;
  if (uint64_t(reinterpret_cast<uintptr_t>(pointerOf(descriptor))) % align)
    return false;
  for (int32_t d = 0; d + 1 < buffer.rank; ++d)
    if (uint64_t(strides[d]) * moe_dtype_size(buffer.dtype) % align)
      return false;
  return true;
}

/// CUtensorMapDataType.
static int dataType(const Param &param) {
  switch (param.element) {
  case MOE_F32:
    return param.tf32 ? 11 : 7;
  case MOE_BF16:
    return 9;
  case MOE_F16:
    return 6;
  case MOE_I32:
    return 3;
  case MOE_I64:
    return 5;
  default:
    return 0; // bytes
  }
}

moe_status *moert::cuda::encode(const Driver &driver, const Param &param, const TiledShape &shape, TensorMap &map) {
  constexpr int kNoInterleave = 0, kSwizzle128B = 3, kPromotion256B = 3, kZeros = 0;
  const uint32_t steps[kMaxMapRank] = {1, 1, 1, 1, 1};
  MOERT_CUDA(driver, TensorMapEncodeTiled, &map, dataType(param), param.rank,
             reinterpret_cast<void *>(uintptr_t(shape.address)), shape.dims, shape.strides, param.box, steps,
             kNoInterleave, kSwizzle128B, kPromotion256B, kZeros);
  return nullptr;
}
