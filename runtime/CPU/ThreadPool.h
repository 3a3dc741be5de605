//===- ThreadPool.h - worker threads of a session -----------------------------===//
//
// Each enqueue runs as a whole on one worker (`run`), because a kernel may need more stack than the caller's thread
// has. That worker opens its loops to the others (`parallelFor`) and works on them itself, so that it never waits
// for a worker to become free, and a loop of one task costs no hand-over at all.
//
//===----------------------------------------------------------------------===//
#ifndef MOERT_CPU_THREADPOOL_H
#define MOERT_CPU_THREADPOOL_H

#include "Status.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

namespace moert {

class ThreadPool {
public:
  ThreadPool() = default;
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;
  /// Joins the threads; nothing may be running.
  ~ThreadPool();

  /// Starts the threads; 0 means one for each core this process may use. Called once.
  moe_status *start(uint32_t numThreads);

  /// Runs body(state) on a worker and returns when it is done. From any thread but a worker. Fails only in a process
  /// that was forked from the one that started the threads.
  moe_status *run(void (*body)(void *state), void *state);

  /// Runs body(state, begin, end) over ranges that cover 0 <= t < tasks. Only from within `run`.
  void parallelFor(int64_t tasks, void (*body)(void *state, int64_t begin, int64_t end), void *state);

private:
  struct Request {
    void (*body)(void *state);
    void *state;
    Request *next = nullptr;
    bool done = false;
    std::condition_variable finished;
  };
  struct Loop {
    void (*body)(void *state, int64_t begin, int64_t end);
    void *state;
    int64_t tasks, chunk;
    std::atomic<int64_t> next{0};
    std::atomic<int32_t> helpers{0}; ///< raised under the mutex while the loop is listed
    Loop *nextLoop = nullptr;
    bool listed = true;
    std::condition_variable finished;
    void work();
  };

  static void *worker(void *pool);
  void workerLoop();
  void unlist(Loop &loop);
  void announce(bool all);

  pid_t process = 0;
  std::vector<pthread_t> threads;
  std::mutex mutex;
  std::condition_variable arrived;
  std::atomic<uint64_t> arrivals{0}; ///< watched without the mutex by workers about to sleep
  uint32_t sleepers = 0;
  bool stopping = false;
  Request *firstRequest = nullptr, **lastRequest = &firstRequest;
  Loop *loops = nullptr;
};

} // namespace moert

#endif
