//===- EnqueueTest.cpp - the caller's buffers, good and bad --------------------------===//
#include "TestPrograms.h"

#include <cmath>
#include <functional>

using namespace moe_test;

namespace {

/// a[m,c], b[m,c] -> sum[m,c] and doubled[m,c] = a + b + a; the sum passes through the arena. c < 0: dynamic.
EntryBuilder addProgram(int64_t c) {
  EntryBuilder e("add");
  uint32_t m = e.dim(0, 0), n = c < 0 ? e.dim(0, 1) : e.constant(c);
  uint32_t zero = e.constant(0), four = e.constant(4), sixtyFour = e.constant(64);
  uint32_t cells = e.expr(fb::ExprKind::Mul, m, n);
  uint32_t bytes = e.expr(fb::ExprKind::Mul, cells, four);
  uint32_t lines = e.expr(fb::ExprKind::CeilDiv, bytes, sixtyFour);
  e.entry.arena = e.expr(fb::ExprKind::Mul, lines, sixtyFour);
  e.input("a", fb::DType::F32, {-1, c});
  e.input("b", fb::DType::F32, {-1, c});
  e.output("sum", fb::DType::F32, {-1, c}, {m, n});
  e.output("doubled", fb::DType::F32, {-1, c}, {m, n});
  uint32_t a = e.buffer(fb::BufferKind::Input, 0, fb::DType::F32, {m, n});
  uint32_t b = e.buffer(fb::BufferKind::Input, 1, fb::DType::F32, {m, n});
  uint32_t t = e.buffer(fb::BufferKind::Arena, 0, fb::DType::F32, {m, n}, zero);
  uint32_t sum = e.buffer(fb::BufferKind::Output, 0, fb::DType::F32, {m, n});
  uint32_t doubled = e.buffer(fb::BufferKind::Output, 1, fb::DType::F32, {m, n});
  e.launch(kAdd, {a, b, t});
  e.copy(t, sum);
  e.wait();
  e.launch(kAdd, {t, a, doubled});
  return e;
}

/// A matrix in guarded memory with a row pitch, and what a moe_buffer needs to point at.
struct Matrix {
  Matrix(int64_t rows, int64_t columns, int64_t pitch)
      : rows(rows), columns(columns), pitch(pitch), shape{rows, columns}, strides{pitch * 4, 4},
        memory(rows && columns ? size_t(((rows - 1) * pitch + columns) * 4) : 0, 0xff) {}
  float &at(int64_t i, int64_t j) { return memory.as<float>()[i * pitch + j]; }
  moe_buffer buffer() { return {memory.data(), memory.bytes, MOE_F32, 2, shape, strides}; }
  /// Are the bytes between the rows still 0xff?
  bool paddingUntouched() {
    for (int64_t i = 0; columns && i + 1 < rows; ++i)
      for (int64_t j = columns; j < pitch; ++j)
        if (!std::isnan(at(i, j)))
          return false;
    return true;
  }

  int64_t rows, columns, pitch, shape[2], strides[2];
  Guarded memory;
};

struct Workspace {
  Workspace(const ProgramPtr &program, const std::vector<moe_buffer> &inputs) : memory(size(program, inputs)) {}
  static size_t size(const ProgramPtr &program, const std::vector<moe_buffer> &inputs) {
    size_t bytes = 0, align = 0;
    expectOk(moe_workspace_query(program.get(), 0, inputs.data(), inputs.size(), &bytes, &align));
    EXPECT_EQ(align, 64u);
    return bytes;
  }
  Guarded memory;
};

TEST(Enqueue, StridedBuffersOfManySizes) {
  std::mt19937_64 random = randomNumbers();
  ProgramPtr program = load(programOf(addProgram(-1)));
  for (uint32_t threads : {1u, 3u}) {
    SessionPtr session = createSession(program, threads);
    for (int round = 0; round < 50; ++round) {
      int64_t rows = int64_t(random() % 70), columns = int64_t(random() % 20);
      auto matrix = [&] { return std::make_unique<Matrix>(rows, columns, columns + int64_t(random() % 5)); };
      auto a = matrix(), b = matrix(), sum = matrix(), doubled = matrix();
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) {
          a->at(i, j) = float(int64_t(random() % 2001) - 1000);
          b->at(i, j) = float(int64_t(random() % 2001) - 1000);
        }
      std::vector<moe_buffer> inputs = {a->buffer(), b->buffer()}, outputs = {sum->buffer(), doubled->buffer()};
      Workspace workspace(program, inputs);
      expectOk(moe_enqueue(session.get(), 0, inputs.data(), 2, outputs.data(), 2, workspace.memory.data(),
                           workspace.memory.bytes, nullptr, nullptr));
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) {
          ASSERT_EQ(sum->at(i, j), a->at(i, j) + b->at(i, j)) << i << "," << j;
          ASSERT_EQ(doubled->at(i, j), a->at(i, j) + b->at(i, j) + a->at(i, j)) << i << "," << j;
        }
      EXPECT_TRUE(sum->paddingUntouched() && doubled->paddingUntouched());
      EXPECT_TRUE(a->paddingUntouched() && b->paddingUntouched());
    }
  }
}

