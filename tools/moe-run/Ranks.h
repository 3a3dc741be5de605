//===- Ranks.h - the ranks of a mesh axis that this process holds ---------------------------===//
#ifndef MOE_RUN_RANKS_H
#define MOE_RUN_RANKS_H

#include "moert/moert.h"

#include <functional>
#include <string>

namespace moe_run {

struct RankOptions {
  int32_t threads = 0; ///< ranks that are threads of this process; 0 for none
  /// Where ranks that are processes find each other: a folder, "tcp://host:port", or "env://" for the address in
  /// MASTER_ADDR and MASTER_PORT; "" for none.
  std::string store;
  uint32_t timeoutMs = 0;
  bool onGpus = false; ///< each rank on a GPU of its own, over NCCL
  int32_t device = 0;  ///< number of the first rank's of a host
};

/// Runs the body once for each rank of this process, at the same time, or once without a communicator; false if one
/// gave false. It is given the communicator and the number of its device. What a body prints begins with its rank; what
/// it throws is printed, and its communicator fails on all ranks. Ranks that are processes are numbered by whoever
/// started them: torchrun (RANK, WORLD_SIZE, LOCAL_RANK), Open MPI's mpirun (OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK),
/// or another that sets PMI_RANK, PMI_SIZE and MPI_LOCALRANKID.
bool runRanks(const RankOptions &options, const std::function<bool(moe_comm *, int32_t device)> &body);

/// printf, each line of which says the rank.
void print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/// "{rank}" replaced by the communicator's rank (0 for NULL).
std::string withRank(const std::string &path, const moe_comm *comm);

} // namespace moe_run

#endif
