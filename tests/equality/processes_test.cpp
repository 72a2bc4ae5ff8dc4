// SPDX-License-Identifier: Apache-2.0
//
// Processes commit the same on every engine, however often they are rolled back, copied, handed
// over, moved or interrupted while they wait; and queues of processes are those of handlers.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/options.h"
#include "engine/timewarp/settings.h"
#include "equality/process_model.h"
#include "equality/queueing_model.h"
#include "equality/relay.h"
#include "equality/run_model.h"
#include "equality/run_ranks.h"
#include "equality/time_warp_shape.h"
#include "run/containment/preemption.h"
#include "run/engine_cases.h"
#include "sanitizers.h"

namespace orrery::testing {
namespace {

constexpr Duration kHorizon = Duration::milliseconds(kSanitizers ? 40 : 120);

RunOptions seeded(std::uint64_t seed) {
  RunOptions options;
  options.seed = seed;
  return options;
}

// ---- Engines -----------------------------------------------------------------------------------

class Processes : public OnEveryEngine {};

TEST_P(Processes, CommitTheSame) {
  for (std::uint64_t seed = 1; seed <= 2; ++seed)
    for (const Duration least : {Duration::zero(), Duration::microseconds(200)}) {
      const ProcessModel model(
          {.least_transfer = least, .durations = seed == 2, .horizon = kHorizon});
      const Outcome outcome = expect_completed(model, seeded(seed));
      EXPECT_GT(outcome.rows.size(), kSanitizers ? 100u : 500u);
    }
}

TEST_P(Processes, FaultsAreTold) {
  const ProcessModel model({.fault_at_customer = 20, .horizon = kHorizon});
  const Outcome expected = reference(model);
  ASSERT_EQ(expected.result.end, RunEnd::fault);
  EXPECT_NE(expected.result.fault.find("a customer with the number 20 complains"),
            std::string::npos)
      << expected.result.fault;
  EXPECT_EQ(run(model).result.fault, expected.result.fault);
}

ORRERY_ON_EVERY_ENGINE(Processes);

/// Every row must come up, or the model does not do what it is for.
TEST(ProcessModel, DoesEverything) {
  const ProcessModel model({.horizon = Duration::milliseconds(250)});
  const Outcome outcome = run_model(model, "sequential", {});
  ASSERT_EQ(outcome.result.end, RunEnd::completed) << outcome.result.fault;
  std::vector<int> seen(14);
  for (const auto& line : outcome.rows) ++seen.at(std::get<4>(line).at(0));
  for (std::size_t what = 0; what < seen.size(); ++what) EXPECT_GT(seen[what], 3) << what;
}

TEST(ProcessesOnTheChecker, LeaveNoDifference) {
  for (const bool durations : {false, true}) {
    const ProcessModel model({.shops = 6,
                              .durations = durations,
                              .horizon = Duration::milliseconds(kSanitizers ? 20 : 60)});
    const Outcome expected = run_model(model, "sequential", {});
    ASSERT_EQ(expected.result.end, RunEnd::completed) << expected.result.fault;
    const Outcome actual = run_model(model, "checker", {});
    expect_same(expected, actual, "checker");
    EXPECT_GE(statistic(actual.result, "rollbacks"), kSanitizers ? 100 : 1'000);
    EXPECT_GE(statistic(actual.result, "long_rollbacks"), kSanitizers ? 10 : 100);
  }
}

// ---- Time Warp, disturbed ----------------------------------------------------------------------

void expect_equal(const Model& model, const Outcome& expected, RunOptions options,
                  const std::string& what) {
  expect_same(expected, run_model(model, "timewarp", std::move(options)), what);
}

/// By whom and how frames are copied, with cuts and moves every so many events.
TEST(ProcessesOnTimeWarp, UnderEveryKindOfCheckpoint) {
  const ProcessModel model({.durations = true, .horizon = kHorizon});
  const Outcome expected = run_model(model, "sequential", {});
  for (const auto& [checkpoint, offload] : kStrategies)
    for (const unsigned workers : {2u, 3u})
      for (const bool pauses : {false, true}) {
        const TimeWarpShape shape{workers, 40, 4, checkpoint, offload};
        RunOptions options = shape.apply_shape({});
        disturb(options).to_move = 40;
        disturb(options).to_cut = pauses ? 25 : 0;
        expect_equal(model, expected, options,
                     shape.text_with(pauses ? "cuts and moves" : "moves"));
        if (HasFailure()) return;
      }
}

TEST(ProcessesOnTimeWarp, WithLittleMemory) {
  const ProcessModel model({.horizon = kHorizon});
  const Outcome expected = run_model(model, "sequential", {});
  const TimeWarpShape shape{4, 0, 4, "auto", "none", 1 << 20};
  expect_equal(model, expected, shape.apply_shape({}), shape.text_with("nothing"));
}

TEST(ProcessesOnTimeWarp, WhoseHandlersAreInterrupted) {
  if (!Preemptible::kPossible) GTEST_SKIP() << "no handler is interrupted here";
  const ProcessModel model({.shops = 8, .horizon = kHorizon});
  const Outcome expected = run_model(model, "sequential", {});
  for (const auto& [checkpoint, offload] : kStrategies)
    for (const bool at_each_call : {false, true}) {
      const TimeWarpShape shape{4, 0, 4, checkpoint, offload};
      RunOptions options = shape.apply_shape({});
      options.set(timewarp::kPreempt, at_each_call ? "demand" : "both");
      options.set(timewarp::kTick, 50);
      disturb(options).at_calls = at_each_call;
      expect_equal(model, expected, options, shape.text_with("interruptions"));
      if (HasFailure()) return;
    }
}

// ---- Hand-over and ranks -----------------------------------------------------------------------

/// Processes that wait go on at another engine, and at a third.
TEST(ProcessesInAWorld, ThatChangesHands) {
  const ProcessModel model(
      {.least_transfer = Duration::microseconds(100), .durations = true, .horizon = kHorizon});
  const Outcome expected = run_model(model, "sequential", {});
  const std::vector<EngineCase> takers{{"sequential", 1},
                                       {"expanded", 3, "batched"},
                                       {"conservative", 3, "auto", 3},
                                       {"timewarp", 3, "auto", 3}};
  std::uint64_t runs = 0, handed_over = 0;
  for (const EngineCase& first : takers)
    for (const EngineCase& second : takers) {
      Relay relay({{first, 300}, {second, 500}});
      expect_same(expected, run_relay(model, relay, {}), first.text() + " and " + second.text());
      ++runs;
      handed_over += relay.handed_over;
    }
  EXPECT_GE(handed_over, runs);
}

TEST(ProcessesOverRanks, CommitTheSame) {
  const ProcessModelOptions chosen{.durations = true, .horizon = kHorizon};
  const auto make = [&] { return std::make_unique<ProcessModel>(chosen); };
  const Outcome expected = run_model(*make(), "sequential", {});
  for (const unsigned ranks : {2u, 3u}) {
    RunOptions options = TimeWarpShape{2, 0}.apply_shape({});
    disturb(options).to_move = 50;
    const auto outcomes =
        run_ranks(make, "timewarp", options, ranks, {.seed = ranks, .delays = true});
    expect_same(expected, outcomes[0], std::to_string(ranks) + " ranks");
  }
}

// ---- Theory ------------------------------------------------------------------------------------

/// The stations of QueueingModel as processes, with the same random numbers: of one kind only, and
/// nobody goes on to another.
class ProcessQueues final : public Model {
 public:
  explicit ProcessQueues(QueueingOptions chosen) : options(chosen) {
    ModelAccess::observe_from(station.wait, options.warm_up);
  }
  std::uint64_t lp_count() const override { return options.stations; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override;

  const QueueingOptions options;
  const ResourceMetrics station{*this, "station"};
  const Metric delayed{*this, "delayed", "", "share of a station's customers that had to wait"};
  const Metric queued{*this, "queued", "", "mean queue of a station"};
  const Metric used{*this, "used", "", "utilisation of a station"};
  const Metric lost{*this, "lost", "", "share of a station's customers that balked"};
};

class ProcessStation final : public ProcessLp<ProcessStation> {
 public:
  explicit ProcessStation(const ProcessQueues& model)
      : model_(model), desk_(model.options.servers, model.options.queue_limit) {}
  void begin() override {
    observe(desk_, model_.station);
    spawn(arrivals());
    spawn(warm_up());
  }
  void finish(FinalContext& context) override {
    const ResourceStatistics seen = desk_.statistics(context.now());
    context.record(model_.delayed, seen.share_delayed());
    context.record(model_.queued, seen.mean_queue());
    context.record(model_.used, seen.utilisation());
    context.record(model_.lost, seen.share_balked());
  }

 private:
  Process arrivals() {
    for (;;) {
      co_await delay(random(arrivals_).exponential(model_.options.mean_between_arrivals));
      spawn(customer());
    }
  }
  Process customer() {
    const Server server = co_await desk_.acquire();
    if (!server) co_return;
    co_await delay(random(services_).exponential(model_.options.mean_service));
  }
  Process warm_up() {
    co_await delay(model_.options.warm_up - Time::zero());
    desk_.restart_statistics(now());
  }

  const ProcessQueues& model_;
  RandomStream arrivals_{"arrivals"}, services_{"services"};
  Servers desk_;
};

std::unique_ptr<LogicalProcessBase> ProcessQueues::create(LpId) const {
  return std::make_unique<ProcessStation>(*this);
}

/// queueing_test.cpp holds those of handlers against Erlang's formulas.
TEST(QueuesOfProcesses, AreThoseOfHandlersToTheBit) {
  struct Case {
    std::uint64_t servers, queue_limit;
    Duration mean_service;
  };
  for (const Case c : {Case{1, Servers::kUnlimited, Duration::milliseconds(600)},
                       Case{3, Servers::kUnlimited, Duration::milliseconds(2'100)},
                       Case{4, 0, Duration::seconds(3)}, Case{2, 3, Duration::seconds(2)}}) {
    const QueueingOptions chosen{.stations = 50,
                                 .servers = c.servers,
                                 .queue_limit = c.queue_limit,
                                 .mean_between_arrivals = Duration::seconds(1),
                                 .mean_service = c.mean_service,
                                 .warm_up = Time::zero() + Duration::minutes(1)};
    RunOptions options;
    options.until = Time::zero() + Duration::minutes(kSanitizers ? 3 : 11);
    QueueingModel handlers(chosen);
    handlers.prepare();
    const Outcome expected = run_model(handlers, "sequential", options);
    const Outcome actual = run_model(ProcessQueues(chosen), "sequential", options);
    ASSERT_EQ(actual.result.end, RunEnd::completed) << actual.result.fault;
    ASSERT_EQ(actual.result.metrics.size(), expected.result.metrics.size());
    for (std::size_t i = 0; i < expected.result.metrics.size(); ++i) {
      SCOPED_TRACE(std::to_string(c.servers) + " servers, metric " + std::to_string(i));
      const LevelSummary &level = actual.result.levels[i], &same = expected.result.levels[i];
      EXPECT_GT(actual.result.metrics[i].count + level.changes, 0u);
      EXPECT_EQ(level.changes, same.changes);
      EXPECT_EQ(level.area, same.area);
      EXPECT_EQ(level.squares, same.squares);
      EXPECT_EQ(actual.result.metrics[i].count, expected.result.metrics[i].count);
      EXPECT_EQ(actual.result.metrics[i].sum, expected.result.metrics[i].sum);
      EXPECT_EQ(actual.result.metrics[i].squares, expected.result.metrics[i].squares);
      EXPECT_EQ(actual.result.metrics[i].maximum, expected.result.metrics[i].maximum);
    }
  }
}

/// M/M/1: a wait is 0 or exponential; with a load of 0.6 and a service of 0.6 s it is 0.9 s on
/// average.
TEST(QueuesOfProcesses, AreAsTheorySays) {
  const QueueingOptions chosen{.stations = 100,
                               .servers = 1,
                               .mean_between_arrivals = Duration::seconds(1),
                               .mean_service = Duration::milliseconds(600),
                               .warm_up = Time::zero() + Duration::minutes(1)};
  RunOptions options;
  options.until = Time::zero() + Duration::minutes(kSanitizers ? 6 : 21);
  const ProcessQueues model(chosen);
  const RunResult result = run_model(model, "sequential", options).result;
  const auto of = [&](const Metric& metric) { return result.metrics.at(metric.index()); };
  const double deviation = of(model.queued).deviation();
  EXPECT_NEAR(of(model.used).mean(), 0.6, 4 * of(model.used).deviation() / 10);
  EXPECT_NEAR(of(model.queued).mean(), 0.9, 4 * deviation / 10);
  EXPECT_NEAR(of(model.station.wait).mean(), 0.9, 4 * deviation / 10);
  EXPECT_LT(deviation, kSanitizers ? 0.9 : 0.45) << "the intervals say nothing";
  const auto level = [&](const Metric& metric) { return result.levels.at(metric.index()).mean(); };
  EXPECT_NEAR(level(model.station.busy), 0.6, 0.02);  // these include the warm-up
  EXPECT_NEAR(level(model.station.utilisation), 0.6, 0.02);
  EXPECT_NEAR(level(model.station.queue), 0.9, 4 * deviation / 10);
}

}  // namespace
}  // namespace orrery::testing
