// SPDX-License-Identifier: Apache-2.0
#include "advise/offers.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "advise/scaling.h"

namespace orrery::advise {
namespace {

Measured measured(const std::string& engine, unsigned workers, double per_event) {
  Measured one;
  one.configuration.engine = engine;
  one.configuration.workers = workers;
  for (const double events : {1e6, 1e6, 1e6}) one.samples.push_back({events, per_event * events});
  one.memory_bytes = 1 << 30;
  return one;
}

Machine machine(const std::string& name, unsigned cores, double speed, double price) {
  Machine one;
  one.name = name;
  one.cores = cores;
  one.speed = speed;
  one.price_per_hour = price;
  return one;
}

constexpr double kEvents = 1e9;
const Work kWork{{kEvents, 0}, 0, 1};

TEST(Scaling, FollowsAmdahl) {
  // A fifth of it is not divided.
  const std::vector<ScalingPoint> points = {{1, 1.0}, {2, 0.2 + 0.8 / 2}, {4, 0.2 + 0.8 / 4}};
  const auto scaled = scale_to(points, 16);
  ASSERT_TRUE(scaled);
  EXPECT_NEAR(scaled->per_event, 0.25, 1e-12);
  EXPECT_DOUBLE_EQ(scaled->highest, 0.4);
  EXPECT_DOUBLE_EQ(scaled->lowest, 0.1);
}

TEST(Scaling, PromisesNothingOfWhatGetsSlower) {
  const auto scaled = scale_to(std::vector<ScalingPoint>{{1, 1.0}, {2, 1.5}}, 16);
  ASSERT_TRUE(scaled);
  EXPECT_DOUBLE_EQ(scaled->per_event, 1.5);
}

TEST(Scaling, NeedsTwoNumbersOfExecutors) {
  EXPECT_FALSE(scale_to(std::vector<ScalingPoint>{{2, 1.0}, {2, 1.1}}, 16));
  EXPECT_FALSE(scale_to({}, 16));
}

TEST(Offers, TakeTheFastestThatFits) {
  const std::vector<Measured> all = {measured("sequential", 1, 1e-6),
                                     measured("timewarp", 2, 6e-7)};
  const std::vector<Machine> machines = {machine("one", 1, 1, 3.6), machine("two", 2, 2, 7.2)};
  const Offers made = make_offers(all, kWork, machines);
  ASSERT_EQ(made.offers.size(), 2U);
  EXPECT_EQ(made.offers[0].configuration.engine, "sequential");
  EXPECT_NEAR(made.offers[0].seconds.value, 1000, 1e-6);
  EXPECT_NEAR(made.offers[0].price, 1.0, 1e-6);
  EXPECT_EQ(made.offers[1].configuration.engine, "timewarp");
  EXPECT_NEAR(made.offers[1].seconds.value, 300, 1e-6);
  EXPECT_NEAR(made.offers[1].price, 0.6, 1e-6);
  EXPECT_TRUE(made.offers[1].is_efficient);
  EXPECT_FALSE(made.offers[0].is_efficient);
}

TEST(Offers, GoByTheSpeedOfWhereItWasMeasured) {
  const std::vector<Measured> all = {measured("sequential", 1, 1e-6)};
  const std::vector<Machine> machines = {machine("one", 1, 1, 3.6)};
  const Offers made = make_offers(all, {{kEvents, 0}, 0, 2}, machines);
  EXPECT_NEAR(made.offers[0].seconds.value, 2000, 1e-6);
}

TEST(Offers, SayWhatIsExtrapolatedAndDoubtIt) {
  const std::vector<Measured> all = {measured("sequential", 1, 1e-6),
                                     measured("conservative", 2, 6e-7)};
  const std::vector<Machine> machines = {machine("many", 8, 1, 1)};
  const Offers made = make_offers(all, kWork, machines);
  ASSERT_EQ(made.offers.size(), 1U);
  EXPECT_TRUE(made.offers[0].is_extrapolated);
  EXPECT_EQ(made.offers[0].configuration.workers, 8U);
  EXPECT_NEAR(made.offers[0].seconds.value, 300, 1e-6);  // 0.2 + 0.8 / 8
  EXPECT_GT(made.offers[0].seconds.share(), 0.9);        // up to the 600 s of two cores
}

TEST(Offers, LeaveOutMachinesOnWhichItCannotRun) {
  const std::vector<Measured> all = {measured("timewarp", 2, 6e-7)};
  std::vector<Machine> machines = {machine("one", 1, 1, 1), machine("two", 2, 1, 1)};
  machines[1].memory = 1024;
  const Offers made = make_offers(all, kWork, machines);
  EXPECT_TRUE(made.offers.empty());
  ASSERT_EQ(made.notes.size(), 2U);
  EXPECT_EQ(made.notes[0], "one has too few cores for what was measured");
  EXPECT_EQ(made.notes[1], "two has less memory than the run took here, 1.00 GiB");
}

TEST(Offers, RecommendNothingThatIsBeyondTheCores) {
  std::vector<Measured> all = {measured("sequential", 1, 1e-6), measured("timewarp", 8, 1e-7)};
  all[1].beyond_cores = true;
  EXPECT_EQ(fastest(all, kWork), 0U);
  const Offers made = make_offers(all, kWork, std::vector<Machine>{machine("many", 8, 1, 1)});
  EXPECT_EQ(made.offers[0].configuration.engine, "sequential");
}

Offer offer(const std::string& name, double seconds, double price_per_hour) {
  Offer one;
  one.machine = machine(name, 1, 1, price_per_hour);
  one.seconds = {seconds, seconds / 10};
  one.price = price_of(one.machine, seconds);
  return one;
}

TEST(Frontier, HasWhatNoOtherBeatsInBoth) {
  std::vector<Offer> offers = {offer("slow", 1000, 3.6), offer("fast", 100, 72),
                               offer("middle", 500, 9), offer("bad", 600, 36)};
  mark_efficient(offers);
  EXPECT_TRUE(offers[0].is_efficient);
  EXPECT_TRUE(offers[1].is_efficient);
  EXPECT_TRUE(offers[2].is_efficient);
  EXPECT_FALSE(offers[3].is_efficient);
}

TEST(Frontier, KeepsBothOfTwoThatAreEqual) {
  std::vector<Offer> offers = {offer("one", 100, 36), offer("other", 100, 36)};
  mark_efficient(offers);
  EXPECT_TRUE(offers[0].is_efficient && offers[1].is_efficient);
}

TEST(Recommendation, FollowsTheLimits) {
  const std::vector<Offer> offers = {offer("slow", 1000, 3.6), offer("fast", 100, 72),
                                     offer("middle", 500, 9)};
  EXPECT_EQ(recommended(offers, {}), 0U);  // 1.00, 2.00, 1.25
  EXPECT_EQ(recommended(offers, {{560}, {}}), 2U);
  EXPECT_EQ(recommended(offers, {{510}, {}}), 1U);  // the end of the interval counts
  EXPECT_EQ(recommended(offers, {{}, {1.5}}), 2U);
  EXPECT_EQ(recommended(offers, {{}, {5}}), 1U);
  EXPECT_EQ(recommended(offers, {{120}, {5}}), 1U);
  EXPECT_EQ(recommended(offers, {{120}, {1}}), std::nullopt);
  EXPECT_EQ(recommended({}, {}), std::nullopt);
}

}  // namespace
}  // namespace orrery::advise
