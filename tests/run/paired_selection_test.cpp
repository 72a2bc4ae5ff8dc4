// SPDX-License-Identifier: Apache-2.0
//
// The sequential test by itself, on normal differences of known mean: how often it errs, and after
// how many pairs it ends.
#include "run/tuning/paired_selection.h"

#include <gtest/gtest.h>

#include <random>

namespace orrery::tuning {
namespace {

using Verdict = PairedSelection::Verdict;

struct Outcome {
  int second = 0;    ///< of kRuns
  double pairs = 0;  ///< mean
};

constexpr int kRuns = 2000;

Outcome outcome(double mean, double deviation) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> difference(mean, deviation);
  Outcome all;
  for (int i = 0; i < kRuns; ++i) {
    PairedSelection test;
    while (test.verdict() == Verdict::open) test.add(difference(random));
    if (test.verdict() == Verdict::second) ++all.second;
    all.pairs += test.pairs() / kRuns;
  }
  return all;
}

// The error is that of the procedure with a variance from a first stage; renewing the variance of
// so short a one costs a few per cent more.
constexpr double kErrors = 1.6 * PairedSelection::kError * kRuns;

TEST(PairedSelection, ErrsAsRarelyAsPromised) {
  for (const double deviation : {0.02, 0.05, 0.15}) {
    EXPECT_LT(outcome(PairedSelection::kIndifference, deviation).second, kErrors) << deviation;
    EXPECT_GT(outcome(-PairedSelection::kIndifference, deviation).second, kRuns - kErrors)
        << deviation;
  }
}

TEST(PairedSelection, IsFairBetweenEquals) {
  const Outcome equal = outcome(0, 0.05);
  EXPECT_GT(equal.second, 0.45 * kRuns);
  EXPECT_LT(equal.second, 0.55 * kRuns);
}

TEST(PairedSelection, EndsTheSoonerTheClearerTheDifference) {
  const double clear = outcome(0.5, 0.05).pairs, small = outcome(0.05, 0.05).pairs,
               none = outcome(0, 0.05).pairs;
  EXPECT_LT(clear, 4);
  EXPECT_LT(clear, small);
  EXPECT_LT(small, none);
  EXPECT_LT(none,
            6 * 0.05 * 0.05 / (PairedSelection::kIndifference * PairedSelection::kIndifference));
}

TEST(PairedSelection, IsNotCarriedAwayByAnAccident) {
  PairedSelection test;
  test.add(1000);  // an interrupted block
  while (test.verdict() == Verdict::open && test.pairs() < 1'000'000) test.add(-0.1);
  EXPECT_EQ(test.verdict(), Verdict::second);
  EXPECT_LT(test.pairs(), 200);
}

}  // namespace
}  // namespace orrery::tuning
