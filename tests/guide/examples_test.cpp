// SPDX-License-Identifier: Apache-2.0
//
// The models in models/examples give the figures of their originals, as processes and with handlers.
// The originals' figures are means and intervals of 95 % of runs of SimPy 4.1.1 (400 seeds or more; the
// machine shop 60) and of salabim 26.0.9 (20 seeds); those of simmer are its tests'. Two means agree if
// they differ by at most 4 standard errors of their difference. Both forms draw the same numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "models/simulation.h"

namespace orrery::testing {
namespace {

constexpr const char* kForms[] = {"-processes", "-handlers"};

Simulation example(const std::string& name, const std::string& engine = "sequential") {
  const auto model = make_model(name);
  return Simulation(name, {}, model->default_horizon() - Time::zero(), 1, engine, 2);
}

/// `interval`: half of the original's interval of 95 %.
void expect_agreement(const Summary& seen, double original, double interval, const char* what) {
  const double ours = seen.deviation() / std::sqrt(static_cast<double>(seen.count));
  EXPECT_NEAR(seen.mean(), original, 4 * std::hypot(ours, interval / 1.96)) << what;
  EXPECT_LT(ours, 0.1 * original) << what << ": the interval says nothing";
}

class Example : public ::testing::TestWithParam<const char*> {
 protected:
  Simulation run(const std::string& name) { return example(name + GetParam()); }
};

TEST_P(Example, Carwash) {
  const Simulation run = this->run("carwash");
  expect_agreement(run.metric("arrived"), 12.01, 0.045, "cars that came");
  expect_agreement(run.metric("washed"), 11.286, 0.043, "cars that left");
}

TEST_P(Example, BankWhoseCustomersRenege) {
  const Simulation run = this->run("bank");
  expect_agreement(run.metric("reneged"), 1.9725, 0.052, "reneged");
  expect_agreement(run.metric("end"), 52.99, 1.12, "end");
}

TEST_P(Example, MovieRenege) {
  const Simulation run = this->run("movie");
  expect_agreement(run.metric("sold_out"), 60 * 40.61, 60 * 0.362, "sold out");
  expect_agreement(run.metric("left"), 11.33, 0.266, "left");
}

TEST_P(Example, GasStation) {
  const Simulation run = this->run("gas-station");
  expect_agreement(run.metric("refuelled"), 5.305, 0.117, "refuelled");
  expect_agreement(run.metric("trucks"), 0.8425, 0.037, "trucks");
}

TEST_P(Example, MachineShop) {
  const Simulation run = this->run("machine-shop");
  // Machines of a shop depend on each other; the shops' means have this deviation in the original.
  EXPECT_NEAR(run.metric("parts").mean(), 3309.4,
              4 * 43.4 * std::hypot(1 / std::sqrt(20.), 1 / std::sqrt(60.)));
  EXPECT_GT(run.figure("repairman_utilisation", "mean"), 0.999);  // he always has other jobs
}

TEST_P(Example, ThreeClerks) {
  const Simulation run = this->run("clerks");
  const auto banks = [](double deviation) { return 4 * deviation * std::sqrt(2 / 20.); };
  EXPECT_NEAR(run.figure("clerk_queue", "mean"), 2.035, banks(0.156));
  EXPECT_NEAR(run.figure("clerk_busy", "mean"), 3 * 0.99046, 3 * banks(0.0019));
  EXPECT_NEAR(run.metric("clerk_balked").sum / 20, 34.05, banks(8.3));
  EXPECT_NEAR(run.metric("clerk_reneged").sum / 20, 9.6, banks(3.2));
}

/// A message each 5 s from 5 s on takes 10 s: 17 before 100 s.
TEST_P(Example, EventLatency) {
  const Simulation run = this->run("latency");
  EXPECT_EQ(run.metric("latency").count, 17u);
  EXPECT_EQ(run.metric("latency").minimum, 10);
  EXPECT_EQ(run.metric("latency").maximum, 10);
}

TEST_P(Example, Shifts) {
  using End = std::tuple<LpId, std::int64_t, std::uint64_t>;  // LP, seconds, seconds of work lost
  std::vector<End> ends;
  const Simulation run = this->run("shifts");
  for (const auto& [key, lp, ordinal, table, cells] : run.outcome().rows)
    ends.emplace_back(lp, key.time().ticks() / 1'000'000'000, cells.at(1));
  std::sort(ends.begin(), ends.end());
  const std::vector<End> expected = {{0, 10, 0}, {0, 20, 0}, {0, 25, 0}, {1, 2, 0}, {1, 3, 0},
                                     {1, 3, 0},  {2, 2, 0},  {2, 3, 0},  {2, 5, 1}};
  EXPECT_EQ(ends, expected);
}

INSTANTIATE_TEST_SUITE_P(AsProcessesAndWithHandlers, Example, ::testing::ValuesIn(kForms),
                         [](const auto& test) { return std::string(test.param + 1); });

TEST(Examples, AreTheSameInBothForms) {
  for (const char* name : {"carwash", "bank", "movie", "gas-station", "machine-shop", "clerks"}) {
    const Simulation processes = example(std::string(name) + kForms[0]);
    const Simulation handlers = example(std::string(name) + kForms[1]);
    for (const Metric* metric : handlers.model().metrics()) {
      if (metric->is_level()) continue;
      const Summary &one = processes.metric(metric->name()),
                    &other = handlers.metric(metric->name());
      EXPECT_EQ(one.count, other.count) << name << ", " << metric->name();
      EXPECT_NEAR(one.mean(), other.mean(), 1e-12 * std::abs(other.mean()))
          << name << ", " << metric->name();
    }
  }
}

TEST(Examples, AreTheSameOnEveryEngine) {
  for (const char* name : {"bank", "movie", "gas-station", "machine-shop", "shifts", "latency"})
    for (const char* form : kForms) {
      const std::string whole = std::string(name) + form;
      const Duration until =
          name == std::string("machine-shop") ? Duration::hours(8) : Duration::minutes(20);
      const Simulation expected(whole, {}, until);
      for (const char* engine : {"timewarp", "expanded", "checker"})
        expect_same_commit(expected.outcome(), Simulation(whole, {}, until, 1, engine, 2).outcome(),
                           whole + " on " + engine);
    }
}

}  // namespace
}  // namespace orrery::testing
