//===- Object.cpp -----------------------------------------------------------------===//
#include "Object.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

using namespace moert;

#if defined(__x86_64__)
static constexpr unsigned kMachine = EM_X86_64;
static const char *const kHost = "x86-64";
#elif defined(__aarch64__)
static constexpr unsigned kMachine = EM_AARCH64;
static const char *const kHost = "aarch64";
#else
#error "the cpu target knows x86-64 and aarch64"
#endif

moe_status *moert::checkArch(const char *arch) {
#if defined(__x86_64__)
  int level = 0;
  if (!std::strcmp(arch, "x86-64"))
    level = 1;
  else if (!std::strncmp(arch, "x86-64-v", 8) && arch[8] >= '2' && arch[8] <= '4' && !arch[9])
    level = arch[8] - '0';
  if (!level)
    return MOERT_ERROR(MOE_WRONG_TARGET, "the program was compiled for cpu '%s'; this machine is %s", arch, kHost);
  __builtin_cpu_init();
  const char *missing = nullptr;
  auto require = [&](int least, const char *feature, bool present) {
    if (!missing && level >= least && !present)
      missing = feature;
  };
  // The builtin also asks whether the operating system saves the registers. One feature stands for those that
  // no processor has without it. It takes literals only.
#define REQUIRE(least, feature) require(least, feature, __builtin_cpu_supports(feature))
  REQUIRE(2, "ssse3");
  REQUIRE(2, "sse4.2");
  REQUIRE(2, "popcnt");
  REQUIRE(3, "avx2");
  REQUIRE(3, "fma");
  REQUIRE(3, "bmi");
  REQUIRE(3, "bmi2");
  REQUIRE(4, "avx512f");
  REQUIRE(4, "avx512bw");
  REQUIRE(4, "avx512cd");
  REQUIRE(4, "avx512dq");
  REQUIRE(4, "avx512vl");
#undef REQUIRE
  if (missing)
    return MOERT_ERROR(MOE_WRONG_TARGET, "the program was compiled for cpu '%s'; this processor lacks %s", arch,
                       missing);
#else
  if (std::strcmp(arch, kHost))
    return MOERT_ERROR(MOE_WRONG_TARGET, "the program was compiled for cpu '%s'; this machine is %s", arch, kHost);
#endif
  return nullptr;
}

/// T at an offset of the file, if it lies inside.
template <typename T> static bool readAt(const uint8_t *data, size_t n, uint64_t offset, T &value) {
  if (offset > n || n - offset < sizeof(T))
    return false;
  std::memcpy(&value, data + offset, sizeof(T));
  return true;
}

/// dlopen itself would run constructors and open other libraries, so that the dynamic section is read before.
static moe_status *checkElf(const uint8_t *data, size_t n) {
  Elf64_Ehdr header;
  if (!readAt(data, n, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_type != ET_DYN)
    return MOERT_ERROR(MOE_BAD_PROGRAM, "the program's object of %zu bytes is not a 64-bit ELF shared object", n);
  if (header.e_machine != kMachine)
    return MOERT_ERROR(MOE_BAD_PROGRAM, "the program's object is for ELF machine %u; this one is %u",
                       unsigned(header.e_machine), kMachine);
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!readAt(data, n, header.e_phoff + uint64_t(i) * sizeof(segment), segment))
      return MOERT_ERROR(MOE_BAD_PROGRAM, "program header %u lies outside the program's object", i);
    if (segment.p_type == PT_LOAD && (segment.p_offset > n || segment.p_filesz > n - segment.p_offset))
      return MOERT_ERROR(MOE_BAD_PROGRAM, "segment %u lies outside the program's object", i);
    if (segment.p_type != PT_DYNAMIC)
      continue;
    Elf64_Dyn entry;
    for (uint64_t at = segment.p_offset;; at += sizeof(entry)) {
      if (!readAt(data, n, at, entry))
        return MOERT_ERROR(MOE_BAD_PROGRAM, "the dynamic section lies outside the program's object");
      if (entry.d_tag == DT_NULL)
        break;
      if (entry.d_tag == DT_NEEDED || entry.d_tag == DT_INIT || entry.d_tag == DT_INIT_ARRAY ||
          entry.d_tag == DT_PREINIT_ARRAY || entry.d_tag == DT_FINI || entry.d_tag == DT_FINI_ARRAY)
        return MOERT_ERROR(MOE_BAD_PROGRAM,
                           "the program's object has dynamic entry %lld; it may need no library and run nothing on "
                           "loading",
                           (long long)entry.d_tag);
    }
  }
  return nullptr;
}

moe_status *Object::load(const uint8_t *data, size_t n) {
  MOERT_TRY(checkElf(data, n));
  fd = memfd_create("moe-kernels", MFD_CLOEXEC);
  if (fd < 0)
    return MOERT_ERROR(MOE_SYSTEM, "memfd_create: %s", std::strerror(errno));
  for (size_t done = 0; done < n;) {
    ssize_t written = write(fd, data + done, n - done);
    if (written < 0 && errno != EINTR)
      return MOERT_ERROR(MOE_SYSTEM, "write of the kernels' %zu bytes to memory: %s", n, std::strerror(errno));
    done += written > 0 ? size_t(written) : 0;
  }
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
  // The loader knows libraries by their path, so that fd stays open (its number ours) while the library is loaded.
  handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *error = dlerror();
    return MOERT_ERROR(MOE_SYSTEM, "dlopen of the program's object: %s", error ? error : "?");
  }
  return nullptr;
}

void *Object::find(const char *symbol) const { return dlsym(handle, symbol); }

Object::~Object() {
  if (handle)
    dlclose(handle);
  if (fd >= 0)
    close(fd);
}
