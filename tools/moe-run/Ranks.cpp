//===- Ranks.cpp ----------------------------------------------------------------------===//
#include "Ranks.h"
#include "Arrays.h"
#include "Device.h"
#include "Trace.h"

#include <algorithm>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

using namespace moe_run;

using CommPtr = std::unique_ptr<moe_comm, void (*)(moe_comm *)>;

/// What each line that this thread prints begins with.
static thread_local std::string prefix;

void moe_run::print(const char *format, ...) {
  char text[4096];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  std::printf("%s%s", prefix.c_str(), text);
}

std::string moe_run::withRank(const std::string &path, const moe_comm *comm) {
  std::string result = path;
  const std::string name = "{rank}", rank = std::to_string(comm ? moe_comm_rank(comm) : 0);
  for (size_t at = 0; (at = result.find(name, at)) != std::string::npos; at += rank.size())
    result.replace(at, name.size(), rank);
  return result;
}

/// The number in the first of the variables that is set, or -1.
static int32_t readNumber(std::initializer_list<const char *> variables) {
  for (const char *variable : variables) {
    const char *text = std::getenv(variable);
    if (!text)
      continue;
    char *end = nullptr;
    long number = std::strtol(text, &end, 10);
    if (end == text || *end || number < 0 || number > INT32_MAX)
      throw Error(std::string(variable) + " is '" + text + "', expected a number");
    return int32_t(number);
  }
  return -1;
}

/// "tcp://host:port" for "env://", other stores as they are.
static std::string resolveStore(const std::string &store) {
  if (store != "env://")
    return store;
  const char *address = std::getenv("MASTER_ADDR"), *agent = std::getenv("TORCHELASTIC_USE_AGENT_STORE");
  int32_t port = readNumber({"MASTER_PORT"});
  if (!address || port < 0)
    throw Error("--store env:// needs MASTER_ADDR and MASTER_PORT, which are not set");
  // There torchrun itself listens at the port.
  if (agent && std::string(agent) == "True")
    ++port;
  return "tcp://" + std::string(address) + ":" + std::to_string(port);
}

/// Gives the id that rank 0 makes to all processes that see the folder.
static void shareId(const std::string &folder, int32_t rank, uint32_t timeoutMs, uint8_t (&id)[MOE_COMM_ID_BYTES]) {
  std::filesystem::path path = std::filesystem::path(folder) / "nccl-id", part = path;
  if (rank == 0) {
    check(moe_comm_unique_id(id));
    part += ".part";
    writeText(part, std::string(reinterpret_cast<const char *>(id), sizeof(id)));
    std::filesystem::rename(part, path); // it is there as a whole or not at all
    return;
  }
  auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeoutMs ? timeoutMs : 30000);
  while (!std::filesystem::exists(path)) {
    if (std::chrono::steady_clock::now() > deadline)
      throw Error("rank 0 has written no '" + path.string() + "' in time");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::ifstream stream(path, std::ios::binary);
  if (!stream.read(reinterpret_cast<char *>(id), sizeof(id)))
    throw Error("cannot read '" + path.string() + "'");
}

static moe_comm *createOnGpu(const RankOptions &options, const uint8_t (&id)[MOE_COMM_ID_BYTES], int32_t rank,
                             int32_t size, int32_t device) {
  moe_comm_options commOptions = {sizeof(commOptions), options.timeoutMs};
  moe_comm *comm = nullptr;
  check(moe_comm_create_nccl(id, rank, size, device, &commOptions, &comm));
  return comm;
}

/// False after an error, which has been printed.
static bool runOne(int32_t rank, const std::function<moe_comm *()> &join, const std::function<bool(moe_comm *)> &body) {
  if (rank >= 0)
    prefix = "rank " + std::to_string(rank) + ": ";
  CommPtr comm(nullptr, moe_comm_release);
  try {
    comm.reset(join());
    return body(comm.get());
  } catch (const std::exception &error) {
    moe_comm_fail(comm.get(), error.what());
    std::fflush(stdout);
    std::fprintf(stderr, "moe-run: error: %s%s\n", prefix.c_str(), error.what());
    return false;
  }
}

using Body = std::function<bool(moe_comm *, int32_t)>;

static bool runProcess(const RankOptions &options, const Body &body) {
  int32_t rank = readNumber({"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"});
  int32_t size = readNumber({"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"});
  int32_t local = readNumber({"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"});
  if (rank < 0 || size < 0)
    throw Error("--store is for ranks that torchrun or mpirun starts; neither RANK and WORLD_SIZE nor "
                "OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE nor PMI_RANK and PMI_SIZE are set");
  int32_t device = options.onGpus ? options.device + std::max(local, 0) : options.device;
  auto join = [&] {
    std::string store = resolveStore(options.store);
    if (options.onGpus) {
      uint8_t id[MOE_COMM_ID_BYTES];
      const std::string tcp = "tcp://";
      if (store.compare(0, tcp.size(), tcp) == 0) {
        // NCCL's own rendezvous: every rank makes the same id of the address, where rank 0 listens.
        setenv("NCCL_COMM_ID", store.substr(tcp.size()).c_str(), 1);
        check(moe_comm_unique_id(id));
      } else {
        shareId(store, rank, options.timeoutMs, id);
      }
      return createOnGpu(options, id, rank, size, device);
    }
    moe_comm_options commOptions = {sizeof(commOptions), options.timeoutMs};
    moe_comm *comm = nullptr;
    check(moe_comm_create_processes(store.c_str(), rank, size, &commOptions, &comm));
    return comm;
  };
  return runOne(rank, join, [&](moe_comm *comm) { return body(comm, device); });
}

static bool runThreads(const RankOptions &options, const Body &body) {
  uint8_t id[MOE_COMM_ID_BYTES];
  std::vector<moe_comm *> comms(size_t(options.threads), nullptr);
  moe_comm_options commOptions = {sizeof(commOptions), options.timeoutMs};
  if (options.onGpus)
    check(moe_comm_unique_id(id));
  else
    check(moe_comm_create_local(options.threads, &commOptions, comms.data()));
  std::vector<char> good(comms.size());
  std::vector<std::thread> threads;
  for (int32_t rank = 0; rank < options.threads; ++rank)
    threads.emplace_back([&, rank] {
      int32_t device = options.onGpus ? options.device + rank : options.device;
      auto join = [&] {
        return options.onGpus ? createOnGpu(options, id, rank, options.threads, device) : comms[size_t(rank)];
      };
      good[size_t(rank)] = runOne(rank, join, [&](moe_comm *comm) { return body(comm, device); });
    });
  for (std::thread &thread : threads)
    thread.join();
  return std::all_of(good.begin(), good.end(), [](char one) { return one; });
}

bool moe_run::runRanks(const RankOptions &options, const Body &body) {
  if (!options.store.empty())
    return runProcess(options, body);
  if (options.threads)
    return runThreads(options, body);
  return runOne(-1, [] { return nullptr; }, [&](moe_comm *comm) { return body(comm, options.device); });
}
