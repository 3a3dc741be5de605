//===- Nccl.h - ranks that are GPUs ---------------------------------------------------===//
#ifndef MOERT_COMM_NCCL_H
#define MOERT_COMM_NCCL_H

#include "Comm.h"
#include "NcclLibrary.h"

namespace moert {

/// What a new communicator is called by all its ranks.
moe_status *createNcclId(nccl::UniqueId &id);

/// A communicator of our own: rank `rank` of `size` on device number `device`. Returns when all ranks are there.
moe_status *createNcclComm(const nccl::UniqueId &id, int32_t rank, int32_t size, int32_t device, uint32_t timeoutMs,
                           std::unique_ptr<Comm> &comm);

/// A communicator that the caller owns and that outlives this one; it is never aborted.
moe_status *wrapNcclComm(void *handle, uint32_t timeoutMs, std::unique_ptr<Comm> &comm);

} // namespace moert

#endif
