//===- LoadTest.cpp - what the loader must refuse ---------------------------------===//
#include "TestPrograms.h"

#include <functional>

using namespace moe_test;

namespace {

/// x[m,4], y[4] -> out[m,4], through a constant, the arena, and every kind of step. Needs no kernel to be loaded.
EntryBuilder everything() {
  EntryBuilder e("main");
  uint32_t m = e.dim(0, 0), four = e.constant(4), sixteen = e.constant(16);
  uint32_t row = e.expr(fb::ExprKind::Mul, m, sixteen);
  uint32_t sixtyFour = e.constant(64);
  uint32_t lines = e.expr(fb::ExprKind::CeilDiv, row, sixtyFour);
  uint32_t offset = e.expr(fb::ExprKind::Mul, lines, sixtyFour);
  uint32_t end = e.expr(fb::ExprKind::Add, offset, row);
  e.entry.arena = e.expr(fb::ExprKind::Max, end, sixtyFour);
  uint32_t zero = e.constant(0);
  e.input("x", fb::DType::F32, {-1, 4});
  e.input("y", fb::DType::F32, {4}, {four});
  e.output("out", fb::DType::F32, {-1, 4}, {m, four});
  e.output("copy", fb::DType::F32, {4}, {four});
  uint32_t x = e.buffer(fb::BufferKind::Input, 0, fb::DType::F32, {m, four});
  uint32_t y = e.buffer(fb::BufferKind::Input, 1, fb::DType::F32, {four});
  uint32_t a = e.buffer(fb::BufferKind::Arena, 0, fb::DType::F32, {m, four}, zero);
  uint32_t b = e.buffer(fb::BufferKind::Arena, 0, fb::DType::F32, {m, four}, offset);
  uint32_t c = e.buffer(fb::BufferKind::Constant, 0, fb::DType::F32, {four}, 0, std::vector<uint8_t>(16, 1));
  uint32_t out = e.buffer(fb::BufferKind::Output, 0, fb::DType::F32, {m, four});
  uint32_t copy = e.buffer(fb::BufferKind::Output, 1, fb::DType::F32, {four});
  e.memset(a, 0);
  e.copy(x, b);
  e.wait();
  e.copy(b, out);
  e.copy(y, copy);
  e.copy(c, copy);
  return e;
}

/// Loads the file; what loads is looked at all over, so that the sanitizers see any bad reference. True if it loads.
bool probe(const std::vector<uint8_t> &file) {
  moe_program *program = nullptr;
  if (moe_status *status = moe_program_load(file.data(), file.size(), &program)) {
    EXPECT_NE(moe_status_code(status), MOE_OK);
    EXPECT_STRNE(moe_status_message(status), "");
    moe_status_free(status);
    EXPECT_EQ(program, nullptr);
    return false;
  }
  size_t letters = std::strlen(moe_program_target(program)) + std::strlen(moe_program_arch(program));
  for (uint32_t e = 0; e < moe_program_num_entries(program); ++e) {
    moe_entry_info entry = {};
    entry.struct_size = sizeof(entry);
    expectOk(moe_program_entry(program, e, &entry));
    letters += std::strlen(entry.name);
    std::vector<moe_buffer> inputs;
    std::vector<std::vector<int64_t>> shapes(entry.num_inputs);
    for (uint32_t i = 0; i < entry.num_inputs; ++i) {
      moe_argument_info info;
      expectOk(moe_program_input(program, e, i, &info));
      letters += std::strlen(info.name);
      for (int32_t d = 0; d < info.rank; ++d)
        shapes[i].push_back(info.dims[d] < 0 ? 3 : info.dims[d]);
      inputs.push_back({nullptr, 0, info.dtype, info.rank, shapes[i].data(), nullptr});
    }
    size_t bytes, align;
    moe_status_free(moe_workspace_query(program, e, inputs.data(), inputs.size(), &bytes, &align));
    for (uint32_t i = 0; i < entry.num_outputs; ++i) {
      moe_argument_info info;
      expectOk(moe_program_output(program, e, i, &info));
      letters += std::strlen(info.name);
      int64_t shape[MOE_MAX_RANK];
      moe_status_free(moe_output_shape(program, e, inputs.data(), inputs.size(), i, shape));
    }
  }
  EXPECT_LT(letters, file.size());
  moe_program_release(program);
  return true;
}

TEST(Load, WholeFile) { EXPECT_TRUE(probe(fileOf(programOf(everything())))); }

TEST(Load, FromDisk) {
  std::vector<uint8_t> file = fileOf(programOf(everything()));
  std::string path = testing::TempDir() + "/moe-load-test.moe";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(file.data()), std::streamsize(file.size()));
  moe_program *program = nullptr;
  expectOk(moe_program_load_file(path.c_str(), &program));
  EXPECT_STREQ(moe_program_target(program), "cpu");
  moe_program_release(program);
  std::remove(path.c_str());
  expectError(moe_program_load_file(path.c_str(), &program), MOE_SYSTEM, "moe-load-test.moe': No such file");
  expectError(moe_program_load_file("/", &program), MOE_SYSTEM, "cannot read '/'");
  expectError(moe_program_load_file(nullptr, &program), MOE_INVALID_ARGUMENT, "path is NULL");
}

