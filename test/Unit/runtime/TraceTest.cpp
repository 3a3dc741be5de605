//===- TraceTest.cpp - what a traced enqueue reports ----------------------------------===//
#include "TestPrograms.h"

#include <numeric>

using namespace moe_test;

namespace {

constexpr int64_t kGroups = 5;

/// a[m,8] -> sum = a + a, copied = a, filled, and the bounds of groups.
EntryBuilder traced() {
  EntryBuilder e("main");
  uint32_t m = e.dim(0, 0), eight = e.constant(8), groups = e.constant(kGroups), two = e.constant(2);
  uint32_t cells = e.expr(fb::ExprKind::Mul, m, eight), bytes = e.expr(fb::ExprKind::Mul, cells, e.constant(12));
  e.entry.arena = e.constant(0);
  e.input("a", fb::DType::F32, {-1, 8});
  e.output("sum", fb::DType::F32, {-1, 8}, {m, eight});
  e.output("copied", fb::DType::F32, {-1, 8}, {m, eight});
  e.output("bounds", fb::DType::I64, {kGroups, 2}, {groups, two});
  uint32_t a = e.buffer(fb::BufferKind::Input, 0, fb::DType::F32, {m, eight});
  uint32_t sum = e.buffer(fb::BufferKind::Output, 0, fb::DType::F32, {m, eight});
  uint32_t copied = e.buffer(fb::BufferKind::Output, 1, fb::DType::F32, {m, eight});
  uint32_t bounds = e.buffer(fb::BufferKind::Output, 2, fb::DType::I64, {groups, two});
  e.launch(kBounds, {bounds}, {m}, {{}, {}, 0});
  e.memset(bounds, 0xff); // later steps may write where the bounds were
  e.launch(kAdd, {a, a, sum}, {}, {cells, bytes, {}});
  e.wait();
  e.copy(a, copied);
  return e;
}

struct Seen {
  moe_step_kind kind;
  std::string name;
  double begin, end, hostBegin, hostEnd;
  int64_t flops, bytes;
  std::vector<int64_t> rows;
};

void see(void *user, const moe_step *step) {
  EXPECT_EQ(step->struct_size, sizeof(moe_step));
  static_cast<std::vector<Seen> *>(user)->push_back({step->kind,
                                                     step->name,
                                                     step->begin,
                                                     step->end,
                                                     step->host_begin,
                                                     step->host_end,
                                                     step->flops,
                                                     step->bytes,
                                                     {step->rows, step->rows + step->num_groups}});
}

TEST(Trace, EachStepInOrder) {
  ProgramPtr program = load(programOf(traced()));
  SessionPtr session = createSession(program);
  for (int64_t m : {7, 0, 1000}) {
    const int64_t shape[] = {m, 8}, boundsShape[] = {kGroups, 2}, boundsStrides[] = {24, 8};
    size_t bytes = size_t(m) * 32, size = 0, align = 0;
    Guarded a(bytes), sum(bytes), copied(bytes), bounds(24 * kGroups);
    std::iota(a.as<float>(), a.as<float>() + m * 8, 1.0f);
    moe_buffer inputs[] = {{a.data(), bytes, MOE_F32, 2, shape, nullptr}};
    moe_buffer outputs[] = {{sum.data(), bytes, MOE_F32, 2, shape, nullptr},
                            {copied.data(), bytes, MOE_F32, 2, shape, nullptr},
                            {bounds.data(), 24 * kGroups, MOE_I64, 2, boundsShape, boundsStrides}};
    expectOk(moe_workspace_query(program.get(), 0, inputs, 1, &size, &align));
    Guarded workspace(size);
    std::vector<Seen> seen;
    expectOk(moe_enqueue_traced(session.get(), 0, inputs, 1, outputs, 3, workspace.data(), size, nullptr, nullptr, see,
                                &seen));

    // It ran.
    for (int64_t i = 0; i < m * 8; ++i)
      EXPECT_TRUE(sum.as<float>()[i] == 2 * a.as<float>()[i] && copied.as<float>()[i] == a.as<float>()[i]) << i;
    ASSERT_EQ(seen.size(), 4u);
    const struct {
      moe_step_kind kind;
      const char *name;
      int64_t flops, bytes;
    } expected[] = {{MOE_STEP_LAUNCH, "bounds", -1, -1},
                    {MOE_STEP_FILL, "fill", 0, kGroups * 16},
                    {MOE_STEP_LAUNCH, "add", m * 8, m * 96},
                    {MOE_STEP_COPY, "copy", 0, m * 64}};
    double last = 0;
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(seen[i].kind, expected[i].kind) << i;
      EXPECT_EQ(seen[i].name, expected[i].name) << i;
      EXPECT_EQ(seen[i].flops, expected[i].flops) << i;
      EXPECT_EQ(seen[i].bytes, expected[i].bytes) << i;
      EXPECT_TRUE(last <= seen[i].begin && seen[i].begin <= seen[i].end) << i;
      EXPECT_TRUE(seen[i].hostBegin == seen[i].begin && seen[i].hostEnd == seen[i].end) << i;
      last = seen[i].end;
    }
    EXPECT_EQ(seen[0].rows, m == 7   ? (std::vector<int64_t>{0, 1, 2, 3, 1})
                            : m == 0 ? std::vector<int64_t>(kGroups, 0)
                                     : (std::vector<int64_t>{0, 1, 2, 3, 4}));
    EXPECT_TRUE(seen[1].rows.empty() && seen[2].rows.empty() && seen[3].rows.empty());
  }
}

TEST(Trace, Errors) {
  ProgramPtr program = load(programOf(traced()));
  SessionPtr session = createSession(program);
  std::vector<Seen> seen;
  expectError(moe_enqueue_traced(nullptr, 0, nullptr, 0, nullptr, 0, nullptr, 0, nullptr, nullptr, see, &seen),
              MOE_INVALID_ARGUMENT, "session is NULL");
  expectError(
      moe_enqueue_traced(session.get(), 0, nullptr, 0, nullptr, 0, nullptr, 0, nullptr, nullptr, nullptr, &seen),
      MOE_INVALID_ARGUMENT, "report is NULL");
  expectError(moe_enqueue_traced(session.get(), 1, nullptr, 0, nullptr, 0, nullptr, 0, nullptr, nullptr, see, &seen),
              MOE_INVALID_ARGUMENT, "entry is 1; the program has 1");
  // What moe_enqueue refuses is refused here.
  Guarded workspace(64);
  expectError(
      moe_enqueue_traced(session.get(), 0, nullptr, 0, nullptr, 0, workspace.data(), 64, nullptr, nullptr, see, &seen),
      MOE_INVALID_ARGUMENT, "workspace has 64 bytes");
  EXPECT_TRUE(seen.empty());
}

} // namespace
