// SPDX-License-Identifier: Apache-2.0
//
// The traffic model: exact times on networks small enough to compute by hand, conservation of
// vehicles on larger ones, and a sentence for everything that can be wrong with its input.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/model_registry.h"
#include "output/run_record.h"
#include "run/engine.h"
#include "run/execution/promises.h"
#include "run/options/model_checks.h"
#include "sanitizers.h"

namespace {

namespace fs = std::filesystem;
using orrery::Duration;
using orrery::Time;

using Settings = std::vector<std::pair<std::string, std::string>>;

fs::path source_root() {
  return ORRERY_SOURCE_ROOT;  // __FILE__ may be relative, to a folder that is not the test's
}

/// All rows by table; integers and reals alike as doubles.
class Rows final : public orrery::RowSink {
 public:
  explicit Rows(const orrery::Model& model) : model_(model) {}
  void commit(unsigned, orrery::RowBuffer& rows) override {
    rows.for_each([this](const orrery::Row& row) {
      const orrery::Table& table = *model_.tables()[row.table];
      std::map<std::string, double> cells;
      for (std::size_t i = 0; i < row.cells.size(); ++i) {
        const orrery::Column& column = table.columns()[i];
        cells[column.name] = column.type == orrery::ColumnType::integer
                                 ? static_cast<double>(static_cast<std::int64_t>(row.cells[i]))
                                 : std::bit_cast<double>(row.cells[i]);
      }
      tables_[table.name()].push_back(cells);
    });
    rows.clear();
  }
  void advance(unsigned, const orrery::Key&) override {}
  const std::vector<std::map<std::string, double>>& operator[](const std::string& table) {
    return tables_[table];
  }

