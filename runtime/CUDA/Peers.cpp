//===- Peers.cpp - memory that the kernels of all ranks reach -------------------------===//
#include "Peers.h"
#include "../Comm/Exchange.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <random>
#include <string>

using namespace moert;
using namespace moert::cuda;
using namespace moert::peer;

static constexpr Result kPeerAccessUnsupported = 217, kPeerAccessAlreadyEnabled = 704;
static constexpr unsigned kIpcLazyEnablePeerAccess = 1, kHostMapped = 1 | 2; ///< portable, and device-mapped
/// The driver maps whole pages into another process; these hold nothing else then.
static constexpr uint64_t kPageBytes = 2 << 20;
static constexpr uint64_t kArenaAlignment = 256;

static uint64_t roundUp(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }
static uint64_t senderOffset(int32_t rank) { return uint64_t(rank) * sizeof(Sender); }

struct Peers::Hello {
  uint64_t process; ///< differs between processes
  Device device;    ///< number within that process
  Context context;
  DevicePtr memory;
  Result shared; ///< whether there is a handle for other processes
  IpcHandle handle;
};

/// A number that no other process has.
static uint64_t processNumber() {
  static const uint64_t number = uint64_t(std::random_device()()) << 32 | std::random_device()();
  return number;
}

//===----------------------------------------------------------------------===//
// Memory that others may still see
//===----------------------------------------------------------------------===//

namespace {

/// Memory whose owner has gone.
struct Left {
  Driver driver;
  Place place; ///< the context retained
  DevicePtr memory;
  int32_t rank, ranks;

  /// Whether all other ranks have closed their views.
  bool isAlone() const {
    auto senders = std::vector<Sender>(size_t(ranks));
    if (driver.MemcpyDtoH(senders.data(), memory + senderOffset(0), senders.size() * sizeof(Sender)))
      return false;
    for (int32_t r = 0; r < ranks; ++r)
      if (r != rank && !senders[size_t(r)].left)
        return false;
    return true;
  }
};

/// All of it in this process. Freed at the next occasion after the last view was closed, or with the process.
class LeftBehind {
public:
  static LeftBehind &get() {
    static LeftBehind *all = new LeftBehind; // outlives everything that may still use it
    return *all;
  }
  void add(const Left &one) {
    std::lock_guard<std::mutex> lock(mutex);
    list.push_back(one);
  }
  void freeWhatIsAlone() {
    std::lock_guard<std::mutex> lock(mutex);
    auto isFreed = [](const Left &one) {
      {
        CurrentContext current(one.driver, one.place.context);
        if (!one.isAlone())
          return false;
        one.driver.MemFree(one.memory);
      }
      one.driver.DevicePrimaryCtxRelease(one.place.device);
      return true;
    };
    list.erase(std::remove_if(list.begin(), list.end(), isFreed), list.end());
  }

private:
  std::mutex mutex;
  std::vector<Left> list;
};

} // namespace

//===----------------------------------------------------------------------===//
// Meeting
//===----------------------------------------------------------------------===//

Peers::Peers(const Driver &driver, Place place, moe_comm *comm)
    : driver(driver), place(place), comm(comm), views(size_t(comm->comm->size)), mapped(views.size()) {
  moe_comm_retain(comm);
}

DevicePtr Peers::table() const { return memory + senderOffset(comm->comm->size); }

moe_status *Peers::allocate(uint64_t bytes) {
  uint64_t ranks = views.size();
  arenaBytes = bytes;
  arenaOffset = roundUp(senderOffset(int32_t(ranks)) + sizeof(Table) + ranks * sizeof(DevicePtr), kArenaAlignment);
  MOERT_CUDA(driver, MemAlloc, &memory, roundUp(arenaOffset + bytes, kPageBytes));
  views[size_t(comm->comm->rank)] = memory;
  std::vector<char> zeros(arenaOffset);
  MOERT_CUDA(driver, MemcpyHtoD, memory, zeros.data(), zeros.size());
  void *host = nullptr;
  MOERT_CUDA(driver, MemHostAlloc, &host, sizeof(Report), kHostMapped);
  report = new (host) Report{};
  MOERT_CUDA(driver, MemHostGetDevicePointer, &reportOnDevice, host, 0);
  return nullptr;
}

moe_status *moert::cuda::tell(const Driver &driver, Comm &comm, const void *own, void *all, size_t bytes,
                              Stream stream) {
  if (!comm.onDevice())
    return tellOnHost(comm, own, all, bytes);
  auto ranks = size_t(comm.size);
  DevicePtr staged = 0;
  MOERT_CUDA(driver, MemAlloc, &staged, (ranks + 1) * bytes);
  auto exchange = [&]() -> moe_status * {
    DevicePtr from = staged + ranks * bytes;
    MOERT_CUDA(driver, MemcpyHtoD, from, own, bytes);
    // It may still be under way, and the caller's stream waits for no other.
    MOERT_CUDA(driver, StreamSynchronize, nullptr);
    for (size_t r = 0; r < ranks; ++r) {
      comm.send[r] = {reinterpret_cast<void *>(from), bytes};
      comm.receive[r] = {reinterpret_cast<void *>(staged + r * bytes), bytes};
    }
    MOERT_TRY(comm.exchange(stream));
    MOERT_CUDA(driver, StreamSynchronize, stream);
    MOERT_TRY(comm.status()); // it may have been aborted since
    MOERT_CUDA(driver, MemcpyDtoH, all, staged, ranks * bytes);
    return nullptr;
  };
  moe_status *status = exchange();
  driver.MemFree(staged);
  return status;
}