TEST(Enqueue, StridesOfOneElementDimensionsDoNotMatter) {
  ProgramPtr program = load(programOf(addProgram(-1)));
  SessionPtr session = createSession(program);
  int64_t shape[] = {1, 1}, wild[] = {-12345, 7};
  float a = 1, b = 2, sum = 0, doubled = 0;
  moe_buffer inputs[] = {{&a, 4, MOE_F32, 2, shape, wild}, {&b, 4, MOE_F32, 2, shape, wild}};
  moe_buffer outputs[] = {{&sum, 4, MOE_F32, 2, shape, wild}, {&doubled, 4, MOE_F32, 2, shape, wild}};
  Workspace workspace(program, {inputs[0], inputs[1]});
  expectOk(moe_enqueue(session.get(), 0, inputs, 2, outputs, 2, workspace.memory.data(), workspace.memory.bytes,
                       nullptr, nullptr));
  EXPECT_EQ(sum, 3);
  EXPECT_EQ(doubled, 4);
}

TEST(Enqueue, BroadcastInput) {
  ProgramPtr program = load(programOf(addProgram(-1)));
  SessionPtr session = createSession(program);
  int64_t shape[] = {5, 3}, broadcast[] = {0, 4};
  float a[15], b[3] = {10, 20, 30}, sum[15], doubled[15];
  for (int i = 0; i < 15; ++i)
    a[i] = float(i);
  moe_buffer inputs[] = {{a, 60, MOE_F32, 2, shape, nullptr}, {b, 12, MOE_F32, 2, shape, broadcast}};
  moe_buffer outputs[] = {{sum, 60, MOE_F32, 2, shape, nullptr}, {doubled, 60, MOE_F32, 2, shape, nullptr}};
  Workspace workspace(program, {inputs[0], inputs[1]});
  expectOk(moe_enqueue(session.get(), 0, inputs, 2, outputs, 2, workspace.memory.data(), workspace.memory.bytes,
                       nullptr, nullptr));
  for (int i = 0; i < 15; ++i)
    EXPECT_EQ(sum[i], a[i] + b[i % 3]);
}

TEST(Enqueue, EmptyTensorsMayBeNull) {
  ProgramPtr program = load(programOf(addProgram(-1)));
  SessionPtr session = createSession(program);
  for (std::vector<int64_t> shape : {std::vector<int64_t>{0, 8}, {8, 0}, {0, 0}}) {
    moe_buffer empty = {nullptr, 0, MOE_F32, 2, shape.data(), nullptr};
    std::vector<moe_buffer> two = {empty, empty};
    Workspace workspace(program, two);
    expectOk(moe_enqueue(session.get(), 0, two.data(), 2, two.data(), 2, workspace.memory.data(),
                         workspace.memory.bytes, nullptr, nullptr));
  }
}

