//===- Local.h - ranks that are threads of one process ------------------------------===//
#ifndef MOERT_COMM_LOCAL_H
#define MOERT_COMM_LOCAL_H

#include "Comm.h"

namespace moert {

/// One communicator for each of `size` ranks.
std::vector<std::unique_ptr<Comm>> createLocalComms(int32_t size, uint32_t timeoutMs);

} // namespace moert

#endif
