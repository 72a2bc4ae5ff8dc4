// SPDX-License-Identifier: Apache-2.0
//
// A sentence is there where its figures justify it, with these figures, and nowhere else.
#include "page/findings.h"

#include <gtest/gtest.h>

#include "page/progress.h"

namespace orrery::page {
namespace {

/// A run that nothing is to be said of: two workers, a second, no engine's figures.
Json plain() {
  return Json::parse(R"({
    "complete": true,
    "model": {"name": "shop"},
    "options": {"engine": "timewarp", "memory_bytes": 0},
    "host": {"usable_cores": 2, "memory_bytes": 1000000000},
    "run": {"workers": 2, "ranks": 1, "committed": 900000, "executed": 1000000,
            "efficiency": 0.9, "peak_rss_bytes": 1000000, "engine_peak_bytes": 500000,
            "seconds": {"startup": 0.01, "loop": 1.0, "shutdown": 0.01, "wall": 1.02}},
    "statistics": {}
  })");
}

void count(Json& report, const char* name, double value) {
  report["statistics"][name] = {{"value", value}, {"unit", ""}, {"help", ""}};
}

/// The finding whose text has these words; fails if there is none.
Finding found(const Json& report, const std::string& words) {
  for (const Finding& one : findings_of(report))
    if (one.text.find(words) != std::string::npos) return one;
  ADD_FAILURE() << "no finding says '" << words << "'";
  return {};
}

bool says(const Json& report, const std::string& words) {
  for (const Finding& one : findings_of(report))
    if (one.text.find(words) != std::string::npos) return true;
  return false;
}

/// Every place that a finding names is one of the report's.
void expect_places(const Json& report) {
  for (const Finding& one : findings_of(report)) {
    EXPECT_FALSE(one.figures.empty()) << one.text;
    for (const std::string& figure : one.figures) {
      const std::string outer = figure.substr(0, figure.find('.'));
      ASSERT_TRUE(report.contains(outer)) << figure;
      if (outer == "statistics") {
        EXPECT_TRUE(report[outer].contains(figure.substr(outer.size() + 1))) << figure;
      }
    }
  }
}

TEST(Findings, SayNothingWithoutFigures) {
  EXPECT_TRUE(findings_of(plain()).empty());
  EXPECT_TRUE(findings_of(Json::object()).empty());
  EXPECT_TRUE(findings_of(Json::parse(R"({"run": 7, "statistics": [], "options": null})")).empty());
}

TEST(Findings, TellRollbacksByTheirShare) {
  Json report = plain();
  count(report, "rollbacks", 1234);
  EXPECT_EQ(
      found(report, "rolled back").text.substr(0, 90),
      "10.0 % of executed events were rolled back (100,000 of 1,000,000, in 1,234 rollbacks). A -");
  EXPECT_TRUE(says(report, "--window"));
  report["run"]["committed"] = 400000;
  EXPECT_TRUE(says(report, "60.0 % of executed"));
  EXPECT_TRUE(says(report, "More events were undone than committed"));
  report["run"]["committed"] = 990000;
  EXPECT_TRUE(says(report, "Rollbacks did not limit the run: 1.0 %"));
  expect_places(report);
}

TEST(Findings, FindFiguresOfEnginesThatAutoUsed) {
  Json report = plain();
  report["options"]["engine"] = "auto";
  count(report, "timewarp.rollbacks", 5);
  EXPECT_EQ(found(report, "rolled back").figures.back(), "statistics.timewarp.rollbacks");
  EXPECT_EQ(statistic(report, "rollbacks"), 5);
  EXPECT_FALSE(statistic(report, "backs"));
}

TEST(Findings, TellWhatIsExecutedAgain) {
  Json report = plain();
  count(report, "coasted", 99000);
  EXPECT_FALSE(says(report, "restore states"));
  count(report, "coasted", 250000);
  count(report, "checkpoint_interval", 47.5);
  EXPECT_TRUE(says(report, "250,000 events were executed again to restore states, 25.0 % on top"));
  EXPECT_TRUE(says(report, "47.5 events from one checkpoint"));
  expect_places(report);
}

TEST(Findings, TellTimeBeforeTheFirstEvent) {
  Json report = plain();
  report["run"]["seconds"] = {{"startup", 0.8}, {"loop", 1.0}, {"shutdown", 0.2}, {"wall", 2.0}};
  EXPECT_TRUE(says(report, "spent 40.0 % of its wall time (800 ms of 2.00 s) before the first"));
  EXPECT_TRUE(says(report, "spent 10.0 % of its wall time (200 ms of 2.00 s) after the last"));
  report["run"]["seconds"]["startup"] = 0.19;
  EXPECT_FALSE(says(report, "before the first"));
}

TEST(Findings, TellShortEventsOfOneWorkerAlone) {
  Json report = plain();
  EXPECT_FALSE(says(report, "One worker"));
  report["run"]["workers"] = 1;
  report["options"]["engine"] = "sequential";
  report["run"]["executed"] = report["run"]["committed"] = 5'000'000;
  EXPECT_TRUE(says(report, "One worker executed 5,000,000 events in 1.00 s, 0.2 us each"));
  EXPECT_TRUE(says(report, "too short"));
  report["run"]["executed"] = report["run"]["committed"] = 50'000;
  EXPECT_TRUE(says(report, "20 us each"));
  EXPECT_FALSE(says(report, "too short"));
  report["run"]["ranks"] = 2;
  EXPECT_FALSE(says(report, "One worker"));
}

TEST(Findings, TellShortWindows) {
  Json report = plain();
  report["options"]["engine"] = "conservative";
  report["run"]["committed"] = 1000000;
  count(report, "windows", 100);
  EXPECT_TRUE(findings_of(report).empty());
  count(report, "windows", 20000);
  EXPECT_TRUE(says(report, "50 events each on average (1,000,000 in 20,000 windows)"));
  EXPECT_TRUE(says(report, "orrery describe shop --measure"));
  expect_places(report);
}

TEST(Findings, TellWorkersThatWereGivenNothing) {
  Json report = plain();
  report["options"]["engine"] = "expanded";
  count(report, "handed_over", 3);
  count(report, "event_cost", 102.3);
  EXPECT_TRUE(says(report, "Only 3 of 1,000,000 events were given to another thread, so 1 worker"));
  EXPECT_TRUE(says(report, "took 0.102 us"));
  count(report, "handed_over", 500000);
  EXPECT_FALSE(says(report, "given to another thread"));
}

TEST(Findings, TellWhatAutoFound) {
  Json report = plain();
  report["options"]["engine"] = "auto";
  report["engines"] = Json::parse(R"([
    {"engine": "sequential", "workers": 1, "why": "start", "seconds": 1.0, "loop_seconds": 1.0,
     "committed": 4000000},
    {"engine": "timewarp", "workers": 2, "why": "trial", "seconds": 0.02, "loop_seconds": 0.02,
     "committed": 20000}])");
  EXPECT_TRUE(
      says(report,
           "most of the time to sequential, which committed 4.00 M events a second while it "
           "executed; timewarp with 2 workers 1.00 M (in a trial of 20 ms)."));
  count(report, "lost_in_trials", 0.01);
  EXPECT_FALSE(says(report, "Trials of other engines"));
  count(report, "lost_in_trials", 0.2);
  EXPECT_TRUE(says(report, "Trials of other engines cost 19.6 %"));
  expect_places(report);
  report["engines"].erase(1);
  EXPECT_FALSE(says(report, "most of the time"));
}

