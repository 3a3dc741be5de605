//===- Compile.cpp - runs the compiler ------------------------------------------------===//
#include "Programs.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace moert::xla;

extern char **environ;

namespace {

/// A file in memory, which a child reads or writes: unlike a pipe it takes any amount.
class MemoryFile {
public:
  explicit MemoryFile(const char *name) : fd(memfd_create(name, MFD_CLOEXEC)) {}
  MemoryFile(const MemoryFile &) = delete;
  ~MemoryFile() {
    if (fd >= 0)
      close(fd);
  }

  bool write(std::string_view text) {
    while (!text.empty()) {
      ssize_t written = ::write(fd, text.data(), text.size());
      if (written < 0 && errno == EINTR)
        continue;
      if (written <= 0)
        return false;
      text.remove_prefix(size_t(written));
    }
    return lseek(fd, 0, SEEK_SET) == 0;
  }

  std::string read() {
    std::string text;
    char buffer[1 << 16];
    lseek(fd, 0, SEEK_SET);
    while (true) {
      ssize_t n = ::read(fd, buffer, sizeof(buffer));
      if (n < 0 && errno == EINTR)
        continue;
      if (n <= 0)
        return text;
      text.append(buffer, size_t(n));
    }
  }

  const int fd;
};

} // namespace

static std::string findCompiler() {
  if (const char *chosen = std::getenv("MOE_COMPILER"); chosen && *chosen)
    return chosen;
  Dl_info here;
  if (!dladdr(reinterpret_cast<void *>(&moe_xla_handlers), &here) || !here.dli_fname)
    return "moe-compile";
  std::string path = here.dli_fname;
  size_t folder = path.rfind('/');
  return (folder == std::string::npos ? std::string(".") : path.substr(0, folder)) + "/../bin/moe-compile";
}

static Failure systemError(const std::string &what, int error) {
  return {MOE_SYSTEM, what + ": " + std::strerror(error)};
}

Failure moert::xla::compile(const char *target, std::string_view text, std::string &blob) {
  MemoryFile in("moe-text"), out("moe-program"), err("moe-messages");
  if (in.fd < 0 || out.fd < 0 || err.fd < 0 || !in.write(text))
    return systemError("cannot make a file in memory", errno);
  std::string compiler = findCompiler(), option = std::string("--target=") + target;
  const char *arguments[] = {compiler.c_str(), "-", "--cache", "-o", "-", option.c_str(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.fd, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.fd, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.fd, STDERR_FILENO);
  pid_t child = 0;
  int error = posix_spawn(&child, compiler.c_str(), &actions, nullptr, const_cast<char *const *>(arguments), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error)
    return systemError("cannot run '" + compiler + "' (MOE_COMPILER names another)", error);
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return systemError("cannot wait for '" + compiler + "'", errno);
  if (status)
    return {MOE_BAD_PROGRAM, "moe-compile failed: " + err.read()};
  blob = out.read();
  return {};
}