 private:
  const orrery::Model& model_;
  std::map<std::string, std::vector<std::map<std::string, double>>> tables_;
};

/// A run and what it left.
struct Outcome {
  orrery::RunResult result;
  std::map<std::string, orrery::Summary> metrics;
  std::map<std::string, double> values;
  std::map<std::string, std::vector<std::map<std::string, double>>> tables;
  Duration lookahead;
  std::uint64_t lps = 0;
};

std::unique_ptr<orrery::Model> prepared(const Settings& settings) {
  auto model = orrery::make_model("traffic");
  for (const auto& [name, value] : settings) orrery::set_parameter(*model, name, value);
  model->prepare();
  return model;
}

/// `until_s`: 0 for the model's own horizon.
Outcome run(const Settings& settings, double until_s = 0, std::uint64_t seed = 1) {
  const auto model = prepared(settings);
  orrery::RunOptions options;
  options.seed = seed;
  options.until =
      until_s > 0 ? Time::zero() + Duration::from_seconds(until_s) : model->default_horizon();
  Rows rows(*model);
  orrery::RunControl control;
  control.rows = &rows;
  Outcome outcome;
  outcome.result = orrery::find_engine("sequential").make()->run(*model, options, control);
  EXPECT_EQ(outcome.result.end, orrery::RunEnd::completed) << outcome.result.fault;
  for (const orrery::Metric* metric : model->metrics())
    outcome.metrics[metric->name()] = outcome.result.metrics[metric->index()];
  for (const orrery::DerivedValue& one : orrery::derive_values(*model, outcome.result))
    outcome.values[one.name] = one.value;
  for (const char* table : {"links", "nodes", "trips", "course"})
    outcome.tables[table] = rows[table];
  outcome.lookahead = model->lookahead();
  outcome.lps = model->lp_count();
  return outcome;
}

/// The sentence with which prepare() or a parameter is refused; empty if it is not.
std::string refusal(const Settings& settings) {
  try {
    prepared(settings);
  } catch (const orrery::UsageError& error) {
    return error.what();
  }
  return "";
}

#define EXPECT_MENTIONS(text, part) \
  EXPECT_NE(std::string(text).find(part), std::string::npos) << "in: " << (text)

class Traffic : public testing::Test {
 protected:
  void SetUp() override {
    // The tests also run from build folders outside the source tree.
    setenv("ORRERY_DATA", (source_root() / "models").c_str(), /*overwrite=*/0);
    std::string name = (fs::temp_directory_path() / "orrery-traffic-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  static std::string link(int from, int to, double capacity, double minutes) {
    return std::to_string(from) + "\t" + std::to_string(to) + "\t" + std::to_string(capacity) +
           "\t1\t" + std::to_string(minutes) + "\t0.15\t4\t0\t0\t1\t;\n";
  }
  static std::string network_text(int zones, int nodes, int first_through,
                                  std::initializer_list<std::string> links) {
    std::string text = "<NUMBER OF ZONES> " + std::to_string(zones) + "\n<NUMBER OF NODES> " +
                       std::to_string(nodes) + "\n<FIRST THRU NODE> " +
                       std::to_string(first_through) + "\n<NUMBER OF LINKS> " +
                       std::to_string(links.size()) + "\n<END OF METADATA>\n~ links\n";
    for (const std::string& line : links) text += line;
    return text;
  }
  static std::string trips_text(int zones, const std::string& sections) {
    return "<NUMBER OF ZONES> " + std::to_string(zones) + "\n<END OF METADATA>\n" + sections;
  }
  /// Writes NAME_net.tntp and NAME_trips.tntp and returns the setting for them.
  Settings scenario(const std::string& name, const std::string& net, const std::string& trips) {
    write(name + "_net.tntp", net);
    write(name + "_trips.tntp", trips);
    return {{"network", path(name)}};
  }
  Settings with(Settings settings, const Settings& more) {
    settings.insert(settings.end(), more.begin(), more.end());
    return settings;
  }
  /// Refusal of a network file with this text (with a fine trip table).
  std::string refused_network(const std::string& text) {
    return refusal(scenario("bad", text, trips_text(2, "Origin 1\n2 : 10;\n")));
  }
  /// Refusal of a trip table with this text (with a fine network).
  std::string refused_trips(const std::string& text) {
    return refusal(
        scenario("bad", network_text(2, 3, 1, {link(1, 2, 1000, 1), link(2, 1, 1000, 1)}), text));
  }

  fs::path folder_;
};

// ---- By hand -----------------------------------------------------------------------------------

TEST_F(Traffic, OneVehicleTakesTheFreeFlowTimeOfItsLink) {
  const auto two_nodes = scenario("two", network_text(2, 2, 1, {link(1, 2, 1800, 2.5)}),
                                  trips_text(2, "Origin 1\n 2 : 1.0;\n"));
  const Outcome out = run(
      with(two_nodes, {{"departures", "even"}, {"trips_table", "yes"}, {"time_unit", "minutes"}}));
  ASSERT_EQ(out.tables.at("trips").size(), 1u);
  auto trip = out.tables.at("trips").front();
  EXPECT_EQ(trip["origin"], 1);
  EXPECT_EQ(trip["destination"], 2);
  EXPECT_EQ(trip["links"], 1);
  EXPECT_NEAR(trip["arrival"] - trip["departure"], 150.0, 1e-9);
  EXPECT_DOUBLE_EQ(out.metrics.at("trip_time").sum, 150.0);
  EXPECT_EQ(out.metrics.at("trip_delay").maximum, 0.0);
  EXPECT_EQ(out.lookahead, Duration::seconds(150));
}

TEST_F(Traffic, QueueDischargesAtCapacity) {
  // 1200 vehicles an hour, 3 s apart, meet a stop line that lets one pass every 6 s: the n-th waits
  // n * 3 s, the last one leaves 1200 * 6 s after the first.
  const auto bottleneck = scenario("neck", network_text(2, 2, 1, {link(1, 2, 600, 1)}),
                                   trips_text(2, "Origin 1\n2:1200;\n"));
  const Settings settings = with(bottleneck, {{"departures", "even"}, {"trips_table", "yes"}});
  const Outcome out = run(settings);
  const auto& trips = out.tables.at("trips");
  ASSERT_EQ(trips.size(), 1200u);
  for (std::size_t n = 0; n < trips.size(); ++n) {
    const double time = trips[n].at("arrival") - trips[n].at("departure");
    EXPECT_NEAR(time, 60.0 + 3.0 * static_cast<double>(n), 1e-6) << "vehicle " << n;
  }
  const auto& link = out.tables.at("links").front();
  EXPECT_EQ(link.at("volume"), 1200);
  EXPECT_EQ(link.at("queued"), 0);
  EXPECT_NEAR(link.at("mean_delay"), 3.0 * 1199 / 2, 1e-6);
  EXPECT_NEAR(link.at("max_queue"), 600,
              1);  // half of them are still there when the last one comes
}

TEST_F(Traffic, VehiclesKeepTheirOrderAndMeetAtOneStopLine) {
  // Both routes end on link 3-4, which is the bottleneck.
  const auto merge = scenario(
      "merge",
      network_text(4, 4, 1, {link(1, 3, 9000, 1), link(2, 3, 9000, 1), link(3, 4, 900, 1)}),
      trips_text(4, "Origin 1\n4:900;\nOrigin 2\n4:900;\n"));
  const Outcome out = run(with(merge, {{"departures", "even"}, {"trips_table", "yes"}}));
  const auto& trips = out.tables.at("trips");
  ASSERT_EQ(trips.size(), 1800u);
  for (std::size_t n = 1; n < trips.size(); ++n) {
    EXPECT_GE(trips[n].at("departure"), trips[n - 1].at("departure"));
    EXPECT_NEAR(trips[n].at("arrival") - trips[n - 1].at("arrival"), 4.0, 1e-6);
  }
}

TEST_F(Traffic, SignalsMakeVehiclesWaitButKeepTheCapacity) {
  const auto crossing =
      scenario("signal", network_text(3, 3, 1, {link(1, 3, 900, 1), link(2, 3, 900, 1)}),
               trips_text(3, "Origin 1\n3:437;\nOrigin 2\n3:1800;\n"));
  const Outcome out = run(with(
      crossing, {{"departures", "even"}, {"signals", "yes"}, {"cycle", "80s"}, {"green", "0.4"}}));
  const auto& links = out.tables.at("links");
  ASSERT_EQ(links.size(), 2u);
  // Half loaded: everyone who meets red waits for green; the wait is at most the red time and what
  // it takes to serve those before. Uniform arrivals (HCM): (red^2 / 2) / (cycle * (1 - q/s)).
  const double red = 0.6 * 80, load = 437.0 / (900 / 0.4);
  EXPECT_NEAR(links[0].at("mean_delay"), red * red / 2 / 80 / (1 - load), 1.5);
  // Overloaded: 1800 vehicles at 900 an hour take two hours, so the mean wait is about half an
  // hour.
  EXPECT_NEAR(links[1].at("mean_delay"), 1800, 60);
}

TEST_F(Traffic, ZonesBelowTheFirstThroughNodeAreNotCrossed) {
  const auto settings = [&](int first_through) {
    // 1-2-3 is shorter than 1-4-3, but 2 is a zone.
    return with(scenario("through",
                         network_text(3, 4, first_through,
                                      {link(1, 2, 900, 1), link(2, 3, 900, 1), link(1, 4, 900, 2),
                                       link(4, 3, 900, 2)}),
                         trips_text(3, "Origin 1\n3:1;\n")),
                {{"departures", "even"}});
  };
  EXPECT_DOUBLE_EQ(run(settings(1)).metrics.at("trip_time").sum, 120.0);
  EXPECT_DOUBLE_EQ(run(settings(4)).metrics.at("trip_time").sum, 240.0);
}

TEST_F(Traffic, TiesGoToTheLinkThatStandsFirst) {
  const auto tie = scenario("tie",
                            network_text(4, 4, 1,
                                         {link(1, 3, 900, 1), link(1, 2, 900, 1),
                                          link(2, 4, 900, 1), link(3, 4, 900, 1)}),
                            trips_text(4, "Origin 1\n4:10;\n"));
  const Outcome out = run(with(tie, {{"departures", "even"}, {"routes", "free-flow"}}));
  for (const auto& link : out.tables.at("links")) {
    const bool used = link.at("from") == 3 || link.at("to") == 3;
    EXPECT_EQ(link.at("volume"), used ? 10 : 0);
  }
}

TEST_F(Traffic, LinksWithoutAFreeFlowTimeTakeTheShortestTime) {
  const auto connector = scenario("zero", network_text(2, 2, 1, {link(1, 2, 900, 0)}),
                                  trips_text(2, "Origin 1\n2:1;\n"));
  EXPECT_DOUBLE_EQ(run(with(connector, {{"departures", "even"}})).metrics.at("trip_time").sum, 1.0);
  const Outcome out = run(with(connector, {{"departures", "even"}, {"shortest", "250ms"}}));
  EXPECT_DOUBLE_EQ(out.metrics.at("trip_time").sum, 0.25);
  EXPECT_EQ(out.lookahead, Duration::milliseconds(250));
}

TEST_F(Traffic, EvenDeparturesServeDestinationsInProportion) {
  const auto fork =
      scenario("fork", network_text(3, 3, 1, {link(1, 2, 9000, 1), link(1, 3, 9000, 1)}),
               trips_text(3, "Origin 1\n2:300; 3:100;\n"));
  const Outcome out = run(with(fork, {{"departures", "even"}}));
  EXPECT_NEAR(out.tables.at("links")[0].at("volume"), 300, 3);
  EXPECT_NEAR(out.tables.at("links")[1].at("volume"), 100, 3);
}

// ---- Routes and departures ---------------------------------------------------------------------

TEST_F(Traffic, RoutesDecideWhoWaits) {
  // 1-2-4 takes 2 minutes and lets 600 an hour pass, 1-3-4 takes 3 minutes and lets all pass.
  const auto town = scenario("fork4",
                             network_text(4, 4, 1,
                                          {link(1, 2, 9000, 1), link(2, 4, 600, 1),
                                           link(1, 3, 9000, 1.5), link(3, 4, 9000, 1.5)}),
                             trips_text(4, "Origin 1\n4:1200;\n"));
  const auto outcome = [&](const std::string& routes) {
    return run(with(town, {{"departures", "even"}, {"routes", routes}}));
  };
  Outcome out = outcome("free-flow");
  EXPECT_EQ(out.tables.at("links")[2].at("volume"), 1200);  // 2-4
  EXPECT_NEAR(out.metrics.at("trip_delay").mean(), 1800, 10);
  EXPECT_FALSE(out.values.contains("relative_gap"));

  // t = 1 (1 + 0.15 (v / 600)^4) on 2-4, nearly constant elsewhere: 2 + 0.15 x^4 = 3 at x = 1.607.
  out = outcome("equilibrium");
  EXPECT_NEAR(out.tables.at("links")[2].at("volume"), 600 * std::pow(1 / 0.15, 0.25), 45);
  EXPECT_LE(out.values.at("relative_gap"), 1e-9);

  // Vehicles turn to the longer route when they hear of a wait of a minute, which is late: they
  // come in platoons, and the short one is not always used. But nobody waits for half an hour.
  out = outcome("adaptive");
  EXPECT_NEAR(out.tables.at("links")[2].at("volume"), 550, 150);
  EXPECT_LT(out.metrics.at("trip_delay").mean(), 180);
  EXPECT_EQ(out.values.at("trips_finished"), 1200);
}

TEST_F(Traffic, EquilibriumOfThePeakHourWhateverThePeriod) {
  const auto shares = [&](const Settings& more) {
    const Outcome out = run(with({{"departures", "even"}, {"routes", "equilibrium"}}, more));
    std::vector<double> volumes;
    for (const auto& row : out.tables.at("links"))
      volumes.push_back(row.at("volume") / out.values.at("trips_started"));
    return volumes;
  };
  const auto expected = shares({});
  for (const Settings& more :
       {Settings{{"period", "20min"}}, Settings{{"table_period", "2h"}, {"demand", "2"}},
        Settings{{"profile", "peak"}, {"period", "30min"}}}) {
    const auto found = shares(more);
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 0.002) << i;
  }
}

TEST_F(Traffic, ProfilesSpreadDeparturesAndTheCourseAddsUp) {
  const Outcome out = run({{"demand", "0.1"},
                           {"departures", "even"},
                           {"profile", "peak"},
                           {"period", "1h"},
                           {"interval", "10min"}});
  EXPECT_NEAR(out.values.at("trips_started"), 0.75 * 36060, 24);
  std::map<double, double> started;
  double distance = 0, finished = 0;
  for (const auto& row : out.tables.at("course")) {
    started[row.at("end")] += row.at("started");
    distance += row.at("distance");
    finished += row.at("finished");
  }
  EXPECT_NEAR(started[600], 36060 / 6.0 * 0.375, 60);
  EXPECT_NEAR(started[1800], 36060 / 6.0, 60);
  EXPECT_NEAR(started[3600], 36060 / 6.0 * 0.375, 60);
  EXPECT_NEAR(distance, out.values.at("vehicle_distance"), 1e-6);
  EXPECT_EQ(finished, out.values.at("trips_finished"));
  EXPECT_TRUE(run({{"demand", "0.01"}}).tables.at("course").empty());
}

TEST_F(Traffic, WhatRoutesCannotBeIsRefused) {
  EXPECT_MENTIONS(refusal({{"routes", "fastest"}}), "routes");
  for (const char* routes : {"equilibrium", "adaptive"})
    EXPECT_MENTIONS(refusal({{"network", "grid"}, {"routes", routes}}),
                    "keeps no tables for routes=" + std::string(routes));
  EXPECT_MENTIONS(refusal({{"equilibrium_rounds", "1"}}),
                  "the equilibrium of routes was not reached: its relative gap is 0");
  EXPECT_MENTIONS(refusal({{"equilibrium_rounds", "1"}}), "after 1 rounds, 1e-09 is wanted");
  EXPECT_MENTIONS(refusal({{"toll_factor", "much"}}),
                  "'toll_factor' cannot be 'much': auto or a number of at least 0");
  EXPECT_MENTIONS(refusal({{"distance_factor", "-1"}}), "auto or a number of at least 0");
  for (const char* b_and_power : {"1e308 4", "0.15 300"}) {
    const std::string line = std::string("1 2 1.5 1 1 ") + b_and_power + " 0 0 1 ;\n";
    EXPECT_MENTIONS(refusal(scenario("steep", network_text(2, 2, 1, {line}),
                                     trips_text(2, "Origin 1\n2:90;\n"))),
                    "function of the link from 1 to 2 is beyond all numbers");
  }
  const auto falling = scenario("falling", network_text(2, 2, 1, {"1 2 900 1 1 -0.15 4 0 0 1 ;\n"}),
                                trips_text(2, "Origin 1\n2:4;\n"));
  EXPECT_MENTIONS(refusal(falling), "falling_net.tntp:7: B = -0.15 with power 4 is no");
  EXPECT_EQ(refusal(with(falling, {{"routes", "free-flow"}})), "");
  EXPECT_EQ(refusal(with(falling, {{"routes", "adaptive"}})), "");
}

// ---- What files mean ---------------------------------------------------------------------------

/// A line of a network like Barcelona's or Winnipeg's: capacity 1, the real one in B and power.
std::string hidden_link(int from, int to, double minutes, double capacity, double power) {
  const double b = capacity == 0 ? 0 : 0.15 * std::pow(capacity, -power);
  char line[200];
  std::snprintf(line, sizeof line, "\t%d\t%d\t1\t%.14f\t%.14f\t%.14E\t%g\t0\t0\t1\t;\n", from, to,
                minutes, minutes, b, capacity == 0 ? 0 : power);
  return line;
}

TEST_F(Traffic, CapacitiesHiddenInBAndPowerAreDerived) {
  // 1 and 4 are zones with connectors, 2 to 3 is the street.
  const auto hidden =
      scenario("hidden",
               network_text(2, 4, 3,
                            {hidden_link(1, 3, 0.5, 0, 0), hidden_link(3, 4, 1, 600, 4.446),
                             hidden_link(4, 2, 0.5, 0, 0)}),
               trips_text(2, "Origin 1\n2:1200;\n"));
  const Outcome out = run(with(hidden, {{"departures", "even"}, {"trips_table", "yes"}}));
  const auto& links = out.tables.at("links");
  ASSERT_EQ(links.size(), 3u);  // by their downstream nodes: 2, 3, 4
  EXPECT_TRUE(std::isinf(links[0].at("capacity")));
  EXPECT_EQ(links[0].at("lanes"), 1);
  EXPECT_NEAR(links[2].at("capacity"), 600, 1e-6);
  // As in QueueDischargesAtCapacity: arrivals every 3 s, crossings every 6 s, none on connectors.
  const auto& trips = out.tables.at("trips");
  ASSERT_EQ(trips.size(), 1200u);
  for (std::size_t n = 0; n < trips.size(); ++n) {
    const double time = trips[n].at("arrival") - trips[n].at("departure");
    EXPECT_NEAR(time, 120.0 + 3.0 * static_cast<double>(n), 1e-4) << "vehicle " << n;
  }
  const auto model = prepared(hidden);
  ASSERT_EQ(model->notes().size(), 1u);
  EXPECT_MENTIONS(model->notes()[0], "hidden_net.tntp: the capacity of every link is 1");
  EXPECT_MENTIONS(model->notes()[0], "600 to 600 vehicles per hour; on 2 of 3 links B is 0");
}

TEST_F(Traffic, NetworksWithoutAnyCapacityAreRefused) {
  const auto network = [&](const std::string& b_and_power) {
    return scenario("one", network_text(2, 2, 1, {"1 2 1 1 1 " + b_and_power + " 0 0 1 ;\n"}),
                    trips_text(2, "Origin 1\n2:4;\n"));
  };
  EXPECT_MENTIONS(refusal(network("0.15 4")),
                  "one_net.tntp:7: the capacity of every link of this file is 1");
  EXPECT_MENTIONS(refusal(network("0.15 4")), "write the capacities into the third column");
  EXPECT_MENTIONS(refusal(network("1e9 1")), "B = 1e+09 with power 1");
  EXPECT_MENTIONS(refusal(network("1e-9 0")), "with power 0");
  EXPECT_MENTIONS(refusal(network("1e-9 0")), "both must be above 0");
  EXPECT_MENTIONS(refusal(network("-1e-9 4")), "B = -1e-09");
  EXPECT_EQ(refusal(network("0 0")), "");
}

TEST_F(Traffic, LinksWithoutCapacityAreClosed) {
  // As in Munich: the other direction of a one-way street, with no time either. Taken as free, it
  // would be the way from 1 to 2.
  const std::string closed = "1 2 0 0.75 0 0.15 4 0 0 0 ;\n";
  const auto munich = scenario(
      "munich",
      network_text(2, 3, 1, {closed, link(2, 1, 900, 1), link(1, 3, 900, 1), link(3, 2, 900, 1)}),
      trips_text(2, "Origin 1\n2:4;\nOrigin 2\n1:4;\n"));
  const Outcome out = run(with(munich, {{"departures", "even"}, {"trips_table", "yes"}}));
  EXPECT_EQ(out.tables.at("links").size(), 3u);
  for (auto trip : out.tables.at("trips")) EXPECT_EQ(trip["links"], trip["origin"] == 1 ? 2 : 1);
  const auto notes = prepared(munich)->notes();
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_MENTIONS(notes[0], "munich_net.tntp:7: the capacity is 0, as on 1 of 4 links: nobody can");
  // Where the time does not depend on the capacity, there is none to wait for.
  const auto free =
      scenario("free", network_text(2, 2, 1, {"1 2 0 1 1 0 4 0 0 0 ;\n", link(2, 1, 900, 1)}),
               trips_text(2, "Origin 1\n2:4;\n"));
  EXPECT_TRUE(std::isinf(run(free).tables.at("links")[1].at("capacity")));
  EXPECT_MENTIONS(prepared(free)->notes().at(0), "on 1 of 2 links capacity and B are 0");
}

TEST_F(Traffic, CapacityOfOneIsKeptWhereOthersDiffer) {
  const auto settings =
      scenario("real", network_text(2, 2, 1, {link(1, 2, 1, 1), link(2, 1, 900, 1)}),
               trips_text(2, "Origin 1\n2:2;\n"));
  const Outcome out = run(with(settings, {{"departures", "even"}}));
  EXPECT_EQ(out.tables.at("links")[1].at("capacity"), 1);
}

TEST_F(Traffic, LanesAndCapacityPerLaneAreReadByTheNamesOfTheColumns) {
  const auto outcome = [&](const std::string& names) {
    std::string net = network_text(2, 2, 1, {"1 2 900 1 1 0.15 4 50 40 3\n"});
    net.replace(net.find("~ links"), 7, "~" + names);
    return run(with(scenario("lanes", net, trips_text(2, "Origin 1\n2:2;\n")),
                    {{"departures", "even"}}))
        .tables.at("links")[0];
  };
  const std::string end = "\tlength\tfftt\talpha\tbeta\tspeed\tcritical speed\tlanes";
  auto total = outcome("from\tto\ttotal capacity" + end);
  EXPECT_EQ(total["capacity"], 900);
  EXPECT_EQ(total["lanes"], 3);
  auto per_lane = outcome("from\tto\tCapacity (veh/h/lane)" + end);
  EXPECT_EQ(per_lane["capacity"], 2700);
  EXPECT_EQ(per_lane["lanes"], 3);
  auto unnamed =
      outcome(" init_node term_node capacity length free_flow_time b power speed toll type");
  EXPECT_EQ(unnamed["capacity"], 900);
  EXPECT_EQ(unnamed["lanes"], 1);  // 900 by 1800, at least one
}

TEST_F(Traffic, CapacityPerLaneNeedsLanes) {
  std::string net = network_text(2, 2, 1, {link(1, 2, 900, 1)});
  net.replace(net.find("~ links"), 7,
              "~ from to capacity_per_lane length time b power speed toll type");
  EXPECT_MENTIONS(refused_network(net), "capacities are those of one lane, but none is 'lanes'");
  net = network_text(2, 2, 1, {"1 2 900 1 1 0.15 4 50 40 0 ;\n"});
  net.replace(net.find("~ links"), 7,
              "~ from to capacity/lane length time b power speed toll lanes");
  EXPECT_MENTIONS(refused_network(net), ":7: a number of lanes is expected in column 10, found 0");
}

TEST_F(Traffic, NodesKeepTheNumbersOfTheirFile) {
  write("munich_node.tntp", "75674 1 0 ;\n1000000 3 0 ;\n76124 2 0;\n");
  const auto munich = scenario(
      "munich",
      network_text(3, 3, 75675, {link(75674, 76124, 900, 1), link(76124, 1000000, 900, 1)}),
      trips_text(3, "Origin 75674\n1000000:3;\n"));
  const Outcome out = run(with(munich, {{"departures", "even"}, {"trips_table", "yes"}}));
  EXPECT_EQ(out.lps, 3u);
  ASSERT_EQ(out.tables.at("links").size(), 2u);
  EXPECT_EQ(out.tables.at("links")[0].at("from"), 75674);
  EXPECT_EQ(out.tables.at("links")[0].at("to"), 76124);
  EXPECT_EQ(out.tables.at("nodes")[2].at("node"), 1000000);
  EXPECT_EQ(out.tables.at("nodes")[2].at("x"), 3);
  ASSERT_EQ(out.tables.at("trips").size(), 3u);
  EXPECT_EQ(out.tables.at("trips")[0].at("origin"), 75674);
  EXPECT_EQ(out.tables.at("trips")[0].at("destination"), 1000000);
  write("munich_trips.tntp", trips_text(3, "Origin 1\n75674:3;\n"));
  EXPECT_MENTIONS(refusal(munich),
                  "from zone 1 are given, but the network has no node for it: its "
                  "zones are its 3 nodes from 75674 to 1000000");
  write("munich_trips.tntp", trips_text(3, "Origin 1000000\n75674:3;\n"));
  EXPECT_MENTIONS(refusal(munich), "1000000 to 75674");  // no way back
  write("munich_node.tntp", "75674 1 0 ;\n1000000 3 0 ;\n");
  EXPECT_MENTIONS(refusal(munich), "node 76124 is missing");
}

TEST_F(Traffic, TotalsOfTheMetadataAreCompared) {
  const auto table = [](const std::string& total) {
    return "<NUMBER OF ZONES> 2\n<TOTAL OD FLOW> " + total +
           "\n<END OF METADATA>\nOrigin 1\n1:7; 2:10.5;\n";
  };
  EXPECT_EQ(refused_trips(table("17.5")), "");
  EXPECT_EQ(refused_trips(table("1.75000e+001")), "");
  EXPECT_MENTIONS(refused_trips(table("35")),
                  "bad_trips.tntp: the trips add up to 17.5, but '<TOTAL OD FLOW>' says 35");
  EXPECT_MENTIONS(refused_trips(table("much")), "<TOTAL OD FLOW> is expected as a number");
  EXPECT_MENTIONS(refused_trips(trips_text(3, "Origin 1\n2:1;\n")),
                  "'<NUMBER OF ZONES>' is 3, but 2 in the network " + path("bad_net.tntp") +
                      "; do the two files belong together?");
}

TEST_F(Traffic, ImplausibleInputIsNoted) {
  const auto notes = [&](const std::string& net, const std::string& trips) {
    return prepared(scenario("odd", net, trips))->notes();
  };
  const std::string few = trips_text(2, "Origin 1\n2:10;\n");
  EXPECT_TRUE(notes(network_text(2, 2, 1, {link(1, 2, 900, 1)}), few).empty());
  // 1 km in a minute, and in 0.2 minutes.
  auto found = notes(
      network_text(2, 2, 1, {link(1, 2, 900, 1), link(2, 1, 900, 1), link(2, 1, 900, 0.2)}), few);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_MENTIONS(found[0], "above 250 km/h on 1 of 3 links, 300 km/h on that of line 9;");
  found = notes(network_text(2, 2, 1, {link(1, 2, 10, 1), link(2, 1, 900, 1)}),
                trips_text(2, "Origin 1\n2:2400;\n"));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_MENTIONS(found[0],
                  "the last queue takes 10 days to clear: 2400 vehicles want to pass the "
                  "link from 1 to 2, which lets 10 an hour pass");
}

// ---- Sioux Falls -------------------------------------------------------------------------------

TEST_F(Traffic, TripsInAreTripsOut) {
  const Outcome out = run({{"demand", "0.3"}});
  EXPECT_NEAR(out.values.at("trips_started"), 0.3 * 360600, 5 * std::sqrt(0.3 * 360600));
  EXPECT_EQ(out.values.at("trips_finished"), out.values.at("trips_started"));
  EXPECT_EQ(out.values.at("trips_in_progress"), 0);
  EXPECT_EQ(out.values.at("vehicles_queued"), 0);
  EXPECT_EQ(out.lps, 24u);
  EXPECT_EQ(out.tables.at("links").size(), 76u);
  EXPECT_EQ(out.tables.at("nodes").size(), 24u);
}

TEST_F(Traffic, AHorizonThatCutsLosesNoVehicle) {
  const Outcome out = run({{"demand", "0.3"}, {"trips_table", "yes"}}, 2700);
  const double started = out.values.at("trips_started"), finished = out.values.at("trips_finished");
  const double in_progress = out.values.at("trips_in_progress");
  EXPECT_EQ(started, finished + in_progress);
  EXPECT_GT(in_progress, out.values.at("vehicles_queued"));  // the rest is driving
  EXPECT_GT(out.values.at("vehicles_queued"), 0);
  EXPECT_EQ(static_cast<double>(out.tables.at("trips").size()), finished);
  double queued = 0;
  for (const auto& link : out.tables.at("links")) queued += link.at("queued");
  EXPECT_EQ(queued, out.values.at("vehicles_queued"));
}

TEST_F(Traffic, WithoutCompanyTripsTakeTheShortestPath) {
  const Outcome out = run({{"demand", "0.0005"}, {"trips_table", "yes"}});
  ASSERT_GT(out.metrics.at("trip_time").count, 100u);
  EXPECT_LT(out.metrics.at("trip_delay").mean(), 0.1);
  EXPECT_GE(out.metrics.at("trip_delay").minimum, 0.0);
  for (const auto& trip : out.tables.at("trips")) {
    // From the published figures: 1-2 takes 6 min, 13-24 takes 4 min, 10-16 takes 4 min.
    const auto pair = std::pair(trip.at("origin"), trip.at("destination"));
    const double minutes = (trip.at("arrival") - trip.at("departure")) / 60;
    if (pair == std::pair(1.0, 2.0)) {
      EXPECT_NEAR(minutes, 6, 0.1);
    }
    if (pair == std::pair(13.0, 24.0)) {
      EXPECT_NEAR(minutes, 4, 0.1);
    }
    if (pair == std::pair(10.0, 16.0)) {
      EXPECT_NEAR(minutes, 4, 0.1);
    }
  }
}

TEST_F(Traffic, RunsAreReproducible) {
  const Settings settings{{"demand", "0.05"}};
  const auto first = run(settings, 0, 7).result.fingerprint;
  EXPECT_EQ(run(settings, 0, 7).result.fingerprint, first);
  EXPECT_NE(run(settings, 0, 8).result.fingerprint, first);
}

TEST_F(Traffic, PeriodAndTablePeriodScaleTheDemand) {
  const Settings even{{"departures", "even"}, {"demand", "0.1"}};
  const double hour = run(even).values.at("trips_started");
  EXPECT_NEAR(hour, 36060, 24);
  EXPECT_NEAR(run(with(even, {{"period", "30min"}})).values.at("trips_started"), 18030, 24);
  EXPECT_NEAR(run(with(even, {{"table_period", "2h"}})).values.at("trips_started"), 18030, 24);
}

TEST_F(Traffic, CommunicationFollowsTheRoads) {
  const auto model = prepared({});
  orrery::CommunicationGraph graph;
  model->communication(graph);
  EXPECT_EQ(graph.edges().size(), 76u);
  std::uint32_t heaviest = 0;
  for (const auto& edge : graph.edges()) {
    heaviest = std::max(heaviest, edge.weight);
    EXPECT_TRUE(edge.promised);
    EXPECT_GE(edge.minimum_delay, model->lookahead());
  }
  EXPECT_GT(heaviest, 1000u);
  EXPECT_TRUE(graph.is_complete());
}

/// The promise for a pair of nodes is what the shortest link between them keeps; where times are
/// reported, what the shortest in either direction does.
TEST_F(Traffic, PromisesHoldForAllLinksOfAPair) {
  const Settings pair =
      with(scenario("pair",
                    network_text(2, 3, 1,
                                 {link(1, 3, 900, 4), link(1, 3, 900, 3), link(3, 1, 900, 2),
                                  link(3, 2, 900, 5), link(2, 3, 900, 5)}),
                    trips_text(2, "Origin 1\n2 : 30;\nOrigin 2\n1 : 30;\n")),
           {{"time_unit", "minutes"}});
  const auto least = [&](const char* routes, orrery::LpId from, orrery::LpId to) {
    const auto model = prepared(with(pair, {{"routes", routes}}));
    return orrery::Promises(*model, orrery::communication_of(*model)).minimum_delay(from, to);
  };
  EXPECT_EQ(least("free-flow", 0, 2), Duration::seconds(180));
  EXPECT_EQ(least("free-flow", 2, 0), Duration::seconds(120));
  EXPECT_EQ(least("free-flow", 0, 1), std::nullopt);
  EXPECT_EQ(least("adaptive", 0, 2), Duration::seconds(120));
  EXPECT_EQ(least("adaptive", 2, 0), Duration::seconds(120));
  for (const char* routes : {"free-flow", "equilibrium", "adaptive"})
    EXPECT_GT(run(with(pair, {{"routes", routes}})).result.committed, 100u) << routes;
}

// ---- Grid --------------------------------------------------------------------------------------

TEST_F(Traffic, GridKeepsItsVehiclesAndDistances) {
  const Outcome out = run({{"network", "grid"}, {"grid", "6"}, {"trips_table", "yes"}});
  EXPECT_EQ(out.lps, 36u);
  EXPECT_EQ(out.tables.at("links").size(), 4u * 6 * 5);
  EXPECT_NEAR(out.values.at("trips_started"), 11 * 600, 5 * std::sqrt(11 * 600));
  EXPECT_EQ(out.values.at("trips_in_progress"), 0);
  EXPECT_EQ(out.lookahead, Duration::from_seconds(14.4));
  double blocks = 0;
  for (const auto& trip : out.tables.at("trips")) {
    const int from = static_cast<int>(trip.at("origin")) - 1;
    const int to = static_cast<int>(trip.at("destination")) - 1;
    EXPECT_NE(from, to);
    EXPECT_TRUE(from % 6 == 0 || from / 6 == 0) << "origin " << from;
    EXPECT_TRUE(to % 6 == 5 || to / 6 == 5) << "destination " << to;
    EXPECT_EQ(trip.at("links"), std::abs(from % 6 - to % 6) + std::abs(from / 6 - to / 6));
    blocks += trip.at("links");
  }
  EXPECT_NEAR(out.values.at("vehicle_distance"), blocks * 0.2, 1e-6);
}

TEST_F(Traffic, LargeGridsNeedNoTables) {
  const auto model = prepared({{"network", "grid"}, {"grid", "300"}});
  EXPECT_EQ(model->lp_count(), 90000u);
}

// ---- Networks of the TNTP collection, where they are -------------------------------------------

class Collection : public Traffic {
 protected:
  void SetUp() override {
    Traffic::SetUp();
    const char* given = std::getenv("ORRERY_TNTP");
    collection_ = given != nullptr ? fs::path(given)
                                   : source_root().parent_path() / "shared" / "data" / "tntp";
    if (!fs::exists(collection_)) {
      GTEST_SKIP() << "no networks at " << collection_.string()
                   << "; set ORRERY_TNTP to a folder with files of the TNTP collection";
    }
  }
  Settings network(const std::string& name) const {
    return {{"network", (collection_ / name).string()}};
  }
  fs::path collection_;
};

TEST_F(Collection, SiouxFallsEqualsTheOneThatShips) {
  const Settings settings{{"demand", "0.02"}, {"departures", "even"}};
  const Outcome theirs = run(with(network("SiouxFalls"), settings));
  const Outcome ours = run(settings);
  // Our capacities are rounded to 0.01 vehicles an hour, so the fingerprints may differ.
  EXPECT_EQ(theirs.values.at("trips_finished"), ours.values.at("trips_finished"));
  EXPECT_NEAR(theirs.metrics.at("trip_time").mean(), ours.metrics.at("trip_time").mean(), 0.01);
  EXPECT_NEAR(theirs.values.at("vehicle_distance"), ours.values.at("vehicle_distance"), 1e-6);
}

TEST_F(Collection, Anaheim) {
  const Outcome out = run(with(network("Anaheim"), {{"demand", "0.1"}}));
  EXPECT_EQ(out.lps, 416u);
  EXPECT_EQ(out.values.at("trips_in_progress"), 0);
  EXPECT_NEAR(out.values.at("trips_started"), 10469.44, 5 * std::sqrt(10469.44));
  EXPECT_NEAR(out.values.at("mean_speed"), 77, 10);  // the file says lengths are feet
}

TEST_F(Collection, ChicagoSketch) {
  const Outcome out = run(with(network("ChicagoSketch"), {{"demand", "0.02"}}));
  EXPECT_EQ(out.lps, 933u);
  EXPECT_EQ(out.values.at("trips_in_progress"), 0);
  EXPECT_NEAR(out.values.at("trips_within_zones"), 0.02 * 123414, 1);
  EXPECT_EQ(out.lookahead, Duration::seconds(1));  // its connectors take no time
}

TEST_F(Collection, BerlinCenterNeedsItsUnits) {
  if (orrery::testing::kSanitizers) GTEST_SKIP() << "one thread reads it, for minutes here";
  EXPECT_MENTIONS(refusal(network("berlin-center")), "set time_unit");
  const Outcome out =
      run(with(network("berlin-center"),
               {{"demand", "0.05"}, {"time_unit", "3"}, {"length_unit", "meters"}}));
  EXPECT_EQ(out.lps, 12981u);
  EXPECT_EQ(out.values.at("trips_in_progress"), 0);
  EXPECT_GT(out.values.at("mean_speed"), 30);
  EXPECT_LT(out.values.at("mean_speed"), 60);
}

// ---- Bad input ---------------------------------------------------------------------------------

TEST_F(Traffic, MissingFilesAreNamed) {
  EXPECT_MENTIONS(refusal({{"network", path("nowhere")}}), "nowhere_net.tntp");
  EXPECT_MENTIONS(refusal({{"network", "sioux-fals"}}), "neither sioux-falls nor grid");
  EXPECT_MENTIONS(refusal({{"net_file", path("net")}, {"trips_file", path("trips")}}),
                  "cannot read '" + path("net") + "': No such");
  write("half_net.tntp", network_text(2, 2, 1, {link(1, 2, 900, 1)}));
  EXPECT_MENTIONS(refusal({{"network", path("half")}}), "half_trips.tntp': No such file");
}

TEST_F(Traffic, FilesThatDoNotBelongTogetherAreRefused) {
  write("alone_net.tntp", network_text(2, 2, 1, {link(1, 2, 900, 1)}));
  EXPECT_MENTIONS(refusal({{"net_file", path("alone_net.tntp")}}), "give trips_file as well");
  EXPECT_MENTIONS(refusal({{"network", "grid"}, {"trips_file", "x"}}), "trips_file='x' would not");
  EXPECT_MENTIONS(refusal({{"network", "grid"}, {"node_file", "x"}}), "node_file='x' would not");
}

TEST_F(Traffic, WhatIsNoFileIsRefused) {
  const auto refused = [&](const std::string& trips) { return refusal({{"trips_file", trips}}); };
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_MENTIONS(refused(path("pipe")), "it is a pipe, a file is expected");
  EXPECT_MENTIONS(refused(folder_.string()), "it is a directory, a file is expected");
  EXPECT_MENTIONS(refused("/dev/zero"), "it is a device, a file is expected");
  EXPECT_MENTIONS(refused(write("nothing", "")), "it is empty");
  EXPECT_MENTIONS(refused(write("wide", std::string("\xff\xfeO\0", 4))), "save it as UTF-8");
  EXPECT_MENTIONS(refused(write("binary", std::string("\x7f"
                                                      "ELF\x1b[31m\0\x02",
                                                      11))),
                  "binary:1: a metadata line such as");
  EXPECT_EQ(refused(write("binary", "\x1b[31m")).find('\x1b'), std::string::npos);
}

TEST_F(Traffic, AByteOrderMarkIsSkipped) {
  const auto marked =
      scenario("marked", "\xef\xbb\xbf" + network_text(2, 2, 1, {link(1, 2, 900, 1)}),
               "\xef\xbb\xbf" + trips_text(2, "Origin 1\n2:4;\n"));
  EXPECT_EQ(refusal(marked), "");
}

TEST_F(Traffic, TooManyVehiclesAreRefused) {
  EXPECT_MENTIONS(refused_trips(trips_text(2, "Origin 1\n2:1e18;\n")),
                  "bad_trips.tntp and demand=1 make 1e+18 vehicles depart; at most 1e+09");
  EXPECT_MENTIONS(refusal({{"demand", "10000"}}), "demand=10000 make 3.61e+09 vehicles");
  EXPECT_MENTIONS(refusal({{"network", "grid"}, {"grid_rate", "1e6"}, {"demand", "1e6"}}),
                  "grid_rate and demand=1e+06 make 1.9e+13 vehicles");
}

TEST_F(Traffic, MalformedNetworkFilesAreRefusedByLine) {
  const std::string head = "<NUMBER OF ZONES> 2\n<NUMBER OF NODES> 2\n<END OF METADATA>\n";
  const std::string tail = " 0.15 4 0 0 1 ;\n";
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "cannot read '" + path("bad_net.tntp") + "': it is empty"},
      {"1 2 900\n", ":1: a metadata line such as"},
      {"<NUMBER OF ZONES> 2\n", ":1: '<END OF METADATA>' is expected"},
      {"<NUMBER OF ZONES> two\n",
       ":1: <NUMBER OF ZONES> is expected as a whole number, found 'two'"},
      {"<NUMBER OF ZONES>\n", "found nothing"},
      {"<NUMBER OF ZONES> 2\n<END OF METADATA>\n", "a line '<NUMBER OF NODES> n'"},
      {"<NUMBER OF ZONES> 3\n<NUMBER OF NODES> 2\n<END OF METADATA>\n", "at most as many zones"},
      {"<NUMBER OF ZONES> 2\n<NUMBER OF ZONES> 3\n", ":2: '<NUMBER OF ZONES>' is given a second"},
      {"<NUMBER OF ZONES> 2\n1\t2\t900\n", "found '1 2 900'"},
      {head, "links are expected after the metadata, found none"},
      {head + "1 3 900 1 1" + tail + "2 3 900 1 1" + tail,
       ":4: the second column (term node) is expected to be a node from 1 to 2, found 3; other "
       "numbers are possible if '<NUMBER OF NODES>' is the number of nodes that the links name, 3"},
      {head + "0 2 900 1 1" + tail, "a node from 1 to 2, found 0"},
      {head + "1 1 900 1 1" + tail, "found one from 1 to itself"},
      {head + "1 2 -900 1 1" + tail, ":4: a capacity above 0"},
      {head + "1 2 1e-9 1 1" + tail, "or 0 for a closed road, is expected, found 1e-09"},
      {head + "1 2 25,900 1 1" + tail, "found '25,900' (write numbers with a decimal point"},
      {head + "1 2 900 -1 1" + tail, "(length) must not be negative, found -1"},
      {head + "1 2 900 1 -2" + tail, "(free flow time) must not be negative, found -2"},
      {head + "1 2 900 1 nan" + tail, "is expected as a number, found 'nan'"},
      {head + "1 2 900 0 1e99" + tail, "at most 30 days"},
      {head + "1 2 900 1 ;\n",
       "the fifth column (free flow time) is expected as a number, found ';'"},
      {head + "1 2 900 1 1 0.15 4\n",
       "the eighth column (speed) is expected as a number, found nothing"},
      {head + "1 2 900 1 1 0.15 4 0 0 1 2 ;\n", "';' is expected at the end of a link, found '2'"},
      {head + "1 2 900 1 1 0.15 4 0 0 1 ; 2 1\n",
       "one link a line is expected, found more text: '2'"},
      {network_text(2, 2, 1, {link(1, 2, 900, 1)}) + link(2, 1, 900, 1),
       "'<NUMBER OF LINKS>' is 1, but the number of links in the file is 2"},
  };
  for (const auto& [text, expected] : cases) {
    const std::string sentence = refused_network(text);
    EXPECT_MENTIONS(sentence, expected);
    EXPECT_MENTIONS(sentence, "bad_net.tntp");
  }
}

