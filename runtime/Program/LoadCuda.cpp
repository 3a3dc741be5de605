//===- LoadCuda.cpp - checks what a file says of its CUDA kernels ------------------===//
#include "LoadCuda.h"

#include <cstring>
#include <string>

using namespace moert;
namespace fb = moe::fb;

template <typename T> static size_t sizeOf(const flatbuffers::Vector<T> *vector) { return vector ? vector->size() : 0; }

#define BAD_PARAM(...) bad(kernel, i, MOERT_ERROR(MOE_BAD_PROGRAM, __VA_ARGS__))

/// Puts the parameter before the message.
static moe_status *bad(const char *kernel, size_t i, moe_status *status) {
  std::string where = "kernel '" + std::string(kernel) + "', parameter " + std::to_string(i);
  return named(where.c_str(), status);
}

static moe_status *decodeTerms(const char *kernel, size_t i, const char *what,
                               const flatbuffers::Vector<const fb::Term *> *from, Term *to) {
  for (size_t t = 0; t < sizeOf(from); ++t) {
    fb::Term raw; // the verifier does not check its alignment within the file
    std::memcpy(&raw, from->Data() + t * sizeof(fb::Term), sizeof(fb::Term));
    if (raw.of() < fb::Extent::None || raw.of() > fb::Extent::Stride)
      return BAD_PARAM("%s %zu is of unknown kind %d", what, t, int(raw.of()));
    to[t] = {raw.constant(), raw.factor(), Term::Of(raw.of()), raw.dim()};
  }
  return nullptr;
}

static moe_status *decodeTensorMap(const char *kernel, size_t i, const fb::Param &from, Param &to) {
  size_t rank = sizeOf(from.dims());
  if (rank < 1 || rank > kMaxMapRank)
    return BAD_PARAM("a tensor map has rank %zu, but must have 1 to %u", rank, kMaxMapRank);
  if (sizeOf(from.strides()) != rank - 1 || sizeOf(from.box()) != rank)
    return BAD_PARAM("a tensor map of rank %zu has %zu strides and %zu box sizes", rank, sizeOf(from.strides()),
                     sizeOf(from.box()));
  size_t element = int(from.element()) < 0 ? 0 : moe_dtype_size(moe_dtype(int(from.element())));
  if (!element || from.element() == fb::DType::I1)
    return BAD_PARAM("a tensor map has element type %d, which none can have", int(from.element()));
  if (from.tf32() && from.element() != fb::DType::F32)
    return BAD_PARAM("a tensor map rounds %s to TF32, but only f32 can be",
                     moe_dtype_name(moe_dtype(int(from.element()))));
  to.tf32 = from.tf32();
  to.rank = uint8_t(rank);
  to.element = moe_dtype(int(from.element()));
  MOERT_TRY(decodeTerms(kernel, i, "dimension", from.dims(), to.dims));
  MOERT_TRY(decodeTerms(kernel, i, "stride", from.strides(), to.strides));
  for (size_t d = 0; d < rank; ++d) {
    to.box[d] = from.box()->Get(uint32_t(d));
    if (to.box[d] < 1 || to.box[d] > 256)
      return BAD_PARAM("box size %zu is %u, but must be 1 to 256", d, to.box[d]);
  }
  size_t inner = to.box[0] * element;
  if (inner > 128 || inner % 16)
    return BAD_PARAM("the innermost box size has %zu bytes, but must have a multiple of 16 up to 128", inner);
  return nullptr;
}

