//===- Arrays.h - .npy and .npz files -------------------------------------------===//
#ifndef MOE_RUN_ARRAYS_H
#define MOE_RUN_ARRAYS_H

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace moe_run {

/// What the user did wrong, or what the system refused; the message is complete.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A little-endian array in row-major order.
struct Array {
  std::string type; ///< NumPy's kind and size, such as "f4", "i8", "b1"
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;

  int64_t elements() const;
  std::string shapeText() const; ///< "[48,64]"
};

Array readNpy(const std::string &path);
/// By name, without the ".npy" of the members.
std::map<std::string, Array> readNpz(const std::string &path);
/// Stored without compression; replaces the file in one step.
void writeNpz(const std::string &path, const std::vector<std::pair<std::string, Array>> &arrays);

} // namespace moe_run

#endif
