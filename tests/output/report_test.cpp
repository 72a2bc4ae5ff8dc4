// SPDX-License-Identifier: Apache-2.0
//
// The report says what the record says, in the documented places.
#include "output/report.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "orrery/error.h"
#include "output/summary.h"

namespace orrery {
namespace {

using Json = nlohmann::json;

class Shop final : public Model {
 public:
  Parameter<std::int64_t> tills{*this, "tills", 3, {.help = "", .unit = "", .minimum = 1}};
  Parameter<double> share{*this, "share", 0.25, {}};
  Parameter<bool> open{*this, "open", true, {}};
  Parameter<Duration> pause{*this, "pause", Duration::milliseconds(1500), {}};
  Parameter<std::string> town{*this, "town", "Sioux Falls", {}};
  Metric wait{*this, "wait", "s", "time in line"};
  Metric never{*this, "never", "", "not recorded"};

  std::uint64_t lp_count() const override { return 7; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override { return nullptr; }
  void report(Report& report, Time end) const override {
    if (fails) throw std::runtime_error("no customers");
    report.value("total_wait", report.total(wait).sum, "s", "of all");
    report.value("end", end.to_seconds(), "s", "");
    report.text("digest", "f00d", "of the till");
  }
  bool fails = false;
};

RunRecord record_of(const Shop& shop) {
  RunRecord record;
  record.model = &shop;
  record.model_name = "shop";
  record.engine = "sequential";
  record.options.until = Time::zero() + Duration::seconds(20);
  record.result.reached = Time::zero() + Duration::seconds(10);
  record.result.committed = 1'500'000;
  record.result.executed = 2'000'000;
  record.result.fingerprint = 0xabc;
  record.result.loop_seconds = 0.5;
  record.result.metrics.resize(2);
  record.result.metrics[0].add(1);
  record.result.metrics[0].add(3);
  record.result.statistics = {{"rollbacks", "", "undone", 17}};
  record.result.account = "17 rollbacks undid 500000 events";
  record.result.notes = {"workers are not bound"};
  record.derived = derive_values(shop, record.result);
  return record;
}

TEST(Report, HoldsTheRun) {
  const Shop shop;
  const Json json = Json::parse(report_json(record_of(shop)));
  EXPECT_EQ(report_schema(json), kReportSchema);
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["complete"], true);
  EXPECT_EQ(json["model"]["lps"], 7);
  EXPECT_EQ(json["run"]["fingerprint"], "0000000000000abc");
  EXPECT_EQ(json["run"]["efficiency"], 0.75);
  EXPECT_EQ(json["run"]["events_per_second"], 3e6);
  EXPECT_EQ(json["run"]["simulated_seconds_per_second"], 20.0);
  EXPECT_EQ(json["run"]["reached_ticks"], 10'000'000'000);
  EXPECT_EQ(json["options"]["until"], "20 s");
  EXPECT_EQ(json["statistics"]["rollbacks"]["value"], 17);
  EXPECT_EQ(json["notes"][0], "workers are not bound");
}

TEST(Report, GivesParametersTheirTypes) {
  const Shop shop;
  const Json json = Json::parse(report_json(record_of(shop)))["parameters"];
  EXPECT_EQ(json["tills"]["value"], 3);
  EXPECT_EQ(json["share"]["value"], 0.25);
  EXPECT_EQ(json["open"]["value"], true);
  EXPECT_EQ(json["pause"]["value"], "1.5 s");
  EXPECT_EQ(json["town"]["value"], "Sioux Falls");
}

TEST(Report, SummarisesMetricsAndDerivesValues) {
  const Shop shop;
  const Json json = Json::parse(report_json(record_of(shop)));
  EXPECT_EQ(json["metrics"]["wait"]["count"], 2);
  EXPECT_EQ(json["metrics"]["wait"]["mean"], 2.0);
  EXPECT_EQ(json["metrics"]["never"]["count"], 0);
  EXPECT_EQ(json["results"]["total_wait"]["value"], 4.0);
  EXPECT_EQ(json["results"]["end"]["value"], 10.0);
  EXPECT_EQ(json["results"]["digest"]["value"], "f00d");
  EXPECT_NE(summary_text(record_of(shop), Terminal{}, Detail::results).find("f00d"),
            std::string::npos);
}

/// A shop whose metrics keep all that there is.
class Market final : public Model {
 public:
  Market() { queue.series(Duration::seconds(4)); }
  std::uint64_t lp_count() const override { return 2; }
  std::unique_ptr<LogicalProcessBase> create(LpId) const override { return nullptr; }
  Metric wait{*this, "wait", "s", "time in line", Keep::histogram | Keep::rate};
  Metric queue{*this, "queue", "", "length of a line", Keep::level};
  Metric never{*this, "never", "", "not recorded", Keep::histogram};
};

RunRecord record_of(const Market& market) {
  RunRecord record;
  record.model = &market;
  record.model_name = "market";
  record.engine = "sequential";
  record.options.until = record.result.reached = Time::zero() + Duration::seconds(10);
  record.result.metrics.resize(3);
  record.result.levels.resize(3);
  record.result.mergeable_statistics.emplace(market);
  for (int n = 1; n <= 1000; ++n) {
    record.result.metrics[0].add(n);
    record.result.mergeable_statistics->add(
        {market.wait.index(), 0, Time::zero(), static_cast<double>(n), 0});
  }
  record.result.levels[1] = {.lps = 2,
                             .changes = 3,
                             .ticks = 20e9,
                             .area = 30e9,
                             .squares = 5e9,
                             .minimum = 0,
                             .maximum = 4,
                             .total = 3};
  return record;
}

TEST(Report, TellsWhatMetricsKeep) {
  const Market market;
  const RunRecord record = record_of(market);
  const Json json = Json::parse(report_json(record))["metrics"];
  const Json& wait = json["wait"];
  for (const auto& [name, exact] :
       {std::pair{"p50", 500.0}, {"p90", 900.0}, {"p99", 990.0}, {"p99.9", 999.0}})
    EXPECT_NEAR(wait[name].get<double>(), exact, exact / 256) << name;
  EXPECT_EQ(wait["quantile_error"], 1.0 / 256);
  EXPECT_EQ(wait["rate"], 100.0);
  EXPECT_EQ(wait["sum_rate"], 50050.0);
  const Json units = {{"count", ""},    {"sum", "s"},     {"mean", "s"},   {"deviation", "s"},
                      {"minimum", "s"}, {"maximum", "s"}, {"p50", "s"},    {"p90", "s"},
                      {"p99", "s"},     {"p99.9", "s"},   {"rate", "1/s"}, {"sum_rate", "s/s"}};
  EXPECT_EQ(wait["figures"], units);
  EXPECT_EQ(wait["kind"], "values");
  EXPECT_EQ(json["queue"]["kind"], "level");
  EXPECT_EQ(json["queue"]["figures"]["seconds"], "s");
  EXPECT_EQ(json["queue"]["mean"], 1.5);
  EXPECT_EQ(json["queue"]["deviation"], 0.5);
  EXPECT_EQ(json["queue"]["total"], 3.0);
  EXPECT_EQ(json["queue"]["lps"], 2);
  EXPECT_EQ(json["queue"]["count"], 3);
  EXPECT_EQ(json["queue"]["seconds"], 20.0);
  EXPECT_EQ(json["queue"]["series_interval_ticks"], 4'000'000'000);
  EXPECT_FALSE(json["queue"].contains("sum"));
  EXPECT_TRUE(json["never"]["p50"].is_null());
  EXPECT_TRUE(json["never"]["mean"].is_null());
  const std::string text = summary_text(record, Terminal{}, Detail::results);
  for (const char* part : {"quantiles", "p99.9", "level", "total", "each second", "s/s"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

/// The bucket of the largest value may lie above it.
TEST(Report, NoQuantileIsBeyondTheExtremes) {
  const Market market;
  RunRecord record = record_of(market);
  record.result.metrics[2].add(1.003);
  record.result.mergeable_statistics->add({market.never.index(), 0, Time::zero(), 1.003, 0});
  const Json json = Json::parse(report_json(record))["metrics"]["never"];
  EXPECT_EQ(json["p50"], 1.003);
  EXPECT_EQ(json["p99.9"], 1.003);
}

TEST(Report, InterruptedRunIsNotComplete) {
  const Shop shop;
  RunRecord record = record_of(shop);
  record.result.end = RunEnd::interrupted;
  const Json json = Json::parse(report_json(record));
  EXPECT_EQ(json["complete"], false);
  EXPECT_EQ(json["run"]["end"], "interrupted");
}

TEST(Report, SurvivesWhatJsonCannotSay) {
  const Shop shop;
  RunRecord record = record_of(shop);
  record.derived = {{"ratio", std::numeric_limits<double>::quiet_NaN(), "", "0 / 0"}};
  record.result.notes = {"a name that is not UTF-8: \xff"};
  const Json json = Json::parse(report_json(record));
  EXPECT_TRUE(json["results"]["ratio"]["value"].is_null());
}

TEST(Report, ExceptionOfTheModelIsAFault) {
  Shop shop;
  shop.fails = true;
  EXPECT_THROW(derive_values(shop, RunResult{}), ModelFault);
}

TEST(Summary, IsAlignedAndPlainWithoutATerminal) {
  const Shop shop;
  const std::string text = summary_text(record_of(shop), Terminal{}, Detail::results);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(
      text.find("  events       1,500,000 committed of 2,000,000 executed (efficiency 75.0 %)"),
      std::string::npos);
  EXPECT_NE(text.find("  fingerprint  0x0000000000000abc"), std::string::npos);
  EXPECT_NE(text.find("note: workers are not bound"), std::string::npos);
}

TEST(Summary, FiguresOfTheEngineAreShownOnlyInDetail) {
  const Shop shop;
  const std::string text = summary_text(record_of(shop), Terminal{}, Detail::results);
  EXPECT_NE(text.find("sequential: 17 rollbacks undid 500000 events\n"), std::string::npos);
  EXPECT_EQ(text.find("undone"), std::string::npos);
  const std::string detailed = summary_text(record_of(shop), Terminal{}, Detail::figures);
  EXPECT_NE(detailed.find("sequential: 17 rollbacks"), std::string::npos);
  EXPECT_NE(detailed.find("\n  rollbacks  "), std::string::npos) << detailed;
  EXPECT_NE(detailed.find("undone"), std::string::npos);
}

}  // namespace
}  // namespace orrery
