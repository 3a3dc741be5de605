//===- AliasTest.cpp - which buffers may share memory ------------------------------===//
#include "TestPrograms.h"

using namespace moe_test;

namespace {

/// acc[m,4], x[m,4] -> out[m,4] = acc + x, where out may be acc.
ProgramPtr accumulate() {
  EntryBuilder e("accumulate");
  uint32_t m = e.dim(0, 0), four = e.constant(4);
  e.entry.arena = e.constant(0);
  e.input("acc", fb::DType::F32, {-1, 4});
  e.input("x", fb::DType::F32, {-1, 4});
  e.output("out", fb::DType::F32, {-1, 4}, {m, four}, /*alias=*/0);
  uint32_t acc = e.buffer(fb::BufferKind::Input, 0, fb::DType::F32, {m, four});
  uint32_t x = e.buffer(fb::BufferKind::Input, 1, fb::DType::F32, {m, four});
  uint32_t out = e.buffer(fb::BufferKind::Output, 0, fb::DType::F32, {m, four});
  e.copy(acc, out);
  e.launch(kAdd, {out, x, out});
  return load(programOf(std::move(e)));
}

class Alias : public testing::Test {
protected:
  Alias() : program(accumulate()), session(createSession(program)) {
    for (int i = 0; i < 40; ++i)
      memory[i] = float(i);
  }
  moe_buffer at(int offset, const int64_t *strides = nullptr) {
    return {memory + offset, sizeof(memory) - size_t(offset) * 4, MOE_F32, 2, shape, strides};
  }
  moe_status *run(moe_buffer acc, moe_buffer x, moe_buffer out) {
    moe_buffer inputs[] = {acc, x};
    size_t bytes = 0, align = 0;
    expectOk(moe_workspace_query(program.get(), 0, inputs, 2, &bytes, &align));
    Guarded workspace(bytes);
    return moe_enqueue(session.get(), 0, inputs, 2, &out, 1, workspace.data(), bytes, nullptr, nullptr);
  }

  ProgramPtr program;
  SessionPtr session;
  int64_t shape[2] = {3, 4};
  float memory[40];
};

TEST_F(Alias, SameMemory) {
  const int64_t dense[] = {16, 4};
  expectOk(run(at(0), at(12), at(0, dense)));
  for (int i = 0; i < 12; ++i)
    EXPECT_EQ(memory[i], float(i + i + 12));
}

TEST_F(Alias, OwnMemory) {
  expectOk(run(at(0), at(12), at(24)));
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(memory[i], float(i));
    EXPECT_EQ(memory[24 + i], float(i + i + 12));
  }
}

TEST_F(Alias, OnlyTheSameElements) {
  const int64_t wide[] = {32, 4};
  const char *message = "which it may share memory with only if address, shape and strides are the same";
  expectError(run(at(0), at(24), at(4)), MOE_INVALID_ARGUMENT, message);
  expectError(run(at(0), at(24), at(0, wide)), MOE_INVALID_ARGUMENT, "overlaps input 0 'acc'");
}

TEST_F(Alias, OnlyTheNamedInput) {
  expectError(run(at(0), at(12), at(12)), MOE_INVALID_ARGUMENT, "overlaps input 1 'x'");
  expectError(run(at(0), at(0), at(0)), MOE_INVALID_ARGUMENT, "overlaps input 1 'x'");
}

/// Columns 0-3, 4-7 and 8-11 of one 3 x 12 matrix share rows but no element.
TEST_F(Alias, ColumnWindows) {
  const int64_t pitch[] = {48, 4};
  expectOk(run(at(0, pitch), at(4, pitch), at(8, pitch)));
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j)
      EXPECT_EQ(memory[i * 12 + 8 + j], float(i * 12 + j + i * 12 + 4 + j));
  expectError(run(at(0, pitch), at(4, pitch), at(7, pitch)), MOE_INVALID_ARGUMENT, "overlaps input 1 'x'");
  // The window one row further down begins in the same columns.
  expectError(run(at(0, pitch), at(4, pitch), at(16 - 12, pitch)), MOE_INVALID_ARGUMENT, "overlaps input 1 'x'");
}

} // namespace
