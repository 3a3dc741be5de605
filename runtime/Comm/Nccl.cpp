//===- Nccl.cpp - ranks that are GPUs -------------------------------------------------===//
//
// Calls do not block, and every wait for one is bounded. What happens on the stream later is seen by a thread that
// polls events around each exchange, so that one that does not end in time, for lack of a peer, ends by an abort.
//
//===----------------------------------------------------------------------===//
#include "Nccl.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

using namespace moert;
using namespace moert::nccl;
using Clock = std::chrono::steady_clock;

namespace {

class NcclComm : public Comm {
public:
  NcclComm(const Library &library, Handle handle, bool owned, int32_t rank, int32_t size, uint32_t timeoutMs)
      : Comm(rank, size, timeoutMs), library(library), handle(handle), owned(owned) {}
  ~NcclComm() override;

  bool onDevice() const override { return true; }
  moe_status *exchange(void *stream) override;
  moe_status *status() override {
    std::lock_guard<std::mutex> lock(mutex);
    return failure.empty() ? nullptr : failed();
  }
  void fail(const char *message) override {
    std::lock_guard<std::mutex> lock(mutex);
    setFailure(message);
  }

  /// Waits until the last call is done.
  moe_status *settle(Clock::time_point deadline);
  moe_status *startWatching();

private:
  /// An exchange on a stream, between two events.
  struct Pending {
    cuda::Event begin, end;
    Clock::time_point deadline; ///< none until it has begun
  };

  moe_status *put(cuda::Stream stream);
  void setFailure(const std::string &message);
  void watch();
  /// Whether the oldest pending exchange has ended; sees to it that one that does not is a failure.
  bool hasEnded(Pending &pending);
  moe_status *createEvent(cuda::Stream stream, cuda::Event &event);
  moe_status *failed() const {
    return MOERT_ERROR(MOE_COMM_FAILED, "the communicator has failed: %s", failure.c_str());
  }

  Library library;
  cuda::Driver driver;
  std::mutex mutex; ///< of all below
  Handle handle;
  bool owned, stopping = false;
  std::string failure;
  std::deque<Pending> pending;
  std::condition_variable changed;
  std::thread watcher;
  cuda::Device device = 0;
  cuda::Context context = nullptr; ///< the device's primary one, retained
};

} // namespace

NcclComm::~NcclComm() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
    changed.notify_all();
  }
  if (watcher.joinable())
    watcher.join();
  for (Pending &one : pending) {
    driver.EventDestroy(one.begin);
    driver.EventDestroy(one.end);
  }
  if (owned && handle) {
    library.CommFinalize(handle);
    moe_status *status = settle(Clock::now() + std::chrono::milliseconds(timeoutMs));
    if (status)
      library.CommAbort(handle);
    else
      library.CommDestroy(handle);
    moe_status_free(status);
  }
  if (context)
    driver.DevicePrimaryCtxRelease(device);
}

void NcclComm::setFailure(const std::string &message) {
  if (!failure.empty())
    return;
  failure = message;
  // Ends what is on the stream. A borrowed communicator is its owner's to abort.
  if (owned && handle) {
    library.CommAbort(handle);
    handle = nullptr;
  }
}

