// SPDX-License-Identifier: Apache-2.0
//
// What the models that ship promise of their sends is true of all their options, and no less than
// could be promised: some send of each uses its promise up.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "models/simulation.h"
#include "run/survey/survey_run.h"

namespace orrery::testing {
namespace {

struct PromisedModel {
  std::string name;
  Settings settings;
  double until_seconds;
  bool tight = true;
};

void PrintTo(const PromisedModel& c, std::ostream* out) {
  *out << c.name;
  for (const auto& [name, value] : c.settings) *out << ' ' << name << '=' << value;
}

class ShippedModelPromises : public ::testing::TestWithParam<PromisedModel> {};

TEST_P(ShippedModelPromises, AreKeptAndUsedUp) {
  const PromisedModel& c = GetParam();
  const auto model = prepared_model(c.name, c.settings);
  RunOptions options;
  options.until = Time::zero() + Duration::from_seconds(c.until_seconds);
  RunControl control;
  const SurveyResult result = survey_run(
      *model, options,
      {std::numeric_limits<std::uint64_t>::max(), std::numeric_limits<double>::max()}, control);
  ASSERT_EQ(result.end, RunEnd::completed) << result.fault;
  EXPECT_EQ(result.broken, 0u) << result.breaches[0];
  Duration slack = Duration::max();
  for (const EdgeKind& kind : result.edges)
    if (!kind.to_itself) slack = std::min(slack, kind.slack);
  if (c.tight) {
    EXPECT_EQ(slack, Duration::zero());
  } else {
    EXPECT_GE(slack, Duration::zero());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, ShippedModelPromises,
    ::testing::Values(
        PromisedModel{"phold", {{"lps", "100"}, {"lookahead", "50ms"}}, 20, false},
        PromisedModel{"phold",
                      {{"lps", "100"},
                       {"lookahead", "1s"},
                       {"mean", "0s"},
                       {"remote", "1"},
                       {"hot_share", "0.5"}},
                      20},
        PromisedModel{"pcs", {{"cells", "25"}}, 600},
        PromisedModel{"pcs", {{"cells", "7"}, {"handoff_delay", "0s"}}, 600},
        PromisedModel{"pcs", {{"cells", "9"}, {"mobility", "no"}}, 300, false},
        PromisedModel{"traffic", {{"demand", "0.2"}}, 1200},
        PromisedModel{
            "traffic", {{"demand", "0.2"}, {"routes", "free-flow"}, {"signals", "yes"}}, 1200},
        PromisedModel{
            "traffic", {{"demand", "0.2"}, {"routes", "adaptive"}, {"interval", "5min"}}, 1200},
        PromisedModel{"traffic", {{"network", "grid"}, {"grid", "8"}}, 600},
        PromisedModel{"wireless", {{"stations", "36"}, {"load", "100"}}, 0.2},
        PromisedModel{"wireless", {{"stations", "36"}, {"load", "100"}, {"access", "aloha"}}, 0.2},
        PromisedModel{"wireless",
                      {{"stations", "36"},
                       {"load", "100"},
                       {"access", "slotted_aloha"},
                       {"layout", "random"},
                       {"acknowledge", "no"}},
                      0.2},
        PromisedModel{"null", {}, 0.001, false}),
    [](const auto& test) { return test.param.name + std::to_string(test.index); });

}  // namespace
}  // namespace orrery::testing