TEST(Findings, TellCoresAndMemory) {
  Json report = plain();
  report["run"]["workers"] = 4;
  EXPECT_TRUE(says(report, "4 workers shared 2 usable cores"));
  report["run"]["peak_rss_bytes"] = 600000000;
  EXPECT_TRUE(says(report, "60.0 % of the machine's memory"));
  report["options"]["memory_bytes"] = 510000;
  EXPECT_TRUE(says(report, "that --memory allows"));
  expect_places(report);
}

Json with_samples(const std::vector<double>& committed) {
  Json report = plain();
  Json& progress = report["progress"];
  for (std::size_t i = 0; i < committed.size(); ++i) {
    progress["wall_seconds"].push_back(static_cast<double>(i));
    for (const char* name : {"simulated_seconds", "committed", "executed", "memory_bytes"})
      progress[name].push_back(committed[i]);
  }
  const auto wall = static_cast<double>(committed.size() - 1);
  report["run"]["seconds"] = {{"startup", 0.01}, {"loop", wall}, {"shutdown", 0}, {"wall", wall}};
  return report;
}

TEST(Findings, TellChangesOverTime) {
  EXPECT_FALSE(says(with_samples({0, 10, 20, 30, 40, 50, 60, 70, 80}), "slowed down"));
  const Json slower = with_samples({0, 40, 80, 100, 110, 120, 130, 140, 150});
  EXPECT_TRUE(says(slower,
                   "slowed down: 40 committed events a second in the first quarter of its "
                   "time, 10 in the last"));
  expect_places(slower);
  EXPECT_TRUE(says(with_samples({0, 5, 10, 20, 40, 80, 120, 160, 200}), "became faster"));
  EXPECT_FALSE(says(with_samples({0, 40, 50, 51}), "slowed down"));  // too few samples
  Json ended = with_samples({0, 10, 20, 30, 40, 50, 60, 60, 60});
  ended["run"]["seconds"]["loop"] = 6;
  EXPECT_FALSE(says(ended, "slowed down"));  // what comes after the last event
}

TEST(Findings, TellStandstills) {
  EXPECT_TRUE(says(with_samples({0, 10, 20, 20, 20, 20, 30, 40, 50}),
                   "For 3.00 s, from 2.00 s after the start on, nothing was committed"));
  EXPECT_FALSE(says(with_samples({0, 0, 0, 10, 20, 30, 40, 50, 60}), "nothing was committed"));
}

TEST(Findings, TellShortRuns) {
  Json report = plain();
  report["run"]["seconds"]["loop"] = 0.012;
  EXPECT_TRUE(says(report, "The loop took only 12 ms"));
}

TEST(ProgressOfReport, IsEmptyWhereListsDoNotFit) {
  Json report = with_samples({0, 1, 2});
  EXPECT_EQ(progress_of(report).size(), 3U);
  report["progress"]["executed"].erase(0);
  EXPECT_EQ(progress_of(report).size(), 0U);
  report["progress"] = "none";
  EXPECT_EQ(progress_of(report).size(), 0U);
}

}  // namespace
}  // namespace orrery::page