TEST(Load, EveryTruncation) {
  std::vector<uint8_t> file = fileOf(programOf(everything(), /*withObject=*/false));
  for (size_t n = 0; n < file.size(); ++n)
    // A buffer of exactly n bytes, so that AddressSanitizer sees a read past its end.
    EXPECT_FALSE(probe(std::vector<uint8_t>(file.begin(), file.begin() + long(n)))) << n;
  file.push_back(0);
  EXPECT_FALSE(probe(file)) << "one byte too many";
}

TEST(Load, TruncationsWithANewHeader) {
  std::vector<uint8_t> payload = payloadOf(programOf(everything(), /*withObject=*/false));
  for (size_t n = 0; n < payload.size(); ++n)
    probe(withHeader(std::vector<uint8_t>(payload.begin(), payload.begin() + long(n))));
}

TEST(Load, EveryFlippedBitIsFound) {
  std::mt19937_64 random = randomNumbers();
  std::vector<uint8_t> file = fileOf(programOf(everything()));
  for (int i = 0; i < 5000; ++i) {
    std::vector<uint8_t> altered = file;
    size_t bit = random() % (file.size() * 8);
    altered[bit / 8] ^= uint8_t(1 << bit % 8);
    EXPECT_FALSE(probe(altered)) << "bit " << bit;
  }
}

TEST(Load, FlippedBitsWithANewChecksum) {
  std::mt19937_64 random = randomNumbers();
  std::vector<uint8_t> payload = payloadOf(programOf(everything(), /*withObject=*/false));
  int loaded = 0;
  for (int i = 0; i < 30000; ++i) {
    std::vector<uint8_t> altered = payload;
    for (size_t flips = 1 + random() % 4; flips--;) {
      size_t at = random() % altered.size();
      // Single bits, small numbers and extreme ones.
      const uint8_t values[] = {uint8_t(altered[at] ^ (1 << random() % 8)), uint8_t(random() % 16), 0xff, 0x7f, 0x80};
      altered[at] = values[random() % 5];
    }
    loaded += probe(withHeader(altered));
  }
  // Names, and values that are still in range; the rest must have been refused.
  EXPECT_GT(loaded, 0);
  EXPECT_LT(loaded, 30000);
}

TEST(Load, NotOurs) {
  std::vector<uint8_t> file = fileOf(programOf(everything()));
  moe_program *program = nullptr;
  std::vector<uint8_t> version = file;
  version[4] = 77;
  expectError(moe_program_load(version.data(), version.size(), &program), MOE_WRONG_VERSION,
              "format version 77; this runtime reads version " + std::to_string(moert::kFormatVersion));
  std::vector<uint8_t> magic = file;
  magic[0] = 'X';
  expectError(moe_program_load(magic.data(), magic.size(), &program), MOE_BAD_PROGRAM, "not a .moe file");
  std::vector<uint8_t> length = file;
  length[8] ^= 1;
  expectError(moe_program_load(length.data(), length.size(), &program), MOE_BAD_PROGRAM, "promises");
  file.back() ^= 1;
  expectError(moe_program_load(file.data(), file.size(), &program), MOE_BAD_PROGRAM, "checksum is wrong");
  expectError(moe_program_load(file.data(), 31, &program), MOE_BAD_PROGRAM, "31 bytes; its header alone has 32");
  expectError(moe_program_load(nullptr, 31, &program), MOE_INVALID_ARGUMENT, "blob is NULL");
  expectError(moe_program_load(file.data(), 31, nullptr), MOE_INVALID_ARGUMENT, "program is NULL");
  std::vector<uint8_t> garbage(100, 'x');
  std::vector<uint8_t> checked = withHeader(garbage);
  expectError(moe_program_load(checked.data(), checked.size(), &program), MOE_BAD_PROGRAM, "FlatBuffer");
}

