// SPDX-License-Identifier: Apache-2.0
#include "advise/advice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "study/plain_table.h"

namespace orrery::advise {
namespace {

using Json = nlohmann::ordered_json;

Measured measured(const std::string& engine, unsigned workers, unsigned ranks, double per_event) {
  Measured one;
  one.configuration.engine = engine;
  one.configuration.workers = workers;
  one.configuration.ranks = ranks;
  for (const double events : {1e6, 2e6, 4e6})
    one.samples.push_back({events, 0.1 + per_event * events});
  one.committed = 7e6;
  one.executed = 8e6;
  one.memory_bytes = 1 << 20;
  return one;
}

Findings findings() {
  Findings found;
  found.scout = {
      {"orrery", {{"version", "1"}}}, {"model", {{"name", "m"}}}, {"host", Json::object()}};
  found.forecast.events = {1e9, 1e7};
  found.forecast.counted = 1e8;
  found.forecast.counted_to = 10;
  found.forecast.until = 100;
  found.start_seconds = 1;
  found.measured = {measured("sequential", 1, 1, 1e-6), measured("timewarp", 2, 1, 7e-7),
                    measured("timewarp", 1, 2, 8e-7)};
  Measured beyond = measured("timewarp", 8, 1, 1.4e-6);
  beyond.beyond_cores = true;
  found.measured.push_back(beyond);
  Measured refused;
  refused.configuration.engine = "conservative";
  refused.configuration.workers = 2;
  refused.refusal = "it promises nothing";
  found.measured.push_back(refused);
  return found;
}

Machine machine(const std::string& name, unsigned cores, double price) {
  Machine one;
  one.name = name;
  one.cores = cores;
  one.price_per_hour = price;
  return one;
}

Advice advice(const std::vector<Machine>& machines = {}, const Limits& limits = {}) {
  std::optional<Advice> made = make_advice(findings(), machines, limits, 2);
  EXPECT_TRUE(made);
  made->model = "m";
  made->run_command = {"run", "m", "--set", "file=a b"};
  return std::move(*made);
}

const Guideline* find(const Advice& advice, const std::string& name) {
  const auto found = std::find_if(advice.guidelines.begin(), advice.guidelines.end(),
                                  [&](const Guideline& one) { return one.name == name; });
  return found == advice.guidelines.end() ? nullptr : &*found;
}

std::string text_of(const Advice& advice) {
  return advice_text(advice, Terminal());
}

TEST(Configuration, HasANameAndWords) {
  Configuration one{"timewarp", 2, 1, {"--checkpoint=copy"}};
  EXPECT_EQ(one.name(), "timewarp, 2 workers, --checkpoint=copy");
  EXPECT_EQ(one.words(), (std::vector<std::string>{"--engine", "timewarp", "--workers", "2",
                                                   "--checkpoint=copy"}));
  one = {"timewarp", 1, 3, {}};
  EXPECT_EQ(one.name(), "timewarp, 3 ranks of 1 worker");
  EXPECT_EQ(one.with_executors(6).ranks, 6U);
  EXPECT_EQ((Configuration{"sequential", 1, 1, {}}.words()),
            (std::vector<std::string>{"--engine", "sequential"}));
}

TEST(Advice, IsACommandForAShell) {
  EXPECT_EQ(advice().command(), "orrery run m --set 'file=a b' --engine timewarp --workers 2");
}

TEST(Advice, TellsTheTimeOfTheWholeRunWithItsInterval) {
  const Advice one = advice();
  const Likely time =
      time_of_run(one.findings.measured[one.chosen], one.findings.forecast.events, 1);
  EXPECT_NEAR(time.value, 1 + 0.1 + 700, 0.1);
  EXPECT_NEAR(*time.half_width, 7, 0.5);  // one per cent, of the events
  EXPECT_NE(text_of(one).find("on this machine: 11 min 41 s, 11 min 34 s to 11 min 48 s"),
            std::string::npos)
      << text_of(one);
}

TEST(Advice, NamesWhatIsLeftOut) {
  const std::string text = text_of(advice());
  EXPECT_NE(text.find("note: conservative, 2 workers is left out: it promises nothing"),
            std::string::npos);
  EXPECT_NE(text.find("--machines FILE"), std::string::npos);
}

TEST(Advice, SaysWhichMachineAndForHowMuch) {
  const Advice one = advice({machine("small", 1, 0.5), machine("large", 2, 2)});
  EXPECT_EQ(one.recommended, 0U);
  EXPECT_EQ(one.configuration().engine, "sequential");
  EXPECT_NE(text_of(one).find("on small: 16 min 41 s"), std::string::npos) << text_of(one);
  EXPECT_EQ(text_of(one).find("--machines FILE"), std::string::npos);
}

TEST(Advice, SaysThatNoMachineIsWithinTheLimits) {
  const Advice one = advice({machine("small", 1, 0.5)}, {{10}, {}});
  EXPECT_FALSE(one.recommended);
  EXPECT_NE(text_of(one).find("No machine of the table does it within 10.0 s."), std::string::npos);
}

TEST(Advice, IsNothingWhereNothingWasMeasured) {
  Findings found = findings();
  for (Measured& one : found.measured) one.samples.clear();
  EXPECT_FALSE(make_advice(found, {}, {}, 2));
}

TEST(Guidelines, TellWhatCoresCost) {
  const Advice here = advice();
  const Guideline* const found = find(here, "core-time");
  ASSERT_NE(found, nullptr);
  EXPECT_NE(found->text.find("timewarp, 2 workers takes 0.70 times the time of sequential and "
                             "keeps 2 cores: 1.40 times the core time"),
            std::string::npos)
      << found->text;
}

TEST(Guidelines, TellWhatOversubscriptionCosts) {
  const Advice here = advice();
  const Guideline* const found = find(here, "oversubscription-workers");
  ASSERT_NE(found, nullptr);
  EXPECT_NE(found->text.find("8 workers on 2 cores take 2.00 times the time of 2 (4 executors a "
                             "core). Use at most one for each core"),
            std::string::npos)
      << found->text;
  EXPECT_EQ(find(here, "oversubscription-ranks"), nullptr);
}

TEST(Guidelines, TellWhenABiggerMachineIsCheaper) {
  const Advice dearer = advice({machine("small", 1, 0.5), machine("large", 2, 2)});
  const Guideline* found = find(dearer, "bigger-machine");
  ASSERT_NE(found, nullptr);
  EXPECT_NE(found->text.find("costs 4.00 times one of small, and the run is 1.43 times as fast"),
            std::string::npos)
      << found->text;
  EXPECT_NE(found->text.find("cheaper if it were more than 4.00 times"), std::string::npos);
  const Advice cheaper = advice({machine("small", 1, 0.5), machine("large", 2, 0.6)});
  found = find(cheaper, "bigger-machine");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->text.substr(0, 42), "large is the fastest and the cheapest: com");
}

TEST(Guidelines, TellOfCoresThatArePaidForAndNotUsed) {
  const Advice here = advice();
  EXPECT_EQ(find(here, "idle-cores"), nullptr);
  Findings found = findings();
  found.measured.resize(1);
  const auto alone = make_advice(found, {}, {}, 2);
  ASSERT_NE(find(*alone, "idle-cores"), nullptr);
}

TEST(Json, HasWhatTheDocumentationNames) {
  const Json json = advice_json(advice({machine("small", 1, 0.5), machine("large", 8, 2)}));
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["complete"], true);
  EXPECT_EQ(json["recommendation"]["machine"], "small");
  EXPECT_EQ(json["recommendation"]["seconds"]["interval"].size(), 2U);
  EXPECT_EQ(json["events"]["basis"], "settled");
  EXPECT_EQ(json["begin"]["at"], "snapshot");
  EXPECT_EQ(json["configurations"].size(), 5U);
  EXPECT_EQ(json["configurations"][0]["runs"].size(), 3U);
  EXPECT_NEAR(json["configurations"][0]["fixed_seconds"].get<double>(), 0.1, 1e-6);
  EXPECT_EQ(json["configurations"][4]["refusal"], "it promises nothing");
  EXPECT_EQ(json["machines"][1]["extrapolated"], true);
  EXPECT_TRUE(json["speed"].is_null());
}

