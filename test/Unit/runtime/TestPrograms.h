//===- TestPrograms.h - .moe files made without the compiler --------------------===//
#ifndef MOE_TEST_UNIT_RUNTIME_TESTPROGRAMS_H
#define MOE_TEST_UNIT_RUNTIME_TESTPROGRAMS_H

#include "Program/Format.h"
#include "moert/moert.h"
#include "program_generated.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace moe_test {

namespace fb = moe::fb;

/// A different one each run; MOE_SEED repeats a run that failed.
inline std::mt19937_64 randomNumbers() {
  const char *given = std::getenv("MOE_SEED");
  uint64_t seed = given ? std::strtoull(given, nullptr, 10) : std::random_device()();
  std::printf("MOE_SEED=%llu\n", (unsigned long long)seed);
  return std::mt19937_64(seed);
}

inline std::vector<uint8_t> readFile(const char *path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Collects one entry; every method returns the number of what it added.
class EntryBuilder {
public:
  explicit EntryBuilder(std::string name) { entry.name = std::move(name); }

  uint32_t expr(fb::ExprKind kind, int64_t a, int64_t b = 0) {
    entry.exprs.emplace_back(kind, a, b);
    return uint32_t(entry.exprs.size() - 1);
  }
  uint32_t constant(int64_t value) { return expr(fb::ExprKind::Const, value); }
  uint32_t dim(int64_t input, int64_t dim) { return expr(fb::ExprKind::Dim, input, dim); }

  /// dims as in Argument; for inputs exprs may be empty.
  uint32_t input(std::string name, fb::DType dtype, std::vector<int64_t> dims, std::vector<uint32_t> exprs = {}) {
    return argument(entry.inputs, std::move(name), dtype, std::move(dims), std::move(exprs), -1);
  }
  uint32_t output(std::string name, fb::DType dtype, std::vector<int64_t> dims, std::vector<uint32_t> exprs,
                  int32_t alias = -1) {
    return argument(entry.outputs, std::move(name), dtype, std::move(dims), std::move(exprs), alias);
  }
  uint32_t buffer(fb::BufferKind kind, uint32_t index, fb::DType dtype, std::vector<uint32_t> dims, uint32_t offset = 0,
                  std::vector<uint8_t> data = {}) {
    auto buffer = std::make_unique<fb::BufferT>();
    buffer->kind = kind;
    buffer->index = index;
    buffer->dtype = dtype;
    buffer->dims = std::move(dims);
    buffer->offset = offset;
    buffer->data = std::move(data);
    entry.buffers.push_back(std::move(buffer));
    return uint32_t(entry.buffers.size() - 1);
  }
  /// What a launch says of itself for traces.
  struct Cost {
    std::optional<uint32_t> flops, bytes, bounds;
  };
  void launch(uint32_t kernel, std::vector<uint32_t> args, std::vector<uint32_t> scalars = {}, Cost cost = {}) {
    fb::LaunchT launch;
    launch.kernel = kernel;
    launch.args = std::move(args);
    launch.scalars = std::move(scalars);
    launch.flops = cost.flops;
    launch.bytes = cost.bytes;
    launch.bounds = cost.bounds;
    step().Set(std::move(launch));
  }
  void memset(uint32_t buffer, uint8_t value) {
    fb::MemsetT memset;
    memset.buffer = buffer;
    memset.value = value;
    step().Set(std::move(memset));
  }
  void copy(uint32_t source, uint32_t target) {
    fb::CopyT copy;
    copy.source = source;
    copy.target = target;
    step().Set(std::move(copy));
  }
  /// The entry becomes one for this number of ranks of axis "ep". Bounds may be -1.
  void allToAll(uint32_t ranks, uint32_t source, uint32_t target, int32_t send, int32_t receive, int32_t kernel = -1) {
    entry.axis = "ep";
    entry.ranks = ranks;
    entry.flags |= MOE_ENTRY_NEEDS_COMM;
    fb::AllToAllT exchange;
    exchange.source = source;
    exchange.target = target;
    exchange.send = send;
    exchange.receive = receive;
    exchange.kernel = kernel;
    step().Set(std::move(exchange));
  }
  void wait() { step().Set(fb::WaitT()); }

  fb::EntryT entry;

private:
  uint32_t argument(std::vector<std::unique_ptr<fb::ArgumentT>> &list, std::string name, fb::DType dtype,
                    std::vector<int64_t> dims, std::vector<uint32_t> exprs, int32_t alias) {
    auto argument = std::make_unique<fb::ArgumentT>();
    argument->name = std::move(name);
    argument->dtype = dtype;
    argument->dims = std::move(dims);
    argument->exprs = std::move(exprs);
    argument->alias = alias;
    list.push_back(std::move(argument));
    return uint32_t(list.size() - 1);
  }
  fb::OpUnion &step() {
    entry.steps.push_back(std::make_unique<fb::StepT>());
    return entry.steps.back()->op;
  }
};

/// x[n] i64 -> y[n], exchanged in equal blocks.
inline EntryBuilder blockExchange(std::string name, uint32_t ranks) {
  EntryBuilder e(std::move(name));
  uint32_t n = e.dim(0, 0);
  e.entry.arena = e.constant(0);
  e.input("x", fb::DType::I64, {-1});
  e.output("y", fb::DType::I64, {-1}, {n});
  uint32_t x = e.buffer(fb::BufferKind::Input, 0, fb::DType::I64, {n});
  uint32_t y = e.buffer(fb::BufferKind::Output, 0, fb::DType::I64, {n});
  e.allToAll(ranks, x, y, -1, -1);
  return e;
}

/// Numbers of the kernels in kernels.c, as programOf lists them.
enum KernelNumber : uint32_t { kAdd, kVisit, kIds, kDeep, kBounds };

#if defined(__x86_64__)
constexpr const char *kHostArch = "x86-64", *kOtherArch = "aarch64";
#else
constexpr const char *kHostArch = "aarch64", *kOtherArch = "x86-64-v3";
#endif

/// A program for this machine with one entry and the test kernels; withObject false leaves the machine code out.
inline fb::ProgramT programOf(EntryBuilder builder, bool withObject = true) {
  fb::ProgramT program;
  program.target = std::make_unique<fb::TargetT>();
  program.target->kind = "cpu";
  program.target->arch = kHostArch;
  program.producer = "unit test";
  const struct {
    const char *name;
    uint32_t args, scalars;
  } kernels[] = {{"add", 3, 0}, {"visit", 1, 2}, {"ids", 1, 1}, {"deep", 1, 0}, {"bounds", 1, 1}};
  for (auto &from : kernels) {
    auto kernel = std::make_unique<fb::KernelT>();
    kernel->name = from.name;
    kernel->num_args = from.args;
    kernel->num_scalars = from.scalars;
    program.kernels.push_back(std::move(kernel));
  }
  program.entries.push_back(std::make_unique<fb::EntryT>(std::move(builder.entry)));
  if (withObject)
    program.object = readFile(MOERT_TEST_KERNELS);
  return program;
}

/// The file: header and FlatBuffer.
inline std::vector<uint8_t> withHeader(const std::vector<uint8_t> &payload) {
  std::vector<uint8_t> file(moert::kHeaderBytes);
  moert::writeHeader(payload.data(), payload.size(), file.data());
  file.insert(file.end(), payload.begin(), payload.end());
  return file;
}
inline std::vector<uint8_t> payloadOf(const fb::ProgramT &program) {
  flatbuffers::FlatBufferBuilder builder;
  fb::FinishProgramBuffer(builder, fb::Program::Pack(builder, &program));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}
inline std::vector<uint8_t> fileOf(const fb::ProgramT &program) { return withHeader(payloadOf(program)); }

/// Expects success, or an error of this code whose message contains the text.
inline void expectOk(moe_status *status) {
  EXPECT_EQ(status, nullptr) << moe_status_message(status) << " at " << moe_status_where(status);
  moe_status_free(status);
}
inline void expectError(moe_status *status, moe_code code, const std::string &text) {
  EXPECT_EQ(moe_status_code(status), code) << moe_status_message(status);
  EXPECT_NE(std::string(moe_status_message(status)).find(text), std::string::npos)
      << "message: " << moe_status_message(status) << "\nexpected: " << text;
  if (status) {
    EXPECT_NE(std::string(moe_status_where(status)).find("runtime/"), std::string::npos) << moe_status_where(status);
  }
  moe_status_free(status);
}

using ProgramPtr = std::unique_ptr<moe_program, void (*)(moe_program *)>;
using SessionPtr = std::unique_ptr<moe_session, void (*)(moe_session *)>;

inline ProgramPtr load(const fb::ProgramT &program) {
  std::vector<uint8_t> file = fileOf(program);
  moe_program *loaded = nullptr;
  expectOk(moe_program_load(file.data(), file.size(), &loaded));
  return {loaded, moe_program_release};
}
inline SessionPtr createSession(const ProgramPtr &program, uint32_t threads = 2) {
  moe_options options = {sizeof(options), threads, nullptr};
  moe_session *session = nullptr;
  expectOk(moe_session_create(program.get(), 0, &options, &session));
  return {session, moe_session_release};
}
inline void expectLoadError(const fb::ProgramT &program, moe_code code, const std::string &text) {
  std::vector<uint8_t> file = fileOf(program);
  moe_program *loaded = nullptr;
  expectError(moe_program_load(file.data(), file.size(), &loaded), code, text);
  EXPECT_EQ(loaded, nullptr);
  moe_program_release(loaded);
}

/// Memory between guards, for checks that nothing outside is written.
class Guarded {
public:
  explicit Guarded(size_t bytes, uint8_t fill = 0xff)
      : bytes(bytes),
        memory(static_cast<uint8_t *>(std::aligned_alloc(64, kGuard * 2 + (bytes + 63) / 64 * 64)), std::free) {
    std::memset(memory.get(), kPattern, kGuard * 2 + (bytes + 63) / 64 * 64);
    std::memset(data(), fill, bytes);
  }
  ~Guarded() {
    size_t written = 0;
    for (size_t i = 0; i < kGuard; ++i)
      written += (memory.get()[i] != kPattern) + (data()[bytes + i] != kPattern);
    EXPECT_EQ(written, 0u) << "bytes written outside of " << bytes;
  }
  uint8_t *data() const { return memory.get() + kGuard; }
  template <typename T> T *as() const { return reinterpret_cast<T *>(data()); }
  const size_t bytes;

private:
  static constexpr size_t kGuard = 256;
  static constexpr uint8_t kPattern = 0xa5;
  std::unique_ptr<uint8_t, void (*)(void *)> memory;
};

} // namespace moe_test

#endif
