// SPDX-License-Identifier: Apache-2.0
//
// The null model: that it does exactly the events it says, ends by itself, has the independence it
// claims, and that every engine commits the same.
#include <gtest/gtest.h>

#include <string>

#include "models/event_recorder.h"
#include "models/simulation.h"

namespace orrery::testing {
namespace {

TEST(Null, EveryModuleHasItsEventsWithinTheDefaultHorizon) {
  for (const Settings& settings :
       {Settings{}, Settings{{"duration", "0s"}}, Settings{{"period", "5us"}},
        Settings{{"duration", "3ns"}, {"period", "7ns"}, {"work", "10"}}}) {
    const Settings all = with(settings, {{"modules", "11"}, {"events", "300"}});
    const auto model = prepared_model("null", all);
    const Simulation run("null", all, model->default_horizon() - Time::zero());
    EXPECT_EQ(run.outcome().result.committed, 11u * 300u);
  }
}

TEST(Null, DefaultsAreThoseOfTheBenchmark) {
  const auto model = prepared_model("null", {});
  EXPECT_EQ(model->lp_count(), 110u);
  EXPECT_EQ(model->default_horizon(), Time::zero() + Duration::microseconds(50'001));
}

/// Half a round more than two is two whole rounds and the first half of the modules.
TEST(Null, StartsAreSpreadEvenlyOverTheDuration) {
  const Settings settings = {{"modules", "100"}, {"duration", "100us"}, {"period", "100us"}};
  const Simulation run("null", settings, Duration::microseconds(250));
  EXPECT_EQ(run.outcome().result.committed, 250u);
  const Simulation apart("null", with(settings, {{"period", "1ms"}}), Duration::microseconds(1050));
  EXPECT_EQ(apart.outcome().result.committed, 150u);
}

/// All events of a round are independent: lots are as large as there are modules.
TEST(Null, EventsOfARoundAreIndependent) {
  for (const Settings& more :
       {Settings{}, Settings{{"duration", "0s"}}, Settings{{"period", "1ms"}}}) {
    const auto model = prepared_model("null", with({{"modules", "50"}, {"events", "20"}}, more));
    const EventRecorder recorder(*model, Time::max());
    EXPECT_EQ(recorder.handled().size(), 1000u);
    EXPECT_EQ(recorder.shortest_delay_to_others(), Duration::max());
    EXPECT_EQ(recorder.mean_independent(), 50.0);
  }
}

TEST(Null, CommitsTheSameOnEveryEngine) {
  const Settings base = {{"modules", "37"}, {"events", "200"}};
  for (const Settings& more : {Settings{}, Settings{{"duration", "0s"}},
                               Settings{{"period", "1ms"}, {"duration", "10us"}}})
    expect_same_on_all_engines("null", with(base, more), Duration::seconds(1));
}

/// A step of work changes how long an event takes, not what it does.
TEST(Null, WorkLeavesTheResultAsItIs) {
  const Settings base = {{"modules", "5"}, {"events", "50"}};
  const Simulation idle("null", base, Duration::seconds(1));
  const Simulation busy("null", with(base, {{"work", "1000"}}), Duration::seconds(1));
  EXPECT_EQ(idle.outcome().result.fingerprint, busy.outcome().result.fingerprint);
}

TEST(Null, WrongParametersAreRefusedWithASentence) {
  EXPECT_NE(refusal("null", {{"duration", "2us"}}).find("is less than duration=2 us"),
            std::string::npos)
      << refusal("null", {{"duration", "2us"}});
  EXPECT_NE(refusal("null", {{"period", "1000000s"}, {"events", "100000000"}}).find("292 years"),
            std::string::npos);
  EXPECT_NE(refusal("null", {{"modules", "0"}}), "accepted");
  EXPECT_NE(refusal("null", {{"period", "0s"}}), "accepted");
  EXPECT_NE(refusal("null", {{"duration", "-1us"}}), "accepted");
}

}  // namespace
}  // namespace orrery::testing
