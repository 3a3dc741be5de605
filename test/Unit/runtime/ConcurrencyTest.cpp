//===- ConcurrencyTest.cpp - several enqueues on one session -----------------------===//
#include "TestPrograms.h"

#include <thread>

using namespace moe_test;

namespace {

/// out[n] = 0, then each element is raised by 3 `times` times in two launches: 6 * times.
EntryBuilder visitTwice(int64_t times) {
  EntryBuilder e("main");
  uint32_t n = e.dim(0, 0), three = e.constant(3), repeat = e.constant(times);
  e.entry.arena = e.constant(0);
  e.input("size", fb::DType::I8, {-1});
  e.output("out", fb::DType::I64, {-1}, {n});
  uint32_t out = e.buffer(fb::BufferKind::Output, 0, fb::DType::I64, {n});
  e.memset(out, 0);
  e.launch(kVisit, {out}, {three, repeat});
  e.launch(kVisit, {out}, {three, repeat});
  return e;
}

void runAndCheck(moe_program *program, moe_session *session, int64_t n, int64_t expected) {
  std::vector<int8_t> size(static_cast<size_t>(n));
  Guarded out(size_t(n) * 8);
  moe_buffer input = {size.data(), size.size(), MOE_I8, 1, &n, nullptr};
  moe_buffer output = {out.data(), out.bytes, MOE_I64, 1, &n, nullptr};
  size_t bytes = 0, align = 0;
  expectOk(moe_workspace_query(program, 0, &input, 1, &bytes, &align));
  Guarded workspace(bytes);
  expectOk(moe_enqueue(session, 0, &input, 1, &output, 1, workspace.data(), bytes, nullptr, nullptr));
  int64_t wrong = 0;
  for (int64_t i = 0; i < n; ++i)
    wrong += out.as<int64_t>()[i] != expected;
  EXPECT_EQ(wrong, 0) << "of " << n;
}

TEST(Concurrency, ManyCallersOneSession) {
  std::mt19937_64 random = randomNumbers();
  ProgramPtr program = load(programOf(visitTwice(50)));
  for (uint32_t threads : {1u, 2u, 4u}) {
    SessionPtr session = createSession(program, threads);
    std::vector<std::thread> callers;
    for (int c = 0; c < 6; ++c)
      callers.emplace_back([&, seed = random()] {
        std::mt19937_64 own(seed);
        for (int round = 0; round < 60; ++round)
          runAndCheck(program.get(), session.get(), int64_t(own() % 300), 6 * 50);
      });
    for (std::thread &caller : callers)
      caller.join();
  }
}

TEST(Concurrency, HandlesComeAndGo) {
  ProgramPtr program = load(programOf(visitTwice(1)));
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int round = 0; round < 10; ++round) {
        moe_program_retain(program.get());
        SessionPtr session = createSession(program, 2);
        moe_program_release(program.get());
        moe_session_retain(session.get());
        runAndCheck(program.get(), session.get(), 100, 6);
        moe_session_release(session.get());
      }
    });
  for (std::thread &caller : callers)
    caller.join();
}

} // namespace
