//===- TcpStore.h - where processes find each other: at an address ---------------------===//
#ifndef MOERT_COMM_TCPSTORE_H
#define MOERT_COMM_TCPSTORE_H

#include <gloo/rendezvous/hash_store.h>

#include <thread>
#include <vector>

namespace moert {

/// Keys and values that rank 0 keeps at "host:port", for itself and for as many other processes as there are. Each
/// takes part once; rank 0's store goes when the others' have gone. Every wait ends after the time-out, with an
/// exception.
class TcpStore : public gloo::rendezvous::Store {
public:
  TcpStore(const std::string &address, int32_t rank, int32_t size, std::chrono::milliseconds timeout);
  ~TcpStore() override;

  void set(const std::string &key, const std::vector<char> &data) override;
  std::vector<char> get(const std::string &key) override;
  void wait(const std::vector<std::string> &keys) override { wait(keys, timeout); }
  void wait(const std::vector<std::string> &keys, const std::chrono::milliseconds &limit) override;

private:
  using Clock = std::chrono::steady_clock;

  void listen(const std::string &host, const std::string &port);
  void connect(const std::string &host, const std::string &port);
  /// Takes in the other processes.
  void accept(int32_t others);
  /// Answers one of them until it goes.
  void serve(int peer);

  std::chrono::milliseconds timeout;
  Clock::time_point deadline; ///< of all being there
  bool isServer;
  int socket = -1;                    ///< that the server listens to, or to the server
  gloo::rendezvous::HashStore values; ///< the server's
  std::thread acceptor;
  std::vector<std::thread> servants; ///< the acceptor's
};

} // namespace moert

#endif
