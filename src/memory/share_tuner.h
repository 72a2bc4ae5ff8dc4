// SPDX-License-Identifier: Apache-2.0
//
// Finds the best of a few ordered settings by hill climbing on the rate that each achieves. A
// neighbour is tried between two periods with the present setting. It must beat the better of the
// two by more than the hysteresis, so that neither noise nor a change of load moves the setting.
// When neither neighbour is better the tuner rests, longer each time, since a good setting stays
// good for long and a trial costs throughput.
#pragma once

#include <algorithm>
#include <cstddef>

namespace orrery::memory {

class ShareTuner {
 public:
  ShareTuner(std::size_t settings, std::size_t start) : settings_(settings), best_(start) {}

  /// `rate` was achieved in the period that ended, with the setting that was last returned (at
  /// first the start). Returns the setting for the next period.
  std::size_t next(double rate) {
    switch (phase_) {
      case Phase::rest:
        if (++rested_ < rest_) return best_;
        rested_ = 0;
        before_ = rate;
        return try_neighbour();
      case Phase::trial:
        trial_ = rate;
        phase_ = Phase::after;
        return best_;
      case Phase::after:
        if (trial_ > std::max(before_, rate) * (1 + kHysteresis)) {
          best_ = candidate_;
          failures_ = 0;
          rest_ = 1;
          phase_ = Phase::rest;
          return best_;
        }
        return after_failure(rate);
    }
    return best_;
  }
  std::size_t best() const { return best_; }

 private:
  enum class Phase { rest, trial, after };
  static constexpr double kHysteresis = 0.02;
  static constexpr unsigned kLongestRest = 256;

  std::size_t try_neighbour() {
    if (!has_neighbour()) upwards_ = !upwards_;
    if (!has_neighbour()) return best_;  // one setting only
    candidate_ = upwards_ ? best_ + 1 : best_ - 1;
    phase_ = Phase::trial;
    return candidate_;
  }
  std::size_t after_failure(double rate) {
    upwards_ = !upwards_;
    phase_ = Phase::rest;
    if (++failures_ == 1 && has_neighbour()) {
      before_ = rate;
      return try_neighbour();
    }
    failures_ = 0;
    rest_ = std::min(rest_ * 2, kLongestRest);
    return best_;
  }
  bool has_neighbour() const { return upwards_ ? best_ + 1 < settings_ : best_ > 0; }

  const std::size_t settings_;
  std::size_t best_;
  std::size_t candidate_ = 0;
  bool upwards_ = true;
  Phase phase_ = Phase::rest;
  unsigned rest_ = 1, rested_ = 0, failures_ = 0;
  double before_ = 0, trial_ = 0;
};

}  // namespace orrery::memory
