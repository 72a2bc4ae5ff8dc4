// SPDX-License-Identifier: Apache-2.0
//
// The pcs model: its parts (plan of the cells, Erlang's formula, radio, channel records) one by
// one, its statistics against theory on the sequential engine, and its events one by one on a stage
// that sees each send and can withhold events, which no engine lets a test do.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../../models/pcs/channel_set.h"
#include "../../models/pcs/erlang_b.h"
#include "../../models/pcs/hex_grid.h"
#include "../../models/pcs/radio.h"
#include "core/event_header.h"
#include "core/model_registry.h"
#include "output/metric_figures.h"
#include "run/containment/faults.h"
#include "run/engine.h"
#include "run/execution/send_rules.h"
#include "run/options/model_checks.h"
#include "run/results/finish.h"

namespace {

using namespace orrery;

using Settings = std::vector<std::pair<std::string, std::string>>;

std::unique_ptr<Model> make_pcs(const Settings& settings) {
  auto model = make_model("pcs");
  for (const auto& [name, value] : settings) set_parameter(*model, name, value);
  model->prepare();
  return model;
}

std::vector<std::string> metric_names(const Model& model) {
  std::vector<std::string> names;
  for (const Metric* metric : model.metrics()) names.push_back(metric->name());
  return names;
}

/// Keeps the rows of the table `cells`, each as a map from column to value.
class CellRows final : public RowSink {
 public:
  explicit CellRows(const Model& model) : columns_(model.tables().at(0)->columns()) {}
  void commit(unsigned, RowBuffer& rows) override {
    rows.for_each([this](const Row& row) { add(row); });
    rows.clear();
  }
  void advance(unsigned, const Key&) override {}

  const std::vector<std::map<std::string, double>>& rows() const { return rows_; }
  double sum(const std::string& column) const {
    double sum = 0;
    for (const auto& row : rows_) sum += row.at(column);
    return sum;
  }

 private:
  void add(const Row& row) {
    auto& values = rows_.emplace_back();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      double value = static_cast<double>(static_cast<std::int64_t>(row.cells[i]));
      if (columns_[i].type == ColumnType::real) std::memcpy(&value, &row.cells[i], sizeof value);
      values[columns_[i].name] = value;
    }
  }
  std::vector<Column> columns_;
  std::vector<std::map<std::string, double>> rows_;
};

/// A run on the sequential engine and what it left.
struct Simulation {
  Simulation(const Settings& settings, Duration until, std::uint64_t seed = 1)
      : model(make_pcs(settings)), cells(*model) {
    RunOptions options;
    options.seed = seed;
    options.until = Time::zero() + until;
    RunControl control;
    control.rows = &cells;
    result = find_engine("sequential").make()->run(*model, options, control);
    EXPECT_EQ(result.end, RunEnd::completed) << result.fault;
  }
  const Summary& metric(const std::string& name) const {
    const auto names = metric_names(*model);
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i] == name) return result.metrics.at(i);
    throw std::out_of_range("no metric " + name);
  }

  std::unique_ptr<Model> model;
  CellRows cells;
  RunResult result;
};

class Values final : public Report {
 public:
  explicit Values(const Simulation& run) : run_(run) {
    run.model->report(*this, run.result.reached);
  }
  const Summary& total(const Metric& metric) const override {
    return run_.result.metrics.at(metric.index());
  }
  double quantile(const Metric& metric, double q) const override {
    return quantile_of(metric, run_.result, q).value_or(0);
  }
  const LevelSummary& level(const Metric& metric) const override {
    return level_of(metric, run_.result);
  }
  double seconds(const Metric& metric) const override {
    return observed_seconds(metric, *run_.model, run_.result);
  }
  void value(std::string_view name, double value, std::string_view, std::string_view) override {
    values_[std::string(name)] = value;
  }
  void text(std::string_view, std::string_view, std::string_view) override {}
  bool has(const std::string& name) const { return values_.contains(name); }
  double operator[](const std::string& name) const { return values_.at(name); }

