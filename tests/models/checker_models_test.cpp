// SPDX-License-Identifier: Apache-2.0
//
// The models that ship pass the checker, in configurations that reach all of their code, and it
// commits what the sequential engine commits.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "equality/run_model.h"

namespace orrery::testing {
namespace {

struct CheckedModel {
  std::string name;
  std::vector<std::pair<std::string, std::string>> parameters;
  double until_seconds;
};

void PrintTo(const CheckedModel& c, std::ostream* out) {
  *out << c.name;
  for (const auto& [name, value] : c.parameters) *out << ' ' << name << '=' << value;
}

class ShippedModelOnTheChecker : public ::testing::TestWithParam<CheckedModel> {};

TEST_P(ShippedModelOnTheChecker, Passes) {
  const CheckedModel& c = GetParam();
  const auto model = make_model(c.name);
  for (const auto& [name, value] : c.parameters) set_parameter(*model, name, value);
  model->prepare();
  RunOptions options;
  options.until = Time::zero() + Duration::from_seconds(c.until_seconds);
  const Outcome expected = run_model(*model, "sequential", options);
  const Outcome checked = run_model(*model, "checker", options);
  ASSERT_EQ(checked.result.end, RunEnd::completed) << checked.result.fault;
  ASSERT_GT(checked.result.committed, 500u);
  EXPECT_EQ(checked.result.fingerprint, expected.result.fingerprint);
  EXPECT_EQ(checked.result.committed, expected.result.committed);
  EXPECT_EQ(checked.rows, expected.rows);
}

INSTANTIATE_TEST_SUITE_P(
    Models, ShippedModelOnTheChecker,
    ::testing::Values(
        CheckedModel{"phold", {{"lps", "300"}}, 10},
        CheckedModel{"phold",
                     {{"lps", "64"},
                      {"state", "4096"},
                      {"touched", "256"},
                      {"payload", "64"},
                      {"remote", "0.9"}},
                     10},
        CheckedModel{"pcs", {{"cells", "16"}, {"channels", "30"}}, 600},
        CheckedModel{"pcs", {{"cells", "9"}, {"fading_period", "20s"}}, 300},
        CheckedModel{"epidemic",
                     {{"regions", "4"},
                      {"locations", "6"},
                      {"people", "30"},
                      {"infected", "50"},
                      {"beta", "3"},
                      {"vaccination_rate", "0.2"},
                      {"close_share", "0.2"},
                      {"travel_reduction", "0.3"}},
                     86400},
        CheckedModel{
            "epidemic",
            {{"regions", "4"}, {"locations", "6"}, {"people", "30"}, {"schedule", "daily"}},
            86400},
        CheckedModel{"traffic", {{"demand", "0.2"}}, 900},
        CheckedModel{"traffic", {{"demand", "0.2"}, {"routes", "free-flow"}}, 900},
        CheckedModel{
            "traffic", {{"demand", "0.2"}, {"routes", "adaptive"}, {"interval", "5min"}}, 900},
        CheckedModel{"traffic", {{"network", "grid"}, {"grid", "8"}}, 600}),
    [](const auto& test) { return test.param.name + std::to_string(test.index); });

}  // namespace
}  // namespace orrery::testing