/// Each alteration of a good program, and what the loader says.
TEST(Load, Verifier) {
  using Alter = std::function<void(fb::ProgramT &, fb::EntryT &)>;
  // Makes step 0 a launch.
  auto launching = [](
                       uint32_t kernel, std::vector<uint32_t> args,
                       const std::function<void(fb::LaunchT &)> &alter = [](fb::LaunchT &) {}) -> Alter {
    return [=](fb::ProgramT &, fb::EntryT &e) {
      fb::LaunchT launch;
      launch.kernel = kernel;
      launch.args = args;
      alter(launch);
      e.steps[0]->op.Set(std::move(launch));
    };
  };
  const struct {
    const char *message;
    Alter alter;
  } cases[] = {
      {"entry 'main': input 0 has rank 9; the most is 8",
       [](fb::ProgramT &, fb::EntryT &e) { e.inputs[0]->dims.assign(9, 1); }},
      {"input 0 has dimension -2", [](fb::ProgramT &, fb::EntryT &e) { e.inputs[0]->dims[0] = -2; }},
      {"input 0 has unknown element type 55", [](fb::ProgramT &, fb::EntryT &e) { e.inputs[0]->dtype = fb::DType(55); }},
      {"input 0 has unknown element type -1", [](fb::ProgramT &, fb::EntryT &e) { e.inputs[0]->dtype = fb::DType(-1); }},
      {"input 1 has alias 0", [](fb::ProgramT &, fb::EntryT &e) { e.inputs[1]->alias = 0; }},
      {"output 0 has alias 2; the entry has 2 inputs", [](fb::ProgramT &, fb::EntryT &e) { e.outputs[0]->alias = 2; }},
      {"output 0 has alias -2", [](fb::ProgramT &, fb::EntryT &e) { e.outputs[0]->alias = -2; }},
      {"output 0 has 0 size expressions; its rank is 2", [](fb::ProgramT &, fb::EntryT &e) { e.outputs[0]->exprs = {}; }},
      {"input 1 has 2 size expressions; its rank is 1", [](fb::ProgramT &, fb::EntryT &e) { e.inputs[1]->exprs = {1, 1}; }},
      {"dimension 1 of argument 'out' is expression 99 of 10",
       [](fb::ProgramT &, fb::EntryT &e) { e.outputs[0]->exprs[1] = 99; }},
      {"expression 0 is dimension 0 of input 7",
       [](fb::ProgramT &, fb::EntryT &e) { e.exprs[0] = fb::Expr(fb::ExprKind::Dim, 7, 0); }},
      {"expression 0 is dimension 2 of input 0",
       [](fb::ProgramT &, fb::EntryT &e) { e.exprs[0] = fb::Expr(fb::ExprKind::Dim, 0, 2); }},
      {"expression 0 is dimension -1 of input 0",
       [](fb::ProgramT &, fb::EntryT &e) { e.exprs[0] = fb::Expr(fb::ExprKind::Dim, 0, -1); }},
      {"expression 3 has operands 3 and 0; they must come before it",
       [](fb::ProgramT &, fb::EntryT &e) { e.exprs[3] = fb::Expr(fb::ExprKind::Add, 3, 0); }},
      {"expression 3 has operands -1 and 0",
       [](fb::ProgramT &, fb::EntryT &e) { e.exprs[3] = fb::Expr(fb::ExprKind::Max, -1, 0); }},
      {"expression 3 has unknown kind 6",
       [](fb::ProgramT &, fb::EntryT &e) { e.exprs[3] = fb::Expr(fb::ExprKind(6), 0, 0); }},
      {"size expression 9 divides by 0",
       [](fb::ProgramT &, fb::EntryT &e) {
         e.exprs[8] = fb::Expr(fb::ExprKind::Const, 0, 0);
         e.exprs[9] = fb::Expr(fb::ExprKind::CeilDiv, 1, 8);
       }},
      {"the arena's size is expression 10 of 10", [](fb::ProgramT &, fb::EntryT &e) { e.arena = 10; }},
      {"unknown flags 0x10", [](fb::ProgramT &, fb::EntryT &e) { e.flags = 16; }},
      {"buffer 0 has rank 9", [](fb::ProgramT &, fb::EntryT &e) { e.buffers[0]->dims.assign(9, 1); }},
      {"buffer 0 has unknown kind 5", [](fb::ProgramT &, fb::EntryT &e) { e.buffers[0]->kind = fb::BufferKind(5); }},
      {"buffer 0 has unknown element type 8", [](fb::ProgramT &, fb::EntryT &e) { e.buffers[0]->dtype = fb::DType(8); }},
      {"buffer 0 is input 2 of 2", [](fb::ProgramT &, fb::EntryT &e) { e.buffers[0]->index = 2; }},
      {"buffer 5 is output 2 of 2", [](fb::ProgramT &, fb::EntryT &e) { e.buffers[5]->index = 2; }},
      {"buffer 0 has type f32 and rank 2, but its input 1 has type f32 and rank 1",
       [](fb::ProgramT &, fb::EntryT &e) { e.buffers[0]->index = 1; }},
      {"dimension 1 of buffer 2 is expression 10 of 10",
       [](fb::ProgramT &, fb::EntryT &e) { e.buffers[2]->dims[1] = 10; }},
      {"dimension 0 of buffer 2 is -5",
       [](fb::ProgramT &, fb::EntryT &e) {
         e.exprs[9] = fb::Expr(fb::ExprKind::Const, -5, 0);
         e.buffers[2]->dims[0] = 9;
       }},
      {"the offset of buffer 3 is expression 10 of 10", [](fb::ProgramT &, fb::EntryT &e) { e.buffers[3]->offset = 10; }},
      {"constant buffer 4 has 15 bytes of data; its type needs 16",
       [](fb::ProgramT &, fb::EntryT &e) { e.buffers[4]->data.resize(15); }},
      {"dimension 0 of constant buffer 4 depends on the inputs",
       [](fb::ProgramT &, fb::EntryT &e) { e.buffers[4]->dims[0] = 0; }},
      {"step 0 is empty", [](fb::ProgramT &, fb::EntryT &e) { e.steps[0]->op.Reset(); }},
      {"step 0 (memset) refers to buffer 7 of 7",
       [](fb::ProgramT &, fb::EntryT &e) { e.steps[0]->op.AsMemset()->buffer = 7; }},
      {"step 0 (memset) writes buffer 0, which is an input",
       [](fb::ProgramT &, fb::EntryT &e) { e.steps[0]->op.AsMemset()->buffer = 0; }},
      {"step 1 (copy) writes buffer 4, which is a constant",
       [](fb::ProgramT &, fb::EntryT &e) {
         e.steps[1]->op.AsCopy()->source = 1;
         e.steps[1]->op.AsCopy()->target = 4;
       }},
      {"step 1 (copy) refers to buffers 7 and 3 of 7",
       [](fb::ProgramT &, fb::EntryT &e) { e.steps[1]->op.AsCopy()->source = 7; }},
      {"step 1 (copy) copies type f32 and rank 1 to type f32 and rank 2",
       [](fb::ProgramT &, fb::EntryT &e) { e.steps[1]->op.AsCopy()->source = 1; }},
      {"step 0 (launch) launches kernel 5 of 5",
       [](fb::ProgramT &, fb::EntryT &e) {
         fb::LaunchT launch;
         launch.kernel = 5;
         e.steps[0]->op.Set(std::move(launch));
       }},
      {"step 0 (launch) passes 1 buffers and 0 scalars to kernel 'ids', which takes 1 and 1",
       launching(kIds, {0})},
      {"step 0 (launch) costs expression 10 of 10",
       launching(kDeep, {0}, [](fb::LaunchT &launch) { launch.flops = 10; })},
      {"step 0 (launch) costs expression 10 of 10",
       launching(kDeep, {0}, [](fb::LaunchT &launch) { launch.bytes = 10; })},
      {"step 0 (launch) has bounds in argument 1 of 1",
       launching(kDeep, {0}, [](fb::LaunchT &launch) { launch.bounds = 1; })},
      {"step 0 (launch) has bounds in buffer 2, which is not [groups, 2] of i64",
       launching(kDeep, {2}, [](fb::LaunchT &launch) { launch.bounds = 0; })},
      {"step 0 (launch), argument, refers to number 7 of 7",
       launching(kDeep, {7})},
      {"step 0 (launch), scalar, refers to number 10 of 10",
       launching(kIds, {0}, [](fb::LaunchT &launch) { launch.scalars = {10}; })},
      {"two entries are named 'main'",
       [](fb::ProgramT &p, fb::EntryT &e) { p.entries.push_back(std::make_unique<fb::EntryT>(e)); }},
  };
  for (const auto &[message, alter] : cases) {
    SCOPED_TRACE(message);
    fb::ProgramT program = programOf(everything(), /*withObject=*/false);
    alter(program, *program.entries[0]);
    expectLoadError(program, MOE_BAD_PROGRAM, message);
  }
}

