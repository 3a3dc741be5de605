//===- Programs.h - the programs that XLA's custom calls name ------------------------===//
#ifndef MOERT_XLA_PROGRAMS_H
#define MOERT_XLA_PROGRAMS_H

#include "moert/xla.h"

#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace moert::xla {

/// What went wrong, if anything.
struct Failure {
  moe_code code = MOE_OK;
  std::string message;

  Failure() = default;
  Failure(moe_code code, std::string message) : code(code), message(std::move(message)) {}
  /// Takes over a status of the runtime; NULL is success.
  Failure(moe_status *status);
  explicit operator bool() const { return code != MOE_OK; }
};

/// A program and its sessions, one a device, for as long as the process lives.
class Program {
public:
  /// Takes over a reference.
  explicit Program(moe_program *program) : program(program) {}
  Program(const Program &) = delete;
  ~Program() { moe_program_release(program); }
  /// The session for a device, which is made when it is first asked for.
  Failure session(int32_t device, moe_session *&session);
  /// How many ranks it is for; 0 for one device.
  Failure ranks(uint32_t &count) const;

private:
  Failure create(int32_t device, moe_session *&session);

  moe_program *program;
  std::mutex mutex;
  std::map<int32_t, moe_session *> sessions;
};

/// Compiled code of a text: finds it in the process, or runs the compiler. `target` is the compiler's name of it.
Failure findProgram(const char *target, std::string_view text, Program *&program);
/// Its session for a device.
Failure findSession(const char *target, std::string_view text, int32_t device, moe_session *&session);
/// Gives findProgram what it would find. Takes over a reference.
void addProgram(const char *target, std::string_view text, moe_program *program);

/// Runs `moe-compile --cache`.
Failure compile(const char *target, std::string_view text, std::string &blob);

} // namespace moert::xla

#endif
