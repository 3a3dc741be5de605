//===- RankHandlers.cpp - XLA's custom call over the ranks of a mesh axis ---------------===//
//
// The ranks of a run are devices of this process. Instantiate makes one object for each custom call of an executable,
// which all its devices share: there they find each other.
//
// On the cpu a rank waits for the others on a thread of its own, never on one of XLA's: it has as few of those as there
// are cores, and a rank that is waited for may need one.
//
//===----------------------------------------------------------------------===//
#include "RankHandlers.h"
#include "Call.h"
#include "Ranks.h"

#include <cstring>
#include <dlfcn.h>
#include <thread>

namespace ffi = ::xla::ffi;
using namespace moert::xla;
using ffi::ExecutionStage;
using Text = std::string_view;

namespace {

/// A type for each platform: a plugin has a registry of types of its own.
struct CpuRanks : Ranks {
  using Ranks::Ranks;
  static constexpr const char *kName = "moe_cpu_ranks";
  static ffi::TypeId id;
};
struct CudaRanks : Ranks {
  using Ranks::Ranks;
  static constexpr const char *kName = "moe_cuda_ranks";
  static ffi::TypeId id;
};
ffi::TypeId CpuRanks::id = XLA_FFI_UNKNOWN_TYPE_ID;
ffi::TypeId CudaRanks::id = XLA_FFI_UNKNOWN_TYPE_ID;

constexpr const char *kProgram = "program", *kVersion = "version";

/// What one rank does on the cpu.
struct Exchange {
  Call call;
  moe_session *session = nullptr;
  CommRef comm;

  Failure run() const {
    Failure failure = guarded([&] { return Failure(call.enqueue(session, comm.get(), nullptr)); });
    if (failure) // also one from before the first exchange
      moe_comm_fail(comm.get(), failure.message.c_str());
    return failure;
  }
};

} // namespace

/// The first operand: row and rank.
static Failure placeOperand(ffi::RemainingArgs operands, const void *&data) {
  if (!operands.empty()) {
    ffi::AnyBuffer place = *operands.get<ffi::AnyBuffer>(0);
    if (place.element_type() == ffi::DataType::S32 && place.element_count() == 2) {
      data = place.untyped_data();
      return {};
    }
  }
  return {MOE_INVALID_ARGUMENT, "the first operand is not s32[2], the row and the rank of the device"};
}

/// Gives T::id its value. What went wrong, or "".
template <typename T> static std::string registerRanks(const XLA_FFI_Api *api) {
  XLA_FFI_Error *error = ffi::Ffi::RegisterTypeId(api, T::kName, &T::id, ffi::MakeTypeInfo<T>());
  if (!error)
    return "";
  XLA_FFI_Error_GetMessage_Args message = {XLA_FFI_Error_GetMessage_Args_STRUCT_SIZE, nullptr, error, nullptr};
  api->XLA_FFI_Error_GetMessage(&message);
  std::string copy = message.message;
  XLA_FFI_Error_Destroy_Args destroy = {XLA_FFI_Error_Destroy_Args_STRUCT_SIZE, nullptr, error};
  api->XLA_FFI_Error_Destroy(&destroy);
  return copy;
}

template <typename T>
static ffi::ErrorOr<std::unique_ptr<T>> instantiate(const char *target, std::string_view text,
                                                    std::string_view version) {
  std::unique_ptr<T> ranks;
  Failure failure = guarded([&]() -> Failure {
    if (Failure failure = checkVersion(version))
      return failure;
    Program *program = nullptr;
    if (Failure failure = findProgram(target, text, program))
      return failure;
    uint32_t size = 0;
    if (Failure failure = program->ranks(size))
      return failure;
    if (!size)
      return {MOE_INVALID_ARGUMENT, "the program is for one device, which " MOE_XLA_TARGET " runs"};
    ranks = std::make_unique<T>(int32_t(size));
    return {};
  });
  if (failure)
    return ffi::Unexpected<ffi::Error>(toError(failure));
  return ranks;
}

static ffi::Future executeCpu(CpuRanks *ranks, ffi::RunId run, ffi::RemainingArgs operands, ffi::RemainingRets results,
                              std::string_view text, std::string_view) {
  ffi::Promise promise;
  ffi::Future future(promise);
  CommRef comm;
  Failure failure = guarded([&]() -> Failure {
    const void *data = nullptr;
    if (Failure failure = placeOperand(operands, data))
      return failure;
    Place place = {};
    std::memcpy(&place, data, sizeof(place));
    if (Failure failure = ranks->findLocal(place, run.run_id, comm))
      return failure;
    Exchange exchange;
    exchange.comm = comm;
    if (Failure failure = findSession("cpu", text, 0, exchange.session))
      return failure;
    if (Failure failure = exchange.call.read(operands, 1, results))
      return failure;
    exchange.call.keepShapes();
    std::thread([promise, exchange = std::move(exchange)]() mutable {
      if (Failure failure = exchange.run())
        promise.SetError(toError(failure));
      else
        promise.SetAvailable();
    }).detach();
    return {};
  });
  if (failure) {
    if (comm)
      moe_comm_fail(comm.get(), failure.message.c_str());
    promise.SetError(toError(failure));
  }
  return future;
}