/// Sharing makes a small file that would decode to a large program.
TEST(Load, SharedVectorsAreNotMultiplied) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<fb::Expr> exprs(10000, fb::Expr(fb::ExprKind::Const, 1, 0));
  auto sharedExprs = builder.CreateVectorOfStructs(exprs);
  std::vector<flatbuffers::Offset<fb::Entry>> entries;
  for (int i = 0; i < 10000; ++i) {
    auto name = builder.CreateString(std::to_string(i));
    entries.push_back(fb::CreateEntry(builder, name, 0, 0, sharedExprs));
  }
  auto target = fb::CreateTargetDirect(builder, "cpu", kHostArch);
  fb::FinishProgramBuffer(builder, fb::CreateProgram(builder, target, 0, 0, builder.CreateVector(entries)));
  std::vector<uint8_t> file = withHeader({builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()});
  moe_program *program = nullptr;
  expectError(moe_program_load(file.data(), file.size(), &program), MOE_BAD_PROGRAM, "more elements than bytes");
}

/// Programs of memsets and copies need no trust in any kernel: altered at random, they are refused or run, and
/// nothing outside the buffers is touched.
TEST(Load, AlteredProgramsRunInsideTheirBuffers) {
  std::mt19937_64 random = randomNumbers();
  fb::ProgramT bare = programOf(everything(), /*withObject=*/false);
  bare.kernels.clear();
  std::vector<uint8_t> payload = payloadOf(bare);
  int ran = 0;
  for (int i = 0; i < 4000; ++i) {
    std::vector<uint8_t> altered = payload;
    for (size_t flips = random() % 3; flips--;)
      altered[random() % altered.size()] = uint8_t(random() % 12);
    std::vector<uint8_t> file = withHeader(altered);
    moe_program *raw = nullptr;
    if (moe_status *status = moe_program_load(file.data(), file.size(), &raw)) {
      moe_status_free(status);
      continue;
    }
    ProgramPtr program(raw, moe_program_release);
    moe_session *rawSession = nullptr;
    moe_options options = {sizeof(options), 1, nullptr};
    if (moe_status *status = moe_session_create(raw, 0, &options, &rawSession)) {
      moe_status_free(status);
      continue;
    }
    SessionPtr session(rawSession, moe_session_release);
    const int64_t rows[] = {3, 4}, row[] = {4};
    Guarded x(48), y(16), out(48), copy(16);
    moe_buffer inputs[] = {{x.data(), 48, MOE_F32, 2, rows, nullptr}, {y.data(), 16, MOE_F32, 1, row, nullptr}};
    moe_buffer outputs[] = {{out.data(), 48, MOE_F32, 2, rows, nullptr}, {copy.data(), 16, MOE_F32, 1, row, nullptr}};
    size_t bytes = 0, align = 0;
    moe_status *status = moe_workspace_query(raw, 0, inputs, 2, &bytes, &align);
    if (!status && bytes < (1 << 24)) {
      Guarded workspace(bytes);
      status = moe_enqueue(rawSession, 0, inputs, 2, outputs, 2, workspace.data(), bytes, nullptr, nullptr);
      ran += !status;
    }
    moe_status_free(status);
  }
  EXPECT_GT(ran, 0);
}

} // namespace
