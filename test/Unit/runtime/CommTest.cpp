//===- CommTest.cpp - ranks that exchange rows, and ranks that do not ---------------===//
#include "TestPrograms.h"

#include <chrono>
#include <functional>
#include <thread>

using namespace moe_test;

namespace {

/// x[m, 3] i32 and bounds of what goes where -> y[rows, 3] i32, exchanged over `ranks` ranks.
fb::ProgramT raggedProgram(uint32_t ranks, int64_t rows) {
  EntryBuilder e("exchange");
  uint32_t m = e.dim(0, 0), three = e.constant(3), two = e.constant(2), n = e.constant(ranks), r = e.constant(rows);
  // Places in the arena: bounds of at most 8 ranks, y, x.
  uint32_t at[] = {e.constant(256 + 16 * rows), e.constant(0), e.constant(128)}, yAt = e.constant(256);
  e.entry.arena = e.expr(fb::ExprKind::Add, at[0], e.expr(fb::ExprKind::Mul, m, e.constant(64)));
  e.input("x", fb::DType::I32, {-1, 3});
  e.input("send", fb::DType::I64, {int64_t(ranks), 2});
  e.input("receive", fb::DType::I64, {int64_t(ranks), 2});
  e.output("y", fb::DType::I32, {rows, 3}, {r, three});
  uint32_t inputs[3], arena[3];
  for (uint32_t i = 0; i < 3; ++i) {
    fb::DType dtype = i ? fb::DType::I64 : fb::DType::I32;
    std::vector<uint32_t> dims = i ? std::vector<uint32_t>{n, two} : std::vector<uint32_t>{m, three};
    inputs[i] = e.buffer(fb::BufferKind::Input, i, dtype, dims);
    arena[i] = e.buffer(fb::BufferKind::Arena, 0, dtype, dims, at[i]);
    e.copy(inputs[i], arena[i]);
  }
  uint32_t target = e.buffer(fb::BufferKind::Arena, 0, fb::DType::I32, {r, three}, yAt);
  uint32_t output = e.buffer(fb::BufferKind::Output, 0, fb::DType::I32, {r, three});
  e.allToAll(ranks, arena[0], target, int32_t(arena[1]), int32_t(arena[2]));
  e.copy(target, output);
  return programOf(std::move(e));
}

fb::ProgramT blockProgram(uint32_t ranks) { return programOf(blockExchange("blocks", ranks)); }

struct Tensor {
  moe_buffer buffer() { return {data.data(), data.size() * 8, dtype, int32_t(shape.size()), shape.data(), nullptr}; }
  moe_dtype dtype;
  std::vector<int64_t> shape;
  std::vector<int64_t> data; ///< i32 tensors use a part
};

using CommPtr = std::unique_ptr<moe_comm, void (*)(moe_comm *)>;

std::vector<CommPtr> createComms(int32_t size, uint32_t timeoutMs = 20000) {
  moe_comm_options options = {sizeof(options), timeoutMs};
  std::vector<moe_comm *> handles(size_t(size), nullptr);
  expectOk(moe_comm_create_local(size, &options, handles.data()));
  std::vector<CommPtr> comms;
  for (moe_comm *comm : handles)
    comms.emplace_back(comm, moe_comm_release);
  return comms;
}

/// Runs entry 0 of a program; the caller owns the status.
moe_status *enqueue(const ProgramPtr &program, std::vector<Tensor> &inputs, Tensor &output, moe_comm *comm) {
  SessionPtr session = createSession(program, 1);
  std::vector<moe_buffer> buffers;
  for (Tensor &input : inputs)
    buffers.push_back(input.buffer());
  size_t bytes = 0, align = 0;
  if (moe_status *status = moe_workspace_query(program.get(), 0, buffers.data(), buffers.size(), &bytes, &align))
    return status;
  Guarded workspace(bytes);
  moe_buffer out = output.buffer();
  return moe_enqueue(session.get(), 0, buffers.data(), buffers.size(), &out, 1, workspace.data(), bytes, comm, nullptr);
}

Tensor numbers(std::initializer_list<int64_t> values) { return {MOE_I64, {int64_t(values.size())}, values}; }

/// A thread for each rank.
void onRanks(int32_t size, const std::function<void(int32_t)> &body) {
  std::vector<std::thread> threads;
  for (int32_t rank = 0; rank < size; ++rank)
    threads.emplace_back(body, rank);
  for (std::thread &thread : threads)
    thread.join();
}

/// x of two blocks on each of two ranks: the message of each rank's error, "" for none.
std::vector<std::string> exchangeBlocks(std::vector<CommPtr> &comms, const std::vector<int64_t> &lengths) {
  ProgramPtr program = load(blockProgram(uint32_t(comms.size())));
  std::vector<std::string> messages(comms.size());
  onRanks(int32_t(comms.size()), [&](int32_t rank) {
    int64_t length = lengths[size_t(rank)];
    if (length < 0)
      return; // never calls
    std::vector<Tensor> inputs(1, {MOE_I64, {length}, std::vector<int64_t>(size_t(length), rank)});
    Tensor output = inputs[0];
    moe_status *status = enqueue(program, inputs, output, comms[size_t(rank)].get());
    if (status)
      messages[size_t(rank)] = std::string(moe_code_name(moe_status_code(status))) + " " + moe_status_message(status);
    moe_status_free(status);
  });
  return messages;
}

void expectIn(const std::string &message, const std::string &text) {
  EXPECT_NE(message.find(text), std::string::npos) << "message: " << message << "\nexpected: " << text;
}

} // namespace

