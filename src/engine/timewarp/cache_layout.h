// SPDX-License-Identifier: Apache-2.0
//
// Which cache sets serve which memory of a run (memory/colour.h), and the search for the best
// threshold while it runs.
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
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/cycles.h"
#include "engine/timewarp/settings.h"
#include "memory/colour.h"
#include "memory/share_tuner.h"

namespace orrery::timewarp {

struct CacheLayout {
  memory::Colouring colouring;  ///< of worker 0
  bool automatic = false;

  /// For `workers` threads. A worker without peers takes no checkpoints and gets no colouring:
  /// there is nothing to separate. Adds to `notes` what is assumed or impossible.
  static CacheLayout choose(const Settings& settings, unsigned workers,
                            std::vector<std::string>& notes);
  memory::Colouring of_worker(unsigned worker) const {
    memory::Colouring its = colouring;
    its.worker = worker;
    return its;
  }
};

/// Searches for the best threshold of mild memory. Worker 0 calls it once a GVT round.
class CacheTuning {
 public:
  explicit CacheTuning(const CacheLayout& layout)
      : way_bytes_(layout.colouring.way_bytes), period_cycles_(cycles_in(kPeriodSeconds)) {}

  /// The threshold to use from now on, if it changes. `committed` events by all workers so far.
  std::optional<std::size_t> observe(std::uint64_t committed);

  static constexpr double kAutomaticShare = 1;  ///< of LPs and events
  static std::size_t threshold(std::size_t setting, std::size_t way_bytes) {
    return way_bytes / 8 * kEighths[setting] / memory::kPageBytes * memory::kPageBytes;
  }
  static constexpr std::size_t kStart = 0;

 private:
  static constexpr std::array<std::size_t, 4> kEighths = {0, 4, 6, 7};
  static constexpr double kPeriodSeconds = 0.025;
  static constexpr std::uint64_t kLeastRounds = 16;
  static constexpr double kSettling = 0.25;  ///< share of a period, before a setting is measured

  const std::size_t way_bytes_;
  const std::uint64_t period_cycles_;
  memory::ShareTuner tuner_{kEighths.size(), kStart};
  std::size_t setting_ = kStart;
  bool settling_ = true;
  std::uint64_t rounds_ = 0;
  std::uint64_t since_cycles_ = 0, since_committed_ = 0;
};

}  // namespace orrery::timewarp
