//===- DType.cpp - element types ------------------------------------------------===//
#include "Status.h"

#include <iterator>

static const struct {
  const char *name;
  size_t size;
} kTypes[] = {{"f32", 4}, {"bf16", 2}, {"f16", 2}, {"i32", 4}, {"i64", 8}, {"i8", 1}, {"u8", 1}, {"i1", 1}};

extern "C" {

size_t moe_dtype_size(moe_dtype dtype) {
  size_t i = size_t(moert::rawValue(dtype));
  return i < std::size(kTypes) ? kTypes[i].size : 0;
}

const char *moe_dtype_name(moe_dtype dtype) {
  size_t i = size_t(moert::rawValue(dtype));
  return i < std::size(kTypes) ? kTypes[i].name : "?";
}

} // extern "C"
