//===- Status.cpp ---------------------------------------------------------------===//
#include "Status.h"

#include <cstdarg>
#include <cstdio>
#include <string>

struct moe_status {
  moe_code code;
  std::string message;
  std::string where;
};

/// Stands for every failed allocation, and is never freed; an out-of-memory status cannot be allocated.
moe_status &moert::outOfMemory() noexcept {
  static moe_status status{MOE_OUT_OF_MEMORY, "out of memory", "runtime"};
  return status;
}

moe_status &moert::makeStatus(moe_code code, const char *file, int line, const char *format, ...) noexcept {
  char message[1024];
  va_list args;
  va_start(args, format);
  std::vsnprintf(message, sizeof(message), format, args);
  va_end(args);
  try {
    return *new moe_status{code, message, std::string(file) + ":" + std::to_string(line)};
  } catch (const std::bad_alloc &) {
    return outOfMemory();
  }
}

moe_status *moert::named(const char *call, moe_status *status) noexcept {
  if (!status || status == &moert::outOfMemory())
    return status;
  try {
    status->message = std::string(call) + ": " + status->message;
  } catch (const std::bad_alloc &) {
    return status; // its message stays without the name of the call
  }
  return status;
}

extern "C" {

moe_code moe_status_code(const moe_status *status) { return status ? status->code : MOE_OK; }
const char *moe_status_message(const moe_status *status) { return status ? status->message.c_str() : ""; }
const char *moe_status_where(const moe_status *status) { return status ? status->where.c_str() : ""; }
void moe_status_free(moe_status *status) {
  if (status != &moert::outOfMemory())
    delete status;
}

const char *moe_code_name(moe_code code) {
  switch (moert::rawValue(code)) {
  case MOE_OK:
    return "OK";
  case MOE_INVALID_ARGUMENT:
    return "INVALID_ARGUMENT";
  case MOE_BAD_PROGRAM:
    return "BAD_PROGRAM";
  case MOE_WRONG_VERSION:
    return "WRONG_VERSION";
  case MOE_WRONG_TARGET:
    return "WRONG_TARGET";
  case MOE_UNSUPPORTED:
    return "UNSUPPORTED";
  case MOE_OUT_OF_MEMORY:
    return "OUT_OF_MEMORY";
  case MOE_SYSTEM:
    return "SYSTEM";
  case MOE_COMM_FAILED:
    return "COMM_FAILED";
  default:
    return "?";
  }
}

} // extern "C"
