//===- Exchange.h - from an all_to_all step to what a communicator moves -------------===//
#ifndef MOERT_COMM_EXCHANGE_H
#define MOERT_COMM_EXCHANGE_H

#include "../Frame.h"
#include "Comm.h"

#include <functional>

namespace moert {

/// Refuses a communicator that is not the one the entry needs: missing, given for nothing, of another size, or of
/// another kind of memory, where it moves rows. NULL comm only where the entry needs none.
moe_status *checkComm(const Entry &entry, const moe_comm *comm, bool onDevice);

/// Checks that rows of a step's source are rows of its target, and their numbers where it exchanges equal blocks, or
/// that there are bounds for each rank.
moe_status *checkRows(const Frame &frame, const Step &step, int32_t ranks);

/// Sets what the communicator moves in this step. The bounds are the contents of the step's buffers, as the host sees
/// them, or NULL for equal blocks. Nothing is counted.
moe_status *setPieces(const Frame &frame, const Step &step, const int64_t *send, const int64_t *receive, Comm &comm);

/// Counts what this step sends to each rank, by its bounds or, if they are NULL, in equal blocks. Returns the bytes
/// that go to other ranks.
int64_t countSent(const Frame &frame, const Step &step, const int64_t *send, Comm &comm);

/// Sends `bytes` bytes of this rank's to all ranks, and receives theirs into `all`, in their order.
moe_status *tellOnHost(Comm &comm, const void *own, void *all, size_t bytes);

/// The same by any means.
using Tell = std::function<moe_status *(const void *own, void *all, size_t bytes)>;

/// Compares what the ranks, which all call this, would exchange for these inputs: how often, rows of how many bytes,
/// and in equal blocks of how many. All get the same error if they disagree.
moe_status *compareExchanges(const Entry &entry, const Call &call, const Tell &tell);

/// Calls `zero(data, bytes)` for what of the target no rank sends, after setPieces.
template <typename Zero> moe_status *forEachGap(const Frame &frame, const Step &step, const Comm &comm, Zero &&zero) {
  const int64_t *target = frame.descriptor(step.target);
  const Buffer &buffer = frame.entry.buffers[step.target];
  size_t bytes = moe_dtype_size(buffer.dtype);
  for (int32_t d = 0; d < buffer.rank; ++d)
    bytes *= size_t(sizesOf(target)[d]);
  char *at = pointerOf(target), *end = at + bytes;
  auto upTo = [&](char *next) -> moe_status * { return next == at ? nullptr : zero(at, size_t(next - at)); };
  for (const Piece &piece : comm.receive) {
    char *begin = static_cast<char *>(piece.data);
    MOERT_TRY(upTo(begin));
    at = begin + piece.bytes;
  }
  return upTo(end);
}

/// Marks a communicator as in use by one enqueue, and tells the other ranks of its error.
class CommUse {
public:
  explicit CommUse(moe_comm *comm) : comm(comm ? comm->comm.get() : nullptr) {}
  ~CommUse() {
    if (taken)
      comm->busy.store(false);
  }
  moe_status *take();
  /// Passes the status on.
  moe_status *finish(moe_status *status) const;

private:
  Comm *comm;
  bool taken = false;
};

} // namespace moert

#endif