/// A good call on 4 x 8 matrices, which each case spoils in one way.
struct Call {
  explicit Call(const ProgramPtr &program)
      : a(4, 8, 8), b(4, 8, 8), sum(4, 8, 8), doubled(4, 8, 8), inputs{a.buffer(), b.buffer()},
        outputs{sum.buffer(), doubled.buffer()}, workspace(program, inputs), space(workspace.memory.data()),
        bytes(workspace.memory.bytes) {
    std::fill_n(a.memory.as<float>(), 32, 1.0f);
    std::fill_n(b.memory.as<float>(), 32, 1.0f);
  }
  moe_status *enqueue(const SessionPtr &session) {
    return moe_enqueue(session.get(), entry, inputs.data(), inputs.size(), outputs.data(), outputs.size(), space, bytes,
                       comm, stream);
  }
  Matrix a, b, sum, doubled;
  std::vector<moe_buffer> inputs, outputs;
  Workspace workspace;
  void *space;
  size_t bytes;
  uint32_t entry = 0;
  moe_comm *comm = nullptr;
  void *stream = nullptr;
};

TEST(Enqueue, BadArguments) {
  static const int64_t shapes[][3] = {{4, 7}, {5, 8}, {-1, 8}, {4, 8, 1}, {3, 8}};
  static const int64_t strides[][2] = {{32, 8}, {30, 4}, {-32, 4}, {32, -4}, {1ll << 62, 4}, {16, 4}, {0, 4}, {64, 4}};
  static int something;
  const struct {
    const char *message;
    std::function<void(Call &)> spoil;
  } cases[] = {
      {"moe_enqueue: entry is 1; the program has 1", [](Call &c) { c.entry = 1; }},
      {"1 inputs were given, but the entry has 2", [](Call &c) { c.inputs.pop_back(); }},
      {"3 outputs were given, but the entry has 2", [](Call &c) { c.outputs.push_back(c.outputs[0]); }},
      {"comm is not NULL", [](Call &c) { c.comm = reinterpret_cast<moe_comm *>(&something); }},
      {"stream is not NULL", [](Call &c) { c.stream = &something; }},
      {"input 0 'a' has element type bf16 (1), but must be f32", [](Call &c) { c.inputs[0].dtype = MOE_BF16; }},
      {"output 1 'doubled' has element type ? (99), but must be f32",
       [](Call &c) {
         int wrong = 99;
         std::memcpy(&c.outputs[1].dtype, &wrong, sizeof(wrong));
       }},
      {"input 1 'b' has rank 3, but must have rank 2",
       [](Call &c) {
         c.inputs[1].rank = 3;
         c.inputs[1].shape = shapes[3];
         c.inputs[1].strides = nullptr;
       }},
      {"output 0 'sum' has rank -1, but must have rank 2", [](Call &c) { c.outputs[0].rank = -1; }},
      {"input 1 'b' has shape NULL", [](Call &c) { c.inputs[1].shape = nullptr; }},
      {"input 0 'a': dimension 1 is 7, but must be 8", [](Call &c) { c.inputs[0].shape = shapes[0]; }},
      {"input 0 'a': dimension 0 is -1, but must not be negative", [](Call &c) { c.inputs[0].shape = shapes[2]; }},
      {"input 1 'b': dimension 0 is 3, but must be 4 for these inputs", [](Call &c) { c.inputs[1].shape = shapes[4]; }},
      {"output 0 'sum': dimension 0 is 5, but must be 4 for these inputs",
       [](Call &c) { c.outputs[0].shape = shapes[1]; }},
      {"output 1 'doubled': dimension 1 is 7, but must be 8", [](Call &c) { c.outputs[1].shape = shapes[0]; }},
      {"input 0 'a' has data NULL, but has elements", [](Call &c) { c.inputs[0].data = nullptr; }},
      {"output 1 'doubled' has data NULL, but has elements", [](Call &c) { c.outputs[1].data = nullptr; }},
      {"but must be aligned to 4 bytes", [](Call &c) { c.inputs[0].data = c.a.memory.data() + 2; }},
      {"input 0 'a' has 127 bytes, but its shape and strides need 128", [](Call &c) { c.inputs[0].size_bytes = 127; }},
      {"output 0 'sum' has 128 bytes, but its shape and strides need 224",
       [](Call &c) { c.outputs[0].strides = strides[7]; }},
      {"input 0 'a': stride 1, the innermost, is 8 bytes, but must be one element, 4 bytes",
       [](Call &c) { c.inputs[0].strides = strides[0]; }},
      {"input 0 'a': stride 0 is 30 bytes, but must be a multiple of the element's 4 and not negative",
       [](Call &c) { c.inputs[0].strides = strides[1]; }},
      {"input 0 'a': stride 0 is -32 bytes", [](Call &c) { c.inputs[0].strides = strides[2]; }},
      {"output 0 'sum': stride 1 is -4 bytes", [](Call &c) { c.outputs[0].strides = strides[3]; }},
      {"input 0 'a': stride 0 of 4611686018427387904 bytes times size 4 passes 64 bits",
       [](Call &c) { c.inputs[0].strides = strides[4]; }},
      {"output 0 'sum' has strides that let elements share memory", [](Call &c) { c.outputs[0].strides = strides[5]; }},
      {"output 0 'sum' has strides that let elements share memory", [](Call &c) { c.outputs[0].strides = strides[6]; }},
      {"past the end of memory",
       [](Call &c) {
         c.inputs[0].data = reinterpret_cast<void *>(UINTPTR_MAX - 63);
         c.inputs[0].size_bytes = 128;
       }},
      {"workspace is NULL", [](Call &c) { c.space = nullptr; }},
      {"but must be aligned to 64 bytes", [](Call &c) { c.space = c.workspace.memory.data() + 32; }},
      {"workspace has 0 bytes, but must have at least", [](Call &c) { c.bytes = 0; }},
      {"for these inputs", [](Call &c) { --c.bytes; }},
      {"workspace has 18446744073709551615 bytes", [](Call &c) { c.bytes = SIZE_MAX; }},
      {"output 0 'sum' at", [](Call &c) { c.outputs[0].data = c.inputs[0].data; }},
      {"overlaps input 1 'b'", [](Call &c) { c.outputs[1].data = c.inputs[1].data; }},
      {"overlaps output 0 'sum'", [](Call &c) { c.outputs[1].data = c.outputs[0].data; }},
      {"input 0 'a' at", [](Call &c) { c.inputs[0].data = c.workspace.memory.data() + c.bytes - 128; }},
      {"overlaps the workspace", [](Call &c) { c.outputs[0].data = c.workspace.memory.data(); }},
  };
  ProgramPtr program = load(programOf(addProgram(8)));
  SessionPtr session = createSession(program);
  for (const auto &[message, spoil] : cases) {
    SCOPED_TRACE(message);
    Call call(program);
    spoil(call);
    expectError(call.enqueue(session), MOE_INVALID_ARGUMENT, message);
    for (Matrix *output : {&call.sum, &call.doubled})
      for (int i = 0; i < 32; ++i)
        ASSERT_TRUE(std::isnan(output->memory.as<float>()[i])) << "written in spite of the error";
  }
  Call call(program);
  expectOk(call.enqueue(session));
  EXPECT_EQ(call.doubled.at(3, 7), 3);
}

