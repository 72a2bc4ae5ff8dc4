// SPDX-License-Identifier: Apache-2.0
//
// Simulation time: a point (`Time`) and a distance (`Duration`), both a signed 64-bit count of the
// model's tick. They are two types so that the compiler refuses meaningless operations (adding two
// points). They are integers because a floating-point clock loses resolution as it grows and makes
// ties depend on rounding. A tick is a nanosecond unless the model says otherwise; `Time` then
// reaches 292 years.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include "orrery/math.h"

namespace orrery {

/// A distance in simulation time, in ticks. May be negative as an intermediate result;
/// `Context::schedule` refuses a negative delay.
class Duration {
 public:
  constexpr Duration() = default;
  static constexpr Duration from_ticks(std::int64_t ticks) { return Duration(ticks); }
  /// Helpers for models whose tick is a nanosecond (the default). They multiply without a check:
  /// the caller must stay below 292 years (in a constant expression an overflow does not compile).
  static constexpr Duration nanoseconds(std::int64_t n) { return Duration(n); }
  static constexpr Duration microseconds(std::int64_t n) { return Duration(n * 1'000); }
  static constexpr Duration milliseconds(std::int64_t n) { return Duration(n * 1'000'000); }
  static constexpr Duration seconds(std::int64_t n) { return Duration(n * 1'000'000'000); }
  static constexpr Duration minutes(std::int64_t n) { return seconds(n * 60); }
  static constexpr Duration hours(std::int64_t n) { return seconds(n * 3'600); }
  static constexpr Duration days(std::int64_t n) { return seconds(n * 86'400); }
  /// Seconds given as a real number, rounded to the nearest nanosecond, saturating at `max()`,
  /// which is refused as a delay. Throws std::invalid_argument for NaN.
  static constexpr Duration from_seconds(double seconds) {
    const double ticks = math::product(seconds, 1e9);  // the same bits with and without FMA
    if (!(ticks < 9.2e18)) [[unlikely]] {
      if (ticks != ticks)
        throw std::invalid_argument("Duration::from_seconds: the seconds are not a number (NaN)");
      return max();
    }
    if (!(ticks > -9.2e18)) return Duration(std::numeric_limits<std::int64_t>::min());
    return Duration(static_cast<std::int64_t>(ticks < 0 ? ticks - 0.5 : ticks + 0.5));
  }
  static constexpr Duration zero() { return Duration(0); }
  static constexpr Duration max() { return Duration(std::numeric_limits<std::int64_t>::max()); }

  constexpr std::int64_t ticks() const { return ticks_; }
  constexpr double to_seconds() const { return static_cast<double>(ticks_) / 1e9; }

  friend constexpr auto operator<=>(Duration, Duration) = default;
  friend constexpr Duration operator+(Duration a, Duration b) {
    return Duration(a.ticks_ + b.ticks_);
  }
  friend constexpr Duration operator-(Duration a, Duration b) {
    return Duration(a.ticks_ - b.ticks_);
  }
  friend constexpr Duration operator*(Duration a, std::int64_t n) { return Duration(a.ticks_ * n); }
  friend constexpr Duration operator*(std::int64_t n, Duration a) { return a * n; }
  friend constexpr std::int64_t operator/(Duration a, Duration b) { return a.ticks_ / b.ticks_; }
  constexpr Duration& operator+=(Duration other) { return *this = *this + other; }
  constexpr Duration& operator-=(Duration other) { return *this = *this - other; }

 private:
  constexpr explicit Duration(std::int64_t ticks) : ticks_(ticks) {}
  std::int64_t ticks_ = 0;
};

/// A point in simulation time, in ticks since the start of the run.
class Time {
 public:
  constexpr Time() = default;
  static constexpr Time from_ticks(std::int64_t ticks) { return Time(ticks); }
  static constexpr Time zero() { return Time(0); }
  static constexpr Time max() { return Time(std::numeric_limits<std::int64_t>::max()); }

  constexpr std::int64_t ticks() const { return ticks_; }
  constexpr double to_seconds() const { return static_cast<double>(ticks_) / 1e9; }

  friend constexpr auto operator<=>(Time, Time) = default;
  friend constexpr Time operator+(Time a, Duration b) { return Time(a.ticks_ + b.ticks()); }
  friend constexpr Time operator-(Time a, Duration b) { return Time(a.ticks_ - b.ticks()); }
  friend constexpr Duration operator-(Time a, Time b) {
    return Duration::from_ticks(a.ticks_ - b.ticks_);
  }

 private:
  constexpr explicit Time(std::int64_t ticks) : ticks_(ticks) {}
  std::int64_t ticks_ = 0;
};

}  // namespace orrery
