// SPDX-License-Identifier: Apache-2.0
//
// Durations as text: what is read, what is refused, and that what is written reads back.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "core/duration_text.h"

namespace orrery {
namespace {

constexpr double kNanosecond = 1e-9;

TEST(DurationText, Reads) {
  const std::vector<std::pair<std::string, std::int64_t>> cases = {
      {"10s", 10'000'000'000},
      {"10 s", 10'000'000'000},
      {"10", 10'000'000'000},
      {"0", 0},
      {"250ms", 250'000'000},
      {"40us", 40'000},
      {"12ns", 12},
      {"2.5 min", 150'000'000'000},
      {"3h", 10'800'000'000'000},
      {"7d", 604'800'000'000'000},
      {"1.5 h", 5'400'000'000'000},
      {"-3ms", -3'000'000},
      {"1e-3s", 1'000'000},
      {"5 ticks", 5},
      {"1 tick", 1},
      {"0.1s", 100'000'000},
      {"1.000000001s", 1'000'000'001},
      {"2  s", 2'000'000'000},
      {"5m", 300'000'000'000},
      {"5 sec", 5'000'000'000},
      {"5S", 5'000'000'000},
      {"10 Minutes", 600'000'000'000},
      {"2days", 172'800'000'000'000},
      {"5\u00b5s", 5'000},
      {"5 \u03bcs", 5'000},
      {"7usec", 7'000},
      {"1h30m", 5'400'000'000'000},
      {"1h 30min", 5'400'000'000'000},
      {"-1h30m", -5'400'000'000'000},
      {"1.5h0.5s", 5'400'500'000'000},
      {"1s2ms", 1'002'000'000},
      {"1d2h3m4s5ms6us7ns", 93'784'005'006'007}};
  for (const auto& [text, expected] : cases) {
    const auto duration = parse_duration(text, kNanosecond);
    ASSERT_TRUE(duration.has_value()) << text;
    EXPECT_EQ(duration->ticks(), expected) << text;
  }
}

TEST(DurationText, Refuses) {
  for (const char* text :
       {"",        " ",     "s",        "ms",    "fast",          "5 parsecs", "1h30",  "30m1h",
        "1h1h",    "1s 2",  "1h-30m",   "nan",   "inf",           "nan s",     "inf s", "1e30 s",
        "-1e30 s", "1e300", "300000 d", "0x5 s", "--1s",          "1..5s",     "1h,2m", "5\u00b5",
        "1h2",     "h1",    "5 s s",    "+5s",   "100000d100000d"})
    EXPECT_FALSE(parse_duration(text, kNanosecond).has_value()) << "'" << text << "' was read";
}

TEST(DurationText, OtherTicks) {
  EXPECT_EQ(parse_duration("1s", 0.1)->ticks(), 10);
  EXPECT_EQ(parse_duration("1h", 60.0)->ticks(), 60);
  EXPECT_EQ(parse_duration("5 ticks", 60.0)->ticks(), 5);
  EXPECT_EQ(parse_duration("1ms", 1e-6)->ticks(), 1000);
  EXPECT_EQ(duration_text(Duration::from_ticks(120), 60.0), "2 h");
  EXPECT_EQ(duration_text(Duration::from_ticks(3), 0.1), "300 ms");
}

TEST(DurationText, WritesShortly) {
  const std::vector<std::pair<Duration, std::string>> cases = {
      {Duration::zero(), "0 s"},
      {Duration::seconds(1), "1 s"},
      {Duration::milliseconds(250), "250 ms"},
      {Duration::seconds(90), "1.5 min"},
      {Duration::seconds(7200), "2 h"},
      {Duration::seconds(86400), "1 d"},
      {Duration::nanoseconds(1), "1 ns"},
      {Duration::seconds(-2), "-2 s"}};
  for (const auto& [duration, expected] : cases)
    EXPECT_EQ(duration_text(duration, kNanosecond), expected) << duration.ticks();
}

void expect_round_trip(std::int64_t ticks, double tick_seconds) {
  const std::string text = duration_text(Duration::from_ticks(ticks), tick_seconds);
  const auto read = parse_duration(text, tick_seconds);
  ASSERT_TRUE(read.has_value()) << ticks << " ticks of " << tick_seconds << " s gave '" << text
                                << "'";
  ASSERT_EQ(read->ticks(), ticks) << "'" << text << "', tick " << tick_seconds << " s";
}

TEST(DurationText, RoundTrips) {
  std::mt19937_64 random(5);
  for (const double tick : {1e-9, 1e-6, 1e-3, 1.0, 60.0, 0.1, 1.0 / 3.0}) {
    for (int bits = 1; bits <= 52; ++bits) {
      for (int i = 0; i < 50; ++i) {
        const auto ticks = static_cast<std::int64_t>(random() >> (64 - bits));
        expect_round_trip(ticks, tick);
        expect_round_trip(-ticks, tick);
        if (HasFatalFailure()) return;
      }
    }
  }
}

/// A run may last 292 years in nanoseconds: beyond 104 days a double does not hold every tick.
TEST(DurationText, RoundTripsBeyondWhatADoubleHolds) {
  for (const std::int64_t ticks :
       {(std::int64_t{1} << 53) + 1, std::int64_t{1234567890123456789}, INT64_MAX - 1}) {
    const std::string text = duration_text(Duration::from_ticks(ticks), kNanosecond);
    const auto read = parse_duration(text, kNanosecond);
    ASSERT_TRUE(read.has_value()) << ticks << " ticks were written as '" << text << "'";
    EXPECT_EQ(read->ticks(), ticks) << "'" << text << "'";
  }
}

static_assert(Duration::minutes(3) == Duration::seconds(180));
static_assert(Duration::hours(-2) == Duration::minutes(-120));
static_assert(Duration::days(7) == Duration::hours(168));

/// What code and text call by one name is one duration.
TEST(DurationText, UnitsAreThoseOfTheFactories) {
  EXPECT_EQ(parse_duration("5min", kNanosecond), Duration::minutes(5));
  EXPECT_EQ(parse_duration("5h", kNanosecond), Duration::hours(5));
  EXPECT_EQ(parse_duration("5d", kNanosecond), Duration::days(5));
  EXPECT_EQ(duration_text(Duration::days(3), kNanosecond), "3 d");
  EXPECT_EQ(duration_text(Duration::hours(36), kNanosecond), "1.5 d");
  EXPECT_EQ(duration_text(Duration::minutes(7), kNanosecond), "7 min");
}

}  // namespace
}  // namespace orrery
