//===- Ranks.cpp ----------------------------------------------------------------------===//
#include "Ranks.h"
#include "Arrays.h"
#include "Device.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
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

static CommPtr joinProcesses(const RankOptions &options) {
  int32_t rank = readNumber({"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"});
  int32_t size = readNumber({"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"});
  if (rank < 0 || size < 0)
    throw Error("--store is for ranks that torchrun or mpirun starts; neither RANK and WORLD_SIZE nor "
                "OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE nor PMI_RANK and PMI_SIZE are set");
  moe_comm_options commOptions = {sizeof(commOptions), options.timeoutMs};
  moe_comm *comm = nullptr;
  check(moe_comm_create_processes(options.store.c_str(), rank, size, &commOptions, &comm));
  return {comm, moe_comm_release};
}

/// False after an error, which has been printed.
static bool runOne(CommPtr comm, const std::function<bool(moe_comm *)> &body) {
  if (comm)
    prefix = "rank " + std::to_string(moe_comm_rank(comm.get())) + ": ";
  try {
    return body(comm.get());
  } catch (const std::exception &error) {
    moe_comm_fail(comm.get(), error.what());
    std::fflush(stdout);
    std::fprintf(stderr, "moe-run: error: %s%s\n", prefix.c_str(), error.what());
    return false;
  }
}

bool moe_run::runRanks(const RankOptions &options, const std::function<bool(moe_comm *)> &body) {
  if (!options.store.empty())
    return runOne(joinProcesses(options), body);
  if (!options.threads)
    return runOne({nullptr, moe_comm_release}, body);
  moe_comm_options commOptions = {sizeof(commOptions), options.timeoutMs};
  std::vector<moe_comm *> comms(size_t(options.threads), nullptr);
  check(moe_comm_create_local(options.threads, &commOptions, comms.data()));
  std::vector<char> good(comms.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < comms.size(); ++rank)
    threads.emplace_back([&, rank] { good[rank] = runOne({comms[rank], moe_comm_release}, body); });
  for (std::thread &thread : threads)
    thread.join();
  for (char one : good)
    if (!one)
      return false;
  return true;
}
