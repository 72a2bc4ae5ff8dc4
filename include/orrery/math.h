// SPDX-License-Identifier: Apache-2.0
//
// Elementary functions that give the same bits on every machine.
//
// A model that calls std::log uses the libm of the machine, and two libms may differ in the last
// bit. One such bit moves an event by a tick, after which the run takes another path, and its
// fingerprint is no longer comparable with that of another machine, another compiler or another
// host of the same run. Models should therefore use these functions instead of <cmath>'s. They use
// only the operations whose results IEEE 754 fixes to the bit (+, -, *, /, sqrt), in a fixed order.
//
// The other source of differences is contraction: a compiler that targets a machine with fused
// multiply-add may evaluate a * b + c with one rounding instead of two. `product(a, b) + c` is the
// same sum without contraction, whatever flags the model was compiled with.
//
// Assumed of the environment: IEEE doubles, rounding to nearest, subnormals not flushed to zero.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__)
#error "Orrery promises bit-identical results: compile models without -ffast-math and its parts."
#endif
#if defined(__FLT_EVAL_METHOD__) && (__FLT_EVAL_METHOD__ == 1 || __FLT_EVAL_METHOD__ == 2)
#error "Orrery promises bit-identical results: doubles must not be evaluated in a wider format."
#endif

namespace orrery::math {

static_assert(std::numeric_limits<double>::is_iec559 && std::numeric_limits<double>::digits == 53);

/// a * b, rounded to a double before anything is added to it.
constexpr double product(double a, double b) {
  double rounded = a * b;
  if (!std::is_constant_evaluated()) {
    // Emits no instruction; the compiler can no longer see that the value is a product.
#if defined(__x86_64__)
    __asm__("" : "+x"(rounded));
#elif defined(__aarch64__)
    __asm__("" : "+w"(rounded));
#else
    __asm__("" : "+m"(rounded));
#endif
  }
  return rounded;
}

/// The functions below never throw and set no errno. Outside their domain they return what C's
/// Annex F asks for (log(0) = -infinity, log(-1) = NaN, pow(0, -1) = infinity, ...).

/// Natural logarithm; error below 1 ulp.
double log(double x);
/// Logarithm to base 2; error below 0.6 ulp, exact for powers of two.
double log2(double x);
/// Logarithm to base 10; error below 0.6 ulp, exact for powers of ten.
double log10(double x);
/// e to the power x; error below 1 ulp.
double exp(double x);
/// x to the power y; error below 1 ulp.
double pow(double x, double y);
/// Square root: IEEE 754 asks for the correctly rounded result, so <cmath>'s is stable.
inline double sqrt(double x) {
  return std::sqrt(x);
}

}  // namespace orrery::math
