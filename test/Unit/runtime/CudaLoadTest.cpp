//===- CudaLoadTest.cpp - what the loader must refuse of CUDA kernels -----------------===//
#include "TestPrograms.h"

#include <functional>

using namespace moe_test;

namespace {

std::unique_ptr<fb::ParamT> param(fb::ParamKind kind, uint32_t arg = 0, uint32_t dim = 0, uint32_t width = 64) {
  auto param = std::make_unique<fb::ParamT>();
  param->kind = kind;
  param->arg = arg;
  param->dim = dim;
  param->width = width;
  return param;
}

/// The rows of argument 0, a bf16 matrix, in boxes of 64 columns and 128 rows.
std::unique_ptr<fb::ParamT> rows() {
  auto map = param(fb::ParamKind::TensorMap);
  map->element = fb::DType::BF16;
  map->dims = {fb::Term(0, 1, fb::Extent::Size, 1), fb::Term(0, 1, fb::Extent::Size, 0)};
  map->strides = {fb::Term(0, 1, fb::Extent::Stride, 0)};
  map->box = {64, 128};
  return map;
}

/// x[m, 64] -> y[m, 64] through kernel 0, which falls back on kernel 1.
fb::ProgramT program() {
  EntryBuilder e("main");
  uint32_t m = e.dim(0, 0), n = e.constant(64);
  e.entry.arena = e.constant(0);
  e.input("x", fb::DType::BF16, {-1, 64});
  e.output("y", fb::DType::BF16, {-1, 64}, {m, n});
  uint32_t x = e.buffer(fb::BufferKind::Input, 0, fb::DType::BF16, {m, n});
  uint32_t y = e.buffer(fb::BufferKind::Output, 0, fb::DType::BF16, {m, n});
  e.launch(0, {x, y}, {n});
  fb::ProgramT program = programOf(std::move(e), /*withObject=*/false);
  program.target->kind = "cuda";
  program.target->arch = "sm_90a";
  program.kernels.clear();
  for (const char *name : {"fast", "slow"}) {
    auto kernel = std::make_unique<fb::KernelT>();
    kernel->name = name;
    kernel->num_args = 2;
    kernel->num_scalars = 1;
    kernel->cuda = std::make_unique<fb::CudaKernelT>();
    kernel->cuda->threads = 384;
    kernel->cuda->per_sm = 1;
    kernel->cuda->params.push_back(param(fb::ParamKind::Pointer, 1));
    kernel->cuda->params.push_back(param(fb::ParamKind::Size, 0, 1, 32));
    kernel->cuda->params.push_back(param(fb::ParamKind::Stride, 1, 0));
    kernel->cuda->params.push_back(param(fb::ParamKind::Scalar, 0, 0, 32));
    kernel->cuda->params.push_back(param(fb::ParamKind::Faults));
    kernel->cuda->params.push_back(param(fb::ParamKind::Counter));
    program.kernels.push_back(std::move(kernel));
  }
  program.kernels[0]->cuda->cluster = 2;
  program.kernels[0]->cuda->shared = 200000;
  program.kernels[0]->cuda->fallback = 1;
  program.kernels[0]->cuda->params.push_back(rows());
  return program;
}

bool loads(const std::vector<uint8_t> &file) {
  moe_program *loaded = nullptr;
  moe_status *status = moe_program_load(file.data(), file.size(), &loaded);
  bool good = !status;
  moe_status_free(status);
  moe_program_release(loaded);
  return good;
}

TEST(CudaLoad, WholeFile) {
  auto loaded = load(program());
  moe_entry_info info = {};
  info.struct_size = sizeof(info);
  expectOk(moe_program_entry(loaded.get(), 0, &info));
  EXPECT_STREQ(moe_program_target(loaded.get()), "cuda");
}

TEST(CudaLoad, WorkspaceHasACounterForEachLaunchAndNoFrame) {
  auto loaded = load(program());
  int64_t shape[] = {1000, 64};
  moe_buffer x = {nullptr, 0, MOE_BF16, 2, shape, nullptr};
  size_t bytes = 0, align = 0;
  expectOk(moe_workspace_query(loaded.get(), 0, &x, 1, &bytes, &align));
  EXPECT_EQ(bytes, 256u + 128u); // the faults and one counter
  EXPECT_EQ(align, 64u);
}

TEST(CudaLoad, WhatIsRefused) {
  using Change = std::function<void(fb::CudaKernelT &)>;
  const struct {
    const char *message;
    Change change;
  } cases[] = {
      {"has 0 threads a block", [](auto &k) { k.threads = 0; }},
      {"has 1025 threads a block", [](auto &k) { k.threads = 1025; }},
      {"clusters of 0", [](auto &k) { k.cluster = 0; }},
      {"clusters of 9", [](auto &k) { k.cluster = 9; }},
      {"232449 bytes of shared memory; the most is 232448", [](auto &k) { k.shared = 232449; }},
      {"a grid of 0 blocks an SM and of 0 blocks", [](auto &k) { k.per_sm = 0; }},
      {"a grid of 1 blocks an SM and of 2 blocks", [](auto &k) { k.blocks = 2; }},
      {"a grid of 0 blocks an SM and of 3 blocks in clusters of 2", [](auto &k) { k.per_sm = 0, k.blocks = 3; }},
      {"a grid of 33 blocks an SM", [](auto &k) { k.per_sm = 33; }},
      {"falls back on kernel 2 of 2", [](auto &k) { k.fallback = 2; }},
      {"falls back on kernel -2 of 2", [](auto &k) { k.fallback = -2; }},
      {"has itself a fallback", [](auto &k) { k.fallback = 0; }},
      {"parameter 0: the kind is 8, which is unknown", [](auto &k) { k.params[0]->kind = fb::ParamKind(8); }},
      {"step 0 (launch) runs kernel 'fast', which is one of an exchange",
       [](auto &k) { k.params.push_back(param(fb::ParamKind::Peers)); }},
      {"parameter 0: it is made of argument 2 of 2", [](auto &k) { k.params[0]->arg = 2; }},
      {"parameter 3: it is made of scalar 1 of 1", [](auto &k) { k.params[3]->arg = 1; }},
      {"parameter 1: it has 16 bits, but must have 32 or 64", [](auto &k) { k.params[1]->width = 16; }},
      {"parameter 1: it is dimension 2 of argument 0, whose rank is 2", [](auto &k) { k.params[1]->dim = 2; }},
      {"parameter 2: it is dimension 9 of argument 1", [](auto &k) { k.params[2]->dim = 9; }},
      {"has rank 0, but must have 1 to 5", [](auto &k) { k.params[6]->dims.clear(); }},
      {"has rank 6", [](auto &k) { k.params[6]->dims.resize(6); }},
      {"of rank 2 has 0 strides and 2 box sizes", [](auto &k) { k.params[6]->strides.clear(); }},
      {"of rank 2 has 1 strides and 1 box sizes", [](auto &k) { k.params[6]->box.pop_back(); }},
      {"box size 1 is 257, but must be 1 to 256", [](auto &k) { k.params[6]->box[1] = 257; }},
      {"box size 1 is 0", [](auto &k) { k.params[6]->box[1] = 0; }},
      {"innermost box size has 256 bytes", [](auto &k) { k.params[6]->box[0] = 128; }},
      {"innermost box size has 24 bytes", [](auto &k) { k.params[6]->box[0] = 12; }},
      {"element type 42, which none can have", [](auto &k) { k.params[6]->element = fb::DType(42); }},
      {"a tensor map of type f32 is made of argument 0, whose type is bf16",
       [](auto &k) { k.params[6]->element = fb::DType::F32, k.params[6]->box[0] = 32; }},
      {"a tensor map rounds bf16 to TF32, but only f32 can be", [](auto &k) { k.params[6]->tf32 = true; }},
      {"parameter 0: it is aligned to 0 bytes, but must be to a power of two up to 128",
       [](auto &k) { k.params[0]->align = 0; }},
      {"parameter 0: it is aligned to 24 bytes", [](auto &k) { k.params[0]->align = 24; }},
      {"parameter 0: it is aligned to 256 bytes", [](auto &k) { k.params[0]->align = 256; }},
      {"dimension 0 is of unknown kind 3", [](auto &k) { k.params[6]->dims[0] = fb::Term(0, 1, fb::Extent(3), 0); }},
      {"made of dimension 2 of argument 0, whose rank is 2",
       [](auto &k) { k.params[6]->strides[0] = fb::Term(0, 1, fb::Extent::Stride, 2); }},
      {"the most is 4096",
       [](auto &k) {
         for (int i = 0; i < 32; ++i)
           k.params.push_back(rows());
       }},
      {"has 129 parameters; the most is 128",
       [](auto &k) {
         while (k.params.size() < 129)
           k.params.push_back(param(fb::ParamKind::Faults));
       }},
  };
  for (const auto &test : cases) {
    fb::ProgramT altered = program();
    test.change(*altered.kernels[0]->cuda);
    expectLoadError(altered, MOE_BAD_PROGRAM, test.message);
  }
  fb::ProgramT without = program();
  without.kernels[1]->cuda.reset();
  expectLoadError(without, MOE_BAD_PROGRAM, "kernel 'slow' does not say how it is launched on cuda");
  fb::ProgramT other = program();
  other.kernels[1]->num_args = 1;
  other.kernels[1]->cuda->params.clear();
  expectLoadError(other, MOE_BAD_PROGRAM, "its fallback 'slow' takes 1 and 1");
  fb::ProgramT mapped = program();
  mapped.kernels[1]->cuda->params.push_back(rows());
  expectLoadError(mapped, MOE_BAD_PROGRAM, "the fallback 'slow' of kernel 'fast' takes a tensor map");
  fb::ProgramT aligned = program();
  aligned.kernels[1]->cuda->params[0]->align = 16;
  expectLoadError(aligned, MOE_BAD_PROGRAM, "the fallback 'slow' of kernel 'fast' takes only an aligned argument");
  fb::ProgramT rank = program();
  rank.kernels[1]->cuda->params[1]->dim = 2;
  expectLoadError(rank, MOE_BAD_PROGRAM, "kernel 'slow', parameter 1: it is dimension 2 of argument 0");
}

TEST(CudaLoad, CorruptionsBehindAGoodChecksum) {
  std::mt19937_64 random = randomNumbers();
  std::vector<uint8_t> payload = payloadOf(program());
  size_t good = 0;
  for (int i = 0; i < 20000; ++i) {
    std::vector<uint8_t> altered = payload;
    for (uint64_t n = random() % 3 + 1; n > 0; --n)
      altered[random() % altered.size()] = uint8_t(random());
    good += loads(withHeader(altered));
  }
  EXPECT_GT(good, 0u);
}

/// A machine without a driver says so; one with a driver cannot load a program without its cubin.
TEST(CudaSession, WithoutADriverOrACubin) {
  auto loaded = load(program());
  moe_session *session = nullptr;
  moe_options options = {sizeof(options), 3, nullptr};
  expectError(moe_session_create(loaded.get(), 0, &options, &session), MOE_INVALID_ARGUMENT,
              "num_threads is 3, but the cuda target has no threads");
  // Not looked into.
  options = {sizeof(options), 0, reinterpret_cast<const moe_session *>(&options)};
  expectError(moe_session_create(loaded.get(), 0, &options, &session), MOE_INVALID_ARGUMENT,
              "threads_of is given, but the cuda target has no threads");
  moe_status *status = moe_session_create(loaded.get(), 0, nullptr, &session);
  std::string message = moe_status_message(status);
  if (moe_status_code(status) == MOE_UNSUPPORTED)
    EXPECT_NE(message.find("moe_session_create: "), std::string::npos) << message;
  else
    EXPECT_NE(message.find("is not a whole cubin"), std::string::npos) << message;
  EXPECT_EQ(session, nullptr);
  moe_status_free(status);
}

/// x[8] of i32 in equal blocks to the ranks, by kernel 0 into the peer arena.
fb::ProgramT exchange() {
  EntryBuilder e("main");
  uint32_t zero = e.constant(0), n = e.constant(8), bytes = e.constant(64);
  e.entry.arena = zero;
  e.entry.peer = bytes;
  e.input("x", fb::DType::I32, {8});
  uint32_t x = e.buffer(fb::BufferKind::Input, 0, fb::DType::I32, {n});
  uint32_t y = e.buffer(fb::BufferKind::Peer, 0, fb::DType::I32, {n}, zero);
  e.buffer(fb::BufferKind::Arena, 0, fb::DType::I32, {zero}, zero);
  e.allToAll(2, x, y, -1, -1, 0);
  fb::ProgramT result = programOf(std::move(e), /*withObject=*/false);
  fb::ProgramT other = program();
  result.target = std::move(other.target);
  result.kernels = std::move(other.kernels);
  result.kernels.resize(1);
  fb::KernelT &kernel = *result.kernels[0];
  kernel.num_scalars = 0;
  kernel.cuda->cluster = 1;
  kernel.cuda->fallback = -1;
  kernel.cuda->params.clear();
  for (uint32_t arg : {0, 1})
    kernel.cuda->params.push_back(param(fb::ParamKind::Pointer, arg));
  kernel.cuda->params.push_back(param(fb::ParamKind::Peers));
  return result;
}

TEST(CudaLoad, ExchangeByAKernel) {
  auto loaded = load(exchange());
  int64_t shape[] = {8};
  moe_buffer x = {nullptr, 0, MOE_I32, 1, shape, nullptr};
  size_t bytes = 0, align = 0;
  expectOk(moe_workspace_query(loaded.get(), 0, &x, 1, &bytes, &align));
  EXPECT_EQ(bytes, 256u + 128u); // the peer arena is not the caller's
}

TEST(CudaLoad, WhatIsRefusedOfExchanges) {
  using Change = std::function<void(fb::ProgramT &)>;
  auto entry = [](fb::ProgramT &p) -> fb::EntryT & { return *p.entries[0]; };
  auto step = [](fb::ProgramT &p) -> fb::AllToAllT & { return *p.entries[0]->steps[0]->op.AsAllToAll(); };
  const struct {
    const char *message;
    Change change;
  } cases[] = {
      {"buffer 1 is in a peer arena, but the entry has none", [&](auto &p) { entry(p).peer.reset(); }},
      {"the peer arena's size is expression 77 of 3", [&](auto &p) { entry(p).peer = 77; }},
      {"has a peer arena, which is for ranks of the cuda target",
       [&](auto &p) { p.target->kind = "cpu", p.target->arch = kHostArch; }},
      {"step 0 (all_to_all) launches kernel 3 of 1", [&](auto &p) { step(p).kernel = 3; }},
      {"has a kernel, but its target is no buffer of a peer arena", [&](auto &p) { step(p).target = 2; }},
      {"step 0 (all_to_all) passes 2 buffers and 0 scalars to kernel 'fast', which takes 4 and 0",
       [&](auto &p) { p.kernels[0]->num_args = 4; }},
      {"step 0 (all_to_all) runs kernel 'fast', which is not one of an exchange",
       [&](auto &p) { p.kernels[0]->cuda->params.pop_back(); }},
  };
  for (const auto &test : cases) {
    fb::ProgramT altered = exchange();
    test.change(altered);
    expectLoadError(altered, MOE_BAD_PROGRAM, test.message);
  }
}

} // namespace