TEST(Enqueue, NullArguments) {
  ProgramPtr program = load(programOf(addProgram(8)));
  SessionPtr session = createSession(program);
  Call call(program);
  expectError(
      moe_enqueue(nullptr, 0, call.inputs.data(), 2, call.outputs.data(), 2, call.space, call.bytes, nullptr, nullptr),
      MOE_INVALID_ARGUMENT, "session is NULL");
  expectError(
      moe_enqueue(session.get(), 0, nullptr, 2, call.outputs.data(), 2, call.space, call.bytes, nullptr, nullptr),
      MOE_INVALID_ARGUMENT, "the inputs are NULL, but the entry has 2");
  expectError(
      moe_enqueue(session.get(), 0, call.inputs.data(), 2, nullptr, 2, call.space, call.bytes, nullptr, nullptr),
      MOE_INVALID_ARGUMENT, "the outputs are NULL, but the entry has 2");
}

TEST(Enqueue, CopyOfUnequalSizes) {
  EntryBuilder e("main");
  uint32_t a = e.dim(0, 0), b = e.dim(1, 0);
  e.entry.arena = e.constant(0);
  e.input("a", fb::DType::I32, {-1});
  e.input("b", fb::DType::I32, {-1});
  e.output("out", fb::DType::I32, {-1}, {b});
  uint32_t from = e.buffer(fb::BufferKind::Input, 0, fb::DType::I32, {a});
  uint32_t to = e.buffer(fb::BufferKind::Output, 0, fb::DType::I32, {b});
  e.copy(from, to);
  ProgramPtr program = load(programOf(std::move(e)));
  SessionPtr session = createSession(program);
  int64_t two = 2, three = 3;
  int32_t x[3] = {1, 2, 3}, y[3] = {}, z[3] = {-1, -1, -1};
  std::vector<moe_buffer> inputs = {{x, 12, MOE_I32, 1, &three, nullptr}, {y, 12, MOE_I32, 1, &two, nullptr}};
  moe_buffer output = {z, 12, MOE_I32, 1, &two, nullptr};
  Workspace workspace(program, inputs);
  expectError(moe_enqueue(session.get(), 0, inputs.data(), 2, &output, 1, workspace.memory.data(),
                          workspace.memory.bytes, nullptr, nullptr),
              MOE_INVALID_ARGUMENT, "step 0 copies buffer 0 to buffer 1, whose dimensions 0 are 3 and 2");
  EXPECT_EQ(z[0], -1);
}

