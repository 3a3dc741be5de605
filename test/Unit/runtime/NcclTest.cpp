//===- NcclTest.cpp - finding NCCL, and what there is to say without a GPU ------------===//
#include "TestPrograms.h"

#include <algorithm>

using namespace moe_test;

namespace {

/// Sets MOE_NCCL for one test.
struct Library {
  explicit Library(const std::string &kind) { setenv("MOE_NCCL", (MOERT_TEST_NCCL + kind + ".so").c_str(), 1); }
  ~Library() { unsetenv("MOE_NCCL"); }
};

} // namespace

TEST(Nccl, MakesAnId) {
  Library library("good");
  uint8_t id[MOE_COMM_ID_BYTES] = {};
  expectOk(moe_comm_unique_id(id));
  EXPECT_EQ(std::count(id, id + sizeof(id), 7), int(sizeof(id)));
}

TEST(Nccl, IsMissingOrTooOld) {
  uint8_t id[MOE_COMM_ID_BYTES];
  {
    Library library("absent");
    expectError(moe_comm_unique_id(id), MOE_UNSUPPORTED, "NCCL cannot be opened:");
  }
  {
    Library library("old");
    expectError(moe_comm_unique_id(id), MOE_UNSUPPORTED, "NCCL has version 2.27.3, but must have 2.28 or a newer one");
  }
  Library library("broken");
  expectError(moe_comm_unique_id(id), MOE_UNSUPPORTED, "NCCL has no ncclGetUniqueId; 2.28 or newer has");
}

TEST(Nccl, NamesTheCallThatFails) {
  Library library("good");
  moe_comm *comm = nullptr;
  int callers = 0;
  expectError(moe_comm_wrap_nccl(&callers, nullptr, &comm), MOE_COMM_FAILED,
              "ncclCommUserRank failed: invalid usage (5), the last error");
}

TEST(Nccl, RefusesBadArguments) {
  moe_comm *comm = nullptr;
  uint8_t id[MOE_COMM_ID_BYTES] = {};
  expectError(moe_comm_unique_id(nullptr), MOE_INVALID_ARGUMENT, "id is NULL");
  expectError(moe_comm_create_nccl(nullptr, 0, 1, 0, nullptr, &comm), MOE_INVALID_ARGUMENT, "id is NULL");
  expectError(moe_comm_create_nccl(id, 3, 3, 0, nullptr, &comm), MOE_INVALID_ARGUMENT, "rank is 3, but must be 0 to 2");
  expectError(moe_comm_wrap_nccl(nullptr, nullptr, &comm), MOE_INVALID_ARGUMENT, "ncclComm is NULL");
}