static moe_status *decodeParam(const char *kernel, size_t i, const fb::Param &from, const Kernel &owner, Param &to) {
  to.kind = Param::Kind(from.kind());
  to.arg = from.arg();
  to.dim = from.dim();
  to.width = 64;
  uint32_t limit = owner.numArgs;
  switch (from.kind()) {
  case fb::ParamKind::Faults:
  case fb::ParamKind::Counter:
  case fb::ParamKind::Peers:
    return nullptr;
  case fb::ParamKind::Scalar:
    limit = owner.numScalars;
    break;
  case fb::ParamKind::Pointer:
  case fb::ParamKind::Size:
  case fb::ParamKind::Stride:
  case fb::ParamKind::TensorMap:
    break;
  default:
    return BAD_PARAM("the kind is %d, which is unknown", int(from.kind()));
  }
  bool isScalar = from.kind() == fb::ParamKind::Scalar;
  if (to.arg >= limit)
    return BAD_PARAM("it is made of %s %u of %u", isScalar ? "scalar" : "argument", to.arg, limit);
  if (from.kind() == fb::ParamKind::TensorMap)
    return decodeTensorMap(kernel, i, from, to);
  if (from.kind() == fb::ParamKind::Pointer) {
    to.align = from.align();
    if (!to.align || to.align > kMaxAlign || to.align & (to.align - 1))
      return BAD_PARAM("it is aligned to %u bytes, but must be to a power of two up to %u", to.align, kMaxAlign);
    return nullptr;
  }
  if (from.width() != 32 && from.width() != 64)
    return BAD_PARAM("it has %u bits, but must have 32 or 64", from.width());
  to.width = uint8_t(from.width());
  return nullptr;
}

moe_status *moert::decodeCudaKernel(const fb::Kernel &from, size_t numKernels, Kernel &kernel) {
  const fb::CudaKernel *cuda = from.cuda();
  if (!cuda)
    return MOERT_ERROR(MOE_BAD_PROGRAM, "kernel '%s' does not say how it is launched on cuda", kernel.name);
  CudaKernel &to = kernel.cuda;
  if (cuda->threads() < 1 || cuda->threads() > kMaxThreads)
    return MOERT_ERROR(MOE_BAD_PROGRAM, "kernel '%s' has %u threads a block, but must have 1 to %u", kernel.name,
                       cuda->threads(), kMaxThreads);
  if (cuda->cluster() < 1 || cuda->cluster() > 8)
    return MOERT_ERROR(MOE_BAD_PROGRAM, "kernel '%s' has clusters of %u, but must have 1 to 8", kernel.name,
                       cuda->cluster());
  if (cuda->shared() > kMaxSharedBytes)
    return MOERT_ERROR(MOE_BAD_PROGRAM, "kernel '%s' has %u bytes of shared memory; the most is %u", kernel.name,
                       cuda->shared(), kMaxSharedBytes);
  bool persistent = cuda->per_sm() != 0;
  if (persistent ? cuda->blocks() != 0 || cuda->per_sm() > 32
                 : cuda->blocks() < 1 || cuda->blocks() > INT32_MAX || cuda->blocks() % cuda->cluster())
    return MOERT_ERROR(MOE_BAD_PROGRAM, "kernel '%s' has a grid of %u blocks an SM and of %u blocks in clusters of %u",
                       kernel.name, cuda->per_sm(), cuda->blocks(), cuda->cluster());
  if (cuda->fallback() < -1 || (cuda->fallback() >= 0 && size_t(cuda->fallback()) >= numKernels))
    return MOERT_ERROR(MOE_BAD_PROGRAM, "kernel '%s' falls back on kernel %d of %zu", kernel.name, cuda->fallback(),
                       numKernels);
  if (sizeOf(cuda->params()) > kMaxParams)
    return MOERT_ERROR(MOE_BAD_PROGRAM, "kernel '%s' has %zu parameters; the most is %u", kernel.name,
                       sizeOf(cuda->params()), kMaxParams);
  to.threads = cuda->threads();
  to.cluster = cuda->cluster();
  to.shared = cuda->shared();
  to.perSM = cuda->per_sm();
  to.blocks = cuda->blocks();
  to.fallback = cuda->fallback();

  uint32_t offset = 0;
  for (size_t i = 0; i < sizeOf(cuda->params()); ++i) {
    Param &param = to.params.emplace_back();
    MOERT_TRY(decodeParam(kernel.name, i, *cuda->params()->Get(uint32_t(i)), kernel, param));
    bool isMap = param.kind == Param::TensorMap;
    uint32_t bytes = isMap ? kTensorMapBytes : param.width / 8, alignment = isMap ? 64 : bytes;
    param.offset = (offset + alignment - 1) / alignment * alignment;
    offset = param.offset + bytes;
  }
  if (offset > kMaxParamBytes)
    return MOERT_ERROR(MOE_BAD_PROGRAM, "the parameters of kernel '%s' have %u bytes; the most is %u", kernel.name,
                       offset, kMaxParamBytes);
  return nullptr;
}