TEST(Tables, AreThoseOfTheJson) {
  const auto alone = advice_tables(advice());
  ASSERT_EQ(alone.size(), 1U);
  EXPECT_EQ(alone[0].name, "configurations");
  EXPECT_EQ(alone[0].rows.size(), 4U);  // what was refused has no figures
  const auto both = advice_tables(advice({machine("small", 1, 0.5)}));
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[1].name, "machines");
  EXPECT_EQ(both[1].rows.size(), 1U);
  EXPECT_EQ(both[1].rows[0].size(), both[1].columns.size());
}

TEST(Picture, NamesMachinesAndMarksTheFrontier) {
  const std::string picture =
      advice_picture(advice({machine("a<b", 1, 0.5), machine("two", 2, 2)}));
  EXPECT_NE(picture.find("a&lt;b"), std::string::npos);
  EXPECT_EQ(picture.find("a<b"), std::string::npos);
  EXPECT_NE(picture.find("efficient frontier"), std::string::npos);
  EXPECT_NE(picture.find("<polyline"), std::string::npos);
}

TEST(Picture, ShowsConfigurationsWhereThereIsNoTable) {
  const std::string picture = advice_picture(advice());
  EXPECT_NE(picture.find("core time"), std::string::npos);
  EXPECT_NE(picture.find("timewarp, 2 workers"), std::string::npos);
  EXPECT_EQ(picture.find("nan"), std::string::npos);
}

TEST(Picture, CanHoldAMachineThatCostsNothing) {
  const std::string picture = advice_picture(advice({machine("own", 2, 0), machine("two", 2, 2)}));
  EXPECT_EQ(picture.find("nan"), std::string::npos);
  EXPECT_EQ(picture.find("inf"), std::string::npos);
}

}  // namespace
}  // namespace orrery::advise
