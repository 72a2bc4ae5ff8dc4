// SPDX-License-Identifier: Apache-2.0
#include "output/student.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "orrery/error.h"
#include "study/estimate.h"
#include "study/precision.h"

namespace orrery::study {
namespace {

/// Quantiles to three decimals as printed in tables, for instance NIST/SEMATECH, "e-Handbook of
/// Statistical Methods", 1.3.6.7.2 (one-sided 0.975 there is 0.95 here).
TEST(Student, QuantilesAreThoseOfTables) {
  const struct {
    double probability;
    std::uint64_t degrees;
    double quantile;
  } cases[] = {{0.90, 1, 6.314},  {0.95, 1, 12.706},  {0.99, 1, 63.657}, {0.95, 2, 4.303},
               {0.95, 5, 2.571},  {0.95, 9, 2.262},   {0.99, 10, 3.169}, {0.95, 19, 2.093},
               {0.95, 30, 2.042}, {0.99, 60, 2.660},  {0.95, 99, 1.984}, {0.90, 100, 1.660},
               {0.998, 4, 7.173}, {0.998, 50, 3.261}, {0.8, 3, 1.638}};
  for (const auto& one : cases)
    EXPECT_NEAR(student_quantile(one.probability, one.degrees), one.quantile, 0.0005)
        << one.probability << " with " << one.degrees;
}

/// One degree is Cauchy's distribution, two have a closed form, and many are the normal one.
TEST(Student, AgreesWithClosedForms) {
  for (const double t : {0.0, 0.1, 1.0, 3.0, 50.0, 1e6}) {
    EXPECT_NEAR(student_probability(t, 1), 2 / std::numbers::pi * std::atan(t), 1e-14);
    EXPECT_NEAR(student_probability(t, 2), t / std::sqrt(2 + t * t), 1e-14);
  }
  for (const double t : {0.5, 1.0, 1.959963984540054, 3.0})
    EXPECT_NEAR(student_probability(t, 10'000'001), std::erf(t / std::numbers::sqrt2), 1e-7);
}

/// Against the density, integrated by Simpson's rule.
TEST(Student, AgreesWithTheIntegralOfTheDensity) {
  for (const std::uint64_t degrees : {3, 4, 7, 12, 29, 100}) {
    const double nu = static_cast<double>(degrees);
    const double norm = std::exp(std::lgamma((nu + 1) / 2) - std::lgamma(nu / 2)) /
                        std::sqrt(nu * std::numbers::pi);
    const auto density = [&](double t) { return norm * std::pow(1 + t * t / nu, -(nu + 1) / 2); };
    constexpr int kSteps = 2000;
    const double t = 2.5, step = t / kSteps;
    double sum = density(0) + density(t);
    for (int i = 1; i < kSteps; ++i) sum += (i % 2 == 1 ? 4 : 2) * density(i * step);
    EXPECT_NEAR(student_probability(t, degrees), 2 * sum * step / 3, 1e-11) << degrees;
  }
}

TEST(Student, QuantileIsTheInverse) {
  for (const std::uint64_t degrees : {1, 2, 3, 8, 33, 999})
    for (const double probability : {0.01, 0.5, 0.95, 0.999, 0.999999})
      EXPECT_NEAR(student_probability(student_quantile(probability, degrees), degrees), probability,
                  1e-13);
}

TEST(Estimate, IsThatOfAHandCalculation) {
  const std::vector<double> values{1, 2, 3, 4};
  const Estimate result = estimate(values, 0.95);
  EXPECT_EQ(result.count, 4u);
  EXPECT_DOUBLE_EQ(result.mean, 2.5);
  EXPECT_DOUBLE_EQ(result.deviation, std::sqrt(5.0 / 3));
  EXPECT_NEAR(*result.half_width, 3.18245 * std::sqrt(5.0 / 3) / 2, 1e-4);
  EXPECT_DOUBLE_EQ(result.relative_half_width(), *result.half_width / 2.5);
}

TEST(Estimate, OfFewValuesHasNoInterval) {
  EXPECT_EQ(estimate({}, 0.95).count, 0u);
  const std::vector<double> one{5};
  EXPECT_EQ(estimate(one, 0.95).mean, 5);
  EXPECT_FALSE(estimate(one, 0.95).half_width);
  EXPECT_TRUE(std::isinf(estimate(one, 0.95).relative_half_width()));
  const std::vector<double> equal{5, 5, 5};
  EXPECT_EQ(estimate(equal, 0.95).relative_half_width(), 0);
}

/// The differences carry the sample, however far from 0 it lies.
TEST(Estimate, LosesNothingFarFromZero) {
  const std::vector<double> values{1e9 + 1, 1e9 + 2, 1e9 + 3, 1e9 + 4};
  EXPECT_DOUBLE_EQ(estimate(values, 0.95).deviation, std::sqrt(5.0 / 3));
}

TEST(Estimate, SharesItsConfidence) {
  EXPECT_DOUBLE_EQ(simultaneous_confidence(0.95, 1), 0.95);
  EXPECT_NEAR(simultaneous_confidence(0.95, 3), 0.98333333, 1e-8);
}

TEST(Precision, ReadsRules) {
  const PrecisionRule rule = PrecisionRule::parse("stay.mean=0.01@0.9", 0.95);
  EXPECT_EQ(rule.measure, "stay.mean");
  EXPECT_EQ(rule.share, 0.01);
  EXPECT_EQ(rule.confidence, 0.9);
  EXPECT_EQ(PrecisionRule::parse("a=0.5", 0.99).confidence, 0.99);
  for (const char* wrong : {"a", "=0.1", "a=", "a=0", "a=1", "a=x", "a=0.1@", "a=0.1@2", "a=1%"})
    EXPECT_THROW(PrecisionRule::parse(wrong, 0.95), UsageError) << wrong;
  const auto sentence = [](const char* wrong) -> std::string {
    try {
      PrecisionRule::parse(wrong, 0.95);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(sentence("a=0").find("the share of the mean in --until-precision cannot be '0'"),
            std::string::npos);
  EXPECT_NE(sentence("a=0").find("such as 0.05"), std::string::npos);
  EXPECT_NE(sentence("a=0.1@2").find("such as 0.95"), std::string::npos);
}

TEST(Precision, GoesAsFarAsTheDeviationAsks) {
  const PrecisionRule rule = PrecisionRule::parse("a=0.1", 0.95);
  Estimate now;
  now.count = 10;
  now.mean = 1;
  now.half_width = 0.08;
  EXPECT_TRUE(rule.is_met_by(now));  // 0.08 * 1.2 < 0.1
  now.half_width = 0.1;
  EXPECT_FALSE(rule.is_met_by(now));
  EXPECT_EQ(rule.next_count(now), 15u);  // 10 * 1.2^2 = 14.4
  now.half_width = 5;
  EXPECT_EQ(rule.next_count(now), 20u);
  now.half_width = 0.0834;
  EXPECT_EQ(rule.next_count(now), 11u);
  now.half_width.reset();
  EXPECT_EQ(rule.next_count(now), 20u);
  now.half_width = 0.1;
  now.mean = 0;
  EXPECT_EQ(rule.next_count(now), 20u);
}

}  // namespace
}  // namespace orrery::study
