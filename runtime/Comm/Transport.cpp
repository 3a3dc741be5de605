//===- Transport.cpp - ranks that a caller's functions reach -------------------------===//
#include "Transport.h"

using namespace moert;

namespace {

class TransportComm : public Comm {
public:
  TransportComm(const moe_transport &transport, int32_t rank, int32_t size, uint32_t timeoutMs)
      : Comm(rank, size, timeoutMs), transport(transport) {}
  ~TransportComm() override {
    if (transport.destroy)
      transport.destroy(transport.context);
  }

  moe_status *exchange(void *) override {
    char error[kErrorBytes] = "";
    if (failure.empty() &&
        transport.exchange(transport.context, send.data(), receive.data(), timeoutMs, error, sizeof(error)) != 0)
      failure = error[0] ? error : "the transport says nothing";
    return status();
  }

  moe_status *status() override {
    if (failure.empty())
      return nullptr;
    return MOERT_ERROR(MOE_COMM_FAILED, "the communicator has failed: %s", failure.c_str());
  }

  void fail(const char *message) override {
    if (!failure.empty())
      return;
    failure = message;
    if (transport.fail)
      transport.fail(transport.context, message);
  }

private:
  moe_transport transport;
  std::string failure;
};

} // namespace

std::unique_ptr<Comm> moert::createTransportComm(const moe_transport &transport, int32_t rank, int32_t size,
                                                 uint32_t timeoutMs) {
  return std::make_unique<TransportComm>(transport, rank, size, timeoutMs);
}