/// Large and strided, so that several threads share a memset and a copy.
TEST(Enqueue, MemsetAndCopyOfManySlices) {
  EntryBuilder e("main");
  uint32_t l = e.dim(0, 0), m = e.dim(0, 1), n = e.dim(0, 2);
  e.entry.arena = e.constant(0);
  e.input("x", fb::DType::I8, {-1, -1, -1});
  e.output("copy", fb::DType::I8, {-1, -1, -1}, {l, m, n});
  e.output("filled", fb::DType::I8, {-1, -1, -1}, {l, m, n});
  uint32_t x = e.buffer(fb::BufferKind::Input, 0, fb::DType::I8, {l, m, n});
  uint32_t copy = e.buffer(fb::BufferKind::Output, 0, fb::DType::I8, {l, m, n});
  uint32_t filled = e.buffer(fb::BufferKind::Output, 1, fb::DType::I8, {l, m, n});
  e.copy(x, copy);
  e.memset(filled, 0x5a);
  ProgramPtr program = load(programOf(std::move(e)));
  SessionPtr session = createSession(program, 3);
  std::mt19937_64 random = randomNumbers();
  const int64_t shape[] = {7, 301, 1003};
  const int64_t plane = 301 * 1010, strides[] = {plane, 1010, 1}, dense[] = {301 * 1003, 1003, 1};
  size_t padded = size_t(6 * plane + 300 * 1010 + 1003), tight = size_t(7 * 301 * 1003);
  Guarded from(tight), to(padded, 0), fill(padded, 0);
  for (size_t i = 0; i < tight; ++i)
    from.data()[i] = uint8_t(random());
  moe_buffer input = {from.data(), tight, MOE_I8, 3, shape, dense};
  moe_buffer outputs[] = {{to.data(), padded, MOE_I8, 3, shape, strides},
                          {fill.data(), padded, MOE_I8, 3, shape, strides}};
  Workspace workspace(program, {input});
  expectOk(moe_enqueue(session.get(), 0, &input, 1, outputs, 2, workspace.memory.data(), workspace.memory.bytes,
                       nullptr, nullptr));
  size_t wrong = 0;
  for (int64_t i = 0; i < 7; ++i)
    for (int64_t j = 0; j < 301; ++j)
      for (int64_t k = 0; k < 1010; ++k) {
        size_t at = size_t(i * plane + j * 1010 + k);
        if (at >= padded)
          continue;
        bool inside = k < 1003;
        wrong += to.data()[at] != (inside ? from.data()[(i * 301 + j) * 1003 + k] : 0);
        wrong += fill.data()[at] != (inside ? 0x5a : 0);
      }
  EXPECT_EQ(wrong, 0u);
}

} // namespace
