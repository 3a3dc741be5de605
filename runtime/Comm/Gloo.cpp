//===- Gloo.cpp - ranks that are processes, over Gloo ---------------------------------===//
//
// A library of its own, which the runtime opens when somebody asks for it, so that nothing else needs Gloo.
//
// An exchange has three rounds. In the first every rank tells every other what it sends and expects, or that it cannot
// go on; in the second, whether it has seen anything wrong; only if nobody has, the bytes follow. So an error of one
// is an error of all, with the same words.
//
// A process that ends closes its connections. So that this is seen though another rank is late, the first round waits
// for all ranks at once; later ones need not, for there all ranks take part.
//
//===----------------------------------------------------------------------===//
#include "TcpStore.h"
#include "Transport.h"

#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

using namespace moert;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

/// What the address of a store begins with; a folder does not.
constexpr const char *kTcp = "tcp://";

/// What a rank tells another in the first two rounds.
struct Notice {
  uint64_t sends = 0, expects = 0; ///< bytes
  char failure[kErrorBytes] = "";
};

class Processes {
public:
  Processes(const char *store, int32_t rank, int32_t size, uint32_t timeoutMs)
      : rank(rank), size(size), context(std::make_shared<gloo::rendezvous::Context>(rank, size)) {
    gloo::transport::tcp::attr where;
    // The name that programs over Gloo share.
    if (const char *interface = std::getenv("GLOO_SOCKET_IFNAME"))
      where.iface = interface;
    else
      where.hostname = "localhost";
    context->setTimeout(milliseconds(timeoutMs));
    std::shared_ptr<gloo::transport::Device> device = gloo::transport::tcp::CreateDevice(where);
    if (std::strncmp(store, kTcp, std::strlen(kTcp)) == 0) {
      TcpStore values(store + std::strlen(kTcp), rank, size, milliseconds(timeoutMs));
      context->connectFullMesh(values, device);
    } else {
      gloo::rendezvous::FileStore files(store);
      context->connectFullMesh(files, device);
    }
  }

  /// What went wrong, or "". A rank with a failure of its own takes part so that the others hear of it.
  std::string exchange(const moe_piece *send, const moe_piece *receive, uint32_t timeoutMs, const std::string &failure);

  uint32_t timeoutMs = 0; ///< of the last exchange

private:
  using Pieces = std::vector<moe_piece>;
  using Buffers = std::vector<std::unique_ptr<gloo::transport::UnboundBuffer>>;
  /// How a round waits: for one rank after another, for all at once, or not at all.
  enum class Wait { InTurn, AtOnce, Not };

  /// What a round moves, and the buffers for it.
  struct Round {
    Buffers sends, receives;
  };
  /// What the first two rounds say, by rank.
  struct Notices {
    explicit Notices(int32_t size) : told(size_t(size)), heard(size_t(size)), verdicts(size_t(size)) {}
    std::vector<Notice> told, heard, verdicts;
  };

  /// Sends out[r] to and receives in[r] from every other rank r; pieces without bytes do not travel. What went wrong,
  /// or "".
  std::string round(const Pieces &out, const Pieces &in, Clock::time_point deadline, Wait wait);
  /// Tells and hears notices; the first failure heard, told or met.
  std::string tell(std::vector<Notice> &told, std::vector<Notice> &heard, Clock::time_point deadline, Wait wait);

  int32_t rank, size;
  std::shared_ptr<gloo::rendezvous::Context> context;
  uint64_t slot = 0;   ///< of the next round
  bool isLost = false; ///< a rank is; no other is waited for then
  /// What those that come later may still hear.
  std::vector<std::shared_ptr<Round>> unfinished;
  std::vector<std::shared_ptr<Notices>> unheard;
};

} // namespace

static std::string firstLine(const char *text) { return std::string(text, std::strcspn(text, "\n")); }

std::string Processes::round(const Pieces &out, const Pieces &in, Clock::time_point deadline, Wait wait) {
  auto buffers = std::make_shared<Round>();
  buffers->sends.resize(out.size());
  buffers->receives.resize(in.size());
  auto left = [&] {
    auto time = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
    return std::max(time, milliseconds(1));
  };
  std::mutex mutex;
  std::string failure;
  auto attempt = [&](int32_t peer, const std::function<bool()> &body) {
    std::string why;
    try {
      if (body())
        return true;
    } catch (const std::exception &error) {
      why = ": " + firstLine(error.what());
    }
    // All that are lost are named: one may have left because another is. A wait that was given up says nothing.
    std::lock_guard<std::mutex> lock(mutex);
    if (failure.empty() || !why.empty())
      failure += (failure.empty() ? "rank " : "; rank ") + std::to_string(peer) + " is lost or late" + why;
    return false;
  };
  for (int32_t i = 1; i < size; ++i) {
    int32_t peer = (rank + i) % size;
    size_t p = size_t(peer);
    attempt(peer, [&] {
      if (out[p].bytes) {
        buffers->sends[p] = context->createUnboundBuffer(out[p].data, out[p].bytes);
        buffers->sends[p]->send(peer, slot);
      }
      if (in[p].bytes) {
        buffers->receives[p] = context->createUnboundBuffer(in[p].data, in[p].bytes);
        buffers->receives[p]->recv(peer, slot);
      }
      return true;
    });
  }
  ++slot;
  if (!failure.empty())
    wait = Wait::Not;
  // Those that have come are not waited for, so that the failure names one that has not.
  auto receive = [&](int32_t peer) {
    if (!attempt(peer, [&] { return buffers->receives[size_t(peer)]->waitRecv(left()); }))
      for (auto &other : buffers->receives)
        if (other)
          other->abortWaitRecv();
  };
  std::vector<std::thread> others;
  for (int32_t peer = 0; wait != Wait::Not && peer < size; ++peer) {
    if (!buffers->receives[size_t(peer)])
      continue;
    if (wait == Wait::AtOnce && size > 2)
      others.emplace_back(receive, peer);
    else
      receive(peer);
  }
  for (std::thread &other : others)
    other.join();
  for (int32_t peer = 0; wait != Wait::Not && failure.empty() && peer < size; ++peer)
    if (buffers->sends[size_t(peer)])
      attempt(peer, [&] { return buffers->sends[size_t(peer)]->waitSend(left()); });
  // Whoever comes later may still take part.
  if (wait == Wait::Not || !failure.empty())
    unfinished.push_back(buffers);
  isLost |= !failure.empty();
  return failure;
}

