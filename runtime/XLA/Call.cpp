//===- Call.cpp - what XLA hands a custom call, as the runtime takes it ------------------===//
#include "Call.h"

namespace ffi = ::xla::ffi;
using namespace moert::xla;

ffi::Error moert::xla::toError(const Failure &failure) {
  using Code = ffi::ErrorCode;
  Code code = Code::kInternal;
  switch (failure.code) {
  case MOE_OK:
    return ffi::Error::Success();
  case MOE_INVALID_ARGUMENT:
    code = Code::kInvalidArgument;
    break;
  case MOE_WRONG_VERSION:
  case MOE_WRONG_TARGET:
    code = Code::kFailedPrecondition;
    break;
  case MOE_UNSUPPORTED:
    code = Code::kUnimplemented;
    break;
  case MOE_OUT_OF_MEMORY:
    code = Code::kResourceExhausted;
    break;
  case MOE_BAD_PROGRAM:
  case MOE_SYSTEM:
  case MOE_COMM_FAILED:
    break;
  }
  return {code, std::string(MOE_XLA_TARGET ": ") + failure.message};
}

static Failure toBuffer(const ffi::AnyBuffer &from, moe_buffer &to) {
  switch (from.element_type()) {
  case ffi::DataType::F32:
    to.dtype = MOE_F32;
    break;
  case ffi::DataType::BF16:
    to.dtype = MOE_BF16;
    break;
  case ffi::DataType::F16:
    to.dtype = MOE_F16;
    break;
  case ffi::DataType::S32:
    to.dtype = MOE_I32;
    break;
  case ffi::DataType::S64:
    to.dtype = MOE_I64;
    break;
  case ffi::DataType::S8:
    to.dtype = MOE_I8;
    break;
  case ffi::DataType::U8:
    to.dtype = MOE_U8;
    break;
  case ffi::DataType::PRED:
    to.dtype = MOE_I1;
    break;
  default:
    return {MOE_INVALID_ARGUMENT, "an operand or result has XLA's element type " +
                                      std::to_string(int(from.element_type())) + ", which no program takes"};
  }
  to.data = from.untyped_data();
  to.size_bytes = from.size_bytes();
  to.rank = int32_t(from.dimensions().size());
  to.shape = from.dimensions().begin();
  to.strides = nullptr;
  return {};
}

Failure Call::read(ffi::RemainingArgs operands, size_t first, ffi::RemainingRets results) {
  if (results.empty())
    return {MOE_INVALID_ARGUMENT, "the custom call has no results, expected the outputs and the workspace"};
  numInputs = operands.size() - first;
  buffers.resize(numInputs + results.size());
  for (size_t i = 0; i < numInputs; ++i)
    if (Failure failure = toBuffer(*operands.get<ffi::AnyBuffer>(first + i), buffers[i]))
      return failure;
  for (size_t i = 0; i < results.size(); ++i)
    if (Failure failure = toBuffer(**results.get<ffi::AnyBuffer>(i), buffers[numInputs + i]))
      return failure;
  const moe_buffer &workspace = buffers.back();
  if (workspace.dtype != MOE_U8 || workspace.size_bytes < MOE_XLA_WORKSPACE_SLACK)
    return {MOE_INVALID_ARGUMENT, "the last result, the workspace, is " + std::string(moe_dtype_name(workspace.dtype)) +
                                      " of " + std::to_string(workspace.size_bytes) +
                                      " bytes, expected u8 and at least " + std::to_string(MOE_XLA_WORKSPACE_SLACK)};
  return {};
}

void Call::keepShapes() {
  size_t count = 0;
  for (const moe_buffer &buffer : buffers)
    count += size_t(buffer.rank);
  shapes.reserve(count); // what points into it must not move
  for (moe_buffer &buffer : buffers) {
    const int64_t *from = buffer.shape;
    buffer.shape = shapes.data() + shapes.size();
    shapes.insert(shapes.end(), from, from + buffer.rank);
  }
}

Failure Call::enqueue(moe_session *session, moe_comm *comm, void *stream) const {
  const moe_buffer *outputs = buffers.data() + numInputs, &workspace = buffers.back();
  auto address = reinterpret_cast<uintptr_t>(workspace.data);
  size_t skipped = -address % MOE_XLA_WORKSPACE_SLACK;
  return moe_enqueue(session, 0, buffers.data(), numInputs, outputs, buffers.size() - numInputs - 1,
                     reinterpret_cast<void *>(address + skipped), workspace.size_bytes - skipped, comm, stream);
}

Failure moert::xla::checkVersion(std::string_view version) {
  if (version == moe_version())
    return {};
  return {MOE_WRONG_VERSION, "the custom call was made by MoE-MLIR " + std::string(version) + ", this is " +
                                 moe_version() + ": trace and compile again"};
}

XLA_FFI_Error *moert::xla::refuseApi(XLA_FFI_CallFrame *frame) {
  const XLA_FFI_Api_Version &version = frame->api->api_version;
  if (version.major_version == XLA_FFI_API_MAJOR && version.minor_version >= XLA_FFI_API_MINOR)
    return nullptr;
  auto number = [](int major, int minor) { return std::to_string(major) + "." + std::to_string(minor); };
  std::string message = MOE_XLA_TARGET ": XLA has FFI API version " +
                        number(version.major_version, version.minor_version) + ", expected " +
                        number(XLA_FFI_API_MAJOR, XLA_FFI_API_MINOR) + " or a later minor version";
  return createError(frame->api, message, XLA_FFI_Error_Code_UNIMPLEMENTED);
}

XLA_FFI_Error *moert::xla::createError(const XLA_FFI_Api *api, const std::string &message, XLA_FFI_Error_Code code) {
  XLA_FFI_Error_Create_Args args = {XLA_FFI_Error_Create_Args_STRUCT_SIZE, nullptr, message.c_str(), code};
  return api->XLA_FFI_Error_Create(&args);
}