 private:
  const Simulation& run_;
  std::map<std::string, double> values_;
};

/// A tiny engine in the open: handles events in the order of their keys, lets a test look at every
/// send and withhold events.
class Stage final : public Context {
 public:
  struct Sent {
    LpId from, to;
    Duration delay;
  };

  explicit Stage(const Model& model) : model_(model) {
    lp_count_ = static_cast<LpId>(model.lp_count());
    metric_bytes_ = model.metric_bytes();
    for (LpId id = 0; id < lp_count_; ++id) lps_.push_back({model.create(id)});
    for (LpId id = 0; id < lp_count_; ++id) {
      begin(id, Key::start_of(Time::zero()));
      lps_[id].object->start(*this);
      end();
    }
  }

  /// Handles what happens before `until`; events of a type named in `withheld` are lost.
  void run(Time until, const std::set<std::string>& withheld = {}) {
    while (!pending_.empty() && pending_.begin()->first.time() < until) {
      const auto [key, event] = *pending_.begin();
      pending_.erase(pending_.begin());
      const std::string name{lps_[event.to].object->event_name(event.type)};
      ++handled_[name.substr(name.rfind(':') + 1)];
      if (withheld.contains(name.substr(name.rfind(':') + 1))) continue;
      begin(event.to, key);
      ASSERT_TRUE(
          lps_[event.to].object->dispatch(*this, event.type, event.payload.data(), event.bytes));
      end();
    }
  }

  /// Ends the LPs, like an engine at the end of a run.
  void finish(Time at, RowSink& rows) {
    Finisher finisher(model_, at, &rows);
    for (LpId id = 0; id < lp_count_; ++id) finisher.finish(id, *lps_[id].object, 0);
    RunResult result;
    finisher.store(result);
  }

  std::size_t pending() const { return pending_.size(); }
  std::uint64_t handled(const std::string& type) { return handled_[type]; }
  const std::vector<Sent>& sent_abroad() const { return sent_abroad_; }

 private:
  struct Lp {
    std::unique_ptr<LogicalProcessBase> object;
    std::uint64_t random_position = 0, sends = 0;
  };
  struct Event {
    LpId to;
    EventTypeId type;
    std::vector<std::uint64_t> payload;
    std::uint32_t bytes;
  };

  void begin(LpId id, const Key& key) {
    now_ = key.time();
    self_ = id;
    cause_ = key;
    lp_ = lps_[id].object.get();
    random_.begin(1, id, lps_[id].random_position);
  }
  void end() { lps_[self_].random_position = random_.position(); }

  void send(LpId destination, Duration delay, EventTypeId type, std::uint32_t size_word,
            const void* payload) override {
    const Key key = key_of_send(model_, promises_, cause_, self_, ++lps_[self_].sends, destination,
                                lp_count_, delay, minimum_delay_, 1000);
    const std::uint32_t bytes = PayloadSize::of_word(size_word).bytes();
    Event event{destination, type, std::vector<std::uint64_t>((bytes + 7) / 8 + 1), bytes};
    std::memcpy(event.payload.data(), payload, bytes);
    pending_.emplace(key, std::move(event));
    if (destination != self_) sent_abroad_.push_back({self_, destination, delay});
  }
  void append_row(std::uint32_t, std::span<const std::uint64_t>) override {}

  const Model& model_;
  const Promises promises_{model_, communication_of(model_)};
  std::vector<Lp> lps_;
  std::map<Key, Event> pending_;
  std::map<std::string, std::uint64_t> handled_;
  std::vector<Sent> sent_abroad_;
  Key cause_;
};

bool are_neighbours(const pcs::HexGrid& grid, LpId a, LpId b) {
  const auto found = grid.neighbours(a);
  return std::find(found.begin(), found.end(), b) != found.end();
}

// ---- the plan of the cells ----------------------------------------------------------------------

