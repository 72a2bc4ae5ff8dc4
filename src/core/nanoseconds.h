// SPDX-License-Identifier: Apache-2.0
//
// Ticks of a model as nanoseconds, the unit of traces and captures. Where one is a whole multiple
// of the other, the conversion is exact, so that files do not depend on the rounding of floating
// point.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace orrery {

class Nanoseconds {
 public:
  /// `tick_seconds`: above 0.
  explicit Nanoseconds(double tick_seconds)
      : per_tick_(tick_seconds * 1e9),
        multiple_(whole(per_tick_)),
        divisor_(multiple_ == 0 ? whole(1 / per_tick_) : 0) {}

  /// Of 0 or more ticks; rounded down, and the largest number for times beyond 584 years.
  std::uint64_t of(std::int64_t ticks) const {
    const auto count = static_cast<std::uint64_t>(ticks);
    if (divisor_ != 0) return count / divisor_;
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
    if (multiple_ != 0) return count > kMost / multiple_ ? kMost : count * multiple_;
    const double product = static_cast<double>(ticks) * per_tick_;
    return product < 0x1p64 ? static_cast<std::uint64_t>(product) : kMost;
  }

 private:
  /// `value` if it is a whole number, within the rounding of a product of doubles; else 0.
  static std::uint64_t whole(double value) {
    const double nearest = std::round(value);
    const bool is_whole = nearest < 0x1p63 && std::abs(value - nearest) <= 1e-13 * value;
    return is_whole ? static_cast<std::uint64_t>(nearest) : 0;
  }

  double per_tick_;
  std::uint64_t multiple_, divisor_;  // 0: there is none
};

}  // namespace orrery
