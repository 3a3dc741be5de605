//===- Driver.h - the CUDA driver, opened at run time -------------------------------===//
//
// Nothing links to libcuda: one build serves machines with and without a GPU, and needs no CUDA headers. What is
// declared here is the driver's binary interface, which does not change between its versions.
//
//===----------------------------------------------------------------------===//
#ifndef MOERT_CUDA_DRIVER_H
#define MOERT_CUDA_DRIVER_H

#include "Status.h"

#include <cstddef>
#include <cstdint>

namespace moert::cuda {

using Result = int; ///< 0 is success
using Device = int;
using DevicePtr = uint64_t;
using Context = struct ContextTag *;
using Module = struct ModuleTag *;
using Function = struct FunctionTag *;
using Stream = struct StreamTag *;
using Event = struct EventTag *;
using Graph = struct GraphTag *;
using GraphExec = struct GraphExecTag *;

/// CUtensorMap.
struct alignas(64) TensorMap {
  uint64_t opaque[16];
};

/// CUipcMemHandle.
struct IpcHandle {
  char opaque[64];
};

/// CUlaunchAttribute: the size of a cluster, or whether a kernel may start before the one ahead of it in the stream
/// ends.
struct LaunchAttribute {
  int id;
  int padding;
  uint32_t value[16];
};
constexpr int kClusterDimension = 4, kProgrammaticStreamSerialization = 6;

/// CUlaunchConfig.
struct LaunchConfig {
  uint32_t gridX, gridY, gridZ, blockX, blockY, blockZ, shared;
  Stream stream;
  LaunchAttribute *attributes;
  uint32_t numAttributes;
};
static_assert(sizeof(LaunchConfig) == 56 && sizeof(LaunchAttribute) == 72, "as the driver has them");

/// CUDA_MEMCPY2D.
struct Memcpy2D {
  size_t fromX, fromY;
  int fromType;
  const void *fromHost;
  DevicePtr from;
  void *fromArray;
  size_t fromPitch, toX, toY;
  int toType;
  void *toHost;
  DevicePtr to;
  void *toArray;
  size_t toPitch, width, height;
};
static_assert(sizeof(Memcpy2D) == 128, "as the driver has it");
constexpr int kMemoryDevice = 2;

constexpr int kMultiprocessors = 16, kMajor = 75, kMinor = 76; ///< of cuDeviceGetAttribute
constexpr int kMaxDynamicShared = 8;                           ///< of cuFuncSetAttribute
constexpr unsigned kNonBlockingStream = 1;
constexpr int kCaptureThreadLocal = 1;
constexpr unsigned kEventWithoutTiming = 2;

/// Name without "cu", parameters.
#define MOERT_CUDA_FUNCTIONS(X)                                                                                        \
  X(Init, (unsigned))                                                                                                  \
  X(GetErrorName, (Result, const char **))                                                                             \
  X(GetErrorString, (Result, const char **))                                                                           \
  X(DeviceGetCount, (int *))                                                                                           \
  X(DeviceGet, (Device *, int))                                                                                        \
  X(DeviceGetName, (char *, int, Device))                                                                              \
  X(DeviceGetAttribute, (int *, int, Device))                                                                          \
  X(DevicePrimaryCtxRetain, (Context *, Device))                                                                       \
  X(DevicePrimaryCtxRelease, (Device))                                                                                 \
  X(CtxPushCurrent, (Context))                                                                                         \
  X(CtxPopCurrent, (Context *))                                                                                        \
  X(CtxSynchronize, ())                                                                                                \
  X(ModuleLoadData, (Module *, const void *))                                                                          \
  X(ModuleUnload, (Module))                                                                                            \
  X(ModuleGetFunction, (Function *, Module, const char *))                                                             \
  X(FuncGetParamInfo, (Function, size_t, size_t *, size_t *))                                                          \
  X(FuncSetAttribute, (Function, int, int))                                                                            \
  X(FuncLoad, (Function))                                                                                              \
  X(TensorMapEncodeTiled, (TensorMap *, int, uint32_t, void *, const uint64_t *, const uint64_t *, const uint32_t *,   \
                           const uint32_t *, int, int, int, int))                                                      \
  X(LaunchKernelEx, (const LaunchConfig *, Function, void **, void **))                                                \
  X(MemAlloc, (DevicePtr *, size_t))                                                                                   \
  X(MemFree, (DevicePtr))                                                                                              \
  X(MemcpyHtoD, (DevicePtr, const void *, size_t))                                                                     \
  X(MemcpyDtoH, (void *, DevicePtr, size_t))                                                                           \
  X(MemcpyDtoDAsync, (DevicePtr, DevicePtr, size_t, Stream))                                                           \
  X(Memcpy2DAsync, (const Memcpy2D *, Stream))                                                                         \
  X(MemsetD8Async, (DevicePtr, unsigned char, size_t, Stream))                                                         \
  X(MemsetD2D8Async, (DevicePtr, size_t, unsigned char, size_t, size_t, Stream))                                       \
  X(StreamCreate, (Stream *, unsigned))                                                                                \
  X(StreamDestroy, (Stream))                                                                                           \
  X(StreamSynchronize, (Stream))                                                                                       \
  X(StreamBeginCapture, (Stream, int))                                                                                 \
  X(StreamEndCapture, (Stream, Graph *))                                                                               \
  X(GraphInstantiateWithFlags, (GraphExec *, Graph, unsigned long long))                                               \
  X(GraphLaunch, (GraphExec, Stream))                                                                                  \
  X(GraphExecDestroy, (GraphExec))                                                                                     \
  X(GraphDestroy, (Graph))                                                                                             \
  X(EventCreate, (Event *, unsigned))                                                                                  \
  X(EventDestroy, (Event))                                                                                             \
  X(EventRecord, (Event, Stream))                                                                                      \
  X(EventElapsedTime, (float *, Event, Event))                                                                         \
  X(EventQuery, (Event))                                                                                               \
  X(StreamIsCapturing, (Stream, int *))                                                                                \
  X(LaunchHostFunc, (Stream, void (*)(void *), void *))                                                                \
  X(MemHostAlloc, (void **, size_t, unsigned))                                                                         \
  X(MemHostGetDevicePointer, (DevicePtr *, void *, unsigned))                                                          \
  X(MemFreeHost, (void *))                                                                                             \
  X(DeviceCanAccessPeer, (int *, Device, Device))                                                                      \
  X(CtxEnablePeerAccess, (Context, unsigned))                                                                          \
  X(IpcGetMemHandle, (IpcHandle *, DevicePtr))                                                                         \
  X(IpcOpenMemHandle, (DevicePtr *, IpcHandle, unsigned))                                                              \
  X(IpcCloseMemHandle, (DevicePtr))

/// The functions of libcuda.so.1 that are used.
struct Driver {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration cannot have them.
#define X(name, parameters) Result(*name) parameters = nullptr;
  MOERT_CUDA_FUNCTIONS(X)
#undef X

  /// Opens the library and initialises it. MOE_UNSUPPORTED without a driver, without a GPU, or with one that is too
  /// old.
  moe_status *open();

  /// A status that names the call and the driver's own name for the error.
  moe_status *error(Result result, const char *call, const char *file, int line) const;
};

/// Makes a context current for as long as it lives. Nothing happens where it cannot: the next call then fails.
class CurrentContext {
public:
  CurrentContext(const Driver &driver, Context context) : driver(driver), pushed(driver.CtxPushCurrent(context) == 0) {}
  ~CurrentContext() {
    Context popped;
    if (pushed)
      driver.CtxPopCurrent(&popped);
  }
  CurrentContext(const CurrentContext &) = delete;
  CurrentContext &operator=(const CurrentContext &) = delete;

private:
  const Driver &driver;
  bool pushed;
};

} // namespace moert::cuda

/// Calls a function of the driver; returns from the caller if it fails.
#define MOERT_CUDA(driver, name, ...)                                                                                  \
  do {                                                                                                                 \
    if (::moert::cuda::Result moertResult_ = (driver).name(__VA_ARGS__))                                               \
      return (driver).error(moertResult_, "cu" #name, __FILE__, __LINE__);                                             \
  } while (false)

#endif