TEST(Comm, RaggedRowsOfManySizes) {
  std::mt19937_64 random = randomNumbers();
  for (int32_t size : {1, 2, 3, 4, 8}) {
    int64_t rows = 40;
    ProgramPtr program = load(raggedProgram(uint32_t(size), rows));
    std::vector<CommPtr> comms = createComms(size);
    for (int round = 0; round < 4; ++round) {
      // counts[s][d]: rows from s to d; a rank in three sends nothing, and gaps lie between what is received.
      std::vector<std::vector<int64_t>> counts{size_t(size), std::vector<int64_t>(size_t(size))};
      for (auto &row : counts)
        if (random() % 3)
          for (int64_t &count : row)
            count = int64_t(random() % 5);
      uint64_t gaps = random();
      std::vector<Tensor> results(size_t(size), Tensor{MOE_I32, {rows, 3}, std::vector<int64_t>(size_t(rows) * 3)});
      auto boundsOf = [&](int32_t rank, bool received) {
        Tensor bounds{MOE_I64, {size, 2}, {}};
        int64_t at = 0;
        for (int32_t peer = 0; peer < size; ++peer) {
          if (received)
            at += int64_t((gaps >> (2 * peer)) % 2);
          bounds.data.push_back(at);
          at += received ? counts[size_t(peer)][size_t(rank)] : counts[size_t(rank)][size_t(peer)];
          bounds.data.push_back(at);
        }
        return bounds;
      };
      onRanks(size, [&](int32_t rank) {
        Tensor send = boundsOf(rank, false);
        int64_t m = send.data.back();
        Tensor x{MOE_I32, {m, 3}, std::vector<int64_t>(size_t(m) * 3 / 2 + 1)};
        for (int64_t i = 0; i < m * 3; ++i)
          reinterpret_cast<int32_t *>(x.data.data())[i] = rank * 1000 + int32_t(i) + 1;
        std::vector<Tensor> inputs = {x, send, boundsOf(rank, true)};
        expectOk(enqueue(program, inputs, results[size_t(rank)], comms[size_t(rank)].get()));
      });
      for (int32_t rank = 0; rank < size; ++rank) {
        std::vector<int32_t> expected(size_t(rows) * 3);
        Tensor receive = boundsOf(rank, true);
        for (int32_t peer = 0; peer < size; ++peer) {
          int64_t from = boundsOf(peer, false).data[size_t(2 * rank)];
          for (int64_t i = 0; i < counts[size_t(peer)][size_t(rank)] * 3; ++i)
            expected[size_t(receive.data[size_t(2 * peer)] * 3 + i)] = peer * 1000 + int32_t(from * 3 + i) + 1;
        }
        EXPECT_EQ(0, std::memcmp(expected.data(), results[size_t(rank)].data.data(), expected.size() * 4))
            << "rank " << rank << " of " << size;
        uint64_t sent = 0;
        for (int32_t peer = 0; peer < size && round == 0; ++peer) {
          expectOk(moe_comm_sent(comms[size_t(rank)].get(), peer, &sent));
          EXPECT_EQ(sent, uint64_t(counts[size_t(rank)][size_t(peer)]) * 12);
        }
        EXPECT_EQ(moe_comm_rank(comms[size_t(rank)].get()), rank);
        EXPECT_EQ(moe_comm_size(comms[size_t(rank)].get()), size);
      }
    }
  }
}

