//===- Local.cpp - ranks that are threads of one process ----------------------------===//
//
// A rank shows where its pieces lie, and every other rank copies its own from there. It goes on once all have.
//
//===----------------------------------------------------------------------===//
#include "Local.h"

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>

using namespace moert;
using Clock = std::chrono::steady_clock;

namespace {

/// What the ranks share.
struct Hub {
  /// One rank. Exchanges are counted, so that a fast rank is not taken for being in the one before.
  struct Rank {
    const Piece *send = nullptr;
    uint64_t shown = 0;   ///< exchanges whose pieces it has shown
    uint64_t copied = 0;  ///< exchanges in which it has its own
    uint32_t readers = 0; ///< ranks that copy from its pieces now
    bool gone = false;
  };

  explicit Hub(int32_t size) : ranks(size_t(size)) {}

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Rank> ranks;
  std::string failure; ///< the first; empty while all is well
};

class LocalComm : public Comm {
public:
  LocalComm(std::shared_ptr<Hub> hub, int32_t rank, int32_t size, uint32_t timeoutMs)
      : Comm(rank, size, timeoutMs), hub(std::move(hub)) {}
  ~LocalComm() override {
    std::lock_guard<std::mutex> lock(hub->mutex);
    self().gone = true;
    hub->changed.notify_all();
  }

  moe_status *exchange(void *stream) override;
  moe_status *status() override {
    std::lock_guard<std::mutex> lock(hub->mutex);
    return hub->failure.empty() ? nullptr : failed();
  }
  void fail(const char *message) override {
    std::lock_guard<std::mutex> lock(hub->mutex);
    setFailure(message);
  }

private:
  using Lock = std::unique_lock<std::mutex>;

  Hub::Rank &self() { return hub->ranks[size_t(rank)]; }
  moe_status *failed() { return MOERT_ERROR(MOE_COMM_FAILED, "the communicator has failed: %s", hub->failure.c_str()); }
  void setFailure(const std::string &message) {
    if (hub->failure.empty())
      hub->failure = message;
    hub->changed.notify_all();
  }
  /// Waits until the counter of a rank gets there; false if the communicator has failed.
  bool await(Lock &lock, int32_t peer, uint64_t Hub::Rank::*counter, uint64_t number, Clock::time_point deadline);
  /// Copies this rank's piece of a peer's.
  bool copyFrom(Lock &lock, int32_t peer);

  std::shared_ptr<Hub> hub;
  uint64_t number = 0; ///< of the exchange
};

} // namespace

bool LocalComm::await(Lock &lock, int32_t peer, uint64_t Hub::Rank::*counter, uint64_t number,
                      Clock::time_point deadline) {
  Hub::Rank &other = hub->ranks[size_t(peer)];
  auto isOver = [&] { return !hub->failure.empty() || other.*counter >= number || other.gone; };
  if (!hub->changed.wait_until(lock, deadline, isOver))
    setFailure("rank " + std::to_string(peer) + " did not take part in exchange " + std::to_string(number) +
               " within " + std::to_string(timeoutMs) + " ms of rank " + std::to_string(rank));
  else if (hub->failure.empty() && other.*counter < number)
    setFailure("rank " + std::to_string(peer) + " has left before exchange " + std::to_string(number));
  return hub->failure.empty();
}

bool LocalComm::copyFrom(Lock &lock, int32_t peer) {
  Hub::Rank &other = hub->ranks[size_t(peer)];
  const Piece from = other.send[rank], &to = receive[size_t(peer)];
  if (from.bytes != to.bytes) {
    setFailure("rank " + std::to_string(peer) + " sends " + std::to_string(from.bytes) + " bytes to rank " +
               std::to_string(rank) + ", which expects " + std::to_string(to.bytes));
    return false;
  }
  if (!to.bytes)
    return true;
  ++other.readers;
  lock.unlock();
  std::memcpy(to.data, from.data, to.bytes);
  lock.lock();
  if (--other.readers == 0)
    hub->changed.notify_all();
  return true;
}

moe_status *LocalComm::exchange(void *) {
  auto deadline = Clock::now() + std::chrono::milliseconds(timeoutMs);
  Lock lock(hub->mutex);
  ++number;
  bool good = hub->failure.empty();
  if (good) {
    self().send = send.data();
    self().shown = number;
    hub->changed.notify_all();
  }
  // Each begins with itself, so that not all copy from one.
  for (int32_t i = 0; good && i < size; ++i) {
    int32_t peer = (rank + i) % size;
    good = await(lock, peer, &Hub::Rank::shown, number, deadline) && copyFrom(lock, peer);
  }
  if (good) {
    self().copied = number;
    hub->changed.notify_all();
  }
  for (int32_t peer = 0; good && peer < size; ++peer)
    good = await(lock, peer, &Hub::Rank::copied, number, deadline);
  // After a failure too the pieces are the caller's again only when nobody reads them; a copy ends by itself.
  hub->changed.wait(lock, [&] { return self().readers == 0; });
  self().send = nullptr;
  return good ? nullptr : failed();
}

std::vector<std::unique_ptr<Comm>> moert::createLocalComms(int32_t size, uint32_t timeoutMs) {
  auto hub = std::make_shared<Hub>(size);
  std::vector<std::unique_ptr<Comm>> comms;
  for (int32_t rank = 0; rank < size; ++rank)
    comms.push_back(std::make_unique<LocalComm>(hub, rank, size, timeoutMs));
  return comms;
}
