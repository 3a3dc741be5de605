//===- ExprTest.cpp - size expressions ---------------------------------------------===//
#include "TestPrograms.h"

#include <limits>

using namespace moe_test;

namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

/// inputs a[-1], b[-1]; one output whose size is `op` of theirs.
EntryBuilder binary(fb::ExprKind op) {
  EntryBuilder e("main");
  e.input("a", fb::DType::I8, {-1});
  e.input("b", fb::DType::I8, {-1});
  uint32_t a = e.dim(0, 0), b = e.dim(1, 0);
  uint32_t size = e.expr(op, a, b);
  e.entry.arena = e.constant(0);
  e.output("out", fb::DType::I8, {-1}, {size});
  return e;
}

moe_status *sizeOf(const ProgramPtr &program, int64_t a, int64_t b, int64_t *size) {
  moe_buffer inputs[] = {{nullptr, 0, MOE_I8, 1, &a, nullptr}, {nullptr, 0, MOE_I8, 1, &b, nullptr}};
  return moe_output_shape(program.get(), 0, inputs, 2, 0, size);
}

TEST(Expr, Values) {
  const struct {
    fb::ExprKind op;
    int64_t a, b, value;
  } cases[] = {
      {fb::ExprKind::Add, 5, 7, 12},          {fb::ExprKind::Add, kMax, 0, kMax},
      {fb::ExprKind::Mul, 5, 7, 35},          {fb::ExprKind::Mul, kMax, 1, kMax},
      {fb::ExprKind::Mul, kMax, 0, 0},        {fb::ExprKind::CeilDiv, 0, 7, 0},
      {fb::ExprKind::CeilDiv, 14, 7, 2},      {fb::ExprKind::CeilDiv, 15, 7, 3},
      {fb::ExprKind::CeilDiv, kMax, 1, kMax}, {fb::ExprKind::CeilDiv, kMax, 2, kMax / 2 + 1},
      {fb::ExprKind::Max, 3, 9, 9},           {fb::ExprKind::Max, 9, 3, 9},
  };
  for (const auto &[op, a, b, value] : cases) {
    ProgramPtr program = load(programOf(binary(op), false));
    int64_t size = -1;
    expectOk(sizeOf(program, a, b, &size));
    EXPECT_EQ(size, value) << int(op) << " of " << a << " and " << b;
  }
}

TEST(Expr, Errors) {
  int64_t size = -7;
  ProgramPtr sum = load(programOf(binary(fb::ExprKind::Add), false));
  expectError(sizeOf(sum, kMax, 1, &size), MOE_INVALID_ARGUMENT,
              "size expression 2, 9223372036854775807 + 1, passes 64 bits");
  ProgramPtr product = load(programOf(binary(fb::ExprKind::Mul), false));
  expectError(sizeOf(product, 1ll << 32, 1ll << 31, &size), MOE_INVALID_ARGUMENT,
              "size expression 2, 4294967296 * 2147483648, passes 64 bits");
  ProgramPtr quotient = load(programOf(binary(fb::ExprKind::CeilDiv), false));
  expectError(sizeOf(quotient, 5, 0, &size), MOE_INVALID_ARGUMENT, "size expression 2 divides by 0");
  EXPECT_EQ(size, -7) << "written on error";
}

TEST(Expr, NegativeOutput) {
  EntryBuilder e("main");
  e.input("a", fb::DType::I8, {-1});
  uint32_t a = e.dim(0, 0), minus = e.constant(-10);
  uint32_t size = e.expr(fb::ExprKind::Add, a, minus);
  e.entry.arena = e.constant(0);
  e.output("out", fb::DType::I8, {-1}, {size});
  ProgramPtr program = load(programOf(std::move(e), false));
  int64_t nine = 9, shape;
  moe_buffer input = {nullptr, 0, MOE_I8, 1, &nine, nullptr};
  expectError(moe_output_shape(program.get(), 0, &input, 1, 0, &shape), MOE_INVALID_ARGUMENT,
              "output 0 'out': dimension 0 is -1 for these inputs");
}

/// An entry of one input a[-1] and one arena buffer.
ProgramPtr arenaProgram(uint32_t (*dim)(EntryBuilder &, uint32_t), int64_t offset, int64_t arena) {
  EntryBuilder e("main");
  e.input("a", fb::DType::I32, {-1});
  uint32_t a = e.dim(0, 0);
  uint32_t size = dim(e, a), at = e.constant(offset);
  e.entry.arena = e.constant(arena);
  e.buffer(fb::BufferKind::Arena, 0, fb::DType::I32, {size}, at);
  return load(programOf(std::move(e), false));
}

TEST(Expr, ArenaRange) {
  auto itself = [](EntryBuilder &, uint32_t a) { return a; };
  auto less = [](EntryBuilder &e, uint32_t a) { return e.expr(fb::ExprKind::Add, a, e.constant(-100)); };
  size_t bytes, align;
  auto query = [&](const ProgramPtr &program, int64_t size) {
    moe_buffer input = {nullptr, 0, MOE_I32, 1, &size, nullptr};
    return moe_workspace_query(program.get(), 0, &input, 1, &bytes, &align);
  };
  expectOk(query(arenaProgram(itself, 64, 128), 16));
  EXPECT_EQ(align, 64u);
  EXPECT_GE(bytes, 256u + 128u);
  expectError(query(arenaProgram(itself, 64, 128), 17), MOE_BAD_PROGRAM,
              "buffer 0 has 68 bytes at 64 of an arena of 128 bytes");
  expectError(query(arenaProgram(itself, -4, 128), 1), MOE_BAD_PROGRAM, "buffer 0 has 4 bytes at -4");
  expectError(query(arenaProgram(itself, 2, 128), 1), MOE_BAD_PROGRAM, "buffer 0 has 4 bytes at 2");
  expectError(query(arenaProgram(itself, 0, -1), 1), MOE_INVALID_ARGUMENT, "the arena has -1 bytes");
  expectError(query(arenaProgram(less, 0, 128), 1), MOE_INVALID_ARGUMENT,
              "dimension 0 of the program's buffer 0 is -99");
  expectError(query(arenaProgram(itself, 0, 128), kMax / 2), MOE_INVALID_ARGUMENT, "buffer 0 passes 64 bits");
  expectError(query(arenaProgram(itself, 0, kMax), 1), MOE_INVALID_ARGUMENT, "the workspace passes 64 bits");
}

} // namespace