TEST(Comm, TwoCommunicatorsInterleaved) {
  std::vector<CommPtr> first = createComms(3), second = createComms(3);
  ProgramPtr program = load(blockProgram(3));
  onRanks(3, [&](int32_t rank) {
    for (int64_t i = 0; i < 50; ++i) {
      std::vector<Tensor> inputs = {numbers({100 * rank + i, 100 * rank + i + 1, 100 * rank + i + 2})};
      Tensor output = numbers({-1, -1, -1});
      expectOk(enqueue(program, inputs, output, (i % 3 ? first : second)[size_t(rank)].get()));
      EXPECT_EQ(output.data, (std::vector<int64_t>{i + rank, 100 + i + rank, 200 + i + rank}));
    }
  });
}

TEST(Comm, ARankThatNeverCalls) {
  std::vector<CommPtr> comms = createComms(3, 200);
  auto begin = std::chrono::steady_clock::now();
  std::vector<std::string> messages = exchangeBlocks(comms, {3, -1, 3});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  for (size_t rank : {0, 2})
    expectIn(messages[rank], "COMM_FAILED moe_enqueue: the communicator has failed: rank 1 did not take part in "
                             "exchange 1 within 200 ms");
  // It comes late: the communicator stays failed, and a new one works.
  expectIn(exchangeBlocks(comms, {3, 3, 3})[1], "rank 1 did not take part");
  std::vector<CommPtr> fresh = createComms(3, 20000);
  EXPECT_EQ(exchangeBlocks(fresh, {3, 3, 3}), std::vector<std::string>(3));
}

TEST(Comm, ARankThatLeaves) {
  std::vector<CommPtr> comms = createComms(3);
  comms[2] = CommPtr(nullptr, moe_comm_release);
  std::vector<std::string> messages = exchangeBlocks(comms, {3, 3, -1});
  for (size_t rank : {0, 1})
    expectIn(messages[rank], "rank 2 has left before exchange 1");
}

TEST(Comm, SizesThatDisagree) {
  std::vector<CommPtr> comms = createComms(2);
  EXPECT_EQ(moe_comm_status(comms[0].get()), nullptr);
  for (const std::string &message : exchangeBlocks(comms, {4, 6}))
    EXPECT_TRUE(message.find("rank 0 sends 16 bytes to rank 1, which expects 24") != std::string::npos ||
                message.find("rank 1 sends 24 bytes to rank 0, which expects 16") != std::string::npos)
        << message;
  for (const CommPtr &comm : comms)
    expectError(moe_comm_status(comm.get()), MOE_COMM_FAILED, "the communicator has failed: rank ");
}

TEST(Comm, RanksCompareWhatTheyWouldExchange) {
  struct Rank {
    const ProgramPtr &program;
    std::vector<Tensor> inputs;
  };
  EntryBuilder again = blockExchange("again", 2);
  again.allToAll(2, 0, 1, -1, -1);
  ProgramPtr blocks = load(blockProgram(2)), ragged = load(raggedProgram(2, 8)),
             twice = load(programOf(std::move(again)));
  Tensor bounds = {MOE_I64, {2, 2}, {0, 1, 1, 2}}, rows = {MOE_I32, {2, 3}, std::vector<int64_t>(3)};
  const Rank four = {blocks, {numbers({1, 2, 3, 4})}}, two = {blocks, {numbers({1, 2})}};
  const Rank byBounds = {ragged, {rows, bounds, bounds}}, fourTwice = {twice, {numbers({1, 2, 3, 4})}};
  auto expect = [&](Rank first, Rank second, const std::string &text) {
    std::vector<CommPtr> comms = createComms(2);
    onRanks(2, [&](int32_t rank) {
      Rank &self = rank ? second : first;
      SessionPtr session = createSession(self.program, 1);
      std::vector<moe_buffer> buffers;
      for (Tensor &input : self.inputs)
        buffers.push_back(input.buffer());
      moe_comm *comm = comms[size_t(rank)].get();
      moe_status *status = moe_session_connect(session.get(), 0, buffers.data(), buffers.size(), comm, nullptr);
      if (text.empty())
        expectOk(status);
      else
        expectError(status, MOE_COMM_FAILED, text.c_str());
    });
  };
  expect(four, four, "");
  expect(byBounds, byBounds, "");
  expect(
      four, two,
      "ranks disagree: rank 1 would exchange rows of 8 bytes in blocks of 1 where rank 0 exchanges rows of 8 bytes in "
      "blocks of 2");
  expect(four, byBounds, "ranks disagree: rank 1 would exchange rows of 12 bytes by bounds where rank 0");
  expect(fourTwice, four, "ranks disagree: rank 1 would exchange rows 1 times where rank 0 does 2 times");
}

