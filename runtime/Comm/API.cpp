//===- API.cpp - the C functions of moert.h for communicators -----------------------===//
#include "Local.h"
#include "Nccl.h"
#include "Transport.h"

#include <cstring>
#include <dlfcn.h>

using namespace moert;

static moe_status *checkRanks(int32_t rank, int32_t size) {
  if (size < 1)
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "size is %d, but must be at least 1", size);
  if (rank < 0 || rank >= size)
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "rank is %d, but must be 0 to %d", rank, size - 1);
  return nullptr;
}

static moe_status *readOptions(const moe_comm_options *options, uint32_t &timeoutMs) {
  if (options && options->struct_size < sizeof(*options))
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "options->struct_size is %zu, but must be at least %zu",
                       options->struct_size, sizeof(*options));
  timeoutMs = options && options->timeout_ms ? options->timeout_ms : kDefaultTimeoutMs;
  return nullptr;
}

static moe_comm *makeHandle(std::unique_ptr<Comm> comm) {
  auto handle = std::make_unique<moe_comm>();
  handle->comm = std::move(comm);
  return handle.release();
}

extern "C" {

moe_status *moe_comm_create_local(int32_t size, const moe_comm_options *options, moe_comm **comms) {
  return guarded("moe_comm_create_local", [&]() -> moe_status * {
    REQUIRE_ARGUMENT(comms);
    MOERT_TRY(checkRanks(0, size));
    uint32_t timeoutMs = 0;
    MOERT_TRY(readOptions(options, timeoutMs));
    std::vector<std::unique_ptr<moe_comm>> handles;
    for (std::unique_ptr<Comm> &comm : createLocalComms(size, timeoutMs))
      handles.emplace_back(makeHandle(std::move(comm)));
    for (int32_t rank = 0; rank < size; ++rank)
      comms[rank] = handles[size_t(rank)].release();
    return nullptr;
  });
}

moe_status *moe_comm_create_processes(const char *store, int32_t rank, int32_t size, const moe_comm_options *options,
                                      moe_comm **comm) {
  return guarded("moe_comm_create_processes", [&]() -> moe_status * {
    REQUIRE_ARGUMENT(store);
    REQUIRE_ARGUMENT(comm);
    MOERT_TRY(checkRanks(rank, size));
    uint32_t timeoutMs = 0;
    MOERT_TRY(readOptions(options, timeoutMs));
    // Never closed: it keeps a thread.
    void *library = dlopen("libmoert-gloo.so", RTLD_NOW | RTLD_LOCAL);
    if (!library)
      return MOERT_ERROR(MOE_UNSUPPORTED, "ranks that are processes need libmoert-gloo.so: %s", dlerror());
    auto open = reinterpret_cast<GlooOpen *>(dlsym(library, "moert_gloo_open"));
    if (!open)
      return MOERT_ERROR(MOE_UNSUPPORTED, "libmoert-gloo.so has no moert_gloo_open");
    moe_transport transport = {};
    char error[kErrorBytes] = "";
    if (open(store, rank, size, timeoutMs, &transport, error, sizeof(error)) != 0)
      return MOERT_ERROR(MOE_COMM_FAILED, "rank %d of %d does not find the others at '%s': %s", rank, size, store,
                         error);
    *comm = makeHandle(createTransportComm(transport, rank, size, timeoutMs));
    return nullptr;
  });
}

moe_status *moe_comm_create_custom(const moe_transport *transport, int32_t rank, int32_t size,
                                   const moe_comm_options *options, moe_comm **comm) {
  return guarded("moe_comm_create_custom", [&]() -> moe_status * {
    REQUIRE_ARGUMENT(transport);
    REQUIRE_ARGUMENT(comm);
    if (transport->struct_size < sizeof(*transport))
      return MOERT_ERROR(MOE_INVALID_ARGUMENT, "transport->struct_size is %zu, but must be at least %zu",
                         transport->struct_size, sizeof(*transport));
    REQUIRE_ARGUMENT(transport->exchange);
    MOERT_TRY(checkRanks(rank, size));
    uint32_t timeoutMs = 0;
    MOERT_TRY(readOptions(options, timeoutMs));
    *comm = makeHandle(createTransportComm(*transport, rank, size, timeoutMs));
    return nullptr;
  });
}

moe_status *moe_comm_unique_id(uint8_t id[MOE_COMM_ID_BYTES]) {
  return guarded("moe_comm_unique_id", [&]() -> moe_status * {
    REQUIRE_ARGUMENT(id);
    nccl::UniqueId unique;
    MOERT_TRY(createNcclId(unique));
    std::memcpy(id, unique.bytes, sizeof(unique.bytes));
    return nullptr;
  });
}

moe_status *moe_comm_create_nccl(const uint8_t id[MOE_COMM_ID_BYTES], int32_t rank, int32_t size, int32_t device,
                                 const moe_comm_options *options, moe_comm **comm) {
  return guarded("moe_comm_create_nccl", [&]() -> moe_status * {
    REQUIRE_ARGUMENT(id);
    REQUIRE_ARGUMENT(comm);
    MOERT_TRY(checkRanks(rank, size));
    uint32_t timeoutMs = 0;
    MOERT_TRY(readOptions(options, timeoutMs));
    nccl::UniqueId unique;
    std::memcpy(unique.bytes, id, sizeof(unique.bytes));
    std::unique_ptr<Comm> result;
    MOERT_TRY(createNcclComm(unique, rank, size, device, timeoutMs, result));
    *comm = makeHandle(std::move(result));
    return nullptr;
  });
}

moe_status *moe_comm_wrap_nccl(void *ncclComm, const moe_comm_options *options, moe_comm **comm) {
  return guarded("moe_comm_wrap_nccl", [&]() -> moe_status * {
    REQUIRE_ARGUMENT(ncclComm);
    REQUIRE_ARGUMENT(comm);
    uint32_t timeoutMs = 0;
    MOERT_TRY(readOptions(options, timeoutMs));
    std::unique_ptr<Comm> result;
    MOERT_TRY(wrapNcclComm(ncclComm, timeoutMs, result));
    *comm = makeHandle(std::move(result));
    return nullptr;
  });
}

void moe_comm_retain(moe_comm *comm) {
  if (comm)
    comm->references.fetch_add(1, std::memory_order_relaxed);
}
void moe_comm_release(moe_comm *comm) {
  if (comm && comm->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete comm;
}

int32_t moe_comm_rank(const moe_comm *comm) { return comm ? comm->comm->rank : -1; }
int32_t moe_comm_size(const moe_comm *comm) { return comm ? comm->comm->size : 0; }

moe_status *moe_comm_sent(const moe_comm *comm, int32_t peer, uint64_t *bytes) {
  return guarded("moe_comm_sent", [&]() -> moe_status * {
    REQUIRE_ARGUMENT(comm);
    REQUIRE_ARGUMENT(bytes);
    MOERT_TRY(checkRanks(peer, comm->comm->size));
    *bytes = comm->comm->sent[size_t(peer)].load();
    return nullptr;
  });
}

moe_status *moe_comm_status(const moe_comm *comm) {
  return guarded("moe_comm_status", [&]() -> moe_status * {
    REQUIRE_ARGUMENT(comm);
    return comm->comm->status();
  });
}

void moe_comm_fail(moe_comm *comm, const char *message) {
  if (comm)
    moe_status_free(guarded("moe_comm_fail", [&]() -> moe_status * {
      std::string rank = "rank " + std::to_string(comm->comm->rank) + ": ";
      comm->comm->fail((rank + (message ? message : "no message")).c_str());
      return nullptr;
    }));
}

} // extern "C"
