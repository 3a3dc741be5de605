//===- Call.h - what XLA hands a custom call, as the runtime takes it --------------------===//
#ifndef MOERT_XLA_CALL_H
#define MOERT_XLA_CALL_H

#include "Programs.h"

#include "xla/ffi/api/ffi.h"

#include <new>
#include <system_error>
#include <vector>

namespace moert::xla {

/// Operands and results of a custom call.
class Call {
public:
  /// The operands from number `first` on; they and the results are XLA's, and their shapes its call frame's.
  Failure read(::xla::ffi::RemainingArgs operands, size_t first, ::xla::ffi::RemainingRets results);
  /// Makes it outlive the call frame.
  void keepShapes();
  Failure enqueue(moe_session *session, moe_comm *comm, void *stream) const;

private:
  size_t numInputs = 0;
  std::vector<moe_buffer> buffers;
  std::vector<int64_t> shapes;
};

::xla::ffi::Error toError(const Failure &failure);

/// Refuses attributes of another version.
Failure checkVersion(std::string_view version);

/// Runs a stage; what it throws does not cross into XLA.
template <typename Body> Failure guarded(Body &&body) {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    return {MOE_OUT_OF_MEMORY, "out of memory"};
  } catch (const std::system_error &error) {
    return {MOE_SYSTEM, std::string("no thread or lock: ") + error.what()};
  }
}

/// An error if the XLA that asks has an API that the handlers do not fit.
XLA_FFI_Error *refuseApi(XLA_FFI_CallFrame *frame);
XLA_FFI_Error *createError(const XLA_FFI_Api *api, const std::string &message, XLA_FFI_Error_Code code);

} // namespace moert::xla

/// A function of this name that XLA calls, from what Ffi::Bind gives; `check(frame)` may refuse the call.
#define MOERT_XLA_HANDLER(name, check, ...)                                                                            \
  static XLA_FFI_Error *name(XLA_FFI_CallFrame *frame) {                                                               \
    static const auto handler = __VA_ARGS__;                                                                           \
    if (XLA_FFI_Error *error = check(frame))                                                                           \
      return error;                                                                                                    \
    return handler->Call(frame);                                                                                       \
  }

#endif
