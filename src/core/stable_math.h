// SPDX-License-Identifier: Apache-2.0
//
// The kernels of orrery/math.h, constexpr so that the compiler computes the tables of the random
// variates with exactly the arithmetic of run time.
//
// Method: the argument is reduced to a small interval around 0, where a truncated Taylor series
// converges fast (for the logarithm that of the inverse hyperbolic tangent). Series have a few more
// terms than a minimax polynomial would, and coefficients that anyone can check. Where one double
// does not hold enough of an intermediate result (`pow`, the logarithms to other bases) it is an
// unevaluated sum of two, after T. J. Dekker, "A floating-point technique for extending the
// available precision", Numerische Mathematik 18 (1971). Reduction and error analysis follow
// J.-M. Muller, "Elementary Functions" (3rd ed., 2016), chapters 3 and 11.
//
// Every product that meets an addition goes through `product` (see orrery/math.h), except products
// with a power of two, which are exact, fused or not.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "orrery/math.h"

namespace orrery::math::kernel {

/// The unevaluated sum high + low; |low| is at most half an ulp of high.
struct Pair {
  double high;
  double low;
};

// ln 2 in two parts. The high part ends in 21 zero bits, so its product with any binary exponent is
// exact.
inline constexpr double kLn2High = 0x1.62e42feep-1;
inline constexpr double kLn2Low = 0x1.a39ef35793c76p-33;

/// 2^exponent, exponent in [-1022, 1023].
constexpr double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

/// coefficients[0] + coefficients[1] x + ... by Horner's rule.
template <std::size_t N>
constexpr double polynomial(double x, const double (&coefficients)[N]) {
  double sum = coefficients[N - 1];
  for (std::size_t i = N - 1; i-- > 0;) sum = product(sum, x) + coefficients[i];
  return sum;
}

/// a + b exactly; |a| >= |b| or a = 0.
constexpr Pair fast_two_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

/// The upper 26 bits of a, |a| < 2^990.
constexpr double upper_half(double a) {
  const double shifted = product(a, 0x1p27 + 1);
  return shifted - (shifted - a);
}

/// a * b exactly (Veltkamp's and Dekker's product), without overflow or underflow.
constexpr Pair two_product(double a, double b) {
  const double high = product(a, b);
  const double a1 = upper_half(a), a2 = a - a1;
  const double b1 = upper_half(b), b2 = b - b1;
  const double rest = ((product(a1, b1) - high) + product(a1, b2)) + product(a2, b1);
  return {high, rest + product(a2, b2)};
}

/// The product of two pairs, to about 2^-102.
constexpr Pair multiply(Pair a, Pair b) {
  const Pair main = two_product(a.high, b.high);
  const double cross = product(a.high, b.low) + product(a.low, b.high);
  return fast_two_sum(main.high, main.low + cross);
}

/// value * 2^exponent for exponents in [-2044, 2046], rounded once.
constexpr double scale(double value, int exponent) {
  if (exponent >= -1022 && exponent <= 1023) return value * power_of_two(exponent);
  const int half = exponent / 2;
  return value * power_of_two(half) * power_of_two(exponent - half);
}

/// e^(high + low), |high| <= 800 and |low| tiny. With k the integer nearest to high / ln 2 and
/// r = high - k ln 2 the result is 2^k e^r, |r| < 0.35. The sum is arranged so that the roundings
/// of the series stay far below the final one.
constexpr double exp_of_sum(double high, double low) {
  constexpr double kEven[] = {1.0 / 2,     1.0 / 24,      1.0 / 720,
                              1.0 / 40320, 1.0 / 3628800, 1.0 / 479001600};
  constexpr double kOdd[] = {1.0 / 6,      1.0 / 120,      1.0 / 5040,
                             1.0 / 362880, 1.0 / 39916800, 1.0 / 6227020800};
  const double k_real = product(high, 0x1.71547652b82fep+0);  // 1 / ln 2
  const int k = static_cast<int>(k_real + (k_real < 0 ? -0.5 : 0.5));
  const double near = high - product(k, kLn2High);  // exact: both are multiples of a small ulp
  const Pair r = fast_two_sum(near, low - product(k, kLn2Low));
  const double square = product(r.high, r.high);
  const double series = polynomial(square, kEven) + product(r.high, polynomial(square, kOdd));
  return scale(1 + (r.high + (r.low + product(square, series))), k);
}

/// x = 2^exponent (1 + fraction) with 1 + fraction in [sqrt(1/2), sqrt(2)).
struct Reduced {
  int exponent;
  double fraction;
};

/// x is positive and finite.
constexpr Reduced reduce(double x) {
  int exponent = 0;
  if (x < 0x1p-1022) {  // subnormal
    x *= 0x1p54;
    exponent = -54;
  }
  constexpr auto kRootHalf = std::bit_cast<std::int64_t>(0x1.6a09e667f3bcdp-1);
  const auto bits = std::bit_cast<std::int64_t>(x);
  const std::int64_t shift = (bits - kRootHalf) >> 52;  // arithmetic, rounds down
  const double significand = std::bit_cast<double>(bits - shift * (std::int64_t{1} << 52));
  return {exponent + static_cast<int>(shift), significand - 1};
}

/// ln x, x positive and finite. With s = f / (2 + f): ln(1 + f) = 2 artanh s = f - s (f - T), where
/// T = 2 (s^2/3 + s^4/5 + ...); f is exact and dominates, so the rounding of s hardly shows.
constexpr double log_of_positive(double x) {
  constexpr double kEven[] = {2.0 / 3, 2.0 / 7, 2.0 / 11, 2.0 / 15, 2.0 / 19, 2.0 / 23};
  constexpr double kOdd[] = {2.0 / 5, 2.0 / 9, 2.0 / 13, 2.0 / 17, 2.0 / 21};
  const auto [k, f] = reduce(x);
  const double s = f / (2 + f);
  const double z = product(s, s);
  const double zz = product(z, z);
  const double series = polynomial(zz, kEven) + product(z, polynomial(zz, kOdd));
  const double correction = product(s, f - product(z, series));
  return product(k, kLn2High) + (f + (product(k, kLn2Low) - correction));
}

/// ln x to about 2^-64 of its value, x positive and finite: the same series with its leading terms
/// carried in pairs.
constexpr Pair log_pair(double x) {
  constexpr double kTail[] = {1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11, 1.0 / 13,
                              1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23};
  constexpr Pair kThird{0x1.5555555555555p-2, 0x1.5555555555555p-56};
  const auto [k, f] = reduce(x);
  const Pair denominator = fast_two_sum(2, f);
  const double s_high = f / denominator.high;
  const Pair back = two_product(s_high, denominator.high);
  const double residue = ((f - back.high) - back.low) - product(s_high, denominator.low);
  const Pair s{s_high, residue / denominator.high};
  const Pair z = multiply(s, s);
  const Pair third = multiply(z, kThird);
  const double tail = product(product(z.high, z.high), polynomial(z.high, kTail));
  const Pair bracket = fast_two_sum(third.high, tail + third.low);
  const Pair rest = multiply(s, bracket);
  const Pair sum = fast_two_sum(product(k, kLn2High), 2 * s.high);
  const double low = sum.low + (product(k, kLn2Low) + 2 * s.low);
  const Pair partial = fast_two_sum(sum.high, 2 * rest.high);
  return fast_two_sum(partial.high, partial.low + (low + 2 * rest.low));
}

}  // namespace orrery::math::kernel
