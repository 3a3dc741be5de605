//===- Driver.cpp - opens libcuda ------------------------------------------------------===//
#include "Driver.h"

#include <dlfcn.h>

using namespace moert;
using namespace moert::cuda;

/// The version of the interface: the first that has all functions.
static constexpr int kVersion = 12040;
static constexpr Result kOutOfMemory = 2, kNoDevice = 100, kInvalidDevice = 101;

moe_status *Driver::open() {
  // Never closed: the driver keeps threads and state of its own.
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return MOERT_ERROR(MOE_UNSUPPORTED, "the CUDA driver cannot be opened: %s", dlerror());
  using GetProcAddress = Result (*)(const char *, void **, int, uint64_t, int *);
  auto find = reinterpret_cast<GetProcAddress>(dlsym(library, "cuGetProcAddress_v2"));
  if (!find)
    return MOERT_ERROR(MOE_UNSUPPORTED,
                       "the CUDA driver is too old: it has no cuGetProcAddress_v2, which came with 12.0");
  auto get = [&](const char *name, void **function) -> moe_status * {
    int found = 0;
    if (find(name, function, kVersion, 0, &found) || !*function)
      return MOERT_ERROR(MOE_UNSUPPORTED, "the CUDA driver is too old: it has no %s; %d.%d or newer has", name,
                         kVersion / 1000, kVersion % 1000 / 10);
    return nullptr;
  };
#define X(name, parameters) MOERT_TRY(get("cu" #name, reinterpret_cast<void **>(&this->name)));
  MOERT_CUDA_FUNCTIONS(X)
#undef X
  MOERT_CUDA(*this, Init, 0);
  return nullptr;
}

moe_status *Driver::error(Result result, const char *call, const char *file, int line) const {
  const char *name = nullptr, *text = nullptr;
  GetErrorName(result, &name);
  GetErrorString(result, &text);
  moe_code code = result == kOutOfMemory     ? MOE_OUT_OF_MEMORY
                  : result == kNoDevice      ? MOE_UNSUPPORTED
                  : result == kInvalidDevice ? MOE_INVALID_ARGUMENT
                                             : MOE_SYSTEM;
  return &makeStatus(code, file, line, "%s failed: %s (%d), %s", call, name ? name : "unknown error", result,
                     text ? text : "");
}
