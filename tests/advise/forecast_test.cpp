// SPDX-License-Identifier: Apache-2.0
#include "advise/forecast.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

namespace orrery::advise {
namespace {

constexpr double kConfidence = 0.95;

/// A point each second; `rate`: events in the second that begins then.
Curve curve_of(double seconds, const std::function<double(double)>& rate) {
  std::vector<CurvePoint> points = {{0, 0}};
  for (double time = 0; time < seconds; ++time)
    points.push_back({time + 1, points.back().events + rate(time)});
  return Curve(points);
}

TEST(Curve, IsStraightBetweenPoints) {
  const std::vector<CurvePoint> points = {{0, 0}, {10, 100}, {20, 400}};
  const Curve curve(points);
  EXPECT_DOUBLE_EQ(curve.events_by(5), 50);
  EXPECT_DOUBLE_EQ(curve.events_by(15), 250);
  EXPECT_DOUBLE_EQ(curve.events_by(99), 400);
  EXPECT_DOUBLE_EQ(curve.time_of(250), 15);
  EXPECT_DOUBLE_EQ(curve.time_of(1000), 20);
}

TEST(Curve, LeavesOutWhatDoesNotGoOn) {
  const std::vector<CurvePoint> points = {{0, 0},    {0, 5},   {10, 100},
                                          {10, 120}, {9, 130}, {20, 400}};
  EXPECT_EQ(Curve(points).size(), 3U);
}

TEST(Forecast, CountsARunThatWasMade) {
  const Forecast found = forecast_events(curve_of(100, [](double) { return 7; }), 100, kConfidence);
  EXPECT_EQ(found.basis, Basis::counted);
  EXPECT_DOUBLE_EQ(found.events.value, 700);
  EXPECT_DOUBLE_EQ(*found.events.half_width, 0);
  EXPECT_NE(found.text().find("counted"), std::string::npos);
}

TEST(Forecast, GoesOnWithARateThatHasSettled) {
  std::mt19937_64 random(1);
  std::poisson_distribution<int> rate(1000);
  const Forecast found =
      forecast_events(curve_of(200, [&](double) { return rate(random); }), 2000, kConfidence);
  EXPECT_EQ(found.basis, Basis::settled);
  EXPECT_NEAR(found.events.value, 2e6, 2e4);
  EXPECT_LT(found.events.share(), 0.05);
  EXPECT_NE(found.text().find("10.0 % of the simulated time"), std::string::npos);
}

TEST(Forecast, LeavesTheBeginningOut) {
  std::mt19937_64 random(1);
  std::poisson_distribution<int> settled(1000);
  // In the first 30 s the model fills.
  const Forecast found = forecast_events(
      curve_of(200, [&](double time) { return time < 30 ? time * 30 : settled(random); }), 2000,
      kConfidence);
  EXPECT_EQ(found.basis, Basis::settled);
  EXPECT_GE(found.settled_from, 25);
  EXPECT_LE(found.settled_from, 60);
  EXPECT_NEAR(found.rate, 1000, 15);
}

TEST(Forecast, SaysWhereARateHasNotSettled) {
  const Forecast found = forecast_events(curve_of(200, [](double time) { return 1000 + 5 * time; }),
                                         2000, kConfidence);
  EXPECT_EQ(found.basis, Basis::unsettled);
  EXPECT_GT(found.events.share(), 0.05);
  EXPECT_NE(found.text().find("not settled"), std::string::npos);
  EXPECT_NE(found.text().find("--pilot"), std::string::npos);
}

TEST(Forecast, LetsAFallingRateFallToNothingAndNoFurther) {
  const Forecast found = forecast_events(curve_of(200, [](double time) { return 1000 - 4 * time; }),
                                         20'000, kConfidence);
  EXPECT_EQ(found.basis, Basis::unsettled);
  EXPECT_GE(found.events.value - *found.events.half_width, found.counted);
}

/// A profile whose later load nobody could foresee from the beginning.
double of_the_day(double time) {
  return 100 * (1 + std::sin(time / 2000 * M_PI));
}

TEST(Forecast, FollowsTheShapeOfAPilot) {
  const auto small = [](double time) { return of_the_day(time) / 50; };
  const Forecast found = forecast_by_pilot(curve_of(200, of_the_day), curve_of(2000, small), 2000);
  EXPECT_EQ(found.basis, Basis::pilot);
  EXPECT_NEAR(found.events.value, curve_of(2000, of_the_day).events(), 1000);
  EXPECT_LT(found.events.share(), 0.01);
}

TEST(Forecast, DoubtsAPilotOfAnotherShape) {
  const Forecast found = forecast_by_pilot(curve_of(200, of_the_day),
                                           curve_of(2000, [](double t) { return t; }), 2000);
  EXPECT_GT(found.events.share(), 0.2);
}

/// The interval is of what is yet to come, with its own chance.
TEST(Forecast, CoversAsOftenAsItSays) {
  std::mt19937_64 random(1);
  std::poisson_distribution<int> rate(50);
  unsigned covered = 0;
  constexpr unsigned kStudies = 600;
  for (unsigned i = 0; i < kStudies; ++i) {
    const Curve whole = curve_of(1000, [&](double) { return rate(random); });
    std::vector<CurvePoint> points;
    for (double time = 0; time <= 200; ++time) points.push_back({time, whole.events_by(time)});
    const Forecast found = forecast_events(Curve(points), 1000, kConfidence);
    covered += std::fabs(found.events.value - whole.events()) <= *found.events.half_width;
  }
  EXPECT_GT(covered / double{kStudies}, 0.88);
}

}  // namespace
}  // namespace orrery::advise
