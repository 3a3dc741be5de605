//===- Handlers.cpp - XLA's custom call that runs a program ---------------------------===//
//
// moert/xla.h has the contract. The stages keep no state of their own: what a text compiles to is found again by the
// text, which costs less than a microsecond.
//
//===----------------------------------------------------------------------===//
#include "Programs.h"

#include "xla/ffi/api/ffi.h"

#include <new>
#include <vector>

namespace ffi = ::xla::ffi;
using namespace moert::xla;

static ffi::Error toError(const Failure &failure) {
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

/// Runs a stage; what it throws does not cross into XLA.
template <typename Body> static ffi::Error guarded(Body &&body) {
  try {
    return toError(body());
  } catch (const std::bad_alloc &) {
    return toError({MOE_OUT_OF_MEMORY, "out of memory"});
  }
}

static ffi::Error instantiate(const char *target, std::string_view text, std::string_view version) {
  return guarded([&]() -> Failure {
    if (version != moe_version())
      return {MOE_WRONG_VERSION, "the custom call was made by MoE-MLIR " + std::string(version) + ", this is " +
                                     moe_version() + ": trace and compile again"};
    Program *program = nullptr;
    return findProgram(target, text, program);
  });
}

static ffi::Error initialize(const char *target, int32_t device, std::string_view text) {
  return guarded([&]() -> Failure {
    Program *program = nullptr;
    if (Failure failure = findProgram(target, text, program))
      return failure;
    moe_session *session = nullptr;
    return program->session(device, session);
  });
}

static Failure enqueue(moe_session *session, ffi::RemainingArgs operands, ffi::RemainingRets results, void *stream) {
  if (results.empty())
    return {MOE_INVALID_ARGUMENT, "the custom call has no results, expected the outputs and the workspace"};
  size_t numOutputs = results.size() - 1;
  std::vector<moe_buffer> buffers(operands.size() + results.size());
  moe_buffer *inputs = buffers.data(), *outputs = inputs + operands.size(), &workspace = outputs[numOutputs];
  for (size_t i = 0; i < operands.size(); ++i)
    if (Failure failure = toBuffer(*operands.get<ffi::AnyBuffer>(i), inputs[i]))
      return failure;
  for (size_t i = 0; i < results.size(); ++i)
    if (Failure failure = toBuffer(**results.get<ffi::AnyBuffer>(i), outputs[i]))
      return failure;
  auto address = reinterpret_cast<uintptr_t>(workspace.data);
  size_t skipped = -address % MOE_XLA_WORKSPACE_SLACK;
  if (workspace.dtype != MOE_U8 || workspace.size_bytes < MOE_XLA_WORKSPACE_SLACK)
    return {MOE_INVALID_ARGUMENT, "the last result, the workspace, is " + std::string(moe_dtype_name(workspace.dtype)) +
                                      " of " + std::to_string(workspace.size_bytes) +
                                      " bytes, expected u8 and at least " + std::to_string(MOE_XLA_WORKSPACE_SLACK)};
  return moe_enqueue(session, 0, inputs, operands.size(), outputs, numOutputs,
                     reinterpret_cast<void *>(address + skipped), workspace.size_bytes - skipped, nullptr, stream);
}

static ffi::Error execute(const char *target, int32_t device, void *stream, ffi::RemainingArgs operands,
                          ffi::RemainingRets results, std::string_view text) {
  return guarded([&]() -> Failure {
    Program *program = nullptr;
    moe_session *session = nullptr;
    if (Failure failure = findProgram(target, text, program))
      return failure;
    if (Failure failure = program->session(device, session))
      return failure;
    return enqueue(session, operands, results, stream);
  });
}

/// Calls a handler, unless the XLA that asks has an API that it does not fit.
static XLA_FFI_Error *callChecked(const ffi::Ffi &handler, XLA_FFI_CallFrame *frame) {
  const XLA_FFI_Api_Version &version = frame->api->api_version;
  if (version.major_version == XLA_FFI_API_MAJOR && version.minor_version >= XLA_FFI_API_MINOR)
    return handler.Call(frame);
  auto number = [](int major, int minor) { return std::to_string(major) + "." + std::to_string(minor); };
  std::string message = MOE_XLA_TARGET ": XLA has FFI API version " +
                        number(version.major_version, version.minor_version) + ", expected " +
                        number(XLA_FFI_API_MAJOR, XLA_FFI_API_MINOR) + " or a later minor version";
  XLA_FFI_Error_Create_Args args = {XLA_FFI_Error_Create_Args_STRUCT_SIZE, nullptr, message.c_str(),
                                    XLA_FFI_Error_Code_UNIMPLEMENTED};
  return frame->api->XLA_FFI_Error_Create(&args);
}

#define HANDLER(name, ...)                                                                                             \
  static XLA_FFI_Error *name(XLA_FFI_CallFrame *frame) {                                                               \
    static const auto handler = __VA_ARGS__;                                                                           \
    return callChecked(*handler, frame);                                                                               \
  }

using ffi::ExecutionStage;
using Text = std::string_view;
constexpr const char *kProgram = "program", *kVersion = "version";

HANDLER(cpuInstantiate, ffi::Ffi::Bind<ExecutionStage::kInstantiate>().Attr<Text>(kProgram).Attr<Text>(kVersion).To(
                            [](Text text, Text version) { return instantiate("cpu", text, version); }))
HANDLER(cpuExecute, ffi::Ffi::Bind().RemainingArgs().RemainingRets().Attr<Text>(kProgram).Attr<Text>(kVersion).To(
                        [](ffi::RemainingArgs operands, ffi::RemainingRets results, Text text, Text) {
                          return execute("cpu", 0, nullptr, operands, results, text);
                        }))

HANDLER(cudaInstantiate, ffi::Ffi::Bind<ExecutionStage::kInstantiate>().Attr<Text>(kProgram).Attr<Text>(kVersion).To(
                             [](Text text, Text version) { return instantiate("cuda", text, version); }))
HANDLER(cudaInitialize, ffi::Ffi::Bind<ExecutionStage::kInitialize>()
                            .Ctx<ffi::DeviceOrdinal>()
                            .Attr<Text>(kProgram)
                            .Attr<Text>(kVersion)
                            .To([](int32_t device, Text text, Text) { return initialize("cuda", device, text); }))
HANDLER(cudaExecute, ffi::Ffi::Bind()
                         .Ctx<ffi::DeviceOrdinal>()
                         .Ctx<ffi::PlatformStream<void *>>()
                         .RemainingArgs()
                         .RemainingRets()
                         .Attr<Text>(kProgram)
                         .Attr<Text>(kVersion)
                         .To([](int32_t device, void *stream, ffi::RemainingArgs operands, ffi::RemainingRets results,
                                Text text, Text) { return execute("cuda", device, stream, operands, results, text); },
                             {ffi::Traits::kCmdBufferCompatible}))

extern "C" {

const moe_xla_handler *moe_xla_handlers(size_t *n) {
  auto pointer = [](XLA_FFI_Handler *handler) { return reinterpret_cast<void *>(handler); };
  static const moe_xla_handler handlers[] = {
      {"cpu", pointer(cpuInstantiate), nullptr, nullptr, pointer(cpuExecute)},
      {"CUDA", pointer(cudaInstantiate), nullptr, pointer(cudaInitialize), pointer(cudaExecute)},
  };
  *n = std::size(handlers);
  return handlers;
}

void moe_xla_add_program(moe_program *program, const char *platform, const char *text, size_t size) {
  moe_program_retain(program);
  addProgram(std::string_view(platform) == "cpu" ? "cpu" : "cuda", {text, size}, program);
}

} // extern "C"