moe_status *Peers::greet(const Hello &own, std::vector<Hello> &all, Stream stream) {
  all.assign(views.size(), Hello{});
  return tell(driver, *comm->comm, &own, all.data(), sizeof(Hello), stream);
}

moe_status *Peers::open(const Hello &own, const Hello &other, int32_t rank) {
  DevicePtr &view = views[size_t(rank)];
  auto failed = [&](const char *call, Result result) {
    std::string what = "rank " + std::to_string(comm->comm->rank) + " cannot reach the memory of rank " +
                       std::to_string(rank) + ", as transport 'peer' needs";
    moe_status *status = named(what.c_str(), driver.error(result, call, __FILE__, __LINE__));
    if (result != kPeerAccessUnsupported)
      return status;
    moe_status *unsupported = MOERT_ERROR(MOE_UNSUPPORTED, "%s", moe_status_message(status));
    moe_status_free(status);
    return unsupported;
  };
  if (other.process != own.process) {
    if (other.shared)
      return failed("cuIpcGetMemHandle on that rank", other.shared);
    if (Result result = driver.IpcOpenMemHandle(&view, other.handle, kIpcLazyEnablePeerAccess))
      return failed("cuIpcOpenMemHandle", result);
    mapped[size_t(rank)] = true;
    return nullptr;
  }
  if (other.context != own.context) {
    int can = 0;
    MOERT_CUDA(driver, DeviceCanAccessPeer, &can, own.device, other.device);
    Result result = can ? driver.CtxEnablePeerAccess(other.context, 0) : kPeerAccessUnsupported;
    if (result && result != kPeerAccessAlreadyEnabled)
      return failed("cuCtxEnablePeerAccess", result);
  }
  view = other.memory;
  return nullptr;
}

moe_status *Peers::writeTable() {
  Table head = {comm->comm->rank, int64_t(comm->comm->timeoutMs) * 1000000, reportOnDevice, memory, 0, 0, {}};
  MOERT_CUDA(driver, MemcpyHtoD, table(), &head, sizeof(head));
  MOERT_CUDA(driver, MemcpyHtoD, table() + sizeof(head), views.data(), views.size() * sizeof(DevicePtr));
  // Copies from memory that is not pinned may still be under way, and a caller's stream waits for no other.
  MOERT_CUDA(driver, CtxSynchronize);
  return nullptr;
}

moe_status *Peers::meet(Stream stream) {
  Hello own = {processNumber(), place.device, place.context, memory, 0, {}};
  own.shared = driver.IpcGetMemHandle(&own.handle, memory);
  std::vector<Hello> all;
  MOERT_TRY(greet(own, all, stream));
  for (int32_t r = 0; r < comm->comm->size; ++r)
    if (r != comm->comm->rank)
      MOERT_TRY(open(own, all[size_t(r)], r));
  MOERT_TRY(writeTable());
  // All have opened all when this returns, and a rank that could not has said so.
  return greet(own, all, stream);
}

moe_status *Peers::connect(const Driver &driver, Place place, moe_comm *comm, uint64_t bytes, Stream stream,
                           std::unique_ptr<Peers> &peers) {
  LeftBehind::get().freeWhatIsAlone();
  auto result = std::make_unique<Peers>(driver, place, comm);
  MOERT_TRY(result->allocate(bytes));
  MOERT_TRY(result->meet(stream));
  peers = std::move(result);
  return nullptr;
}

Peers::~Peers() {
  if (report)
    __atomic_store_n(&report->abort, 1, __ATOMIC_RELEASE);
  driver.CtxSynchronize(); // no kernel of ours stores into another rank's memory from here on
  int32_t rank = comm->comm->rank, ranks = comm->comm->size;
  bool seen = false; // others may have a view of this rank's memory
  for (int32_t r = 0; r < ranks; ++r) {
    DevicePtr view = views[size_t(r)];
    if (r == rank || !view)
      continue;
    seen = true;
    int64_t left = 1;
    driver.MemcpyHtoD(view + senderOffset(rank) + offsetof(Sender, left), &left, sizeof(left));
    if (mapped[size_t(r)])
      driver.IpcCloseMemHandle(view);
  }
  if (report)
    driver.MemFreeHost(report);
  Context retained = nullptr;
  if (memory && (!seen || driver.DevicePrimaryCtxRetain(&retained, place.device)))
    driver.MemFree(memory);
  else if (memory)
    LeftBehind::get().add({driver, place, memory, rank, ranks});
  LeftBehind::get().freeWhatIsAlone();
  moe_comm_release(comm);
}

//===----------------------------------------------------------------------===//
// What kernels report
//===----------------------------------------------------------------------===//

moe_status *Peers::failure() const {
  int64_t failure = __atomic_load_n(&report->failure, __ATOMIC_ACQUIRE);
  auto other = int(report->rank), own = int(comm->comm->rank);
  auto found = (long long)report->found, expected = (long long)report->expected;
  switch (failure) {
  case 0:
    return nullptr;
  case kLost:
    return MOERT_ERROR(MOE_COMM_FAILED, "rank %d has failed in an exchange with rank %d", other, own);
  case kLate:
    return MOERT_ERROR(MOE_COMM_FAILED, "rank %d did not take part in an exchange within %u ms of rank %d", other,
                       comm->comm->timeoutMs, own);
  case kSizes:
    return MOERT_ERROR(MOE_COMM_FAILED, "rank %d sends %lld rows to rank %d, which expects %lld", own, found, other,
                       expected);
  case kBounds:
    return MOERT_ERROR(MOE_COMM_FAILED,
                       "rows %lld to %lld of rank %d for rank %d are outside of a buffer, or not in order", found,
                       expected, own, other);
  default:
    return MOERT_ERROR(MOE_COMM_FAILED, "an exchange of rank %d was ended", own);
  }
}
