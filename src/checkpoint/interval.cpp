// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/interval.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "orrery/error.h"

namespace orrery::checkpoint {

Interval Interval::parse(std::string_view text) {
  if (text == "auto") return {16, true};
  if (text == "copy") return {1, false};
  constexpr std::string_view kPeriodic = "periodic:";
  if (text.starts_with(kPeriodic)) {
    const std::string_view number = text.substr(kPeriodic.size());
    std::uint32_t events = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), events);
    if (error == std::errc{} && end == number.data() + number.size() && events >= 1 &&
        events <= kLongest)
      return {events, false};
  }
  throw UsageError("there is no checkpoint strategy '" + std::string(text) +
                   "'; strategies: auto, copy, periodic:N with N from 1 to " +
                   std::to_string(kLongest));
}

void Interval::adjust(std::uint64_t executed, std::uint64_t rollbacks, double checkpoint_cost,
                      double event_cost) {
  if (!automatic_ || executed == 0) return;
  double best = 64;  // no rollback seen: rarely, but not never
  if (rollbacks > 0 && event_cost > 0) {
    best = std::sqrt(2.0 * static_cast<double>(executed) * checkpoint_cost /
                     (static_cast<double>(rollbacks) * event_cost));
  }
  // Halfway to the new estimate: measurements of one period are noisy.
  const double next = std::sqrt(std::clamp(best, 1.0, 64.0) * events_);
  events_ = static_cast<std::uint32_t>(std::lround(std::clamp(next, 1.0, 64.0)));
}

}  // namespace orrery::checkpoint
