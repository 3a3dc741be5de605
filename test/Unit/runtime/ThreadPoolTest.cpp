//===- ThreadPoolTest.cpp - every task once, from any number of threads ---------------===//
#include "TestPrograms.h"

#include "CPU/ThreadPool.h"

#include <cfenv>
#include <thread>

using namespace moe_test;
using moert::ThreadPool;

namespace {

struct Job {
  ThreadPool &pool;
  std::vector<std::atomic<int>> done;
  std::atomic<int> badRanges{0};

  Job(ThreadPool &pool, size_t tasks) : pool(pool), done(tasks) {}
  void run() {
    expectOk(pool.run(
        [](void *state) {
          Job &job = *static_cast<Job *>(state);
          job.pool.parallelFor(
              int64_t(job.done.size()),
              [](void *state, int64_t begin, int64_t end) {
                Job &job = *static_cast<Job *>(state);
                job.badRanges += begin < 0 || begin >= end || end > int64_t(job.done.size());
                for (int64_t t = begin; t < end; ++t)
                  ++job.done[size_t(t)];
              },
              state);
        },
        this));
    EXPECT_EQ(badRanges, 0);
    for (auto &count : done)
      ASSERT_EQ(count, 1);
  }
};

TEST(ThreadPool, EveryTaskOnce) {
  for (uint32_t threads : {1u, 2u, 5u}) {
    ThreadPool pool;
    expectOk(pool.start(threads));
    for (size_t tasks : {0, 1, 2, 3, 4, 5, 31, 1000, 100000})
      Job(pool, tasks).run();
  }
}

TEST(ThreadPool, JobsQueue) {
  ThreadPool pool;
  expectOk(pool.start(3));
  std::vector<std::thread> callers;
  for (int c = 0; c < 8; ++c)
    callers.emplace_back([&, c] {
      for (size_t round = 0; round < 200; ++round)
        Job(pool, (round * 7 + size_t(c)) % 50).run();
    });
  for (std::thread &caller : callers)
    caller.join();
}

/// A worker rounds to nearest, whatever the thread that started it does: results do not depend on it.
TEST(ThreadPool, RoundingMode) {
  std::fesetround(FE_UPWARD);
  ThreadPool pool;
  expectOk(pool.start(1));
  std::fesetround(FE_TONEAREST);
  int mode = -1;
  expectOk(pool.run([](void *state) { *static_cast<int *>(state) = std::fegetround(); }, &mode));
  EXPECT_EQ(mode, FE_TONEAREST);
}

} // namespace