/// Reads the place from the device: once for each device, as a device is always the same rank of an executable.
static Failure readPlace(const void *data, void *stream, Place &place) {
  using Get = int (*)(void *, void **);
  using Copy = int (*)(void *, uint64_t, size_t, void *);
  using Call = int (*)(void *);
  using Pop = int (*)(void **);
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  auto find = [&](const char *name) { return driver ? dlsym(driver, name) : nullptr; };
  auto getContext = reinterpret_cast<Get>(find("cuStreamGetCtx"));
  auto push = reinterpret_cast<Call>(find("cuCtxPushCurrent_v2"));
  auto pop = reinterpret_cast<Pop>(find("cuCtxPopCurrent_v2"));
  auto copy = reinterpret_cast<Copy>(find("cuMemcpyDtoHAsync_v2"));
  auto synchronize = reinterpret_cast<Call>(find("cuStreamSynchronize"));
  if (!getContext || !push || !pop || !copy || !synchronize)
    return {MOE_UNSUPPORTED, "the CUDA driver cannot be opened, or lacks a function"};
  // XLA's thread need not have a current context.
  void *context = nullptr, *popped = nullptr;
  int error = getContext(stream, &context);
  if (!error)
    error = push(context);
  if (!error) {
    error = copy(&place, reinterpret_cast<uint64_t>(data), sizeof(place), stream);
    if (!error)
      error = synchronize(stream);
    pop(&popped);
  }
  if (error)
    return {MOE_SYSTEM, "the place of a rank cannot be read from its device: error " + std::to_string(error) +
                            " of the CUDA driver"};
  return {};
}

static ffi::Error executeCuda(CudaRanks *ranks, ffi::RunId run, int32_t device, void *stream,
                              ffi::RemainingArgs operands, ffi::RemainingRets results, std::string_view text,
                              std::string_view) {
  return toError(guarded([&]() -> Failure {
    Place place = {};
    if (!ranks->knows(device, place)) {
      const void *data = nullptr;
      if (Failure failure = placeOperand(operands, data))
        return failure;
      if (Failure failure = readPlace(data, stream, place))
        return failure;
      ranks->learn(device, place);
    }
    CommRef comm;
    if (Failure failure = ranks->findDevice(place, run.run_id, device, comm))
      return failure;
    moe_session *session = nullptr;
    Call call;
    Failure failure = findSession("cuda", text, device, session);
    if (!failure)
      failure = call.read(operands, 1, results);
    if (!failure)
      failure = call.enqueue(session, comm.get(), stream);
    if (failure) {
      moe_comm_fail(comm.get(), failure.message.c_str());
      ranks->fail(place, run.run_id, comm);
    }
    return failure;
  }));
}

/// Also makes sure that XLA knows the type of T.
template <typename T> static XLA_FFI_Error *check(XLA_FFI_CallFrame *frame) {
  if (XLA_FFI_Error *error = refuseApi(frame))
    return error;
  static const std::string problem = registerRanks<T>(frame->api);
  return problem.empty() ? nullptr : createError(frame->api, problem, XLA_FFI_Error_Code_INTERNAL);
}

MOERT_XLA_HANDLER(cpuInstantiate, check<CpuRanks>,
                  ffi::Ffi::Bind<ExecutionStage::kInstantiate>().Attr<Text>(kProgram).Attr<Text>(kVersion).To(
                      [](Text text, Text version) { return instantiate<CpuRanks>("cpu", text, version); }))
MOERT_XLA_HANDLER(cpuExecute, check<CpuRanks>,
                  ffi::Ffi::Bind()
                      .Ctx<ffi::State<CpuRanks>>()
                      .Ctx<ffi::RunId>()
                      .RemainingArgs()
                      .RemainingRets()
                      .Attr<Text>(kProgram)
                      .Attr<Text>(kVersion)
                      .To(executeCpu))

MOERT_XLA_HANDLER(cudaInstantiate, check<CudaRanks>,
                  ffi::Ffi::Bind<ExecutionStage::kInstantiate>().Attr<Text>(kProgram).Attr<Text>(kVersion).To(
                      [](Text text, Text version) { return instantiate<CudaRanks>("cuda", text, version); }))
MOERT_XLA_HANDLER(cudaInitialize, check<CudaRanks>,
                  ffi::Ffi::Bind<ExecutionStage::kInitialize>()
                      .Ctx<ffi::DeviceOrdinal>()
                      .Attr<Text>(kProgram)
                      .Attr<Text>(kVersion)
                      .To([](int32_t device, Text text, Text) {
                        return toError(guarded([&]() -> Failure {
                          moe_session *session = nullptr;
                          return findSession("cuda", text, device, session);
                        }));
                      }))
// What it exchanges may be read by the host first: it is not for command buffers.
MOERT_XLA_HANDLER(cudaExecute, check<CudaRanks>,
                  ffi::Ffi::Bind()
                      .Ctx<ffi::State<CudaRanks>>()
                      .Ctx<ffi::RunId>()
                      .Ctx<ffi::DeviceOrdinal>()
                      .Ctx<ffi::PlatformStream<void *>>()
                      .RemainingArgs()
                      .RemainingRets()
                      .Attr<Text>(kProgram)
                      .Attr<Text>(kVersion)
                      .To(executeCuda))

moe_xla_handler moert::xla::cpuRankHandlers() {
  return {MOE_XLA_RANKS_TARGET, "cpu", handlerPointer(cpuInstantiate), nullptr, nullptr, handlerPointer(cpuExecute)};
}
moe_xla_handler moert::xla::cudaRankHandlers() {
  return {MOE_XLA_RANKS_TARGET,       "CUDA", handlerPointer(cudaInstantiate), nullptr, handlerPointer(cudaInitialize),
          handlerPointer(cudaExecute)};
}