TEST_F(Traffic, MalformedTripTablesAreRefusedByLine) {
  const std::string head = "<NUMBER OF ZONES> 2\n<END OF METADATA>\n";
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "it is empty"},
      {"<NUMBER OF ZONES> 2\n", "is expected, found the end of the file"},
      {"<END OF METADATA>\n", "a line '<NUMBER OF ZONES> n'"},
      {head + "2 : 10;\n",
       ":3: a line 'Origin n' is expected before the first trips, found '2 : 10;'"},
      {head + "Orgin 1\n", ":3: 'Origin' is expected before the trips of a zone, found 'Orgin'"},
      {head + "Origin one\n", "found 'one'"},
      {head + "Origin 1\n2 = 10;\n",
       ":4: ':' is expected between destination and trips, found '='"},
      {head + "Origin 1\n2 : ten;\n",
       ":4: the number of trips is expected as a number, found 'ten'"},
      {head + "Origin 1\n2 : -10;\n", ":4: the number of trips must not be negative, found -10"},
      {head + "Origin 1\n2 : 10\n", ":4: ';' is expected after the number of trips, found nothing"},
      {head + "Origin 1\n2 : 1,000;\n", "without thousands separators"},
      {head + "Origin 1\n2 : 1.000,5;\n", "found '1.000,5'"},
      {head + "Origin 1\n2 : 1;\nOrigin 2\n1 : 1;\nOrigin 1\n1 : 1;\n",
       ":7: 'Origin 1' is given a second time"},
      {head + "Origin 1\n2 : 1;\n2 : 0;\n", ":5: trips from zone 1 to zone 2 are given a second"},
  };
  for (const auto& [text, expected] : cases) {
    const std::string sentence = refused_trips(text);
    EXPECT_MENTIONS(sentence, expected);
    EXPECT_MENTIONS(sentence, "bad_trips.tntp");
  }
}

