//===- Ranks.h - how the ranks of a custom call find each other ------------------------===//
#ifndef MOERT_XLA_RANKS_H
#define MOERT_XLA_RANKS_H

#include "Programs.h"

#include <condition_variable>
#include <memory>
#include <vector>

namespace moert::xla {

/// Where a rank is. Ranks of one row exchange with each other; a mesh with other axes has many rows.
struct Place {
  int32_t row, rank;
};

/// A communicator, retained.
using CommRef = std::shared_ptr<moe_comm>;

/// The communicators of all GPUs in a row, and whether one of them has failed.
struct DeviceComms;

/// The ranks of one custom call of one executable, which all devices of the process share. What tells two calls apart
/// is the object itself: XLA may run calls that do not depend on each other in another order on every device.
class Ranks {
public:
  explicit Ranks(int32_t size) : size(size) {}

  /// Where a device is, if that has been learned.
  bool knows(int32_t device, Place &place);
  void learn(int32_t device, Place place);

  /// The communicator of ranks that are threads. Each run has its own, so that one after a failure works.
  Failure findLocal(Place place, int64_t run, CommRef &comm);
  /// The communicator of ranks that are GPUs, which calls with the same devices share. The first time, and after a
  /// failure, it waits until all ranks of the row are there.
  Failure findDevice(Place place, int64_t run, int32_t device, CommRef &comm);
  /// Says that a communicator of findDevice has failed in this run: the next one has others.
  void fail(Place place, int64_t run, const CommRef &comm);

private:
  struct Row {
    int64_t run = -1;             ///< local: of the communicators; devices: of the meeting, or of the failure
    std::string failure;          ///< of the meeting, or after it
    std::vector<CommRef> comms;   ///< local
    std::vector<int32_t> devices; ///< of each rank, -1 for one that is not there yet
    std::shared_ptr<DeviceComms> deviceComms;
  };

  Failure check(Place place) const;
  /// Waits until all ranks of the row are there. On failure all of them get the error.
  Failure meet(Row &row, Place place, int64_t run, int32_t device, std::unique_lock<std::mutex> &lock);

  const int32_t size;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<int32_t, Row> rows;
  std::map<int32_t, Place> places;
};

} // namespace moert::xla

#endif
