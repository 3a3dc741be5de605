//===- PeerABI.h - what the kernels of exchanges and the runtime agree on -----===//
//
// Every rank has one piece of memory for the exchanges of an entry, which all ranks can reach: a Sender for each rank,
// the table, the peer arena. Words are of 64 bits. The compiler has these structs from here too.
//
//===----------------------------------------------------------------------===//
#ifndef MOERT_CUDA_PEERABI_H
#define MOERT_CUDA_PEERABI_H

#include <cstddef>
#include <cstdint>

namespace moert::peer {

/// What rank q has written into another rank's memory: that is number q of those there. Zero at first, and never reset.
/// Negative once q has failed.
struct Sender {
  int64_t offset; ///< where in q's memory the rows go that q takes from this rank, in bytes: a posted word
  int64_t rows;   ///< how many q expects: a posted word
  int64_t done;   ///< blocks of q that have stored all rows they have for this rank, in all exchanges together
  int64_t left;   ///< whether q has closed its view of this memory
  int64_t unused[4];
};
static_assert(sizeof(Sender) == 64, "blocks of 64 bytes");

/// A posted word says which exchange it is for: value, then a bit that is 1, then the exchange's number modulo 2^15.
constexpr int64_t kPostedBits = 47, kPostedNumbers = 1 << 15;
/// What a rank that has failed writes; what blocks add to it leaves it negative.
constexpr int64_t kGone = INT64_MIN / 2;

/// Why an exchange failed, on this rank.
enum Failure : int64_t {
  kLost = 1,    ///< another rank says that it has failed
  kLate = 2,    ///< another rank has not taken part in time
  kAborted = 3, ///< the host has ended it
  kSizes = 4,   ///< this rank sends `found` rows, but the other expects `expected`
  kBounds = 5   ///< rows `found` to `expected` lie outside of a buffer or not in order
};

/// Memory of the host that a device writes.
struct Report {
  int64_t abort;   ///< the host's: waits are to end
  int64_t failure; ///< of the first exchange that failed; the rest holds once this is not 0
  int64_t rank, found, expected;
};

/// What a kernel gets. The addresses of all ranks' memory, as this rank sees them, follow it.
struct Table {
  int64_t rank, timeout;   ///< in nanoseconds
  uint64_t report, memory; ///< this rank's
  int64_t ended;           ///< exchanges that have ended on this rank
  int64_t failed;          ///< whether one has failed
  int64_t unused[2];
};
static_assert(sizeof(Table) == 64, "a block of 64 bytes");

} // namespace moert::peer

#endif
