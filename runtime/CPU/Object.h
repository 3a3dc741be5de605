//===- Object.h - a program's machine code in this process ---------------------===//
#ifndef MOERT_CPU_OBJECT_H
#define MOERT_CPU_OBJECT_H

#include "Status.h"

#include <cstdint>

namespace moert {

/// Can this machine run code for `arch` (x86-64, x86-64-v2, -v3, -v4, aarch64)? The error names what it lacks.
moe_status *checkArch(const char *arch);

/// A shared object loaded from memory.
class Object {
public:
  Object() = default;
  Object(const Object &) = delete;
  Object &operator=(const Object &) = delete;
  ~Object();

  /// Refuses an object that needs other libraries or would run code of its own on loading.
  moe_status *load(const uint8_t *data, size_t n);
  /// Address of the symbol, or NULL.
  void *find(const char *symbol) const;

private:
  int fd = -1;
  void *handle = nullptr;
};

} // namespace moert

#endif
