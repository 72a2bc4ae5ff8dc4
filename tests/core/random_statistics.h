// SPDX-License-Identifier: Apache-2.0
//
// What tests of random variates have in common: samples with fixed seeds, whether they have a
// distribution and its moments, what is refused, and golden bit patterns.
//
// Statistical tests have a significance of 1e-4 each: they were passed once and do so for ever. A
// golden value that changes means that every recorded fingerprint changes with it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "orrery/random.h"

namespace orrery::testing {

inline constexpr std::uint64_t kKey = 0x0123456789abcdef;
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline double normal_cdf(double z) {
  return std::erfc(-z / std::sqrt(2.0)) / 2;
}

/// Kolmogorov and Smirnov: the largest distance of the empirical from the true distribution
/// function; its limit for significance 1e-4 is sqrt(ln(2e4) / (2 n)).
inline void expect_distribution(std::vector<double> sample,
                                const std::function<double(double)>& cdf) {
  std::sort(sample.begin(), sample.end());
  const double n = static_cast<double>(sample.size());
  double distance = 0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const double p = cdf(sample[i]), rank = static_cast<double>(i);
    distance = std::max({distance, p - rank / n, (rank + 1) / n - p});
  }
  EXPECT_LT(distance, std::sqrt(std::log(2e4) / (2 * n)));
}

/// Pearson's chi-square by Wilson and Hilferty's normal approximation, significance 1e-4. Cells
/// expected to hold fewer than 10 are put together.
inline void expect_counts(const std::vector<double>& counts, const std::vector<double>& expected) {
  double sum = 0, cells = 0, pooled_count = 0, pooled_expected = 0;
  const auto add = [&](double count, double mean) {
    sum += (count - mean) * (count - mean) / mean;
    cells += 1;
  };
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (expected[i] >= 10) {
      add(counts[i], expected[i]);
    } else {
      pooled_count += counts[i];
      pooled_expected += expected[i];
    }
  }
  if (pooled_expected > 1) add(pooled_count, pooled_expected);
  const double freedom = cells - 1, spread = 2 / (9 * freedom);
  EXPECT_LT((std::cbrt(sum / freedom) - (1 - spread)) / std::sqrt(spread), 3.72);
}

template <class Draw>
std::vector<double> sample_of(std::uint32_t lp, std::size_t size, Draw draw) {
  Random random(kKey, lp);
  std::vector<double> sample(size);
  for (double& x : sample) x = draw(random);
  return sample;
}

/// Counts of 0 .. cells - 1; larger values count for the last cell.
template <class Draw>
std::vector<double> counts_of(std::uint32_t lp, std::size_t draws, std::size_t cells, Draw draw) {
  Random random(kKey, lp);
  std::vector<double> counts(cells);
  for (std::size_t i = 0; i < draws; ++i) {
    counts[std::min(cells - 1, static_cast<std::size_t>(draw(random)))] += 1;
  }
  return counts;
}

template <class Call>
std::string refusal_of(Call call) {
  Random random(kKey, 30);
  try {
    call(random);
  } catch (const std::invalid_argument& refusal) {
    EXPECT_EQ(random.position(), 0u) << "the stream has moved";
    return refusal.what();
  }
  return "accepted";
}

inline std::uint64_t bits_of(double x) {
  return std::bit_cast<std::uint64_t>(x);
}
inline std::uint64_t bits_of(std::uint64_t x) {
  return x;
}
inline std::uint64_t bits_of(std::int64_t x) {
  return static_cast<std::uint64_t>(x);
}
inline std::uint64_t bits_of(Duration x) {
  return bits_of(x.ticks());
}

struct Golden {
  std::array<std::uint64_t, 3> first;
  std::uint64_t digest;  // of 100000 draws: rare paths are taken too
  bool operator==(const Golden&) const = default;
};

inline void PrintTo(const Golden& golden, std::ostream* out) {
  *out << std::hex << "{{0x" << golden.first[0] << ", 0x" << golden.first[1] << ", 0x"
       << golden.first[2] << "}, 0x" << golden.digest << "}";
}

template <class Draw>
Golden golden_of(std::uint32_t lp, Draw draw) {
  Random random(kKey, lp);
  Golden golden{{}, 0};
  for (std::size_t i = 0; i < 100000; ++i) {
    const std::uint64_t bits = bits_of(draw(random));
    if (i < 3) golden.first[i] = bits;
    golden.digest = (golden.digest ^ bits) * 0x9E3779B97F4A7C15;
    golden.digest ^= golden.digest >> 29;
  }
  return golden;
}

/// Mean and variance within four standard errors (6e-5 for each). The variance's error follows from
/// the fourth moment, for which the sample's is good enough.
inline void expect_moments(const std::vector<double>& sample, double mean, double variance) {
  const double n = static_cast<double>(sample.size());
  double sum = 0, second = 0, fourth = 0;
  for (const double x : sample) sum += x - mean;
  for (const double x : sample) {
    const double square = (x - mean) * (x - mean);
    second += square;
    fourth += square * square;
  }
  EXPECT_NEAR(sum / n, 0, 4 * std::sqrt(variance / n) + 1e-15 * std::abs(mean));
  const double spread = std::sqrt(std::max(0.0, fourth / n - second / n * second / n) / n);
  EXPECT_NEAR(second / n, variance, 4 * spread + 1e-12 * variance);
}

}  // namespace orrery::testing