TEST(Comm, AnErrorOfOneRankReachesAll) {
  std::vector<CommPtr> comms = createComms(3);
  std::vector<std::string> messages = exchangeBlocks(comms, {3, 4, 3});
  expectIn(messages[1], "INVALID_ARGUMENT moe_enqueue: 4 rows would be exchanged for 4 as equal blocks of 3 ranks");
  for (size_t rank : {0, 2})
    expectIn(messages[rank], "COMM_FAILED moe_enqueue: the communicator has failed: rank 1: 4 rows");
  moe_comm_fail(comms[0].get(), "enough");
  expectIn(exchangeBlocks(comms, {3, 3, 3})[0], "rank 1: 4 rows");
}

TEST(Comm, RefusedCommunicators) {
  std::vector<CommPtr> comms = createComms(2);
  ProgramPtr program = load(blockProgram(3));
  std::vector<Tensor> inputs = {numbers({1, 2, 3})};
  Tensor output = numbers({0, 0, 0});
  expectError(enqueue(program, inputs, output, nullptr), MOE_INVALID_ARGUMENT,
              "comm is NULL, but entry 'blocks' is for 3 ranks of axis 'ep'");
  expectError(enqueue(program, inputs, output, comms[0].get()), MOE_INVALID_ARGUMENT,
              "comm has 2 ranks, but entry 'blocks' is for 3 of axis 'ep'");
  moe_comm *comm = nullptr;
  expectError(moe_comm_create_local(0, nullptr, &comm), MOE_INVALID_ARGUMENT, "size is 0, but must be at least 1");
  moe_transport none = {sizeof(none), nullptr, nullptr, nullptr, nullptr};
  expectError(moe_comm_create_custom(&none, 0, 1, nullptr, &comm), MOE_INVALID_ARGUMENT, "transport->exchange is NULL");
  none.exchange = [](void *, const moe_piece *, const moe_piece *, uint32_t, char *, size_t) { return 0; };
  expectError(moe_comm_create_custom(&none, 2, 2, nullptr, &comm), MOE_INVALID_ARGUMENT,
              "rank is 2, but must be 0 to 1");
  none.struct_size = 8;
  expectError(moe_comm_create_custom(&none, 0, 1, nullptr, &comm), MOE_INVALID_ARGUMENT, "transport->struct_size is 8");
  moe_comm_options options = {4, 0};
  expectError(moe_comm_create_local(1, &options, &comm), MOE_INVALID_ARGUMENT, "options->struct_size is 4");
  uint64_t bytes = 0;
  expectError(moe_comm_sent(comms[0].get(), 2, &bytes), MOE_INVALID_ARGUMENT, "rank is 2, but must be 0 to 1");
  EXPECT_EQ(moe_comm_rank(nullptr), -1);
  EXPECT_EQ(moe_comm_size(nullptr), 0);
}

TEST(Comm, ACallersTransport) {
  struct State {
    int exchanges = 0, destroyed = 0;
    std::string failure;
  } state;
  moe_transport transport = {
      sizeof(transport), &state,
      [](void *context, const moe_piece *send, const moe_piece *receive, uint32_t timeoutMs, char *error,
         size_t errorBytes) {
        EXPECT_EQ(timeoutMs, 30000u);
        std::memcpy(receive[0].data, send[0].data, send[0].bytes);
        bool bad = ++static_cast<State *>(context)->exchanges == 2;
        if (bad)
          std::snprintf(error, errorBytes, "no more");
        return bad ? 1 : 0;
      },
      [](void *context, const char *message) { static_cast<State *>(context)->failure = message; },
      [](void *context) { ++static_cast<State *>(context)->destroyed; }};
  moe_comm *comm = nullptr;
  expectOk(moe_comm_create_custom(&transport, 0, 1, nullptr, &comm));
  ProgramPtr program = load(blockProgram(1));
  std::vector<Tensor> inputs = {numbers({4, 5})};
  Tensor output = numbers({0, 0});
  expectOk(enqueue(program, inputs, output, comm));
  EXPECT_EQ(output.data, inputs[0].data);
  for (int i = 0; i < 2; ++i)
    expectError(enqueue(program, inputs, output, comm), MOE_COMM_FAILED, "the communicator has failed: no more");
  moe_comm_retain(comm);
  moe_comm_release(comm);
  EXPECT_EQ(state.destroyed, 0);
  moe_comm_release(comm);
  EXPECT_EQ(state.destroyed, 1);
  EXPECT_EQ(state.exchanges, 2);
}