TEST_F(Traffic, DemandNeedsANode) {
  EXPECT_MENTIONS(
      refused_trips(trips_text(9, "Origin 1\n2:1; 7:5;\n")),
      ":4: trips to zone 7 are given, but the network has no node for it: its zones are 1 to 2");
  EXPECT_MENTIONS(refused_trips(trips_text(9, "Origin 8\n2:1;\n")), "trips from zone 8");
  EXPECT_EQ(refused_trips(trips_text(2, "Origin 8\n2:0;\n")), "");  // no trips, no harm
  EXPECT_MENTIONS(refusal(scenario("alone", network_text(3, 3, 1, {link(1, 2, 900, 1)}),
                                   trips_text(3, "Origin 1\n3:1;\n"))),
                  "no link of the network begins or ends at its node");
}

TEST_F(Traffic, UnreachableDestinationsAreListedOrDropped) {
  const auto one_way =
      scenario("oneway", network_text(3, 3, 1, {link(1, 2, 900, 1), link(2, 3, 900, 1)}),
               trips_text(3, "Origin 1\n2:10; 3:10;\nOrigin 3\n1:7; 2:5;\n"));
  const std::string sentence = refusal(one_way);
  EXPECT_MENTIONS(sentence,
                  "no path for 2 of the trip table's pairs of zones, 12 trips: 3 to 1, 3 to 2");
  EXPECT_MENTIONS(sentence, "--set unreachable=drop");
  const Outcome out = run(with(one_way, {{"unreachable", "drop"}, {"departures", "even"}}));
  EXPECT_EQ(out.values.at("trips_started"), 20);
  EXPECT_EQ(out.values.at("trips_finished"), 20);
  EXPECT_EQ(out.values.at("trips_dropped"), 12);
}