/// Neighbours are exactly the cells whose centres are one cell distance away: this implies that the
/// relation is symmetric, that borders are closed, and that no cell is its own neighbour.
TEST(PcsGrid, NeighboursAreTheCellsAtDistanceOne) {
  for (std::uint32_t cells = 1; cells <= 80; ++cells) {
    const pcs::HexGrid grid(cells);
    for (LpId a = 0; a < cells; ++a) {
      const auto found = grid.neighbours(a);
      EXPECT_EQ(std::set<LpId>(found.begin(), found.end()).size(), found.size());
      for (LpId b = 0; b < cells; ++b) {
        const double distance = std::hypot(grid.x(a) - grid.x(b), grid.y(a) - grid.y(b));
        if (a != b) {
          EXPECT_GT(distance, 0.99) << a << " and " << b << " of " << cells;
        }
        EXPECT_EQ(are_neighbours(grid, a, b), std::fabs(distance - 1.0) < 1e-9)
            << a << " and " << b << " of " << cells;
      }
    }
  }
}

TEST(PcsGrid, InnerCellsHaveSixNeighboursAndCellsHangTogether) {
  const pcs::HexGrid grid(25);
  EXPECT_EQ(grid.columns(), 5u);
  for (const LpId inner : {6, 7, 8, 11, 12, 13, 16, 17, 18})
    EXPECT_EQ(grid.neighbours(inner).size(), 6u);
  for (std::uint32_t cells = 2; cells <= 300; ++cells) {
    const pcs::HexGrid any(cells);
    for (LpId cell = 0; cell < cells; ++cell)
      EXPECT_GE(any.neighbours(cell).size(), 1u) << cell << " of " << cells;
  }
}

TEST(PcsGrid, GraphHasEachPairOfNeighboursOnceInEachDirection) {
  const auto model = make_pcs({{"cells", "37"}, {"handoff_delay", "20ms"}});
  CommunicationGraph graph;
  model->communication(graph);
  const pcs::HexGrid grid(37);
  std::set<std::pair<LpId, LpId>> pairs;
  for (const auto& edge : graph.edges()) {
    EXPECT_TRUE(are_neighbours(grid, edge.from, edge.to));
    EXPECT_TRUE(pairs.emplace(edge.from, edge.to).second);
    EXPECT_TRUE(edge.promised);
    EXPECT_EQ(edge.minimum_delay, Duration::milliseconds(20));
  }
  EXPECT_TRUE(graph.is_complete());
  std::size_t ends = 0;
  for (LpId cell = 0; cell < 37; ++cell) ends += grid.neighbours(cell).size();
  EXPECT_EQ(pairs.size(), ends);
}

TEST(PcsGrid, GraphSaysThatNobodySendsWithoutMobility) {
  const auto model = make_pcs({{"cells", "37"}, {"mobility", "no"}});
  CommunicationGraph graph;
  model->communication(graph);
  EXPECT_TRUE(graph.is_complete());
  EXPECT_TRUE(graph.edges().empty());
}

// ---- Erlang's formula ---------------------------------------------------------------------------

TEST(PcsErlangB, AgreesWithTheClosedForm) {
  EXPECT_DOUBLE_EQ(pcs::erlang_b(1, 1.0), 0.5);
  EXPECT_DOUBLE_EQ(pcs::erlang_b(2, 1.0), 0.2);
  EXPECT_DOUBLE_EQ(pcs::erlang_b(0, 3.0), 1.0);
  for (const std::uint32_t channels : {3u, 10u, 50u}) {
    for (const double load : {0.1, 2.0, 8.0, 40.0, 90.0}) {
      double term = 1, sum = 1;
      for (std::uint32_t c = 1; c <= channels; ++c) sum += term *= load / c;
      EXPECT_NEAR(pcs::erlang_b(channels, load) / (term / sum), 1.0, 1e-12);
    }
  }
}

