//===- SessionTest.cpp - sessions, faults, and what a program may bring along ----------===//
#include "TestPrograms.h"

#include <sys/wait.h>
#include <unistd.h>

using namespace moe_test;

namespace {

EntryBuilder deepEntry() {
  EntryBuilder e("main");
  uint32_t one = e.constant(1);
  e.entry.arena = e.constant(0);
  e.output("out", fb::DType::I64, {1}, {one});
  uint32_t out = e.buffer(fb::BufferKind::Output, 0, fb::DType::I64, {one});
  e.launch(kDeep, {out});
  return e;
}

moe_status *tryCreate(const fb::ProgramT &from) {
  ProgramPtr program = load(from);
  moe_session *session = nullptr;
  moe_status *status = moe_session_create(program.get(), 0, nullptr, &session);
  EXPECT_EQ(session == nullptr, status != nullptr);
  moe_session_release(session);
  return status;
}

TEST(Session, WrongTarget) {
  fb::ProgramT program = programOf(deepEntry());
  program.target->arch = kOtherArch;
  expectError(tryCreate(program), MOE_WRONG_TARGET,
              std::string("the program was compiled for cpu '") + kOtherArch + "'; this machine is");
  program.target->arch = "x86-64-v9";
  expectError(tryCreate(program), MOE_WRONG_TARGET, "x86-64-v9");
  program.target->kind = "tpu";
  expectError(tryCreate(program), MOE_WRONG_TARGET, "compiled for target 'tpu'; this runtime has 'cpu' and 'cuda'");
}

TEST(Session, BadObjects) {
  fb::ProgramT program = programOf(deepEntry());
  program.object = readFile(MOERT_TEST_NEEDY);
  expectError(tryCreate(program), MOE_BAD_PROGRAM, "it may need no library and run nothing on loading");
  program.object.clear();
  expectError(tryCreate(program), MOE_BAD_PROGRAM, "object of 0 bytes is not a 64-bit ELF shared object");
  program.object.assign(200, 'x');
  expectError(tryCreate(program), MOE_BAD_PROGRAM, "object of 200 bytes is not a 64-bit ELF shared object");
  program.object = readFile(MOERT_TEST_KERNELS);
  program.object.resize(100);
  expectError(tryCreate(program), MOE_BAD_PROGRAM, "outside the program's object");
  program.object = readFile(MOERT_TEST_KERNELS);
  program.kernels[0]->name = "absent";
  expectError(tryCreate(program), MOE_BAD_PROGRAM, "the program's object has no symbol 'absent'");
}

TEST(Session, Arguments) {
  ProgramPtr program = load(programOf(deepEntry()));
  moe_session *session = nullptr;
  expectError(moe_session_create(program.get(), 1, nullptr, &session), MOE_INVALID_ARGUMENT,
              "device is 1; the cpu target has device 0 only");
  expectError(moe_session_create(nullptr, 0, nullptr, &session), MOE_INVALID_ARGUMENT, "program is NULL");
  expectError(moe_session_create(program.get(), 0, nullptr, nullptr), MOE_INVALID_ARGUMENT, "session is NULL");
  moe_options options = {0, 1, nullptr};
  expectError(moe_session_create(program.get(), 0, &options, &session), MOE_INVALID_ARGUMENT,
              "options->struct_size is 0");
  SessionPtr other = createSession(program);
  options = {sizeof(options), 1, other.get()};
  expectError(moe_session_create(program.get(), 0, &options, &session), MOE_INVALID_ARGUMENT,
              "num_threads is 1, but must be 0 with threads_of");
  options = {sizeof(options), 1000000, nullptr};
  expectError(moe_session_create(program.get(), 0, &options, &session), MOE_INVALID_ARGUMENT,
              "num_threads is 1000000; the most is 4096");
  EXPECT_EQ(session, nullptr);
}

TEST(Session, ConnectsNothingOnTheCpu) {
  ProgramPtr program = load(programOf(deepEntry()));
  SessionPtr session = createSession(program);
  expectOk(moe_session_connect(session.get(), 0, nullptr, 0, nullptr, nullptr));
  expectError(moe_session_connect(session.get(), 1, nullptr, 0, nullptr, nullptr), MOE_INVALID_ARGUMENT,
              "entry is 1; the program has 1");
  expectError(moe_session_connect(nullptr, 0, nullptr, 0, nullptr, nullptr), MOE_INVALID_ARGUMENT, "session is NULL");
}

TEST(Session, Inspection) {
  ProgramPtr program = load(programOf(deepEntry()));
  moe_entry_info entry = {};
  expectError(moe_program_entry(program.get(), 0, &entry), MOE_INVALID_ARGUMENT, "info->struct_size is 0");
  entry.struct_size = sizeof(entry);
  expectOk(moe_program_entry(program.get(), 0, &entry));
  EXPECT_STREQ(entry.name, "main");
  EXPECT_EQ(entry.num_inputs, 0u);
  EXPECT_EQ(entry.num_outputs, 1u);
  expectError(moe_program_entry(program.get(), 1, &entry), MOE_INVALID_ARGUMENT, "entry is 1; the program has 1");
  uint32_t number = 7;
  expectOk(moe_program_find(program.get(), "main", &number));
  EXPECT_EQ(number, 0u);
  expectError(moe_program_find(program.get(), "mian", &number), MOE_INVALID_ARGUMENT,
              "the program has no entry 'mian'");
  moe_argument_info info;
  expectOk(moe_program_output(program.get(), 0, 0, &info));
  EXPECT_STREQ(info.name, "out");
  EXPECT_EQ(info.dtype, MOE_I64);
  EXPECT_EQ(info.dims[0], 1);
  EXPECT_EQ(info.alias, -1);
  expectError(moe_program_input(program.get(), 0, 0, &info), MOE_INVALID_ARGUMENT, "input is 0; entry 'main' has 0");
  EXPECT_STREQ(moe_program_arch(program.get()), kHostArch);
  EXPECT_EQ(moe_program_num_entries(nullptr), 0u);
}

TEST(Session, Names) {
  for (int unknown : {-1, 77, 1000}) {
    EXPECT_STREQ(moe_dtype_name(moe_dtype(unknown)), "?");
    EXPECT_EQ(moe_dtype_size(moe_dtype(unknown)), 0u);
    EXPECT_STREQ(moe_code_name(moe_code(unknown)), "?");
    EXPECT_STREQ(moe_fault_name(moe_fault_kind(unknown)), "?");
  }
  EXPECT_STREQ(moe_dtype_name(MOE_BF16), "bf16");
  EXPECT_EQ(moe_dtype_size(MOE_I64), 8u);
  EXPECT_STREQ(moe_code_name(MOE_WRONG_TARGET), "WRONG_TARGET");
  EXPECT_STREQ(moe_fault_name(MOE_FAULT_NAN_ROUTER), "NAN_ROUTER");
  EXPECT_STRNE(moe_version(), "");
  EXPECT_EQ(moe_status_code(nullptr), MOE_OK);
  EXPECT_STREQ(moe_status_message(nullptr), "");
}

/// A kernel may use all the stack the ABI grants, whatever the calling thread has.
TEST(Session, KernelStack) {
  ProgramPtr program = load(programOf(deepEntry()));
  SessionPtr session = createSession(program, 1);
  int64_t one = 1, sum = 0;
  moe_buffer output = {&sum, 8, MOE_I64, 1, &one, nullptr};
  size_t bytes = 0, align = 0;
  expectOk(moe_workspace_query(program.get(), 0, nullptr, 0, &bytes, &align));
  Guarded workspace(bytes);
  expectOk(moe_enqueue(session.get(), 0, nullptr, 0, &output, 1, workspace.data(), bytes, nullptr, nullptr));
  EXPECT_EQ(sum, (8 * 1024 * 1024 - 4096) / 1024);
}

/// Two programs in one process: their objects are told apart, also after one has gone.
TEST(Session, ManyObjects) {
  for (int round = 0; round < 3; ++round) {
    ProgramPtr a = load(programOf(deepEntry())), b = load(programOf(deepEntry()));
    SessionPtr first = createSession(a), second = createSession(b);
    first.reset();
    SessionPtr third = createSession(a);
    b.reset(); // the session keeps its program
    int64_t one = 1, sum = 0;
    moe_buffer output = {&sum, 8, MOE_I64, 1, &one, nullptr};
    Guarded workspace(4096);
    for (const SessionPtr *session : {&second, &third})
      expectOk(moe_enqueue(session->get(), 0, nullptr, 0, &output, 1, workspace.data(), 4096, nullptr, nullptr));
  }
}

TEST(Session, AfterFork) {
  ProgramPtr program = load(programOf(deepEntry()));
  SessionPtr session = createSession(program);
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int64_t one = 1, sum = 0;
    moe_buffer output = {&sum, 8, MOE_I64, 1, &one, nullptr};
    alignas(64) static uint8_t workspace[4096];
    moe_status *status =
        moe_enqueue(session.get(), 0, nullptr, 0, &output, 1, workspace, sizeof(workspace), nullptr, nullptr);
    bool named = std::strstr(moe_status_message(status), "the session was created before fork");
    _exit(moe_status_code(status) == MOE_UNSUPPORTED && named ? 0 : 1);
  }
  int result = -1;
  ASSERT_EQ(waitpid(child, &result, 0), child);
  EXPECT_EQ(result, 0);
}

