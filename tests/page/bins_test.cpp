// SPDX-License-Identifier: Apache-2.0
//
// Bars of histograms hold all values, where they are.
#include "page/bins.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "page/scale.h"

namespace orrery::page {
namespace {

double sum(const std::vector<double>& counts) {
  return std::accumulate(counts.begin(), counts.end(), 0.0);
}

TEST(Bins, FewWholeNumbersHaveABarEach) {
  const std::vector<Counted> dice = {{1, 5}, {2, 7}, {6, 9}};
  const Bins bins = bins_for({dice});
  EXPECT_FALSE(bins.logarithmic);
  EXPECT_TRUE(bins.whole);
  EXPECT_EQ(bins.edges.front(), 0.5);
  EXPECT_EQ(filled(bins, dice), (std::vector<double>{5, 7, 0, 0, 0, 9}));
}

TEST(Scale, OfWholeNumbersHasNoMarksBetweenThem) {
  Scale pumps{1, 3, 0, 100};
  EXPECT_EQ(ticks_of(pumps, 7), (std::vector<double>{1, 1.5, 2, 2.5, 3}));
  pumps.whole = true;
  EXPECT_EQ(ticks_of(pumps, 7), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(step_of(Scale{.low = 0, .high = 50, .whole = true}), 10);
}

/// As the histogram keeps it, an exponential distribution with the mean 1.
std::vector<Counted> exponential() {
  std::vector<Counted> all;
  for (int octave = -6; octave < 3; ++octave) {
    for (int i = 0; i < 128; ++i) {
      const double value = std::exp2(octave) * (1 + i / 128.0), width = std::exp2(octave) / 128;
      all.push_back({value, std::round(1e6 * std::exp(-value) * width)});
    }
  }
  return all;
}

TEST(Bins, KeepEveryValueAndTheShape) {
  const std::vector<Counted> values = exponential();
  double all = 0;
  for (const Counted& one : values) all += one.count;
  const Bins bins = bins_for({values});
  EXPECT_FALSE(bins.logarithmic);
  const std::vector<double> counts = filled(bins, values);
  EXPECT_NEAR(sum(counts), all, 1e-6 * all);
  for (std::size_t i = 1; i < 30; ++i) {  // buckets that span an edge leave no teeth
    const double width = bins.edges[1] - bins.edges[0];
    EXPECT_NEAR(counts[i + 1] / counts[i], std::exp(-width), 0.05) << i;
  }
}

TEST(Bins, OfTailsThatAreFarAwayAreLogarithmic) {
  const std::vector<Counted> values = {{0.01, 90}, {0.02, 80}, {0.5, 8}, {3, 1}};
  const Bins bins = bins_for({values});
  EXPECT_TRUE(bins.logarithmic);
  EXPECT_NEAR(sum(filled(bins, values)), 179, 1e-9);
}

TEST(Bins, SpanAllHistograms) {
  const std::vector<Counted> low = {{0.5, 3}}, high = {{9.25, 4}}, none;
  const Bins bins = bins_for({low, high, none});
  EXPECT_NEAR(sum(filled(bins, low)), 3, 1e-12);
  EXPECT_NEAR(sum(filled(bins, high)), 4, 1e-12);
  EXPECT_EQ(sum(filled(bins, none)), 0);
}

TEST(Bins, OfNothingOrOddNumbersDoNotFail) {
  EXPECT_TRUE(bins_for({}).edges.empty());
  EXPECT_TRUE(bins_for({{{NAN, 2}, {INFINITY, 1}}}).edges.empty());
  const std::vector<Counted> one = {{0, 10}}, negative = {{-1e300, 1}, {1e300, 1}};
  EXPECT_EQ(sum(filled(bins_for({one}), one)), 10);
  EXPECT_NEAR(sum(filled(bins_for({negative}), negative)), 2, 1e-9);
}

}  // namespace
}  // namespace orrery::page
