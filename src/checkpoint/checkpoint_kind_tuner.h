// SPDX-License-Identifier: Apache-2.0
//
// Which kind of checkpoint costs least for the LPs of one type and about one size, and at which
// interval. A worker's LPs share this, and each follows it from its first event on. So the kind is
// also right in a run with few events an LP.
//
// The time of an LP apart from its checkpoints (handlers, rollbacks, coasting forward) is added up
// in cycles. Page faults from the tracking of incremental checkpoints fall into handlers, so they
// count for that kind. Checkpoints count with their mean cost divided by the interval, so the
// result does not depend on whether a checkpoint fell into a trial.
//
// A few LPs try a kind for a few events each, while the others go on. The cost of an event in a
// trial is compared with the same LP's cost before, since LPs differ in their events more than
// kinds do. A trial lasts until its result is clear (kLevels: the closer the costs, the more
// events). The extra cost of all trials is at most kTrialShare of the run, so trials of large LPs,
// which begin with a full copy, come later. Then the cheapest kind is kept for a number of events
// that doubles each time, and the other kinds are tried again. A kind that cost more than kHopeless
// times the best is tried again only every kPatience-th time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "checkpoint/checkpoint.h"
#include "checkpoint/interval.h"
#include "run/tuning/rest.h"
#include "run/tuning/trial_budget.h"

namespace orrery::checkpoint {

class CheckpointKindTuner {
 public:
  static constexpr unsigned kKinds = 3;
  /// Interval of the images that are kept beside reverse records, for handlers that fail midway.
  static constexpr std::uint32_t kReverseImageInterval = 256;

  /// `candidates`: a bit for each kind. Reverse comes first: a model has reverse handlers for a
  /// reason.
  CheckpointKindTuner(unsigned candidates, Interval interval);

  /// The best kind so far.
  Kind kind() const { return static_cast<Kind>(kind_); }
  std::uint32_t interval(Kind kind) const { return costs_[index(kind)].interval.events(); }

  /// Whether an LP may take a turn with the kind on trial.
  bool wants_turn() const {
    return trial_.granted < trial_.wanted && budget_.allows(turn_cost(), all_cycles_);
  }
  struct Turn {
    Kind kind;
    std::uint8_t events;
  };
  Turn grant_turn();
  bool on_trial(Kind kind) const { return trial_.kind == index(kind); }
  /// Adds an event of a turn; `usual`: the LP's cycles an event before it, without checkpoints.
  void add_trial_event(std::uint64_t cycles, double usual);
  void add_trial_rollback(std::uint64_t cycles);

  /// Adds an event of an LP that follows; it counts `stands_for` times. Returns the cycles that
  /// count: if a worker was off its core during the event, the measured cycles say nothing about
  /// the event.
  std::uint64_t add_event(std::uint64_t cycles, std::uint32_t stands_for);
  void add_rollback(std::uint64_t cycles);
  void add_checkpoint(Kind kind, std::uint64_t cycles);

 private:
  static constexpr unsigned kNone = kKinds;
  /// A trial may end after `events` if the kind's relative cost lies outside [better, worse].
  struct Level {
    std::uint64_t events;
    double better, worse;
  };
  static constexpr std::uint64_t kFirstTrialEvents = 48;
  static constexpr Level kLevels[] = {
      {kFirstTrialEvents, 0.6, 1.6}, {192, 0.8, 1.25}, {768, 1.0, 1.0}};
  static constexpr double kTrialShare = 0.03;
  /// Events of a turn. kShadowCopies: the first delta of an LP costs as much as so many copies of
  /// the LP, since its memory is new to the process and its pages must be registered.
  static constexpr std::uint8_t kTurnEvents = 8, kDeltaTurnEvents = 24;
  static constexpr double kShadowCopies = 4;
  static constexpr std::uint64_t kFirstHold = 4096, kLongestHold = std::uint64_t{1} << 22;
  static constexpr double kHopeless = 2.0;
  static constexpr unsigned kPatience = 8;
  static constexpr double kOutdone = 1.5;
  static constexpr std::uint64_t kPeriodEvents = 512;
  static constexpr std::uint64_t kLostTurn = 4096;  ///< events after which a turn is granted again
  static constexpr int kFadingEvents = 8192;

  static constexpr unsigned index(Kind kind) { return static_cast<unsigned>(kind); }

  /// A mean in which older values fade: at kMost values the weight of all is halved. A value above
  /// kFar times the mean of at least kKnown values comes from the system, and is cut to that.
  template <int kKnown, int kFar, int kMost>
  class FadingMean {
   public:
    /// Returns the value after the cut.
    std::uint64_t add(std::uint64_t value) {
      if (count_ >= kKnown) value = std::min(value, static_cast<std::uint64_t>(mean() * kFar));
      sum_ += static_cast<double>(value);
      if (++count_ >= kMost) {
        count_ /= 2;
        sum_ /= 2;
      }
      return value;
    }
    bool empty() const { return count_ == 0; }
    double mean() const { return empty() ? 0 : sum_ / count_; }

   private:
    double count_ = 0, sum_ = 0;
  };
  /// The costs of one kind, in cycles.
  struct Costs {
    Interval interval = Interval::fixed(1);
    FadingMean<8, 64, kFadingEvents> event;
    FadingMean<4, 16, 256> checkpoint;
    double relative = 0;  ///< cost of an event relative to the best kind's; 0: unknown

    /// Checkpoint cost an event.
    double checkpoint_share() const { return checkpoint.mean() / interval.events(); }
  };
  struct Trial {
    unsigned kind = kNone;
    std::size_t level = 0;
    std::uint64_t events = 0, granted = 0, wanted = 0;
    std::uint64_t granted_at = 0;  ///< all_events_ when a turn was last granted
    double cycles = 0, usual = 0;  ///< checkpoints apart
  };

  double turn_cost() const;
  void adjust_interval(Costs& costs);
  void end_period();
  void judge();
  void conclude(double relative);
  void begin_next_trial();
  void hold();

  unsigned kind_;
  unsigned candidates_;   ///< a bit each, like untried_
  unsigned untried_ = 0;  ///< still to be tried before the next hold
  unsigned holds_ = 0;    ///< so far
  std::array<Costs, kKinds> costs_;
  Trial trial_;
  std::uint64_t all_events_ = 0;
  double all_cycles_ = 0;                                       ///< events, rollbacks, checkpoints
  tuning::TrialBudget budget_{kTrialShare};                     ///< of trials, in cycles
  double copy_cycles_ = 0;                                      ///< mean cost of a copy of the LP
  double rated_events_ = 0, rollbacks_ = 0;                     ///< of all kinds; they fade
  tuning::Rest<std::uint64_t> hold_{kFirstHold, kLongestHold};  ///< events
  std::uint64_t next_trials_ = 0;  ///< value of all_events_ at which trials begin
  std::uint64_t period_events_ = 0;
  double period_cycles_ = 0;
  double held_cost_ = 0;  ///< of an event in the first period of this hold
};

}  // namespace orrery::checkpoint
