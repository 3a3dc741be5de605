//===- Comm.h - the ranks of a mesh axis ---------------------------------------------===//
//
// One interface for all ways in which ranks reach each other: threads of a process (Local), processes (a transport that
// somebody else brings: Transport), GPUs (NCCL).
//
// A communicator that failed stays so on all ranks: every later call returns the first error. Whoever wants to go on
// makes a new one.
//
//===----------------------------------------------------------------------===//
#ifndef MOERT_COMM_COMM_H
#define MOERT_COMM_COMM_H

#include "Status.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace moert {

constexpr uint32_t kDefaultTimeoutMs = 30000;

/// Memory that goes to or comes from one rank.
using Piece = moe_piece;

class Comm {
public:
  Comm(int32_t rank, int32_t size, uint32_t timeoutMs)
      : rank(rank), size(size), timeoutMs(timeoutMs ? timeoutMs : kDefaultTimeoutMs), send(size_t(size)),
        receive(size_t(size)), sent(size_t(size)) {}
  virtual ~Comm() = default;

  const int32_t rank, size;
  const uint32_t timeoutMs;

  /// Whether pieces are memory of a device, and exchanges are put on a stream of it.
  virtual bool onDevice() const { return false; }

  /// Sends send[d] to rank d and receives receive[s] from rank s, for every rank, itself included; on the host it has
  /// happened when this returns. An error names the rank that did not take part in time, or the sizes that disagree,
  /// and every other rank gets one too.
  virtual moe_status *exchange(void *stream) = 0;

  /// The failure so far, or null.
  virtual moe_status *status() = 0;

  /// Tells all ranks that this one cannot go on.
  virtual void fail(const char *message) = 0;

  /// What the next exchange moves; an exchange allocates nothing.
  std::vector<Piece> send, receive;
  /// Bytes sent to each rank so far.
  std::vector<std::atomic<uint64_t>> sent;
  /// An enqueue is using it; two at once would mix their exchanges.
  std::atomic<bool> busy{false};
};

} // namespace moert

struct moe_comm {
  std::atomic<int64_t> references{1};
  std::unique_ptr<moert::Comm> comm;
};

#endif