class Faults : public testing::Test {
protected:
  Faults() {
    EntryBuilder e("main");
    uint32_t n = e.dim(0, 0), limit = e.constant(8);
    e.entry.arena = e.constant(0);
    e.input("ids", fb::DType::I32, {-1});
    uint32_t ids = e.buffer(fb::BufferKind::Input, 0, fb::DType::I32, {n});
    e.launch(kIds, {ids}, {limit});
    program = load(programOf(std::move(e)));
    session = createSession(program, 3);
  }
  void run(std::vector<int32_t> ids) {
    int64_t n = int64_t(ids.size());
    moe_buffer input = {ids.data(), ids.size() * 4, MOE_I32, 1, &n, nullptr};
    expectOk(moe_enqueue(session.get(), 0, &input, 1, nullptr, 0, workspace.data(), workspace.bytes, nullptr, nullptr));
  }
  std::vector<moe_fault> poll() {
    std::vector<moe_fault> faults(MOE_NUM_FAULT_KINDS);
    size_t n = faults.size();
    expectOk(moe_session_poll(session.get(), workspace.data(), faults.data(), &n));
    faults.resize(n);
    return faults;
  }
  ProgramPtr program{nullptr, moe_program_release};
  SessionPtr session{nullptr, moe_session_release};
  Guarded workspace{4096};
};

