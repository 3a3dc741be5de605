//===- Gloo.cpp - ranks that are processes, over Gloo ---------------------------------===//
//
// A library of its own, which the runtime opens when somebody asks for it, so that nothing else needs Gloo.
//
// An exchange has three rounds. In the first every rank tells every other what it sends and expects, or that it cannot
// go on; in the second, whether it has seen anything wrong; only if nobody has, the bytes follow. So an error of one
// is an error of all, with the same words.
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

  /// Sends out[r] to and receives in[r] from every other rank r; pieces without bytes do not travel. What went wrong,
  /// or "".
  std::string round(const Pieces &out, const Pieces &in, Clock::time_point deadline);
  /// Tells and hears notices; the first failure heard, told or met.
  std::string tell(std::vector<Notice> &told, std::vector<Notice> &heard, Clock::time_point deadline);

  int32_t rank, size;
  std::shared_ptr<gloo::rendezvous::Context> context;
  uint64_t slot = 0; ///< of the next round
};

} // namespace

static std::string firstLine(const char *text) { return std::string(text, std::strcspn(text, "\n")); }

std::string Processes::round(const Pieces &out, const Pieces &in, Clock::time_point deadline) {
  using Buffer = std::unique_ptr<gloo::transport::UnboundBuffer>;
  std::vector<Buffer> sends(out.size()), receives(in.size());
  auto left = [&] {
    auto time = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
    return std::max(time, milliseconds(1));
  };
  std::string failure;
  auto attempt = [&](int32_t peer, const std::function<bool()> &body) {
    try {
      if (body())
        return;
      if (failure.empty())
        failure = "rank " + std::to_string(peer) + " is lost";
    } catch (const std::exception &error) {
      if (failure.empty())
        failure = "rank " + std::to_string(peer) + " did not take part: " + firstLine(error.what());
    }
  };
  for (int32_t i = 1; i < size; ++i) {
    int32_t peer = (rank + i) % size;
    size_t p = size_t(peer);
    attempt(peer, [&] {
      if (out[p].bytes) {
        sends[p] = context->createUnboundBuffer(out[p].data, out[p].bytes);
        sends[p]->send(peer, slot);
      }
      if (in[p].bytes) {
        receives[p] = context->createUnboundBuffer(in[p].data, in[p].bytes);
        receives[p]->recv(peer, slot);
      }
      return true;
    });
  }
  // Those that have come are not waited for, so that the failure names one that has not.
  for (int32_t peer = 0; peer < size; ++peer)
    if (receives[size_t(peer)])
      attempt(peer, [&] { return receives[size_t(peer)]->waitRecv(left()); });
  for (int32_t peer = 0; peer < size; ++peer)
    if (sends[size_t(peer)])
      attempt(peer, [&] { return sends[size_t(peer)]->waitSend(left()); });
  ++slot;
  return failure;
}

std::string Processes::tell(std::vector<Notice> &told, std::vector<Notice> &heard, Clock::time_point deadline) {
  Pieces out, in;
  for (Notice &notice : told)
    out.push_back({&notice, sizeof(notice)});
  for (Notice &notice : heard)
    in.push_back({&notice, sizeof(notice)});
  std::string failure = round(out, in, deadline);
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
  std::vector<Notice> told(static_cast<size_t>(size)), heard(static_cast<size_t>(size));
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
  std::string failure = tell(told, heard, deadline);
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
  std::vector<Notice> verdicts(heard.size());
  failure = tell(told, verdicts, deadline);
  if (!failure.empty() || !send)
    return failure;
  if (receive[rank].bytes)
    std::memcpy(receive[rank].data, send[rank].data, receive[rank].bytes);
  return round(Pieces(send, send + size), Pieces(receive, receive + size), deadline);
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
