//===- Status.h - errors of the runtime ---------------------------------------===//
#ifndef MOERT_STATUS_H
#define MOERT_STATUS_H

#include "moert/moert.h"

#include <cstring>
#include <new>
#include <utility>

namespace moert {

/// A status with a printf-style message; the shared out-of-memory status if there is no memory for it.
moe_status &makeStatus(moe_code code, const char *file, int line, const char *format, ...) noexcept
    __attribute__((format(printf, 4, 5)));

/// The status of a failed allocation; needs no memory.
moe_status &outOfMemory() noexcept;

/// Puts "call: " before the message, so that the caller sees which call failed. NULL stays NULL.
moe_status *named(const char *call, moe_status *status) noexcept;

/// Runs the body of an API call; nothing is thrown across the C boundary.
template <typename Body> moe_status *guarded(const char *call, Body &&body) noexcept {
  try {
    return named(call, std::forward<Body>(body)());
  } catch (const std::bad_alloc &) {
    return named(call, &outOfMemory());
  }
}

/// The number in an enum that came from a caller, who may have put in any; loading such a value as an enum is
/// undefined in C++.
template <typename Enum> int rawValue(const Enum &from) noexcept {
  static_assert(sizeof(Enum) == sizeof(int), "a C enum");
  int value;
  std::memcpy(&value, &from, sizeof(value));
  return value;
}

} // namespace moert

#define MOERT_ERROR(code, ...) &::moert::makeStatus(code, __FILE__, __LINE__, __VA_ARGS__)
#define MOERT_TRY(expression)                                                                                          \
  if (moe_status *moertStatus_ = (expression))                                                                         \
  return moertStatus_

#define REQUIRE_ARGUMENT(argument)                                                                                     \
  if (!(argument))                                                                                                     \
  return MOERT_ERROR(MOE_INVALID_ARGUMENT, #argument " is NULL")

#endif
