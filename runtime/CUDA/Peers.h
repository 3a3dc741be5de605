//===- Peers.h - memory that the kernels of all ranks reach ---------------------------===//
//
// For exchanges by kernels. Each rank allocates one piece (PeerABI.h says what lies in it) and tells the others where
// it is: by a CUDA IPC handle between processes, by its address within one. A rank may go while others still have a
// view of its memory: it is freed once the last of them has closed it.
//
//===----------------------------------------------------------------------===//
#ifndef MOERT_CUDA_PEERS_H
#define MOERT_CUDA_PEERS_H

#include "../Comm/Comm.h"
#include "Driver.h"
#include "PeerABI.h"

namespace moert::cuda {

/// A device and its primary context, which is current and retained by the caller of everything here.
struct Place {
  Device device = 0;
  Context context = nullptr;
};

/// Sends `bytes` bytes of this rank's to all ranks, and receives theirs into `all`, in their order: on the stream,
/// which is waited for, if the communicator is one of devices.
moe_status *tell(const Driver &driver, Comm &comm, const void *own, void *all, size_t bytes, Stream stream);

class Peers {
public:
  /// Allocates `bytes` bytes of peer arena and finds those of the other ranks, which all do the same at once. What they
  /// tell each other goes through the communicator, on this stream if it is one of devices.
  static moe_status *connect(const Driver &driver, Place place, moe_comm *comm, uint64_t bytes, Stream stream,
                             std::unique_ptr<Peers> &peers);
  Peers(const Driver &driver, Place place, moe_comm *comm);
  Peers(const Peers &) = delete;
  Peers &operator=(const Peers &) = delete;
  ~Peers();

  /// Why an exchange failed on the device, or NULL.
  moe_status *failure() const;
  /// Whether it was connected by this communicator.
  bool isOf(const moe_comm *other) const { return comm == other; }
  uint64_t bytes() const { return arenaBytes; }
  DevicePtr arena() const { return memory + arenaOffset; }
  DevicePtr table() const;

private:
  /// What a rank tells the others.
  struct Hello;

  moe_status *allocate(uint64_t bytes);
  moe_status *meet(Stream stream);
  moe_status *open(const Hello &own, const Hello &other, int32_t rank);
  moe_status *writeTable();
  /// Sends `own` to all ranks and receives theirs.
  moe_status *greet(const Hello &own, std::vector<Hello> &all, Stream stream);

  const Driver driver;
  const Place place;
  moe_comm *comm; ///< a reference
  DevicePtr memory = 0;
  uint64_t arenaBytes = 0, arenaOffset = 0;
  peer::Report *report = nullptr;
  DevicePtr reportOnDevice = 0;
  /// How this rank sees the others' memory, 0 where it does not yet, and whether that is a mapping to be closed.
  std::vector<DevicePtr> views;
  std::vector<bool> mapped;
};

} // namespace moert::cuda

#endif