TEST(Comm, ATraceSaysWhatWasSent) {
  std::vector<CommPtr> comms = createComms(2);
  ProgramPtr program = load(blockProgram(2));
  onRanks(2, [&](int32_t rank) {
    SessionPtr session = createSession(program, 1);
    Tensor input = numbers({1, 2, 3, 4}), output = input;
    moe_buffer in = input.buffer(), out = output.buffer();
    size_t bytes = 0, align = 0;
    expectOk(moe_workspace_query(program.get(), 0, &in, 1, &bytes, &align));
    Guarded workspace(bytes);
    std::vector<moe_step> steps;
    expectOk(moe_enqueue_traced(
        session.get(), 0, &in, 1, &out, 1, workspace.data(), bytes, comms[size_t(rank)].get(), nullptr,
        [](void *user, const moe_step *step) { static_cast<std::vector<moe_step> *>(user)->push_back(*step); },
        &steps));
    ASSERT_EQ(steps.size(), 1u);
    EXPECT_EQ(steps[0].kind, MOE_STEP_EXCHANGE);
    EXPECT_STREQ(steps[0].name, "exchange");
    EXPECT_EQ(steps[0].bytes, 16);
  });
}

TEST(Comm, BadPrograms) {
  auto broken = [](const std::function<void(fb::EntryT &, fb::AllToAllT &)> &change) {
    fb::ProgramT program = raggedProgram(2, 8);
    fb::EntryT &entry = *program.entries[0];
    for (auto &step : entry.steps)
      if (fb::AllToAllT *exchange = step->op.AsAllToAll())
        change(entry, *exchange);
    return program;
  };
  expectLoadError(broken([](fb::EntryT &, fb::AllToAllT &step) { step.send = -1; }), MOE_BAD_PROGRAM,
                  "step 3 (all_to_all) has one of its two bounds");
  expectLoadError(broken([](fb::EntryT &, fb::AllToAllT &step) { step.target = 99; }), MOE_BAD_PROGRAM,
                  "step 3 (all_to_all) refers to buffer 99 of 8");
  expectLoadError(broken([](fb::EntryT &, fb::AllToAllT &step) { step.target = uint32_t(step.send); }), MOE_BAD_PROGRAM,
                  "exchanges type i32 and rank 2 of buffer 1 for type i64 and rank 2 of buffer 3");
  expectLoadError(broken([](fb::EntryT &, fb::AllToAllT &step) { step.source = 0; }), MOE_BAD_PROGRAM,
                  "step 3 (all_to_all) exchanges rows of a caller's buffer");
  expectLoadError(broken([](fb::EntryT &, fb::AllToAllT &step) { step.send = int32_t(step.source); }), MOE_BAD_PROGRAM,
                  "has bounds of type i32 and rank 2 in buffer 1");
  expectLoadError(broken([](fb::EntryT &entry, fb::AllToAllT &) { entry.ranks = 0; }), MOE_BAD_PROGRAM,
                  "flags 0x1 and 0 ranks contradict each other");
  expectLoadError(broken([](fb::EntryT &entry, fb::AllToAllT &) { entry.flags = 0; }), MOE_BAD_PROGRAM,
                  "flags 0x0 and 2 ranks contradict each other");
  expectLoadError(broken([](fb::EntryT &entry, fb::AllToAllT &) { entry.ranks = 0, entry.flags = 0; }), MOE_BAD_PROGRAM,
                  "step 3 (all_to_all) is in an entry for 0 ranks");
}

TEST(Comm, BoundsOutOfRange) {
  ProgramPtr program = load(raggedProgram(1, 8));
  std::vector<CommPtr> comms = createComms(1);
  std::vector<Tensor> inputs = {
      {MOE_I32, {4, 3}, std::vector<int64_t>(6)}, {MOE_I64, {1, 2}, {0, 5}}, {MOE_I64, {1, 2}, {0, 5}}};
  Tensor output{MOE_I32, {8, 3}, std::vector<int64_t>(24)};
  expectError(enqueue(program, inputs, output, comms[0].get()), MOE_BAD_PROGRAM,
              "rows 0 to 5 to send for rank 0 are outside of 4 rows, or not in order");
}
