//===- TcpStore.cpp -------------------------------------------------------------------===//
//
// A request is 'S' (set) or 'G' (get) and a key, then for 'S' a value; the answer to 'G' is the value, once it is
// there. Keys and values are a length of 32 bits, as the machine has it, and as many bytes.
//
//===----------------------------------------------------------------------===//
#include "TcpStore.h"

#include <cerrno>
#include <cstring>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

using namespace moert;
using std::chrono::milliseconds;

/// What a process says first, so that another that strays to this port is not taken for one.
static constexpr char kGreeting[8] = {'m', 'o', 'e', 's', 't', 'o', 'r', 'e'};
/// Longer than any key or value of a rendezvous.
static constexpr uint32_t kMostBytes = 1 << 20;

[[noreturn]] static void fail(const std::string &what) { throw std::runtime_error(what + ": " + std::strerror(errno)); }

static void setTimeout(int socket, milliseconds timeout) {
  timeval limit = {time_t(timeout.count() / 1000), suseconds_t(timeout.count() % 1000 * 1000)};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

/// False if the other side has gone or takes too long.
static bool sendAll(int socket, const void *data, size_t bytes) {
  for (auto *at = static_cast<const char *>(data); bytes;) {
    ssize_t sent = ::send(socket, at, bytes, MSG_NOSIGNAL);
    if (sent <= 0 && errno == EINTR)
      continue;
    if (sent <= 0)
      return false;
    at += sent;
    bytes -= size_t(sent);
  }
  return true;
}

static bool receiveAll(int socket, void *data, size_t bytes) {
  for (auto *at = static_cast<char *>(data); bytes;) {
    ssize_t received = ::recv(socket, at, bytes, 0);
    if (received < 0 && errno == EINTR)
      continue;
    if (received <= 0)
      return false;
    at += received;
    bytes -= size_t(received);
  }
  return true;
}

template <typename Bytes> static bool sendBytes(int socket, const Bytes &bytes) {
  auto length = uint32_t(bytes.size());
  return sendAll(socket, &length, sizeof(length)) && sendAll(socket, bytes.data(), length);
}

template <typename Bytes> static bool receiveBytes(int socket, Bytes &bytes) {
  uint32_t length = 0;
  if (!receiveAll(socket, &length, sizeof(length)) || length > kMostBytes)
    return false;
  bytes.resize(length);
  return receiveAll(socket, bytes.data(), length);
}

/// Calls body(address) for the addresses of a host until it returns true; false if it never did.
template <typename Body> static bool forEachAddress(const std::string &host, const std::string &port, Body &&body) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (int error = getaddrinfo(host.c_str(), port.c_str(), &hints, &found))
    throw std::runtime_error("'" + host + ":" + port + "' is no address: " + gai_strerror(error));
  bool done = false;
  for (addrinfo *one = found; one && !done; one = one->ai_next)
    done = body(*one);
  freeaddrinfo(found);
  return done;
}

TcpStore::TcpStore(const std::string &address, int32_t rank, int32_t size, milliseconds timeout)
    : timeout(timeout), deadline(Clock::now() + timeout), isServer(rank == 0) {
  size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == address.size())
    throw std::runtime_error("'" + address + "' is no address, expected host:port");
  std::string host = address.substr(0, colon), port = address.substr(colon + 1);
  if (!isServer) {
    connect(host, port);
    return;
  }
  listen(host, port);
  acceptor = std::thread([this, size] { accept(size - 1); });
}

TcpStore::~TcpStore() {
  if (acceptor.joinable())
    acceptor.join();
  for (std::thread &servant : servants)
    servant.join();
  close(socket);
}

void TcpStore::listen(const std::string &host, const std::string &port) {
  bool listens = forEachAddress(host, port, [&](const addrinfo &one) {
    socket = ::socket(one.ai_family, one.ai_socktype | SOCK_CLOEXEC, one.ai_protocol);
    int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (socket >= 0 && bind(socket, one.ai_addr, one.ai_addrlen) == 0 && ::listen(socket, SOMAXCONN) == 0)
      return true;
    close(socket);
    return false;
  });
  if (!listens)
    fail("rank 0 cannot listen at '" + host + ":" + port + "'");
}

void TcpStore::connect(const std::string &host, const std::string &port) {
  auto attempt = [&](const addrinfo &one) {
    socket = ::socket(one.ai_family, one.ai_socktype | SOCK_CLOEXEC, one.ai_protocol);
    if (socket >= 0 && ::connect(socket, one.ai_addr, one.ai_addrlen) == 0)
      return true;
    close(socket);
    return false;
  };
  // Rank 0 may not be there yet.
  while (!forEachAddress(host, port, attempt)) {
    if (Clock::now() > deadline)
      fail("rank 0 does not answer at '" + host + ":" + port + "'");
    std::this_thread::sleep_for(milliseconds(20));
  }
  setTimeout(socket, timeout);
  if (!sendAll(socket, kGreeting, sizeof(kGreeting)))
    fail("rank 0 has left '" + host + ":" + port + "'");
}

void TcpStore::accept(int32_t others) {
  while (others > 0) {
    auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now()).count();
    pollfd ready = {socket, POLLIN, 0};
    if (left <= 0 || (poll(&ready, 1, int(left)) <= 0 && errno != EINTR))
      return; // whoever waits for the missing ones says so
    int peer = ::accept4(socket, nullptr, nullptr, SOCK_CLOEXEC);
    if (peer < 0)
      continue;
    setTimeout(peer, timeout);
    char greeting[sizeof(kGreeting)];
    if (!receiveAll(peer, greeting, sizeof(greeting)) || std::memcmp(greeting, kGreeting, sizeof(greeting)) != 0) {
      close(peer);
      continue;
    }
    servants.emplace_back([this, peer] { serve(peer); });
    --others;
  }
}

void TcpStore::serve(int peer) {
  char request = 0;
  std::string key;
  std::vector<char> value;
  while (receiveAll(peer, &request, 1) && receiveBytes(peer, key)) {
    if (request == 'S') {
      if (!receiveBytes(peer, value))
        break;
      values.set(key, value);
      continue;
    }
    try {
      values.wait({key}, timeout);
    } catch (const std::exception &) {
      break; // it hears that it has waited long enough
    }
    if (!sendBytes(peer, values.get(key)))
      break;
  }
  close(peer);
}

void TcpStore::set(const std::string &key, const std::vector<char> &data) {
  if (isServer)
    return values.set(key, data);
  if (!sendAll(socket, "S", 1) || !sendBytes(socket, key) || !sendBytes(socket, data))
    fail("rank 0 has left");
}

std::vector<char> TcpStore::get(const std::string &key) {
  std::vector<char> value;
  if (isServer) {
    values.wait({key}, timeout);
    return values.get(key);
  }
  if (!sendAll(socket, "G", 1) || !sendBytes(socket, key) || !receiveBytes(socket, value))
    throw std::runtime_error("rank 0 has left, or '" + key + "' was not there within " +
                             std::to_string(timeout.count()) + " ms");
  return value;
}

void TcpStore::wait(const std::vector<std::string> &keys, const milliseconds &limit) {
  if (isServer)
    return values.wait(keys, limit);
  for (const std::string &key : keys)
    get(key);
}
