//===- Convert.h - between NumPy's types and the program's ----------------------===//
#ifndef MOE_RUN_CONVERT_H
#define MOE_RUN_CONVERT_H

#include "Arrays.h"
#include "moert/moert.h"

namespace moe_run {

/// The array's bytes as the program's element type: the same type, or f32 rounded to nearest even for bf16 and
/// f16, which NumPy users hold in f32. Any other difference is an error that begins with `what`.
std::vector<uint8_t> toProgram(const std::string &what, const Array &array, moe_dtype dtype);

/// The program's elements as an array; bf16, which NumPy does not have, becomes f32.
Array fromProgram(const uint8_t *data, const std::vector<int64_t> &shape, moe_dtype dtype);

bool isFloat(const Array &array);
/// Element i of a float array (f2, f4, f8).
double floatAt(const Array &array, size_t i);
/// Element i of an integer or bool array. Throws Error for a type it does not know.
int64_t integerAt(const Array &array, size_t i);

} // namespace moe_run

#endif
