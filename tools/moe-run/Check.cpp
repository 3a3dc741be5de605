//===- Check.cpp ------------------------------------------------------------------===//
#include "Check.h"
#include "Convert.h"
#include "Ranks.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace moe_run;

/// "[3,17]" for element i.
static std::string coordinate(const Array &array, size_t i) {
  std::string text;
  for (size_t d = array.shape.size(); d-- > 0;) {
    text = std::to_string(i % size_t(array.shape[d])) + (text.empty() ? "" : ",") + text;
    i /= size_t(array.shape[d]);
  }
  return "[" + text + "]";
}

static bool checkIntegers(const std::string &what, const Array &found, const Array &expected) {
  size_t n = size_t(found.elements()), bad = 0, first = 0;
  for (size_t i = 0; i < n; ++i)
    if (integerAt(found, i) != integerAt(expected, i) && bad++ == 0)
      first = i;
  print("check %s %s: %zu of %zu elements differ: %s\n", what.c_str(), found.shapeText().c_str(), bad, n,
        bad ? "FAILED" : "ok");
  if (bad)
    print("  first at %s: found %lld, expected %lld\n", coordinate(found, first).c_str(),
          (long long)integerAt(found, first), (long long)integerAt(expected, first));
  return !bad;
}

static bool checkFloats(const std::string &what, const Array &found, const Array &expected,
                        const Tolerance &tolerance) {
  size_t n = size_t(found.elements());
  double largest = 0;
  for (size_t i = 0; i < n; ++i)
    if (double value = std::fabs(floatAt(expected, i)); std::isfinite(value))
      largest = std::max(largest, value);

  bool elementwise = tolerance.atol || tolerance.rtol;
  double worst = 0;
  size_t worstAt = 0, bad = 0, first = 0;
  for (size_t i = 0; i < n; ++i) {
    double f = floatAt(found, i), e = floatAt(expected, i);
    if (f == e || (std::isnan(f) && std::isnan(e)))
      continue;
    // Infinite if one of them is NaN or infinite: no tolerance covers that.
    double error = std::isfinite(f) && std::isfinite(e) ? std::fabs(f - e) : HUGE_VAL;
    if (error > worst) {
      worst = error;
      worstAt = i;
    }
    double allowed = elementwise ? tolerance.atol.value_or(0) + tolerance.rtol.value_or(0) * std::fabs(e)
                                 : tolerance.rtolOfMax * largest;
    if (!(error <= allowed) && bad++ == 0)
      first = i;
  }
  double relative = worst == 0 ? 0 : worst / largest;
  print("check %s %s: largest error %.3g of the largest magnitude %.6g", what.c_str(), found.shapeText().c_str(),
        relative, largest);
  if (worst > 0)
    print(", at %s", coordinate(found, worstAt).c_str());
  if (!elementwise)
    print(", allowed %.3g", tolerance.rtolOfMax);
  print(": %s\n", bad ? "FAILED" : "ok");
  if (bad)
    print("  %zu of %zu elements are off; first at %s: found %.9g, expected %.9g\n", bad, n,
          coordinate(found, first).c_str(), floatAt(found, first), floatAt(expected, first));
  return !bad;
}

bool moe_run::check(const std::string &what, const Array &found, const Array &expected, const Tolerance &tolerance) {
  if (found.shape != expected.shape) {
    print("check %s: shape %s, expected %s: FAILED\n", what.c_str(), found.shapeText().c_str(),
          expected.shapeText().c_str());
    return false;
  }
  if (isFloat(found) != isFloat(expected)) {
    print("check %s: element type %s, expected %s: FAILED\n", what.c_str(), found.type.c_str(), expected.type.c_str());
    return false;
  }
  return isFloat(found) ? checkFloats(what, found, expected, tolerance) : checkIntegers(what, found, expected);
}
