//===- Faults.cpp -----------------------------------------------------------------===//
#include "Faults.h"

#include <sched.h>

#include <tuple>

using namespace moert;

void moert::recordFault(const moert_cpu_context *context, int32_t kind, int64_t row, int64_t value, int64_t limit) {
  if (kind < 0 || kind >= MOE_NUM_FAULT_KINDS)
    return;
  FaultBlock &block = *static_cast<FaultBlock *>(context->state);
  FaultBlock::Record &record = block.records[kind];
  // Held for a few instructions; a holder that lost its core is let run.
  while (__atomic_exchange_n(&block.lock, 1u, __ATOMIC_ACQUIRE))
    sched_yield();
  // The whole record decides, so that what is kept does not depend on which thread came first.
  if (record.count == 0 || std::tie(row, value, limit) < std::tie(record.row, record.value, record.limit)) {
    record.row = row;
    record.value = value;
    record.limit = limit;
  }
  ++record.count;
  __atomic_store_n(&block.lock, 0u, __ATOMIC_RELEASE);
}

extern "C" const char *moe_fault_name(moe_fault_kind kind) {
  switch (rawValue(kind)) {
  case MOE_FAULT_BAD_SIZES:
    return "BAD_SIZES";
  case MOE_FAULT_NAN_ROUTER:
    return "NAN_ROUTER";
  case MOE_FAULT_BAD_ID:
    return "BAD_ID";
  case MOE_FAULT_OVERFLOW:
    return "OVERFLOW";
  default:
    return "?";
  }
}