moe_status *NcclComm::settle(Clock::time_point deadline) {
  for (;;) {
    Result state = kSuccess;
    MOERT_NCCL(library, handle, CommGetAsyncError, handle, &state);
    if (state == kSuccess)
      return nullptr;
    if (state != kInProgress)
      return library.error(state, handle, "an exchange", __FILE__, __LINE__);
    if (Clock::now() > deadline)
      return MOERT_ERROR(MOE_COMM_FAILED, "rank %d of %d still waits for the others after %u ms", rank, size,
                         timeoutMs);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

moe_status *NcclComm::put(cuda::Stream stream) {
  MOERT_NCCL(library, handle, GroupStart);
  Result first = kSuccess;
  auto note = [&](Result result) {
    if (first == kSuccess && result != kInProgress)
      first = result;
  };
  for (int32_t r = 0; r < size; ++r) {
    const Piece &from = send[size_t(r)], &to = receive[size_t(r)];
    if (from.bytes)
      note(library.Send(from.data, from.bytes, kBytes, r, handle, stream));
    if (to.bytes)
      note(library.Recv(to.data, to.bytes, kBytes, r, handle, stream));
  }
  note(library.GroupEnd()); // also after an error: it closes the group
  if (first != kSuccess)
    return library.error(first, handle, "ncclSend or ncclRecv", __FILE__, __LINE__);
  return settle(Clock::now() + std::chrono::milliseconds(timeoutMs));
}

moe_status *NcclComm::createEvent(cuda::Stream stream, cuda::Event &event) {
  MOERT_CUDA(driver, EventCreate, &event, cuda::kEventWithoutTiming);
  MOERT_CUDA(driver, EventRecord, event, stream);
  return nullptr;
}

moe_status *NcclComm::exchange(void *pointer) {
  auto stream = static_cast<cuda::Stream>(pointer);
  std::lock_guard<std::mutex> lock(mutex);
  if (!failure.empty())
    return failed();
  // In a graph there is nothing to watch yet.
  int capturing = 0;
  MOERT_CUDA(driver, StreamIsCapturing, stream, &capturing);
  Pending one = {};
  if (!capturing)
    MOERT_TRY(createEvent(stream, one.begin));
  if (moe_status *status = put(stream)) {
    setFailure(moe_status_message(status));
    return status;
  }
  if (!capturing) {
    MOERT_TRY(createEvent(stream, one.end));
    pending.push_back(one);
    changed.notify_all();
  }
  return nullptr;
}

bool NcclComm::hasEnded(Pending &one) {
  if (driver.EventQuery(one.end) == 0)
    return true;
  if (one.deadline == Clock::time_point() && driver.EventQuery(one.begin) == 0)
    one.deadline = Clock::now() + std::chrono::milliseconds(timeoutMs);
  Result state = kSuccess;
  library.CommGetAsyncError(handle, &state);
  if (state != kSuccess && state != kInProgress)
    setFailure(std::string("an exchange failed on the device: ") + library.GetErrorString(state));
  else if (one.deadline != Clock::time_point() && Clock::now() > one.deadline)
    setFailure("an exchange has not ended on the device of rank " + std::to_string(rank) + " within " +
               std::to_string(timeoutMs) + " ms: a rank is lost or late");
  return false;
}

void NcclComm::watch() {
  driver.CtxPushCurrent(context);
  std::unique_lock<std::mutex> lock(mutex);
  while (!stopping) {
    if (pending.empty() || !failure.empty()) {
      changed.wait(lock);
      continue;
    }
    if (!hasEnded(pending.front())) {
      changed.wait_for(lock, std::chrono::milliseconds(20));
      continue;
    }
    driver.EventDestroy(pending.front().begin);
    driver.EventDestroy(pending.front().end);
    pending.pop_front();
  }
}

moe_status *NcclComm::startWatching() {
  MOERT_TRY(driver.open());
  int number = 0;
  MOERT_NCCL(library, handle, CommCuDevice, handle, &number);
  MOERT_CUDA(driver, DeviceGet, &device, number);
  MOERT_CUDA(driver, DevicePrimaryCtxRetain, &context, device);
  watcher = std::thread([this] { watch(); });
  return nullptr;
}

moe_status *moert::createNcclId(UniqueId &id) {
  Library library;
  MOERT_TRY(library.open());
  MOERT_NCCL(library, nullptr, GetUniqueId, &id);
  return nullptr;
}

moe_status *moert::createNcclComm(const UniqueId &id, int32_t rank, int32_t size, int32_t number, uint32_t timeoutMs,
                                  std::unique_ptr<Comm> &comm) {
  Library library;
  MOERT_TRY(library.open());
  cuda::Driver driver;
  MOERT_TRY(driver.open());
  cuda::Device device = 0;
  cuda::Context context = nullptr, popped = nullptr;
  MOERT_CUDA(driver, DeviceGet, &device, number);
  MOERT_CUDA(driver, DevicePrimaryCtxRetain, &context, device);
  MOERT_CUDA(driver, CtxPushCurrent, context);
  auto create = [&]() -> moe_status * {
    Config config;
    Handle handle = nullptr;
    MOERT_NCCL(library, nullptr, CommInitRankConfig, &handle, size, id, rank, &config);
    auto result = std::make_unique<NcclComm>(library, handle, /*owned=*/true, rank, size, timeoutMs);
    if (moe_status *status = result->settle(Clock::now() + std::chrono::milliseconds(timeoutMs))) {
      result->fail(moe_status_message(status));
      return status;
    }
    MOERT_TRY(result->startWatching());
    comm = std::move(result);
    return nullptr;
  };
  moe_status *status = create();
  driver.CtxPopCurrent(&popped);
  driver.DevicePrimaryCtxRelease(device);
  return status;
}

moe_status *moert::wrapNcclComm(void *pointer, uint32_t timeoutMs, std::unique_ptr<Comm> &comm) {
  Library library;
  MOERT_TRY(library.open());
  auto handle = static_cast<Handle>(pointer);
  int rank = 0, size = 0;
  MOERT_NCCL(library, handle, CommUserRank, handle, &rank);
  MOERT_NCCL(library, handle, CommCount, handle, &size);
  auto result = std::make_unique<NcclComm>(library, handle, /*owned=*/false, rank, size, timeoutMs);
  MOERT_TRY(result->startWatching());
  comm = std::move(result);
  return nullptr;
}
