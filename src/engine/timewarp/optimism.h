// SPDX-License-Identifier: Apache-2.0
//
// How far ahead of GVT events may be executed. The window opens and closes with what was measured:
// it shrinks when rollbacks undo much of the work or when memory nears its budget, and grows while
// they do not; where nothing goes wrong it is unlimited. All workers feed it the same reports, so
// all have the same window without talking about it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace orrery::timewarp {

class Optimism {
 public:
  static constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

  /// `fixed_ticks` > 0 fixes the window. `budget_bytes`: for all workers together.
  Optimism(std::int64_t fixed_ticks, std::uint64_t budget_bytes)
      : fixed_(fixed_ticks > 0),
        window_ticks_(fixed_ticks > 0 ? fixed_ticks : kUnlimited),
        budget_bytes_(budget_bytes) {}

  struct Observation {
    std::uint64_t executed = 0, rolled_back = 0;  ///< since the start of the run
    std::int64_t memory_bytes = 0;                ///< held now
    std::int64_t lead_ticks = 0;                  ///< of the furthest event over GVT
  };

  void observe(const Observation& now) {
    widest_lead_ = std::max(widest_lead_, now.lead_ticks);
    observe_memory(now);
    executed_before_ = now.executed;
    const std::uint64_t executed = now.executed - executed_;
    if (executed < kSampleEvents) return;
    const double wasted =
        static_cast<double>(now.rolled_back - rolled_back_) / static_cast<double>(executed);
    executed_ = now.executed;
    rolled_back_ = now.rolled_back;
    if (wasted > kTooMuchWasted) {
      narrow(widest_lead_, 0.7);
    } else if (!over_soft_limit_) {
      widen(wasted < kLittleWasted ? 1.5 : 1.05);
    }
    widest_lead_ = 0;
  }

  /// Events at this distance from GVT or further must wait.
  std::int64_t window_ticks() const { return window_ticks_; }
  /// Memory is beyond its budget: what was executed too far ahead must be undone.
  bool must_retreat() const { return over_budget_; }

 private:
  static constexpr std::uint64_t kSampleEvents = 4096;
  static constexpr double kTooMuchWasted = 0.3;
  static constexpr double kLittleWasted = 0.15;
  static constexpr double kSoftLimit = 0.8;
  static constexpr std::uint64_t kProductiveEvents = 512;

  /// Beyond the budget the window closes until rounds become unproductive: what is held then is
  /// what the model itself needs, and closing further would only make the run crawl.
  void observe_memory(const Observation& now) {
    const auto bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(now.memory_bytes, 0));
    const bool productive = now.executed - executed_before_ >= kProductiveEvents;
    over_soft_limit_ = static_cast<double>(bytes) > kSoftLimit * static_cast<double>(budget_bytes_);
    over_budget_ = bytes > budget_bytes_ && productive;
    if (over_soft_limit_ && productive) {
      narrow(now.lead_ticks, 0.5);
    } else if (over_soft_limit_) {
      widen(2.0);
    }
  }
  /// Nobody ahead of GVT: the waste is of before, and there is nothing to cut.
  void narrow(std::int64_t lead_ticks, double factor) {
    if (fixed_ || lead_ticks <= 0) return;
    const auto from = static_cast<double>(std::min(window_ticks_, lead_ticks));
    window_ticks_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(from * factor));
  }
  void widen(double factor) {
    if (fixed_ || window_ticks_ == kUnlimited) return;
    const double wider = static_cast<double>(window_ticks_) * factor + 1.0;
    // A window far beyond what anyone uses is none.
    const bool moot =
        wider > 64.0 * static_cast<double>(std::max<std::int64_t>(widest_lead_, 1)) || wider > 4e18;
    window_ticks_ = moot ? kUnlimited : static_cast<std::int64_t>(wider);
  }

  const bool fixed_;
  std::int64_t window_ticks_;
  const std::uint64_t budget_bytes_;
  std::int64_t widest_lead_ = 0;
  std::uint64_t executed_ = 0, rolled_back_ = 0;
  std::uint64_t executed_before_ = 0;  ///< at the last observation
  bool over_budget_ = false, over_soft_limit_ = false;
};

}  // namespace orrery::timewarp