moe_status *moert::checkFallbacks(const std::vector<Kernel> &kernels) {
  for (const Kernel &kernel : kernels) {
    if (kernel.cuda.fallback < 0)
      continue;
    const Kernel &other = kernels[size_t(kernel.cuda.fallback)];
    if (other.numArgs != kernel.numArgs || other.numScalars != kernel.numScalars)
      return MOERT_ERROR(MOE_BAD_PROGRAM,
                         "kernel '%s' takes %u buffers and %u scalars, but its fallback '%s' takes %u and %u",
                         kernel.name, kernel.numArgs, kernel.numScalars, other.name, other.numArgs, other.numScalars);
    if (other.cuda.fallback >= 0)
      return MOERT_ERROR(MOE_BAD_PROGRAM, "the fallback '%s' of kernel '%s' has itself a fallback", other.name,
                         kernel.name);
    for (const Param &param : other.cuda.params)
      if (param.kind == Param::TensorMap || (param.kind == Param::Pointer && param.align > 1))
        return MOERT_ERROR(MOE_BAD_PROGRAM, "the fallback '%s' of kernel '%s' takes %s", other.name, kernel.name,
                           param.kind == Param::TensorMap ? "a tensor map" : "only an aligned argument");
  }
  return nullptr;
}

static moe_status *checkTerms(const char *kernel, size_t i, const Param &param, const Term *terms, size_t n,
                              const Buffer &buffer) {
  for (size_t t = 0; t < n; ++t)
    if (terms[t].of != Term::None && terms[t].dim >= buffer.rank)
      return BAD_PARAM("a tensor map is made of dimension %u of argument %u, whose rank is %d", terms[t].dim, param.arg,
                       buffer.rank);
  return nullptr;
}

moe_status *moert::checkCudaArguments(const Kernel &owner, const std::vector<Buffer> &buffers, const Step &step,
                                      size_t number) {
  const char *kernel = owner.name;
  for (size_t i = 0; i < owner.cuda.params.size(); ++i) {
    const Param &param = owner.cuda.params[i];
    if (param.kind == Param::Faults || param.kind == Param::Counter || param.kind == Param::Peers ||
        param.kind == Param::Scalar)
      continue;
    const Buffer &buffer = buffers[step.args[param.arg]];
    if ((param.kind == Param::Size || param.kind == Param::Stride) && param.dim >= uint32_t(buffer.rank))
      return BAD_PARAM("it is dimension %u of argument %u, whose rank is %d in step %zu", param.dim, param.arg,
                       buffer.rank, number);
    if (param.kind != Param::TensorMap)
      continue;
    if (moe_dtype_size(param.element) != moe_dtype_size(buffer.dtype))
      return BAD_PARAM("a tensor map of type %s is made of argument %u, whose type is %s in step %zu",
                       moe_dtype_name(param.element), param.arg, moe_dtype_name(buffer.dtype), number);
    MOERT_TRY(checkTerms(kernel, i, param, param.dims, param.rank, buffer));
    MOERT_TRY(checkTerms(kernel, i, param, param.strides, param.rank - 1u, buffer));
  }
  return nullptr;
}
