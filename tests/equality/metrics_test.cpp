// SPDX-License-Identifier: Apache-2.0
//
// All that metrics can keep is the same to the bit on every engine, through rollbacks with every
// kind of checkpoint, over ranks and when the world changes hands; and it is right, by the rows
// that the same model emits.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "checkpoint/options.h"
#include "equality/metered_model.h"
#include "equality/relay.h"
#include "equality/run_model.h"
#include "equality/run_ranks.h"
#include "equality/stopping_rows.h"
#include "output/metric_figures.h"
#include "run/results/metric_options.h"
#include "sanitizers.h"

namespace orrery::testing {
namespace {

constexpr Duration kUntil = Duration::seconds(kSanitizers ? 6 : 20);

RunOptions options_of(unsigned workers) {
  RunOptions options;
  options.until = Time::zero() + kUntil;
  options.workers = workers;
  return options;
}

/// Has figures of single LPs recorded: of some and of all, of values and of levels, with series.
void record_lps(MeteredModel& model) {
  RunOptions options;
  options.until = model.default_horizon();
  options.set(record_option(),
              "node1?.value=700ms,3..7.value,*.waiting=300ms,*.at_end=5s,node?.delay");
  apply_metric_options(model, options);
  model.recordings = options.recordings;
}

Outcome run(const MeteredOptions& chosen, const std::string& engine, const RunOptions& options) {
  MeteredModel model(chosen);
  record_lps(model);
  return run_model(model, engine, options);
}

std::vector<std::uint64_t> words_of(const Histogram& histogram) {
  std::vector<std::uint64_t> words;
  histogram.write(words);
  return words;
}

/// All bits of a series.
using SeriesLine = std::array<std::uint64_t, 7>;
std::vector<SeriesLine> lines_of(const Series& series, const Metric& metric,
                                 const Outcome& outcome) {
  std::vector<SeriesLine> lines;
  for (const auto& one : series.intervals(metric.observed_from(), outcome.result.reached))
    lines.push_back(
        {static_cast<std::uint64_t>(one.begin.ticks()), static_cast<std::uint64_t>(one.end.ticks()),
         one.count, std::bit_cast<std::uint64_t>(one.sum), std::bit_cast<std::uint64_t>(one.mean),
         std::bit_cast<std::uint64_t>(one.minimum), std::bit_cast<std::uint64_t>(one.maximum)});
  return lines;
}
std::vector<SeriesLine> lines_of(const Metric& metric, const Outcome& outcome) {
  return lines_of(outcome.result.mergeable_statistics->series(metric), metric, outcome);
}

/// All bits of the figures of single LPs, and of their series.
using LpLine = std::pair<LpId, std::vector<double>>;
std::vector<LpLine> lp_lines_of(const Metric& metric, const Outcome& outcome) {
  std::vector<LpLine> lines;
  const LpFigures& figures = outcome.result.lp_figures[metric.index()];
  for (const auto& [lp, one] : figures.values)
    lines.push_back(
        {lp, {static_cast<double>(one.count), one.sum, one.squares, one.minimum, one.maximum}});
  for (const auto& [lp, one] : figures.levels)
    lines.push_back({lp,
                     {static_cast<double>(one.changes), one.ticks, one.area, one.squares,
                      one.minimum, one.maximum}});
  return lines;
}
std::map<LpId, std::vector<SeriesLine>> lp_series_of(const Metric& metric, const Outcome& outcome) {
  std::map<LpId, std::vector<SeriesLine>> all;
  for (const auto& [lp, series] : outcome.result.mergeable_statistics->lp_series(metric))
    all[lp] = lines_of(*series, metric, outcome);
  return all;
}

void expect_equal(const Outcome& expected, const Outcome& actual, const std::string& what) {
  ASSERT_EQ(actual.result.end, expected.result.end) << what << ": " << actual.result.fault;
  EXPECT_EQ(actual.result.fingerprint, expected.result.fingerprint) << what;
  EXPECT_EQ(actual.rows, expected.rows) << what;
  ASSERT_TRUE(actual.result.mergeable_statistics.has_value()) << what;
  const MeteredModel model({});
  for (const Metric* metric : {&model.delay, &model.signed_value, &model.at_end})
    EXPECT_EQ(words_of(actual.result.mergeable_statistics->histogram(*metric)),
              words_of(expected.result.mergeable_statistics->histogram(*metric)))
        << what << ": " << metric->name();
  for (const Metric* metric : {&model.signed_value, &model.waiting, &model.at_end})
    EXPECT_EQ(lines_of(*metric, actual), lines_of(*metric, expected))
        << what << ": " << metric->name();
  for (const Metric* metric : model.metrics()) {
    EXPECT_EQ(lp_lines_of(*metric, actual), lp_lines_of(*metric, expected))
        << what << ": " << metric->name();
    EXPECT_EQ(lp_series_of(*metric, actual), lp_series_of(*metric, expected))
        << what << ": " << metric->name();
    const auto own = figures_of(*metric, model, actual.result);
    const auto others = figures_of(*metric, model, expected.result);
    ASSERT_EQ(own.size(), others.size());
    for (std::size_t i = 0; i < own.size(); ++i)
      EXPECT_EQ(own[i].value, others[i].value)
          << what << ": " << metric->name() << "." << own[i].name;
  }
}

TEST(Metrics, AreTheSameOnEveryEngine) {
  const MeteredOptions chosen;
  const Outcome expected = run(chosen, "sequential", options_of(1));
  ASSERT_EQ(expected.result.end, RunEnd::completed) << expected.result.fault;
  ASSERT_GT(expected.result.committed, kSanitizers ? 500u : 2500u);
  std::uint64_t rolled_back = 0;
  for (const char* checkpoint : {"copy", "periodic:7", "incremental", "reverse", "auto"})
    for (const unsigned workers : {1u, 2u, 4u}) {
      RunOptions options = options_of(workers);
      options.set(checkpoint::kCheckpoint, checkpoint);
      const Outcome outcome = run(chosen, "timewarp", options);
      expect_equal(expected, outcome,
                   std::string("timewarp, ") + checkpoint + ", " + std::to_string(workers));
      rolled_back += outcome.result.executed - outcome.result.committed;
    }
  EXPECT_GT(rolled_back, 100u) << "the test tests nothing";
  for (const char* engine : {"expanded", "auto"})
    expect_equal(expected, run(chosen, engine, options_of(2)), engine);
  RunOptions shorter = options_of(1);
  shorter.until = Time::zero() + Duration::seconds(3);
  expect_equal(run(chosen, "sequential", shorter), run(chosen, "checker", shorter), "checker");
}

TEST(Metrics, AreTheSameWhereDelaysArePromised) {
  const MeteredOptions chosen{.nodes = 40, .promise = Duration::milliseconds(50)};
  const Outcome expected = run(chosen, "sequential", options_of(1));
  for (const unsigned workers : {1u, 2u, 3u}) {
    RunOptions options = options_of(workers);
    expect_equal(expected, run(chosen, "conservative", options),
                 "conservative, " + std::to_string(workers));
  }
}

TEST(Metrics, AreTheSameOverRanks) {
  const MeteredOptions chosen{.nodes = 30, .promise = Duration::milliseconds(50)};
  const auto make = [&] {
    auto model = std::make_unique<MeteredModel>(chosen);
    record_lps(*model);
    return model;
  };
  const Outcome expected = run(chosen, "sequential", options_of(1));
  for (const char* engine : {"timewarp", "conservative"})
    for (const unsigned ranks : {2u, 3u}) {
      RunOptions options = options_of(1);
      options.bind = false;
      const auto outcomes = run_ranks(make, engine, options, ranks, {});
      expect_equal(expected, outcomes[0], std::string(engine) + ", " + std::to_string(ranks));
    }
}

TEST(Metrics, GoFromEngineToEngine) {
  const MeteredOptions chosen{.promise = Duration::milliseconds(20)};
  const Outcome expected = run(chosen, "sequential", options_of(1));
  MeteredModel model(chosen);
  record_lps(model);
  const std::vector<EngineCase> engines = {
      {"sequential", 1}, {"timewarp", 3, "auto", 2}, {"expanded", 2}, {"conservative", 2}};
  std::uint64_t runs = 0, handed_over = 0;
  for (const EngineCase& first : engines)
    for (const EngineCase& second : engines) {
      Relay relay({{first, 150}, {second, 150}});
      expect_equal(expected, run_relay(model, relay, options_of(1)),
                   first.text() + " and " + second.text());
      ++runs;
      handed_over += relay.handed_over;
    }
  EXPECT_GT(handed_over, 3 * runs);
}

// ---- That it is right --------------------------------------------------------------------------

TEST(Metrics, QuantilesAreThoseOfTheRows) {
  const MeteredModel model({});
  const Outcome outcome = run({}, "timewarp", options_of(2));
  std::vector<double> values;
  for (const auto& line : outcome.rows)
    values.push_back(std::bit_cast<double>(std::get<4>(line)[0]));
  std::sort(values.begin(), values.end());
  ASSERT_GT(values.size(), kSanitizers ? 300u : 1500u);
  EXPECT_EQ(outcome.result.mergeable_statistics->histogram(model.signed_value).count(),
            values.size());
  for (const int thousandths : {0, 1, 100, 500, 900, 990, 999, 1000}) {
    const std::size_t rank = (values.size() * static_cast<std::size_t>(thousandths) + 999) / 1000;
    const double exact = values[std::max<std::size_t>(rank, 1) - 1];
    const double told = quantile_of(model.signed_value, outcome.result, thousandths / 1e3).value();
    EXPECT_LE(std::abs(told - exact), Histogram::kRelativeError * std::abs(exact)) << thousandths;
  }
}

TEST(Metrics, SeriesAreThoseOfTheRows) {
  const MeteredModel model({});
  const Outcome outcome = run({}, "timewarp", options_of(2));
  std::map<std::int64_t, std::vector<double>> values;
  const std::int64_t ticks = model.signed_value.interval().ticks();
  for (const auto& line : outcome.rows)
    values[std::get<0>(line).time().ticks() / ticks].push_back(
        std::bit_cast<double>(std::get<4>(line)[0]));
  const auto intervals = outcome.result.mergeable_statistics->series(model.signed_value)
                             .intervals(Time::zero(), outcome.result.reached);
  ASSERT_EQ(intervals.size(), static_cast<std::size_t>((kUntil.ticks() + ticks - 1) / ticks));
  EXPECT_EQ(intervals.back().end - Time::zero(), kUntil);
  for (const Series::Interval& one : intervals) {
    const auto& own = values[one.begin.ticks() / ticks];
    ASSERT_EQ(one.count, own.size());
    if (own.empty()) continue;
    const double sum = std::accumulate(own.begin(), own.end(), 0.0);
    double size = 0;
    for (const double value : own) size += std::abs(value);
    EXPECT_NEAR(one.sum, sum, 1e-12 * size);
    EXPECT_EQ(one.mean, one.sum / static_cast<double>(own.size()));
    EXPECT_EQ(one.minimum, *std::min_element(own.begin(), own.end()));
    EXPECT_EQ(one.maximum, *std::max_element(own.begin(), own.end()));
  }
}

/// The areas of the intervals make the whole, and what is recorded at the end is in the last.
TEST(Metrics, SeriesOfALevelAddUpToIt) {
  const MeteredModel model({});
  const Outcome outcome = run({}, "timewarp", options_of(2));
  const MergeableStatistics& mergeable_statistics = *outcome.result.mergeable_statistics;
  double area = 0;
  std::uint64_t changes = 0;
  for (const auto& one :
       mergeable_statistics.series(model.waiting).intervals(Time::zero(), outcome.result.reached)) {
    area += one.mean * static_cast<double>((one.end - one.begin).ticks());
    changes += one.count;
  }
  const LevelSummary& level = level_of(model.waiting, outcome.result);
  EXPECT_NEAR(area, level.area, 1e-9 * level.area);
  EXPECT_EQ(changes, level.changes);
  const auto at_end = mergeable_statistics.series(model.at_end)
                          .intervals(Time::zero(), outcome.result.reached)
                          .back();
  EXPECT_EQ(at_end.count, 24u);
  EXPECT_EQ(at_end.sum, outcome.result.metrics[model.at_end.index()].sum);
}

/// They are those of the rows at each LP, and together the figures of the whole.
TEST(Metrics, FiguresOfLpsAreThoseOfTheRows) {
  const MeteredModel model({});
  const Outcome outcome = run({}, "timewarp", options_of(2));
  std::map<LpId, Summary> of_rows;
  for (const auto& line : outcome.rows)
    of_rows[std::get<1>(line)].add(std::bit_cast<double>(std::get<4>(line)[0]));
  const auto& figures = outcome.result.lp_figures[model.signed_value.index()].values;
  std::vector<LpId> lps;
  for (const auto& [lp, one] : figures) {
    lps.push_back(lp);
    EXPECT_EQ(one.count, of_rows[lp].count) << lp;
    EXPECT_EQ(one.sum, of_rows[lp].sum) << lp;
    EXPECT_EQ(one.maximum, of_rows[lp].maximum) << lp;
  }
  EXPECT_EQ(lps, (std::vector<LpId>{3, 4, 5, 6, 7, 11, 12, 13, 14, 16, 17, 18, 19}));
  std::uint64_t count = 0;
  const auto series = outcome.result.mergeable_statistics->lp_series(model.signed_value);
  EXPECT_EQ(series.size(), 8u) << "of node11 to node19, but 15, which has no name";
  for (const auto& one : series.at(11)->intervals(Time::zero(), outcome.result.reached))
    count += one.count;
  EXPECT_EQ(count, of_rows[11].count);
}

/// The areas under the series of an LP's level are those of its figures.
TEST(Metrics, SeriesOfLpsAddUpToTheirLevels) {
  const MeteredModel model({});
  const Outcome outcome = run({}, "timewarp", options_of(2));
  const auto& levels = outcome.result.lp_figures[model.waiting.index()].levels;
  ASSERT_EQ(levels.size(), 24u);
  LevelSummary sum;
  for (const auto& [lp, level] : levels) {
    double area = 0;
    for (const auto& one : outcome.result.mergeable_statistics->lp_series(model.waiting)
                               .at(lp)
                               ->intervals(Time::zero(), outcome.result.reached))
      area += one.mean * static_cast<double>((one.end - one.begin).ticks());
    EXPECT_NEAR(area, level.area, 1e-9 * level.area) << lp;
    sum.merge(level);
  }
  EXPECT_EQ(sum.area, level_of(model.waiting, outcome.result).area);
}

/// The model adds the area up itself.
void expect_right_level(const Outcome& outcome, Duration watched) {
  const MeteredModel model({});
  const LevelSummary& level = level_of(model.waiting, outcome.result);
  const double area = outcome.result.metrics[model.area.index()].sum;
  EXPECT_EQ(level.lps, 24u);
  EXPECT_EQ(level.ticks, 24 * static_cast<double>(watched.ticks()));
  EXPECT_NEAR(level.area * 1e-9, area, 1e-9 * area);
  EXPECT_NEAR(level.total, area / watched.to_seconds(), 1e-9 * level.total);
  EXPECT_GE(level.minimum, 0);
  EXPECT_GT(level.maximum, level.mean());
  EXPECT_GT(level.deviation(), 0);
}

TEST(Metrics, LevelsAreThoseOfTheModel) {
  expect_right_level(run({}, "timewarp", options_of(2)), kUntil);
}

TEST(Metrics, NothingCountsBeforeItIsObserved) {
  const Duration warm_up = Duration::seconds(2);
  const MeteredOptions chosen{.observed = Time::zero() + warm_up};
  const MeteredModel model(chosen);
  const Outcome expected = run(chosen, "sequential", options_of(1));
  const Outcome outcome = run(chosen, "timewarp", options_of(2));
  EXPECT_EQ(outcome.result.fingerprint, expected.result.fingerprint);
  expect_right_level(outcome, kUntil - warm_up);
  std::uint64_t rows = outcome.rows.size();
  EXPECT_EQ(outcome.result.metrics[model.plain.index()].count, rows);
  EXPECT_EQ(outcome.result.mergeable_statistics->histogram(model.signed_value).count(), rows);
  const double seconds = (kUntil - warm_up).to_seconds();
  const auto count = static_cast<double>(outcome.result.metrics[model.delay.index()].count);
  bool has_rate = false;
  for (const MetricFigure& figure : figures_of(model.delay, model, outcome.result)) {
    if (figure.name != "rate") continue;
    has_rate = true;
    EXPECT_DOUBLE_EQ(figure.value.value(), count / seconds);
  }
  EXPECT_TRUE(has_rate);
}

/// A level lasts until where the run was stopped.
TEST(Metrics, EndWhereTheRunEnds) {
  for (const char* engine : {"sequential", "timewarp"}) {
    MeteredModel model({});
    RunControl control;
    StoppingRows rows(control, StoppingRows::after(Time::zero() + Duration::seconds(3)));
    RunOptions options = options_of(2);
    options.until = Time::zero() + Duration::hours(10);
    Outcome outcome;
    outcome.result = find_engine(engine).make()->run(model, options, control);
    ASSERT_EQ(outcome.result.end, RunEnd::interrupted) << engine;
    expect_right_level(outcome, outcome.result.reached - Time::zero());
  }
}

// ---- Mistakes ----------------------------------------------------------------------------------

class Mistaken final : public Model {
 public:
  explicit Mistaken(bool sets) : sets_level(sets) {}
  std::uint64_t lp_count() const override { return 1; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override;
  const bool sets_level;
  Metric level{*this, "busy", "", "", Keep::level};
  Metric value{*this, "delay", "", ""};
};

class Confused final : public LogicalProcess<Confused, Leaving> {
 public:
  explicit Confused(const Mistaken& model) : model_(model) {}
  void start(Context& context) override { context.schedule(0, Duration::seconds(1), Leaving{}); }
  void handle(Context& context, const Leaving&) {
    model_.sets_level ? context.level(model_.value, 1) : context.record(model_.level, 1);
  }

 private:
  const Mistaken& model_;
};

std::unique_ptr<LogicalProcessBase> Mistaken::create(LpId) const {
  return std::make_unique<Confused>(*this);
}

TEST(Metrics, OneKindIsNotTakenForTheOther) {
  const auto fault = [](bool sets_level) {
    return run_model(Mistaken(sets_level), "sequential", options_of(1)).result.fault;
  };
  EXPECT_NE(fault(false).find("it records a value of metric 'busy', which keeps a level"),
            std::string::npos)
      << fault(false);
  EXPECT_NE(fault(true).find("it sets the level of metric 'delay', which keeps values"),
            std::string::npos)
      << fault(true);
}

}  // namespace
}  // namespace orrery::testing