std::string Processes::tell(std::vector<Notice> &told, std::vector<Notice> &heard, Clock::time_point deadline,
                            Wait wait) {
  Pieces out, in;
  for (Notice &notice : told)
    out.push_back({&notice, sizeof(notice)});
  for (Notice &notice : heard)
    in.push_back({&notice, sizeof(notice)});
  std::string failure = round(out, in, deadline, wait);
  // What a rank says is better than that it was lost afterwards.
  if (told[size_t(rank)].failure[0])
    return told[size_t(rank)].failure;
  for (Notice &notice : heard) {
    notice.failure[kErrorBytes - 1] = 0;
    if (notice.failure[0])
      return notice.failure;
  }
  return failure;
}

std::string Processes::exchange(const moe_piece *send, const moe_piece *receive, uint32_t limit,
                                const std::string &ownFailure) {
  timeoutMs = limit;
  auto deadline = Clock::now() + milliseconds(limit);
  auto notices = std::make_shared<Notices>(size);
  std::vector<Notice> &told = notices->told, &heard = notices->heard;
  auto setFailure = [&](const std::string &failure) {
    for (Notice &notice : told)
      std::snprintf(notice.failure, sizeof(notice.failure), "%s", failure.c_str());
  };
  for (size_t peer = 0; send && peer < told.size(); ++peer) {
    told[peer].sends = send[peer].bytes;
    told[peer].expects = receive[peer].bytes;
  }
  heard[size_t(rank)] = told[size_t(rank)];
  setFailure(ownFailure);
  std::string failure = tell(told, heard, deadline, Wait::AtOnce);
  for (int32_t peer = 0; peer < size && failure.empty(); ++peer) {
    auto disagree = [&](int32_t from, int32_t to, uint64_t sends, uint64_t expects) {
      if (sends != expects)
        failure = "rank " + std::to_string(from) + " sends " + std::to_string(sends) + " bytes to rank " +
                  std::to_string(to) + ", which expects " + std::to_string(expects);
    };
    disagree(peer, rank, heard[size_t(peer)].sends, told[size_t(peer)].expects);
    if (failure.empty())
      disagree(rank, peer, told[size_t(peer)].sends, heard[size_t(peer)].expects);
  }
  setFailure(failure);
  // Once a rank is lost nobody is waited for, but whoever comes later hears of it.
  failure = tell(told, notices->verdicts, deadline, isLost ? Wait::Not : Wait::InTurn);
  if (!failure.empty())
    unheard.push_back(notices);
  if (!failure.empty() || !send)
    return failure;
  if (receive[rank].bytes)
    std::memcpy(receive[rank].data, send[rank].data, receive[rank].bytes);
  return round(Pieces(send, send + size), Pieces(receive, receive + size), deadline, Wait::InTurn);
}

/// Nothing is thrown into C.
static int guardedExchange(Processes &processes, const moe_piece *send, const moe_piece *receive, uint32_t timeoutMs,
                           const char *ownFailure, char *error, size_t errorBytes) {
  try {
    std::string failure = processes.exchange(send, receive, timeoutMs, ownFailure);
    std::snprintf(error, errorBytes, "%s", failure.c_str());
    return failure.empty() ? 0 : 1;
  } catch (const std::exception &exception) {
    std::snprintf(error, errorBytes, "%s", exception.what());
    return 1;
  }
}

extern "C" __attribute__((visibility("default"))) int moert_gloo_open(const char *store, int32_t rank, int32_t size,
                                                                      uint32_t timeoutMs, moe_transport *transport,
                                                                      char *error, size_t errorBytes) {
  try {
    auto processes = std::make_unique<Processes>(store, rank, size, timeoutMs);
    processes->timeoutMs = timeoutMs;
    *transport = {sizeof(*transport), processes.release(),
                  [](void *context, const moe_piece *send, const moe_piece *receive, uint32_t timeoutMs, char *error,
                     size_t errorBytes) {
                    return guardedExchange(*static_cast<Processes *>(context), send, receive, timeoutMs, "", error,
                                           errorBytes);
                  },
                  [](void *context, const char *message) {
                    Processes &processes = *static_cast<Processes *>(context);
                    char error[kErrorBytes];
                    guardedExchange(processes, nullptr, nullptr, processes.timeoutMs, message, error, sizeof(error));
                  },
                  [](void *context) { delete static_cast<Processes *>(context); }};
    return 0;
  } catch (const std::exception &exception) {
    std::snprintf(error, errorBytes, "%s", firstLine(exception.what()).c_str());
    return 1;
  }
}
