//===- PeersTest.cpp - memory in common, with host memory in place of a device's ------===//
//
// A driver whose devices are this process's memory: what ranks tell each other, what they write for kernels to read,
// what they say of what kernels report, and when memory is freed.
//
//===----------------------------------------------------------------------===//
#include "CUDA/Peers.h"
#include "TestPrograms.h"

#include <atomic>
#include <map>
#include <mutex>
#include <thread>

using namespace moe_test;
using namespace moert;
using namespace moert::cuda;

namespace {

/// All that is allocated, by address.
struct Allocations {
  std::mutex mutex;
  std::map<DevicePtr, size_t> live;

  static Allocations &get() {
    static Allocations all;
    return all;
  }
  size_t count() {
    std::lock_guard<std::mutex> lock(mutex);
    return live.size();
  }
};

std::atomic<int> canAccess{1};

Driver hostDriver() {
  Driver d;
  d.MemAlloc = [](DevicePtr *to, size_t bytes) {
    std::lock_guard<std::mutex> lock(Allocations::get().mutex);
    *to = reinterpret_cast<uintptr_t>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
    Allocations::get().live[*to] = bytes;
    return 0;
  };
  d.MemFree = [](DevicePtr memory) {
    std::lock_guard<std::mutex> lock(Allocations::get().mutex);
    EXPECT_EQ(Allocations::get().live.erase(memory), 1u);
    std::free(reinterpret_cast<void *>(memory));
    return 0;
  };
  d.MemcpyHtoD = [](DevicePtr to, const void *from, size_t bytes) {
    std::memcpy(reinterpret_cast<void *>(to), from, bytes);
    return 0;
  };
  d.MemcpyDtoH = [](void *to, DevicePtr from, size_t bytes) {
    std::memcpy(to, reinterpret_cast<void *>(from), bytes);
    return 0;
  };
  d.MemHostAlloc = [](void **to, size_t bytes, unsigned) {
    *to = std::malloc(bytes);
    return 0;
  };
  d.MemFreeHost = [](void *memory) {
    std::free(memory);
    return 0;
  };
  d.MemHostGetDevicePointer = [](DevicePtr *to, void *host, unsigned) {
    *to = reinterpret_cast<uintptr_t>(host);
    return 0;
  };
  d.DeviceCanAccessPeer = [](int *can, Device, Device) {
    *can = canAccess;
    return 0;
  };
  d.CtxEnablePeerAccess = [](Context, unsigned) { return 704; };  // enabled already
  d.IpcGetMemHandle = [](IpcHandle *, DevicePtr) { return 801; }; // not for one process
  d.CtxSynchronize = [] { return 0; };
  d.CtxPushCurrent = [](Context) { return 0; };
  d.CtxPopCurrent = [](Context *) { return 0; };
  d.DevicePrimaryCtxRetain = [](Context *, Device) { return 0; };
  d.DevicePrimaryCtxRelease = [](Device) { return 0; };
  d.GetErrorName = [](Result, const char **name) {
    *name = "SOME_ERROR";
    return 0;
  };
  d.GetErrorString = [](Result, const char **text) {
    *text = "some error";
    return 0;
  };
  return d;
}

Place placeOf(int32_t rank) { return {rank, reinterpret_cast<Context>(uintptr_t(rank) + 1)}; }

struct Ranks {
  std::vector<moe_comm *> comms;
  std::vector<std::unique_ptr<Peers>> peers;

  explicit Ranks(int32_t n, uint32_t timeoutMs = 5000) : comms(size_t(n)), peers(size_t(n)) {
    moe_comm_options options = {sizeof(options), timeoutMs};
    expectOk(moe_comm_create_local(n, &options, comms.data()));
  }
  ~Ranks() {
    peers.clear();
    for (moe_comm *comm : comms)
      moe_comm_release(comm);
  }
  /// Each rank in a thread; their statuses.
  std::vector<moe_status *> connect(uint64_t bytes) {
    std::vector<moe_status *> statuses(comms.size());
    std::vector<std::thread> threads;
    for (size_t r = 0; r < comms.size(); ++r)
      threads.emplace_back([&, r] {
        statuses[r] = Peers::connect(hostDriver(), placeOf(int32_t(r)), comms[r], bytes + 64 * r, nullptr, peers[r]);
        if (statuses[r])
          moe_comm_fail(comms[r], moe_status_message(statuses[r]));
      });
    for (std::thread &thread : threads)
      thread.join();
    return statuses;
  }
};

const peer::Table &tableOf(const Peers &peers) { return *reinterpret_cast<const peer::Table *>(peers.table()); }

} // namespace

