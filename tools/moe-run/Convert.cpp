//===- Convert.cpp ----------------------------------------------------------------===//
#include "Convert.h"

#include <xtl/xhalf_float.hpp>

#include <cmath>
#include <cstring>

using namespace moe_run;

/// NumPy's name of a program type; bf16 has none.
static const char *numpyType(moe_dtype dtype) {
  switch (dtype) {
  case MOE_F32:
    return "f4";
  case MOE_BF16:
    return "";
  case MOE_F16:
    return "f2";
  case MOE_I32:
    return "i4";
  case MOE_I64:
    return "i8";
  case MOE_I8:
    return "i1";
  case MOE_U8:
    return "u1";
  case MOE_I1:
    return "b1";
  }
  return "";
}

static uint16_t toBF16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  if (std::isnan(value))
    return uint16_t(bits >> 16 | 0x40); // rounding could turn a NaN into infinity
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static uint16_t toF16(float value) {
  xtl::half_float half(value);
  uint16_t bits;
  static_assert(sizeof(half) == sizeof(bits), "a half");
  std::memcpy(&bits, &half, sizeof(bits));
  return bits;
}

template <typename T> static T elementAt(const Array &array, size_t i) {
  T value;
  std::memcpy(&value, array.bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

std::vector<uint8_t> moe_run::toProgram(const std::string &what, const Array &array, moe_dtype dtype) {
  if (array.type == numpyType(dtype))
    return array.bytes;
  if (array.type != "f4" || (dtype != MOE_BF16 && dtype != MOE_F16))
    throw Error(what + " has element type " + array.type + ", but the program takes " + moe_dtype_name(dtype));
  size_t n = array.bytes.size() / sizeof(float);
  std::vector<uint8_t> bytes(n * sizeof(uint16_t));
  for (size_t i = 0; i < n; ++i) {
    float value = elementAt<float>(array, i);
    uint16_t bits = dtype == MOE_BF16 ? toBF16(value) : toF16(value);
    std::memcpy(bytes.data() + i * sizeof(bits), &bits, sizeof(bits));
  }
  return bytes;
}

Array moe_run::fromProgram(const uint8_t *data, const std::vector<int64_t> &shape, moe_dtype dtype) {
  Array array{numpyType(dtype), shape, {}};
  size_t n = size_t(array.elements());
  if (dtype != MOE_BF16) {
    array.bytes.assign(data, data + n * moe_dtype_size(dtype));
    return array;
  }
  array.type = "f4";
  array.bytes.resize(n * sizeof(float));
  for (size_t i = 0; i < n; ++i) {
    uint16_t bits;
    std::memcpy(&bits, data + i * sizeof(bits), sizeof(bits));
    uint32_t wide = uint32_t(bits) << 16;
    std::memcpy(array.bytes.data() + i * sizeof(wide), &wide, sizeof(wide));
  }
  return array;
}

bool moe_run::isFloat(const Array &array) { return array.type[0] == 'f'; }

double moe_run::floatAt(const Array &array, size_t i) {
  if (array.type == "f4")
    return elementAt<float>(array, i);
  if (array.type == "f8")
    return elementAt<double>(array, i);
  if (array.type != "f2")
    throw Error("element type " + array.type + " is not supported");
  auto bits = elementAt<uint16_t>(array, i);
  xtl::half_float half;
  std::memcpy(static_cast<void *>(&half), &bits, sizeof(bits));
  return double(float(half));
}

int64_t moe_run::integerAt(const Array &array, size_t i) {
  const std::string &type = array.type;
  if (type == "i4")
    return elementAt<int32_t>(array, i);
  if (type == "i8")
    return elementAt<int64_t>(array, i);
  if (type == "i1")
    return elementAt<int8_t>(array, i);
  if (type == "u1" || type == "b1")
    return elementAt<uint8_t>(array, i);
  if (type == "i2")
    return elementAt<int16_t>(array, i);
  if (type == "u4")
    return elementAt<uint32_t>(array, i);
  throw Error("element type " + type + " is not supported");
}