TEST_F(Faults, LowestRowAndCount) {
  std::mt19937_64 random = randomNumbers();
  for (int round = 0; round < 20; ++round) {
    std::vector<int32_t> ids(1000);
    int64_t count = 0, row = -1;
    for (size_t i = 0; i < ids.size(); ++i) {
      ids[i] = random() % 10 ? int32_t(random() % 9) - 1 : int32_t(100 + i);
      if (ids[i] > 8 && count++ == 0)
        row = int64_t(i);
    }
    run(ids);
    std::vector<moe_fault> faults = poll();
    ASSERT_EQ(faults.size(), 1u);
    EXPECT_EQ(faults[0].kind, MOE_FAULT_BAD_ID);
    EXPECT_EQ(faults[0].count, count);
    EXPECT_EQ(faults[0].row, row);
    EXPECT_EQ(faults[0].value, 100 + row);
    EXPECT_EQ(faults[0].limit, 8);
  }
}

TEST_F(Faults, OfTheLastEnqueue) {
  run({3, 9, 0});
  EXPECT_EQ(poll().size(), 1u);
  run({3, -1, 0});
  EXPECT_EQ(poll().size(), 0u);
}

TEST_F(Faults, Arguments) {
  run({9});
  moe_fault fault;
  size_t n = 0;
  expectOk(moe_session_poll(session.get(), workspace.data(), nullptr, &n));
  EXPECT_EQ(n, 1u);
  expectError(moe_session_poll(session.get(), workspace.data(), nullptr, &n), MOE_INVALID_ARGUMENT,
              "faults is NULL, but *n is 1");
  expectError(moe_session_poll(session.get(), nullptr, &fault, &n), MOE_INVALID_ARGUMENT, "workspace is NULL");
  expectError(moe_session_poll(session.get(), workspace.data() + 8, &fault, &n), MOE_INVALID_ARGUMENT, "aligned to 64");
  expectError(moe_session_poll(session.get(), workspace.data(), &fault, nullptr), MOE_INVALID_ARGUMENT, "n is NULL");
  expectError(moe_session_poll(nullptr, workspace.data(), &fault, &n), MOE_INVALID_ARGUMENT, "session is NULL");
}

} // namespace
