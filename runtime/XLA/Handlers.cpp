//===- Handlers.cpp - XLA's custom call that runs a program ---------------------------===//
//
// moert/xla.h has the contract. The stages keep no state of their own: what a text compiles to is found again by the
// text, which costs less than a microsecond.
//
//===----------------------------------------------------------------------===//
#include "Call.h"
#include "RankHandlers.h"

namespace ffi = ::xla::ffi;
using namespace moert::xla;

static ffi::Error instantiate(const char *target, std::string_view text, std::string_view version) {
  return toError(guarded([&]() -> Failure {
    if (Failure failure = checkVersion(version))
      return failure;
    Program *program = nullptr;
    return findProgram(target, text, program);
  }));
}

static ffi::Error initialize(const char *target, int32_t device, std::string_view text) {
  return toError(guarded([&]() -> Failure {
    moe_session *session = nullptr;
    return findSession(target, text, device, session);
  }));
}

static ffi::Error execute(const char *target, int32_t device, void *stream, ffi::RemainingArgs operands,
                          ffi::RemainingRets results, std::string_view text) {
  return toError(guarded([&]() -> Failure {
    moe_session *session = nullptr;
    if (Failure failure = findSession(target, text, device, session))
      return failure;
    Call call;
    if (Failure failure = call.read(operands, 0, results))
      return failure;
    return call.enqueue(session, nullptr, stream);
  }));
}

using ffi::ExecutionStage;
using Text = std::string_view;
constexpr const char *kProgram = "program", *kVersion = "version";

MOERT_XLA_HANDLER(cpuInstantiate, refuseApi,
                  ffi::Ffi::Bind<ExecutionStage::kInstantiate>().Attr<Text>(kProgram).Attr<Text>(kVersion).To(
                      [](Text text, Text version) { return instantiate("cpu", text, version); }))
MOERT_XLA_HANDLER(cpuExecute, refuseApi,
                  ffi::Ffi::Bind().RemainingArgs().RemainingRets().Attr<Text>(kProgram).Attr<Text>(kVersion).To(
                      [](ffi::RemainingArgs operands, ffi::RemainingRets results, Text text, Text) {
                        return execute("cpu", 0, nullptr, operands, results, text);
                      }))

MOERT_XLA_HANDLER(cudaInstantiate, refuseApi,
                  ffi::Ffi::Bind<ExecutionStage::kInstantiate>().Attr<Text>(kProgram).Attr<Text>(kVersion).To(
                      [](Text text, Text version) { return instantiate("cuda", text, version); }))
MOERT_XLA_HANDLER(cudaInitialize, refuseApi,
                  ffi::Ffi::Bind<ExecutionStage::kInitialize>()
                      .Ctx<ffi::DeviceOrdinal>()
                      .Attr<Text>(kProgram)
                      .Attr<Text>(kVersion)
                      .To([](int32_t device, Text text, Text) { return initialize("cuda", device, text); }))
MOERT_XLA_HANDLER(cudaExecute, refuseApi,
                  ffi::Ffi::Bind()
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
  static const moe_xla_handler handlers[] = {
      {MOE_XLA_TARGET, "cpu", handlerPointer(cpuInstantiate), nullptr, nullptr, handlerPointer(cpuExecute)},
      {MOE_XLA_TARGET, "CUDA", handlerPointer(cudaInstantiate), nullptr, handlerPointer(cudaInitialize),
       handlerPointer(cudaExecute)},
      cpuRankHandlers(),
      cudaRankHandlers(),
  };
  *n = std::size(handlers);
  return handlers;
}

void moe_xla_add_program(moe_program *program, const char *platform, const char *text, size_t size) {
  moe_program_retain(program);
  addProgram(std::string_view(platform) == "cpu" ? "cpu" : "cuda", {text, size}, program);
}

} // extern "C"
