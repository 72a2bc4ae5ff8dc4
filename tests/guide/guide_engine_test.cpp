// SPDX-License-Identifier: Apache-2.0
//
// The engine that docs/guide-engines.md shows commits what the sequential engine does.
#include <gtest/gtest.h>

#include "equality/random_model.h"
#include "equality/run_model.h"

namespace orrery::testing {
namespace {

void expect_equal(const Outcome& expected, const Outcome& actual) {
  EXPECT_EQ(actual.result.end, expected.result.end);
  EXPECT_EQ(actual.result.fault, expected.result.fault);
  EXPECT_EQ(actual.result.fingerprint, expected.result.fingerprint);
  EXPECT_EQ(actual.result.committed, expected.result.committed);
  EXPECT_EQ(actual.rows, expected.rows);
  EXPECT_FALSE(actual.late_rows);
}

TEST(GuideEngine, EqualsTheSequentialEngine) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    RandomModel model({.shape = seed,
                       .lps = static_cast<LpId>(5 + 11 * seed),
                       .grain_ticks = seed % 2 == 0 ? 1 : 10,
                       .horizon = Duration::from_ticks(2'000),
                       .durations = seed % 4 < 2});
    RunOptions options;
    options.seed = seed;
    const Outcome expected = run_model(model, "sequential", options);
    ASSERT_EQ(expected.result.end, RunEnd::completed);
    ASSERT_GT(expected.rows.size(), 10u);
    expect_equal(expected, run_model(model, "plain", options));
  }
}

TEST(GuideEngine, FailsWhereTheSequentialEngineFails) {
  for (const std::int64_t at : {20, 60}) {
    RandomModel model(
        {.shape = 2, .lps = 20, .horizon = Duration::from_ticks(50'000), .fault_at_event = at});
    const Outcome expected = run_model(model, "sequential", {});
    ASSERT_EQ(expected.result.end, RunEnd::fault);
    expect_equal(expected, run_model(model, "plain", {}));
  }
}

}  // namespace
}  // namespace orrery::testing
