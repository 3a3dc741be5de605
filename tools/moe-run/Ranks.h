//===- Ranks.h - the ranks of a mesh axis that this process holds ---------------------------===//
#ifndef MOE_RUN_RANKS_H
#define MOE_RUN_RANKS_H

#include "moert/moert.h"

#include <functional>
#include <string>

namespace moe_run {

struct RankOptions {
  int32_t threads = 0; ///< ranks that are threads of this process; 0 for none
  std::string store;   ///< folder where ranks that are processes find each other, or ""
  uint32_t timeoutMs = 0;
};

/// Runs the body once for each rank of this process, at the same time, or once without a communicator; false if one
/// gave false. What a body prints begins with its rank; what it throws is printed, and its communicator fails on all
/// ranks. Ranks that are processes are numbered by whoever started them: torchrun (RANK and WORLD_SIZE), Open MPI's
/// mpirun (OMPI_COMM_WORLD_RANK and _SIZE), or another that sets PMI_RANK and PMI_SIZE.
bool runRanks(const RankOptions &options, const std::function<bool(moe_comm *)> &body);

/// printf, each line of which says the rank.
void print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// "{rank}" replaced by the communicator's rank (0 for NULL).
std::string withRank(const std::string &path, const moe_comm *comm);

} // namespace moe_run

#endif