TEST(Peers, TellEachOtherWhereTheirMemoryIs) {
  size_t before = Allocations::get().count();
  {
    Ranks ranks(3);
    for (moe_status *status : ranks.connect(1000))
      expectOk(status);
    std::vector<DevicePtr> memory(3);
    for (size_t r = 0; r < 3; ++r) {
      const Peers &own = *ranks.peers[r];
      const peer::Table &table = tableOf(own);
      EXPECT_EQ(table.rank, int64_t(r));
      EXPECT_EQ(table.timeout, 5000000000);
      EXPECT_EQ(own.bytes(), 1000 + 64 * r);
      EXPECT_EQ(own.arena() % 256, 0u);
      const auto *views = reinterpret_cast<const DevicePtr *>(&table + 1);
      memory[r] = views[r];
      EXPECT_EQ(table.memory, memory[r]);
      EXPECT_GE(own.table(), memory[r] + 3 * sizeof(peer::Sender));
      EXPECT_GE(own.arena(), own.table() + sizeof(peer::Table) + 3 * sizeof(DevicePtr));
      std::lock_guard<std::mutex> lock(Allocations::get().mutex);
      EXPECT_GE(Allocations::get().live.at(memory[r]), own.arena() - memory[r] + own.bytes());
    }
    for (size_t r = 0; r < 3; ++r)
      for (size_t of = 0; of < 3; ++of)
        EXPECT_EQ(reinterpret_cast<const DevicePtr *>(&tableOf(*ranks.peers[r]) + 1)[of], memory[of]);
    // Memory stays until the last of the others has gone.
    ranks.peers[1] = nullptr;
    EXPECT_EQ(Allocations::get().count(), before + 3);
    ranks.peers[0] = nullptr;
    EXPECT_EQ(Allocations::get().count(), before + 3);
    ranks.peers[2] = nullptr;
    EXPECT_EQ(Allocations::get().count(), before);
  }
}

TEST(Peers, SayWhatKernelsReport) {
  Ranks ranks(2);
  for (moe_status *status : ranks.connect(0))
    expectOk(status);
  auto &report = *reinterpret_cast<peer::Report *>(tableOf(*ranks.peers[0]).report);
  expectOk(ranks.peers[0]->failure());
  report.rank = 1;
  report.found = 7;
  report.expected = 5;
  const std::pair<peer::Failure, const char *> cases[] = {
      {peer::kLost, "rank 1 has failed in an exchange with rank 0"},
      {peer::kLate, "rank 1 did not take part in an exchange within 5000 ms of rank 0"},
      {peer::kAborted, "an exchange of rank 0 was ended"},
      {peer::kSizes, "rank 0 sends 7 rows to rank 1, which expects 5"},
      {peer::kBounds, "rows 7 to 5 of rank 0 for rank 1 are outside of a buffer, or not in order"}};
  for (const auto &[failure, message] : cases) {
    report.failure = failure;
    expectError(ranks.peers[0]->failure(), MOE_COMM_FAILED, message);
  }
  expectOk(ranks.peers[1]->failure());
}

TEST(Peers, RefuseDevicesThatDoNotReachEachOther) {
  Ranks ranks(2);
  canAccess = 0;
  std::vector<moe_status *> statuses = ranks.connect(64);
  canAccess = 1;
  // One may hear of the other's error before its own.
  bool named = false;
  for (moe_status *status : statuses) {
    ASSERT_NE(status, nullptr);
    std::string message = moe_status_message(status);
    named |= moe_status_code(status) == MOE_UNSUPPORTED;
    EXPECT_NE(message.find("cannot reach the memory of rank"), std::string::npos) << message;
    EXPECT_NE(message.find("cuCtxEnablePeerAccess failed"), std::string::npos) << message;
    moe_status_free(status);
  }
  EXPECT_TRUE(named);
}

TEST(Peers, NameTheRankThatDoesNotConnect) {
  size_t before = Allocations::get().count();
  {
    Ranks ranks(2, 100);
    std::unique_ptr<Peers> peers;
    expectError(Peers::connect(hostDriver(), placeOf(0), ranks.comms[0], 64, nullptr, peers), MOE_COMM_FAILED,
                "rank 1 did not take part in exchange 1 within 100 ms of rank 0");
    EXPECT_EQ(peers, nullptr);
  }
  EXPECT_EQ(Allocations::get().count(), before);
}
