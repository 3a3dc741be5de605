/* What stands for NCCL where there is no GPU: the functions that the runtime looks for. */
#include <stddef.h>
#include <string.h>

typedef struct {
  char bytes[128];
} UniqueId;

int ncclGetVersion(int *version) {
#ifdef NCCL_old
  *version = 22703;
#else
  *version = 22809;
#endif
  return 0;
}
#ifndef NCCL_broken
int ncclGetUniqueId(UniqueId *id) {
  memset(id->bytes, 7, sizeof(id->bytes));
  return 0;
}
#endif
const char *ncclGetErrorString(int result) { return result == 5 ? "invalid usage" : "?"; }
const char *ncclGetLastError(void *comm) {
  (void)comm;
  return "the last error";
}
int ncclCommUserRank(void *comm, int *rank) {
  (void)comm;
  (void)rank;
  return 5;
}
/* Nothing calls these without a GPU. */
#define UNUSED(name)                                                                                                   \
  int name(void) { return 5; }
UNUSED(ncclCommInitRankConfig)
UNUSED(ncclCommGetAsyncError)
UNUSED(ncclCommFinalize)
UNUSED(ncclCommDestroy)
UNUSED(ncclCommAbort)
UNUSED(ncclCommCount)
UNUSED(ncclCommCuDevice)
UNUSED(ncclGroupStart)
UNUSED(ncclGroupEnd)
UNUSED(ncclSend)
UNUSED(ncclRecv)