TEST_F(Traffic, LongListsOfUnreachableDestinationsAreCut) {
  std::string section = "Origin 1\n";
  for (int zone = 2; zone <= 15; ++zone) section += std::to_string(zone) + ":1;";
  std::string net = "<NUMBER OF ZONES> 15\n<NUMBER OF NODES> 15\n<END OF METADATA>\n";
  for (int zone = 2; zone <= 15; ++zone) net += link(zone, 1, 900, 1);
  const std::string sentence = refusal(scenario("star", net, trips_text(15, section + "\n")));
  EXPECT_MENTIONS(sentence, "1 to 11 and 4 more");
}

TEST_F(Traffic, NodeFilesMustFitTheNetwork) {
  const auto settings = scenario("points", network_text(2, 2, 1, {link(1, 2, 900, 1)}),
                                 trips_text(2, "Origin 1\n2:1;\n"));
  const auto refused = [&](const std::string& text) {
    write("points_node.tntp", text);
    return refusal(settings);
  };
  EXPECT_EQ(refused("Node X Y ;\n1 0 0 ;\n2 5 5 ;\n"), "");
  EXPECT_MENTIONS(refused("Node X Y ;\n1 0 0 ;\n"), "points_node.tntp: node 2 is missing");
  EXPECT_MENTIONS(refused("1 0 0 ;\n3 0 0 ;\n"), ":2: a node from 1 to 2 is expected, found 3");
  EXPECT_MENTIONS(refused("1 0 0 ;\n1 0 0 ;\n"), ":2: node 1 is given twice");
  EXPECT_MENTIONS(refused("1 0 ;\n"),
                  ":1: the third column (Y) is expected as a number, found ';'");
  EXPECT_MENTIONS(refused("1 0 0 ; hello\n2 5 5 ;\n"),
                  ":1: one node a line is expected, found more text: 'hello'");
  EXPECT_MENTIONS(refused("1 0 0 7 ;\n2 5 5 ;\n"), ":1: ';' is expected at the end of a node");
  EXPECT_MENTIONS(refused("1 0 0\nhello\n2 5 5 ;\n"), ":2: the first column (node) is expected");
  EXPECT_MENTIONS(refusal({{"node_file", path("none")}}), "cannot read");
}

