// SPDX-License-Identifier: Apache-2.0
//
// Resources, named streams and the distributions in whole models: every engine commits the same,
// rolled back or not; common random numbers stay in step; and queues are as long as theory says.
//
// Stations without onward traffic are independent, so each is a replication, and the mean over them
// has Student's interval. Seeds are fixed: a test that was passed is passed for ever.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "checkpoint/options.h"
#include "equality/queueing_model.h"
#include "equality/run_model.h"
#include "sanitizers.h"

namespace orrery::testing {
namespace {

Outcome run(const QueueingOptions& chosen, Duration until, const std::string& engine = "sequential",
            RunOptions options = {}) {
  QueueingModel model(chosen);
  model.prepare();
  options.until = Time::zero() + until;
  return run_model(model, engine, options);
}

// ---- Equality ----------------------------------------------------------------------------------

void expect_equal(const Outcome& expected, const Outcome& actual, const std::string& what) {
  ASSERT_EQ(actual.result.end, RunEnd::completed) << what << ": " << actual.result.fault;
  EXPECT_EQ(actual.result.fingerprint, expected.result.fingerprint) << what;
  EXPECT_EQ(actual.result.committed, expected.result.committed) << what;
  EXPECT_EQ(actual.rows, expected.rows) << what;
  for (std::size_t i = 0; i < expected.result.metrics.size(); ++i) {
    EXPECT_EQ(actual.result.metrics[i].count, expected.result.metrics[i].count) << what;
    EXPECT_EQ(actual.result.metrics[i].sum, expected.result.metrics[i].sum) << what;
    EXPECT_EQ(actual.result.metrics[i].squares, expected.result.metrics[i].squares) << what;
  }
}

/// With zero delays from station to station nearly everything that crosses workers is a straggler.
TEST(Queueing, CommitsTheSameOnEveryEngine) {
  const QueueingOptions network{.stations = 24,
                                .servers = 2,
                                .queue_limit = 5,
                                .onward = 0.5,
                                .lively = true,
                                .warm_up = Time::zero() + Duration::seconds(3)};
  const Duration until = Duration::seconds(kSanitizers ? 8 : 40);
  const Outcome expected = run(network, until);
  ASSERT_EQ(expected.result.end, RunEnd::completed) << expected.result.fault;
  ASSERT_GT(expected.result.committed, kSanitizers ? 500u : 2500u);
  ASSERT_GT(expected.rows.size(), kSanitizers ? 3u : 10u) << "nobody gave up";
  for (const char* checkpoint : {"copy", "periodic:7", "incremental", "auto"}) {
    for (const unsigned workers : {2u, 4u}) {
      RunOptions options;
      options.workers = workers;
      options.set(checkpoint::kCheckpoint, checkpoint);
      expect_equal(expected, run(network, until, "timewarp", options),
                   std::string("timewarp, ") + checkpoint + ", " + std::to_string(workers));
    }
  }
  RunOptions pair;
  pair.workers = 2;
  expect_equal(expected, run(network, until, "expanded", pair), "expanded");
  expect_equal(expected, run(network, until, "auto", pair), "auto");
  const Duration shorter = Duration::seconds(6);
  expect_equal(run(network, shorter), run(network, shorter, "checker"), "checker");
}

// ---- Common random numbers ---------------------------------------------------------------------

/// With a server for each, every arrival has one wait, which is zero.
TEST(Queueing, AnotherServiceLeavesArrivalsAsTheyWere) {
  const auto requests = [](Duration service, std::uint64_t seed) {
    RunOptions options;
    options.seed = seed;
    const Outcome outcome = run({.stations = 5, .servers = 50, .mean_service = service},
                                Duration::seconds(200), "sequential", options);
    return outcome.result.metrics.at(0).count;  // waits: of each arrival one
  };
  const std::uint64_t fast = requests(Duration::milliseconds(10), 3);
  EXPECT_EQ(requests(Duration::milliseconds(900), 3), fast);
  EXPECT_NE(requests(Duration::milliseconds(10), 4), fast);
}

// ---- Theory ------------------------------------------------------------------------------------

/// Erlang's C formula, the probability of waiting (A. K. Erlang, 1917; Kleinrock, "Queueing
/// Systems", vol. 1, 1975, section 3.5): `load` in servers, below `servers`.
double erlang_c(std::uint64_t servers, double load) {
  double blocking = 1;  // Erlang's B formula by its recursion
  for (std::uint64_t n = 1; n <= servers; ++n)
    blocking = load * blocking / (static_cast<double>(n) + load * blocking);
  const double idle = 1 - load / static_cast<double>(servers);
  return blocking / (idle + (1 - idle) * blocking);
}

const Summary& metric(const Outcome& outcome, const char* name) {
  const QueueingModel model({});
  for (const Metric* one : model.metrics())
    if (one->name() == name) return outcome.result.metrics.at(one->index());
  throw std::out_of_range(name);
}

/// Within Student's interval of 99.99 % for the mean of many stations (4 standard errors).
void expect_mean(const Outcome& outcome, const char* name, double exact) {
  const Summary& seen = metric(outcome, name);
  ASSERT_GE(seen.count, 60u) << name;
  EXPECT_NEAR(seen.mean(), exact, 4 * seen.deviation() / std::sqrt(static_cast<double>(seen.count)))
      << name;
  EXPECT_LT(seen.deviation() / std::sqrt(static_cast<double>(seen.count)),
            (kSanitizers ? 0.1 : 0.05) * exact)
      << name << ": the interval says nothing";
}

TEST(Queueing, AgreesWithErlangsFormulas) {
  struct Case {
    std::uint64_t servers;
    double load;
  };
  for (const Case c : {Case{1, 0.6}, Case{3, 2.1}, Case{8, 6.0}}) {
    SCOPED_TRACE(std::to_string(c.servers) + " servers");
    const double servers = static_cast<double>(c.servers);
    const QueueingOptions stations{.stations = 100,
                                   .servers = c.servers,
                                   .mean_between_arrivals = Duration::seconds(1),
                                   .mean_service = Duration::from_seconds(c.load),
                                   .warm_up = Time::zero() + Duration::minutes(2)};
    const Outcome outcome = run(stations, Duration::minutes(kSanitizers ? 12 : 22));
    const double wait = erlang_c(c.servers, c.load);
    const double queue = wait * c.load / (servers - c.load);
    expect_mean(outcome, "used", c.load / servers);
    expect_mean(outcome, "queued", queue);
    expect_mean(outcome, "delayed", wait);
    // Little's law, with one customer a second. Waits of one station depend on each other, so the
    // metric's own deviation says nothing; that of the queue does.
    EXPECT_NEAR(metric(outcome, "station_wait").mean(), queue,
                4 * metric(outcome, "queued").deviation() / 10);
  }
}

/// With no place to wait the share that is lost is Erlang's B.
TEST(Queueing, LosesWhatErlangsLossFormulaSays) {
  const Outcome outcome = run({.stations = 100,
                               .servers = 4,
                               .queue_limit = 0,
                               .mean_between_arrivals = Duration::seconds(1),
                               .mean_service = Duration::seconds(3),
                               .warm_up = Time::zero() + Duration::minutes(1)},
                              Duration::minutes(kSanitizers ? 8 : 16));
  expect_mean(outcome, "lost", 0.20610687);  // 27/8 / (1 + 3 + 9/2 + 9/2 + 27/8)
}

}  // namespace
}  // namespace orrery::testing
