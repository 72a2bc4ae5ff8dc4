// SPDX-License-Identifier: Apache-2.0
//
// One LP's choice among kinds of checkpoints, and its interval, from measured costs.
//
// All time that the LP costs (handlers, checkpoints, rollbacks, coasting forward) is added up over
// a period and divided by its events; page faults of an incremental checkpoint's tracking fall into
// handlers and are thus counted where they belong. Each kind is tried for kTrialEvents, then the
// cheapest is kept for a number of periods that doubles, and the others are tried again. A kind
// that measured more than kHopeless times the best is tried again only every kPatience-th time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "checkpoint/checkpoint.h"
#include "checkpoint/interval.h"

namespace orrery::checkpoint {

class Tuning {
 public:
  static constexpr unsigned kKinds = 3;

  /// `candidates`: a bit for each kind. Reverse is tried first: who writes reverse handlers has
  /// reasons, and short runs never get to know better.
  Tuning(unsigned candidates, Interval interval)
      : candidates_(candidates), kind_(first_of(candidates)) {
    untried_ = candidates & ~(1u << kind_);
    intervals_.fill(interval);
    costs_.fill(0);
  }

  /// Kinds that the LP may have, a bit each; those that are new are tried next. An LP may grow.
  void add_candidates(unsigned kinds) {
    untried_ |= kinds & ~candidates_;
    candidates_ |= kinds;
  }

  Kind kind() const { return static_cast<Kind>(kind_); }
  std::uint32_t interval() const { return intervals_[kind_].events(); }

  /// An event was handled; true if the period is over.
  bool add_event(std::uint64_t cycles) {
    event_cycles_ += clipped(cycles);
    return ++events_ >= period_;
  }
  void add_checkpoint(std::uint64_t cycles) {
    checkpoint_cycles_ += cycles;
    ++checkpoints_;
  }
  void add_rollback(std::uint64_t cycles) {
    rollback_cycles_ += cycles;
    ++rollbacks_;
  }
  /// Ends a period: adjusts the interval and chooses the next period's kind.
  void decide();

 private:
  static constexpr std::uint64_t kTrialEvents = 48, kPeriodEvents = 256;
  static constexpr unsigned kLongestHold = 256;  // periods
  static constexpr double kHopeless = 2.0;
  static constexpr unsigned kPatience = 8;
  static constexpr double kOutdone = 1.5;

  static unsigned first_of(unsigned candidates) {
    constexpr auto kReverse = static_cast<unsigned>(Kind::reverse);
    return (candidates >> kReverse & 1) != 0 ? kReverse
                                             : static_cast<unsigned>(__builtin_ctz(candidates));
  }
  /// A worker that was off its core during an event says nothing about the event.
  std::uint64_t clipped(std::uint64_t cycles) const {
    return events_ < 8 ? cycles : std::min(cycles, event_cycles_ / events_ * 64);
  }
  void adjust_interval();
  bool outdone();
  bool try_next();
  void hold_cheapest();

  unsigned candidates_;
  unsigned untried_ = 0;  ///< candidates still to be tried in this round of trials
  unsigned kind_;
  unsigned holds_ = 0;         ///< so far
  unsigned hold_ = 4;          ///< length of the next one in periods
  unsigned periods_left_ = 0;  ///< of the present one
  std::array<Interval, kKinds> intervals_{Interval::fixed(1), Interval::fixed(1),
                                          Interval::fixed(1)};
  std::array<double, kKinds> costs_{};  ///< cycles an event; 0: not known
  std::uint64_t period_ = kTrialEvents;
  std::uint64_t events_ = 0, event_cycles_ = 0;
  std::uint64_t checkpoints_ = 0, checkpoint_cycles_ = 0;
  std::uint64_t rollbacks_ = 0, rollback_cycles_ = 0;
};

}  // namespace orrery::checkpoint
