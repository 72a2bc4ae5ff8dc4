// SPDX-License-Identifier: Apache-2.0
//
// The settings of --offload and related options, checked, and the search for the abort threshold.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "run/engine.h"

namespace orrery::checkpoint {

struct Offload {
  enum class Mode {
    none,
    mono,  ///< one outstanding copy a worker
    multi  ///< as many as the ring has slots
  };

  /// Throws UsageError if options are invalid or contradict each other.
  static Offload parse(const RunOptions& options);

  bool on() const { return mode != Mode::none; }

  Mode mode = Mode::none;
  unsigned copiers = 1;
  std::size_t burst_bytes = 0;
  double threshold = 0;  ///< share of a copy that must be done for the worker to finish it
  bool threshold_automatic = true;
  std::uint32_t longest_distance = 0;  ///< events after which a copy is forced through
};

/// Finds the abort threshold with the highest event rate by hill climbing: each neighbour of the
/// best threshold so far is used for a period, and becomes the best if it was faster by kGain.
class ThresholdSearch {
 public:
  static constexpr unsigned kSteps = 10;

  explicit ThresholdSearch(const Offload& offload)
      : automatic_(offload.threshold_automatic), fixed_(offload.threshold) {}

  double threshold() const { return automatic_ ? static_cast<double>(trying_) / kSteps : fixed_; }
  /// `executed`: events of the worker so far; `cycles`: a cycle count with any origin.
  void note(std::uint64_t executed, std::uint64_t cycles);

 private:
  static constexpr std::uint64_t kPeriodEvents = 16384;
  static constexpr double kGain = 1.02;

  bool automatic_;
  double fixed_;
  unsigned best_ = kSteps / 2, trying_ = kSteps / 2;
  int direction_ = 1;
  double best_rate_ = 0;
  std::uint64_t executed_ = 0, cycles_ = 0;
};

}  // namespace orrery::checkpoint
