//===- ThreadPool.cpp -------------------------------------------------------------===//
#include "ThreadPool.h"
#include "KernelABI.h"

#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <cfenv>
#include <cstring>

using namespace moert;

/// A task's own need, and as much again for what lies above it.
static constexpr size_t kStackBytes = 2 * size_t(MOERT_CPU_TASK_STACK_BYTES);
static constexpr uint32_t kMaxThreads = 4096;
/// A worker that finds nothing to do looks again this often before it sleeps: some ten microseconds, the time
/// between two kernels of a program, where waking up would cost several times as much.
static constexpr int kSpins = 500;
/// Ranges handed out for each thread: enough to even out unequal tasks, few enough not to contend.
static constexpr int64_t kRangesPerThread = 16;

static void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static uint32_t usableCores() {
  cpu_set_t set;
  if (!sched_getaffinity(0, sizeof(set), &set))
    return uint32_t(CPU_COUNT(&set));
  // More cores than a cpu_set_t has bits.
  return uint32_t(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

moe_status *ThreadPool::start(uint32_t numThreads) {
  if (numThreads > kMaxThreads)
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "num_threads is %u; the most is %u", numThreads, kMaxThreads);
  if (!numThreads)
    numThreads = std::min(usableCores(), kMaxThreads);
  process = getpid();
  threads.reserve(numThreads);

  pthread_attr_t attributes;
  if (int error = pthread_attr_init(&attributes))
    return MOERT_ERROR(MOE_SYSTEM, "pthread_attr_init: %s", std::strerror(error));
  int error = pthread_attr_setstacksize(&attributes, kStackBytes);
  // Signals are for the host program's threads, whose handlers do not expect ours.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (!error && threads.size() < numThreads) {
    pthread_t thread;
    error = pthread_create(&thread, &attributes, worker, this);
    if (!error)
      threads.push_back(thread);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (error)
    return MOERT_ERROR(MOE_SYSTEM, "cannot start thread %zu of %u with a stack of %zu bytes: %s", threads.size() + 1,
                       numThreads, kStackBytes, std::strerror(error));
  return nullptr;
}

ThreadPool::~ThreadPool() {
  // A forked child has no such threads, only their handles.
  if (process != getpid())
    return;
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
    announce(/*all=*/true);
  }
  for (pthread_t thread : threads)
    pthread_join(thread, nullptr);
}

/// Tells the workers that there is something to do. Under the mutex.
void ThreadPool::announce(bool all) {
  arrivals.fetch_add(1, std::memory_order_release);
  if (!sleepers)
    return;
  if (all)
    arrived.notify_all();
  else
    arrived.notify_one();
}

moe_status *ThreadPool::run(void (*body)(void *state), void *state) {
  if (process != getpid())
    return MOERT_ERROR(MOE_UNSUPPORTED,
                       "the session was created before fork, so that its threads are in process %d; "
                       "create one in process %d",
                       int(process), int(getpid()));
  Request request;
  request.body = body;
  request.state = state;
  std::unique_lock<std::mutex> lock(mutex);
  *lastRequest = &request;
  lastRequest = &request.next;
  announce(/*all=*/false);
  request.finished.wait(lock, [&] { return request.done; });
  return nullptr;
}

void ThreadPool::Loop::work() {
  for (;;) {
    int64_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
    if (begin >= tasks)
      return;
    body(state, begin, std::min(begin + chunk, tasks));
  }
}

/// No worker joins the loop from now on. Under the mutex.
void ThreadPool::unlist(Loop &loop) {
  if (!loop.listed)
    return;
  loop.listed = false;
  Loop **link = &loops;
  while (*link != &loop)
    link = &(*link)->nextLoop;
  *link = loop.nextLoop;
}

void ThreadPool::parallelFor(int64_t tasks, void (*body)(void *state, int64_t begin, int64_t end), void *state) {
  if (tasks <= 0)
    return;
  int64_t numThreads = int64_t(threads.size());
  if (tasks == 1 || numThreads == 1)
    return body(state, 0, tasks);

  Loop loop;
  loop.body = body;
  loop.state = state;
  loop.tasks = tasks;
  loop.chunk = std::max<int64_t>(1, tasks / (numThreads * kRangesPerThread));
  {
    std::lock_guard<std::mutex> lock(mutex);
    loop.nextLoop = loops;
    loops = &loop;
    announce(/*all=*/true);
  }
  loop.work();
  std::unique_lock<std::mutex> lock(mutex);
  unlist(loop);
  if (!loop.helpers)
    return;
  lock.unlock();
  for (int spin = 0; spin < kSpins && loop.helpers.load(std::memory_order_relaxed); ++spin)
    relax();
  lock.lock();
  loop.finished.wait(lock, [&] { return !loop.helpers; });
}

void *ThreadPool::worker(void *pool) {
  // Results must not depend on the rounding mode of the thread that created the session.
  std::fesetenv(FE_DFL_ENV);
  static_cast<ThreadPool *>(pool)->workerLoop();
  return nullptr;
}

void ThreadPool::workerLoop() {
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    // Loops first: they belong to enqueues that have begun.
    if (Loop *loop = loops) {
      loop->helpers.fetch_add(1, std::memory_order_relaxed);
      lock.unlock();
      loop->work();
      lock.lock();
      unlist(*loop);
      // Notified under the mutex: the loop is gone as soon as its owner can take it.
      if (loop->helpers.fetch_sub(1, std::memory_order_relaxed) == 1)
        loop->finished.notify_one();
      continue;
    }
    if (Request *request = firstRequest) {
      firstRequest = request->next;
      if (!firstRequest)
        lastRequest = &firstRequest;
      lock.unlock();
      request->body(request->state);
      lock.lock();
      request->done = true;
      request->finished.notify_one();
      continue;
    }
    if (stopping)
      return;
    uint64_t seen = arrivals.load(std::memory_order_relaxed);
    lock.unlock();
    int spin = 0;
    while (spin < kSpins && arrivals.load(std::memory_order_acquire) == seen) {
      relax();
      ++spin;
    }
    lock.lock();
    if (arrivals.load(std::memory_order_relaxed) != seen)
      continue;
    ++sleepers;
    arrived.wait(lock, [&] { return arrivals.load(std::memory_order_relaxed) != seen; });
    --sleepers;
  }
}
