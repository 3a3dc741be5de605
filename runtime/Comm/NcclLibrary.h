//===- NcclLibrary.h - NCCL, opened at run time -------------------------------------===//
//
// Nothing links to NCCL or needs its headers. What is declared here is its binary interface, which newer versions keep:
// a configuration says its own size and version.
//
//===----------------------------------------------------------------------===//
#ifndef MOERT_COMM_NCCLLIBRARY_H
#define MOERT_COMM_NCCLLIBRARY_H

#include "../CUDA/Driver.h"
#include "Status.h"

#include <climits>

namespace moert::nccl {

using Result = int;
constexpr Result kSuccess = 0, kInProgress = 7;
constexpr int kBytes = 0; ///< ncclInt8
using Handle = struct HandleTag *;

/// ncclUniqueId.
struct UniqueId {
  char bytes[128];
};

/// ncclConfig_t as version 2.18 has it.
struct Config {
  size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef, version = 21800;
  int blocking = 0; ///< calls return at once; CommGetAsyncError says when they are done
  int cgaClusterSize = INT_MIN, minCTAs = INT_MIN, maxCTAs = INT_MIN; ///< INT_MIN: NCCL chooses
  const char *netName = nullptr;
  int splitShare = INT_MIN;
};

/// Name without "nccl", result, parameters.
#define MOERT_NCCL_FUNCTIONS(X)                                                                                        \
  X(GetVersion, Result, (int *))                                                                                       \
  X(GetErrorString, const char *, (Result))                                                                            \
  X(GetLastError, const char *, (Handle))                                                                              \
  X(GetUniqueId, Result, (UniqueId *))                                                                                 \
  X(CommInitRankConfig, Result, (Handle *, int, UniqueId, int, Config *))                                              \
  X(CommGetAsyncError, Result, (Handle, Result *))                                                                     \
  X(CommFinalize, Result, (Handle))                                                                                    \
  X(CommDestroy, Result, (Handle))                                                                                     \
  X(CommAbort, Result, (Handle))                                                                                       \
  X(CommCount, Result, (Handle, int *))                                                                                \
  X(CommUserRank, Result, (Handle, int *))                                                                             \
  X(CommCuDevice, Result, (Handle, int *))                                                                             \
  X(GroupStart, Result, ())                                                                                            \
  X(GroupEnd, Result, ())                                                                                              \
  X(Send, Result, (const void *, size_t, int, int, Handle, cuda::Stream))                                              \
  X(Recv, Result, (void *, size_t, int, int, Handle, cuda::Stream))

/// The functions of libnccl.so.2 that are used.
struct Library {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declaration cannot have them.
#define X(name, result, parameters) result(*name) parameters = nullptr;
  MOERT_NCCL_FUNCTIONS(X)
#undef X

  /// Opens $MOE_NCCL if that names a file, else the library that the process has loaded already (that of PyTorch or
  /// JAX), else libnccl.so.2. MOE_UNSUPPORTED if there is none, or it is older than 2.28.
  moe_status *open();

  moe_status *error(Result result, Handle handle, const char *call, const char *file, int line) const;
};

/// Returns the error of a call, named after it.
#define MOERT_NCCL(library, handle, name, ...)                                                                         \
  if (::moert::nccl::Result result_ = (library).name(__VA_ARGS__);                                                     \
      result_ != ::moert::nccl::kSuccess && result_ != ::moert::nccl::kInProgress)                                     \
  return (library).error(result_, handle, "nccl" #name, __FILE__, __LINE__)

} // namespace moert::nccl

#endif
