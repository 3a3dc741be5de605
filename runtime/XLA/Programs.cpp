//===- Programs.cpp - the programs that XLA's custom calls name ----------------------===//
#include "Programs.h"

#include <memory>
#include <unordered_map>

using namespace moert::xla;

Failure::Failure(moe_status *status) {
  if (!status)
    return;
  code = moe_status_code(status);
  message = moe_status_message(status);
  moe_status_free(status);
}

Failure Program::session(int32_t device, moe_session *&session) {
  std::lock_guard<std::mutex> lock(mutex);
  moe_session *&found = sessions[device];
  if (!found)
    if (Failure failure = create(device, found))
      return failure;
  session = found;
  return {};
}

Failure Program::ranks(uint32_t &count) const {
  moe_entry_info info = {};
  info.struct_size = sizeof(info);
  if (Failure failure = moe_program_entry(program, 0, &info))
    return failure;
  count = info.ranks;
  return {};
}

Failure Program::create(int32_t device, moe_session *&session) {
  if (std::string_view(moe_program_target(program)) != "cpu")
    return moe_session_create(program, device, nullptr, &session);
  // All programs share the threads of the first: a process may have many.
  static std::mutex creating;
  static moe_session *first;
  std::lock_guard<std::mutex> lock(creating);
  moe_options options = {sizeof(options), 0, first};
  Failure failure = moe_session_create(program, device, &options, &session);
  if (!failure && !first)
    first = session;
  return failure;
}

namespace {

/// All programs of the process, by target and text.
struct Programs {
  std::mutex mutex;
  std::unordered_map<std::string, std::unique_ptr<Program>> programs;

  /// Never destroyed: XLA's threads may outlive static objects.
  static Programs &get() {
    static Programs &all = *new Programs;
    return all;
  }
  static std::string key(const char *target, std::string_view text) {
    return std::string(target) + '\n' + std::string(text);
  }
};

} // namespace

Failure moert::xla::findProgram(const char *target, std::string_view text, Program *&program) {
  Programs &all = Programs::get();
  std::string key = Programs::key(target, text);
  {
    std::lock_guard<std::mutex> lock(all.mutex);
    auto found = all.programs.find(key);
    if (found != all.programs.end()) {
      program = found->second.get();
      return {};
    }
  }
  // Unlocked: compiling takes long, and twice the same does no harm.
  std::string blob;
  if (Failure failure = compile(target, text, blob))
    return failure;
  moe_program *loaded = nullptr;
  if (Failure failure = moe_program_load(blob.data(), blob.size(), &loaded))
    return failure;
  addProgram(target, text, loaded);
  return findProgram(target, text, program);
}

Failure moert::xla::findSession(const char *target, std::string_view text, int32_t device, moe_session *&session) {
  Program *program = nullptr;
  if (Failure failure = findProgram(target, text, program))
    return failure;
  return program->session(device, session);
}

void moert::xla::addProgram(const char *target, std::string_view text, moe_program *program) {
  auto added = std::make_unique<Program>(program);
  Programs &all = Programs::get();
  std::lock_guard<std::mutex> lock(all.mutex);
  // The first one stays: it may be in use.
  all.programs.try_emplace(Programs::key(target, text), std::move(added));
}
