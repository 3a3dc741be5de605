//===- NcclLibrary.cpp - opens libnccl ----------------------------------------------===//
#include "NcclLibrary.h"

#include <cstdlib>
#include <dlfcn.h>

using namespace moert;
using namespace moert::nccl;

static constexpr int kOldestVersion = 22800;

moe_status *Library::open() {
  const char *path = std::getenv("MOE_NCCL");
  // Never closed: it keeps threads.
  void *library = path ? nullptr : dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (!library)
    library = dlopen(path ? path : "libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return MOERT_ERROR(MOE_UNSUPPORTED, "NCCL cannot be opened: %s", dlerror());
  auto get = [&](const char *name, void **function) -> moe_status * {
    *function = dlsym(library, name);
    if (*function)
      return nullptr;
    return MOERT_ERROR(MOE_UNSUPPORTED, "NCCL has no %s; %d.%d or newer has", name, kOldestVersion / 10000,
                       kOldestVersion / 100 % 100);
  };
#define X(name, result, parameters) MOERT_TRY(get("nccl" #name, reinterpret_cast<void **>(&this->name)));
  MOERT_NCCL_FUNCTIONS(X)
#undef X
  int version = 0;
  MOERT_NCCL(*this, nullptr, GetVersion, &version);
  if (version < kOldestVersion)
    return MOERT_ERROR(MOE_UNSUPPORTED, "NCCL has version %d.%d.%d, but must have %d.%d or a newer one",
                       version / 10000, version / 100 % 100, version % 100, kOldestVersion / 10000,
                       kOldestVersion / 100 % 100);
  return nullptr;
}

moe_status *Library::error(Result result, Handle handle, const char *call, const char *file, int line) const {
  const char *more = GetLastError(handle);
  return &makeStatus(MOE_COMM_FAILED, file, line, "%s failed: %s (%d)%s%s", call, GetErrorString(result), result,
                     more && *more ? ", " : "", more ? more : "");
}