TEST_F(Traffic, UnitsAreChecked) {
  EXPECT_MENTIONS(refusal({{"time_unit", "fortnights"}}), "auto, one of minutes, seconds, hours");
  EXPECT_MENTIONS(refusal({{"length_unit", "-3"}}), "a positive number of metres");
  const Settings tiny{{"demand", "0.0001"}, {"departures", "even"}};
  EXPECT_EQ(run(with(tiny, {{"time_unit", "36"}})).lookahead, Duration::seconds(72));
  EXPECT_EQ(run(with(tiny, {{"time_unit", "seconds"}})).lookahead, Duration::seconds(2));
}

TEST_F(Traffic, WindowsLineEndsAndTightColumnsAreRead) {
  std::string net = network_text(2, 2, 1, {link(1, 2, 900, 1)});
  std::string crlf;
  for (const char c : net) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  const auto settings =
      scenario("crlf", crlf, "<NUMBER OF ZONES>2\r\n<END OF METADATA>\r\nOrigin 1\r\n2:4;\r\n");
  EXPECT_EQ(run(with(settings, {{"departures", "even"}})).values.at("trips_finished"), 4);
}

TEST_F(Traffic, NoTrafficIsNoError) {
  const Outcome out = run({{"demand", "0"}});
  EXPECT_EQ(out.values.at("trips_started"), 0);
  EXPECT_EQ(out.values.at("mean_speed"), 0);
}

}  // namespace
