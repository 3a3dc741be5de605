//===- Transport.h - ranks that a caller's functions reach ---------------------------===//
#ifndef MOERT_COMM_TRANSPORT_H
#define MOERT_COMM_TRANSPORT_H

#include "Comm.h"

#include <string>

namespace moert {

/// Room for what a transport says went wrong.
constexpr size_t kErrorBytes = 512;

std::unique_ptr<Comm> createTransportComm(const moe_transport &transport, int32_t rank, int32_t size,
                                          uint32_t timeoutMs);

/// What libmoert-gloo.so exports as "moert_gloo_open": ranks that are processes, which find each other in folder
/// `store` or at address "tcp://host:port" of rank 0. Returns 0, or another number after it has written why to `error`.
using GlooOpen = int(const char *store, int32_t rank, int32_t size, uint32_t timeoutMs, moe_transport *transport,
                     char *error, size_t errorBytes);

} // namespace moert

#endif
