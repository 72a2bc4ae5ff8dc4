// SPDX-License-Identifier: Apache-2.0
//
// Searches for the best threshold of mild memory (colour.h) while a run goes on.
//
// LP memory and events stay where they were first placed. Only the threshold from which on
// checkpoints and histories ("mild memory") are placed can change, since these are recycled every
// few GVT rounds. With the automatic setting LPs and events therefore use all sets, as without
// separation. Mild memory begins at 0 (no separation), and is confined to the last half, quarter or
// eighth of every way when that commits more events per second; then it evicts other data from that
// part of the sets only. So the automatic setting cannot be much worse than no separation, whatever
// the model: a fixed share takes sets from model memory whether checkpoints need them or not.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "memory/colour.h"
#include "memory/share_tuner.h"

namespace orrery::memory {

/// Call it once a GVT round, on one thread.
class CacheTuning {
 public:
  static constexpr double kPeriodSeconds = 0.025;
  static constexpr double kAutomaticShare = 1;  ///< of LPs and events
  static constexpr std::size_t kStart = 0;

  /// `period_cycles`: kPeriodSeconds by the clock of `note`.
  CacheTuning(std::size_t way_bytes, std::uint64_t period_cycles)
      : way_bytes_(way_bytes), period_cycles_(period_cycles) {}

  /// The threshold to use from now on, if it changes. `committed`: events of all workers so far;
  /// `now`: cycles.
  std::optional<std::size_t> note(std::uint64_t committed, std::uint64_t now) {
    if (since_cycles_ == 0) since_cycles_ = now;
    ++rounds_;
    const std::uint64_t elapsed = now - since_cycles_;
    if (settling_ ? static_cast<double>(elapsed) < kSettling * static_cast<double>(period_cycles_)
                  : elapsed < period_cycles_ || rounds_ < kLeastRounds)
      return {};
    if (settling_) {
      settling_ = false;
    } else {
      const std::size_t next = tuner_.next(static_cast<double>(committed - since_committed_) /
                                           static_cast<double>(elapsed));
      settling_ = next != setting_;
      setting_ = next;
    }
    rounds_ = 0;
    since_cycles_ = now;
    since_committed_ = committed;
    if (!settling_) return {};
    return threshold(setting_, way_bytes_);
  }

  static std::size_t threshold(std::size_t setting, std::size_t way_bytes) {
    return way_bytes / 8 * kEighths[setting] / kPageBytes * kPageBytes;
  }

 private:
  static constexpr std::array<std::size_t, 4> kEighths = {0, 4, 6, 7};
  static constexpr std::uint64_t kLeastRounds = 16;
  static constexpr double kSettling = 0.25;  ///< share of a period, before a setting is measured

  const std::size_t way_bytes_;
  const std::uint64_t period_cycles_;
  ShareTuner tuner_{kEighths.size(), kStart};
  std::size_t setting_ = kStart;
  bool settling_ = true;
  std::uint64_t rounds_ = 0;
  std::uint64_t since_cycles_ = 0, since_committed_ = 0;
};

}  // namespace orrery::memory
