//===- Check.h - compares outputs with expected ones ----------------------------===//
#ifndef MOE_RUN_CHECK_H
#define MOE_RUN_CHECK_H

#include "Arrays.h"

#include <optional>

namespace moe_run {

/// How far floats may be off. Integers must be equal; NaN only equals NaN, an infinity only itself.
struct Tolerance {
  double rtolOfMax = 1e-5; ///< times the largest finite expected magnitude of the output
  /// Element by element, |found - expected| <= atol + rtol * |expected|, instead of the above.
  std::optional<double> atol, rtol;
};

/// Prints one line and, if something is off, the first such element. `what` names the output.
bool check(const std::string &what, const Array &found, const Array &expected, const Tolerance &tolerance);

} // namespace moe_run

#endif