TEST(PcsErlangB, StaysInRangeForManyChannels) {
  EXPECT_LT(pcs::erlang_b(65'536, 1'000.0), 1e-300);
  EXPECT_NEAR(pcs::erlang_b(65'536, 1e9), 1.0, 1e-4);
}

// ---- radio --------------------------------------------------------------------------------------

TEST(PcsRadio, MinimumPowerReachesTheWantedRatioAndNoMore) {
  const pcs::Radio radio{.wanted_sir = 10.0, .leakage = 1e-4, .max_power_w = 2.0};
  const double path = pcs::Radio::path_gain(0.5) * 0.7, others_w = 3e-11;
  const auto power = radio.minimum_power(path, others_w);
  ASSERT_TRUE(power.reached);
  const double sir = path * power.watts / (pcs::Radio::kNoiseW + 1e-4 * others_w);
  EXPECT_NEAR(sir, 10.0, 1e-9);
  EXPECT_GT(radio.minimum_power(path, 2 * others_w).watts, power.watts);
}

TEST(PcsRadio, PowerStaysInTheRangeOfATransmitter) {
  const pcs::Radio radio{.wanted_sir = 10.0, .leakage = 1e-4, .max_power_w = 2.0};
  const auto faded = radio.minimum_power(0.0, 0.0);
  EXPECT_EQ(faded.watts, 2.0);
  EXPECT_FALSE(faded.reached);
  const auto near = radio.minimum_power(pcs::Radio::path_gain(0.0) * 5, 0.0);
  EXPECT_EQ(near.watts, pcs::Radio::kMinPowerW);
  EXPECT_TRUE(near.reached);
}

// ---- channel records ----------------------------------------------------------------------------

/// Random allocations and releases against std::set.
TEST(PcsChannels, LowestFreeIsTakenAndBusyOnesAreVisited) {
  std::mt19937 random(7);
  pcs::ChannelSet channels;
  std::map<std::uint32_t, std::int64_t> expected;
  for (std::int64_t step = 0; step < 20'000; ++step) {
    const bool grow = random() % 400 > expected.size();
    if (grow) {
      std::uint32_t lowest = 0;
      while (expected.contains(lowest)) ++lowest;
      pcs::BusyChannel record{};
      record.call.started_ticks = step;
      ASSERT_EQ(channels.acquire(record), lowest);
      expected[lowest] = step;
    } else if (!expected.empty()) {
      const auto victim = std::next(expected.begin(), random() % expected.size());
      ASSERT_EQ(channels.release(victim->first).started_ticks, victim->second);
      expected.erase(victim);
    }
    ASSERT_EQ(channels.busy(), expected.size());
  }
  std::map<std::uint32_t, std::int64_t> visited;
  std::as_const(channels).for_each_busy([&](std::uint32_t channel, const pcs::BusyChannel& record) {
    EXPECT_TRUE(visited.empty() || visited.rbegin()->first < channel);
    visited[channel] = record.call.started_ticks;
  });
  EXPECT_EQ(visited, expected);
}

// ---- statistics against theory ------------------------------------------------------------------

struct Load {
  std::uint32_t channels;
  double erlang;
};
class PcsBlocking : public ::testing::TestWithParam<Load> {};

/// Independent replications: the blocking of ten runs with different seeds, each of 64 cells over
/// two hours after a warm-up of ten mean call durations. Their mean has a t distribution with 9
/// degrees of freedom around Erlang's value; the interval is the one of level 99.9 % (t = 4.781).
/// The seeds are fixed, so the test cannot fail by chance from one day to the next.
TEST_P(PcsBlocking, ErlangBLiesInTheConfidenceInterval) {
  constexpr double kStudent9At999 = 4.781;
  constexpr int kRuns = 10;
  const auto [channels, erlang] = GetParam();
  const Settings settings = {{"cells", "64"},
                             {"mobility", "no"},
                             {"channels", std::to_string(channels)},
                             {"inter_arrival", std::to_string(120.0 / erlang) + "s"},
                             {"warm_up", "20min"}};
  Summary blocking, busy;
  double expected = 0;
  for (int seed = 1; seed <= kRuns; ++seed) {
    const Simulation run(settings, Duration::seconds(8400), static_cast<std::uint64_t>(seed));
    const Values values(run);
    expected = values["erlang_b"];
    EXPECT_NEAR(expected, pcs::erlang_b(channels, erlang), 1e-6);
    EXPECT_LT(std::fabs(values["erlang_b_score"]), 4.0);  // the run's own test, one in 16000
    blocking.add(values["blocking_probability"]);
    busy.add(values["carried_load"]);
  }
  const double width = kStudent9At999 / std::sqrt(double{kRuns});
  EXPECT_NEAR(blocking.mean(), expected, width * blocking.deviation());
  // Little's law: the busy channels are the offered load that is not blocked.
  EXPECT_NEAR(busy.mean(), erlang * (1 - expected), width * busy.deviation());
  // The interval says something only if it is narrow.
  EXPECT_LT(width * blocking.deviation(), 0.2 * expected);
}

INSTANTIATE_TEST_SUITE_P(Loads, PcsBlocking,
                         ::testing::Values(Load{1, 1.0}, Load{10, 8.0}, Load{50, 40.0},
                                           Load{20, 40.0}),
                         [](const auto& load) {
                           return std::to_string(load.param.channels) + "channels" +
                                  std::to_string(static_cast<int>(load.param.erlang)) + "erlang";
                         });

TEST(PcsStatistics, CallsLastTwoMinutesAndHandOffsFollowTheResidence) {
  // Without blocking, hand-offs of a call are its duration over the residence: each class leaves a
  // cell at the rate 1 / residence while the call lasts.
  const Simulation run({{"cells", "100"}, {"channels", "1000"}, {"warm_up", "30min"}},
                       Duration::seconds(5400));
  const Summary& duration = run.metric("call_duration");
  EXPECT_NEAR(duration.mean(), 120.0, 4 * 120.0 / std::sqrt(static_cast<double>(duration.count)));
  EXPECT_NEAR(duration.deviation(), 120.0, 2.0);
  EXPECT_NEAR(Values(run)["handoffs_per_call"], 0.5 * 120 / 180 + 0.5 * 120 / 1800, 0.01);
  EXPECT_EQ(run.metric("blocked").sum, 0.0);
}

// ---- nothing gets lost --------------------------------------------------------------------------

class PcsConservation : public ::testing::TestWithParam<Settings> {};

TEST_P(PcsConservation, EveryCallHasExactlyOneFate) {
  Settings settings = {{"cells", "50"}, {"channels", "30"}, {"inter_arrival", "4s"}};
  settings.insert(settings.end(), GetParam().begin(), GetParam().end());
  const Simulation run(settings, Duration::seconds(1800));
  const CellRows& cells = run.cells;
  ASSERT_EQ(cells.rows().size(), 50u);
  const double in_transit = cells.sum("handoffs_out") - cells.sum("handoffs_in");
  EXPECT_GE(in_transit, 0);
  EXPECT_EQ(cells.sum("arrivals"), cells.sum("blocked") + cells.sum("completed") +
                                       cells.sum("dropped") + cells.sum("in_progress") +
                                       in_transit);
  EXPECT_GT(cells.sum("blocked"), 0);
  EXPECT_GT(cells.sum("completed"), 0);
  EXPECT_EQ(cells.sum("arrivals"), run.metric("arrivals").sum);
  EXPECT_EQ(cells.sum("dropped"), run.metric("dropped").sum);
  // Cell by cell too: what got in has got out or is there.
  for (const auto& row : cells.rows()) {
    EXPECT_EQ(row.at("arrivals") - row.at("blocked") + row.at("handoffs_in") - row.at("dropped"),
              row.at("completed") + row.at("handoffs_out") + row.at("in_progress"));
    EXPECT_LE(row.at("in_progress"), 30);
    EXPECT_LE(row.at("mean_busy"), 30);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Variants, PcsConservation,
    ::testing::Values(Settings{}, Settings{{"handoff_delay", "0s"}},
                      Settings{{"handoff_delay", "20s"}}, Settings{{"mobility", "no"}},
                      Settings{{"fading_period", "5s"}},
                      Settings{{"fast_residence", "5s"}, {"fast_share", "1"}}));

/// Without new calls every channel comes free again.
TEST(PcsConservation, NoChannelLeaks) {
  const auto model = make_pcs(
      {{"cells", "20"}, {"channels", "10"}, {"inter_arrival", "6s"}, {"fast_residence", "30s"}});
  Stage stage(*model);
  const Time busy_hour = Time::zero() + Duration::seconds(3600);
  stage.run(busy_hour);
  stage.run(Time::max(), {"CallArrival"});
  EXPECT_EQ(stage.pending(), 0u);
  CellRows cells(*model);
  stage.finish(busy_hour + Duration::seconds(86'400), cells);
  EXPECT_EQ(cells.sum("in_progress"), 0);
  EXPECT_GT(cells.sum("dropped"), 0);
  EXPECT_EQ(cells.sum("arrivals"),
            cells.sum("blocked") + cells.sum("completed") + cells.sum("dropped"));
}

// ---- who sends to whom --------------------------------------------------------------------------

class PcsHandOff : public ::testing::TestWithParam<std::string> {};

TEST_P(PcsHandOff, GoesToNeighboursAndKeepsTheLookahead) {
  const auto model = make_pcs({{"cells", "23"},
                               {"channels", "20"},
                               {"fast_residence", "20s"},
                               {"handoff_delay", GetParam()}});
  Stage stage(*model);
  stage.run(Time::zero() + Duration::seconds(1800));
  const pcs::HexGrid grid(23);
  std::set<std::pair<LpId, LpId>> used;
  for (const Stage::Sent& sent : stage.sent_abroad()) {
    EXPECT_TRUE(are_neighbours(grid, sent.from, sent.to)) << sent.from << " to " << sent.to;
    EXPECT_GE(sent.delay, model->lookahead());
    used.emplace(sent.from, sent.to);
  }
  // Every neighbour is a destination: thousands of hand-offs over some hundred pairs.
  std::size_t pairs = 0;
  for (LpId cell = 0; cell < 23; ++cell) pairs += grid.neighbours(cell).size();
  EXPECT_EQ(used.size(), pairs);
  EXPECT_GT(stage.handled("HandOff"), 5000u);
}

INSTANTIATE_TEST_SUITE_P(Delays, PcsHandOff, ::testing::Values("0s", "10ms", "2s"));

TEST(PcsHandOff, NoneWithoutMobilityOrWithASingleCell) {
  for (const Settings& settings :
       {Settings{{"cells", "9"}, {"mobility", "no"}}, Settings{{"cells", "1"}}}) {
    const auto model = make_pcs(settings);
    Stage stage(*model);
    stage.run(Time::zero() + Duration::seconds(1800));
    EXPECT_TRUE(stage.sent_abroad().empty());
    EXPECT_GT(stage.handled("CallEnd"), 100u);
    EXPECT_EQ(stage.handled("ResidenceEnd"), 0u);
  }
}

TEST(PcsHandOff, CallsInTwoCellsMoveBackAndForth) {
  const Simulation run({{"cells", "2"}, {"fast_residence", "10s"}}, Duration::seconds(1800));
  EXPECT_GT(run.metric("handoffs").sum, 1000);
}

// ---- power, warm-up, seeds ----------------------------------------------------------------------

TEST(PcsPower, GrowsWithTheWantedRatioAndStaysInRange) {
  const Settings base = {{"cells", "16"}};
  const auto with = [&](const char* name, const char* value) {
    Settings settings = base;
    settings.emplace_back(name, value);
    return settings;
  };
  const Simulation usual(base, Duration::seconds(1800));
  const Simulation demanding(with("wanted_sir", "13"), Duration::seconds(1800));
  const Simulation leaky(with("leakage", "-20"), Duration::seconds(1800));
  EXPECT_GE(usual.metric("power").minimum, pcs::Radio::kMinPowerW);
  EXPECT_LE(usual.metric("power").maximum, 2.0);
  EXPECT_GT(demanding.metric("power").mean(), 1.2 * usual.metric("power").mean());
  EXPECT_GT(leaky.metric("power").mean(), 1.2 * usual.metric("power").mean());
  // Power takes no part in who gets a channel: the same draws give the same calls.
  EXPECT_EQ(usual.metric("completed").sum, demanding.metric("completed").sum);
  EXPECT_NE(usual.result.fingerprint, demanding.result.fingerprint);
}

TEST(PcsPower, FadingIsRecalculatedPeriodicallyInEachCell) {
  const auto model = make_pcs({{"cells", "4"}, {"fading_period", "10s"}});
  Stage stage(*model);
  stage.run(Time::zero() + Duration::seconds(1000));
  EXPECT_GE(stage.handled("FadingUpdate"), 4u * 99);
  EXPECT_LE(stage.handled("FadingUpdate"), 4u * 100);
}

TEST(PcsWarmUp, IsLeftOutOfCountsAndAverages) {
  const Settings base = {{"cells", "30"}, {"mobility", "no"}, {"channels", "200"}};
  Settings warm = base;
  warm.emplace_back("warm_up", "30min");
  const Simulation cold_run(base, Duration::seconds(3600)), warm_run(warm, Duration::seconds(3600));
  EXPECT_NEAR(warm_run.metric("arrivals").sum, 0.5 * cold_run.metric("arrivals").sum, 1000);
  // An empty start lacks a load of 40 for 2 minutes out of 60.
  EXPECT_NEAR(warm_run.metric("busy_channels").mean(), 40.0, 0.7);
  EXPECT_NEAR(cold_run.metric("busy_channels").mean(), 40.0 * 58 / 60, 0.7);
}

TEST(PcsSeed, DecidesTheRun) {
  const Settings settings = {{"cells", "30"}, {"fading_period", "30s"}};
  const Simulation a(settings, Duration::seconds(600), 5), b(settings, Duration::seconds(600), 5),
      c(settings, Duration::seconds(600), 6);
  EXPECT_EQ(a.result.fingerprint, b.result.fingerprint);
  EXPECT_NE(a.result.fingerprint, c.result.fingerprint);
}

// ---- bad input ----------------------------------------------------------------------------------

TEST(PcsParameters, OutOfRangeAreRefused) {
  const Settings wrong = {
      {"cells", "0"},           {"cells", "16777217"},     {"channels", "0"},
      {"channels", "65537"},    {"channels", "1.5"},       {"inter_arrival", "0s"},
      {"inter_arrival", "-3s"}, {"call_duration", "0s"},   {"call_duration", "2d"},
      {"fast_share", "1.01"},   {"fast_share", "-0.1"},    {"fast_residence", "0s"},
      {"slow_residence", "x"},  {"handoff_delay", "-1ms"}, {"handoff_delay", "2min"},
      {"fading_period", "-1s"}, {"wanted_sir", "61"},      {"leakage", "1"},
      {"max_power", "0"},       {"warm_up", "-1s"},        {"mobility", "maybe"}};
  for (const auto& [name, value] : wrong) {
    const auto model = make_model("pcs");
    EXPECT_THROW(set_parameter(*model, name, value), UsageError) << name << "=" << value;
  }
}

TEST(PcsParameters, UnknownNamesAreRefusedWithTheNearMatch) {
  const auto model = make_model("pcs");
  try {
    set_parameter(*model, "chanels", "3");
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("'channels'"), std::string::npos) << error.what();
  }
}

}  // namespace
