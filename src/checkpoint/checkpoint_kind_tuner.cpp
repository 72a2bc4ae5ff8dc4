// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/checkpoint_kind_tuner.h"

#include <algorithm>
#include <utility>

namespace orrery::checkpoint {

CheckpointKindTuner::CheckpointKindTuner(unsigned candidates, Interval interval)
    : candidates_(candidates) {
  constexpr unsigned kReverse = index(Kind::reverse);
  kind_ = (candidates >> kReverse & 1) != 0 ? kReverse
                                            : static_cast<unsigned>(__builtin_ctz(candidates));
  untried_ = candidates & ~(1u << kind_);
  for (Costs& costs : costs_) costs.interval = interval;
  costs_[kReverse].interval = Interval::fixed(kReverseImageInterval);
  costs_[kind_].relative = 1;
  begin_next_trial();
}

// ---- Measurements

std::uint64_t CheckpointKindTuner::add_event(std::uint64_t cycles, std::uint32_t stands_for) {
  cycles = costs_[kind_].event.add(cycles);
  const auto all = static_cast<double>(cycles * stands_for);
  all_events_ += stands_for;
  all_cycles_ += all;
  period_cycles_ += all;
  period_events_ += stands_for;
  if (period_events_ >= kPeriodEvents) end_period();
  return cycles;
}

void CheckpointKindTuner::add_rollback(std::uint64_t cycles) {
  ++rollbacks_;
  all_cycles_ += static_cast<double>(cycles);
  period_cycles_ += static_cast<double>(cycles);
}

void CheckpointKindTuner::add_checkpoint(Kind kind, std::uint64_t cycles) {
  Costs& costs = costs_[index(kind)];
  all_cycles_ += static_cast<double>(costs.checkpoint.add(cycles));
  if (kind != Kind::delta) copy_cycles_ = costs.checkpoint.mean();
  adjust_interval(costs);
}

void CheckpointKindTuner::adjust_interval(Costs& costs) {
  // The cost of an event comes from this kind's events, or else from those of the kind in use.
  const Costs& source = costs.event.empty() ? costs_[kind_] : costs;
  costs.interval.adjust(rated_events_ + static_cast<double>(period_events_), rollbacks_,
                        costs.checkpoint.mean(), source.event.mean());
}

/// Begins new trials if the kind in use has become more expensive or its time is over.
void CheckpointKindTuner::end_period() {
  const double cost =
      period_cycles_ / static_cast<double>(period_events_) + costs_[kind_].checkpoint_share();
  rated_events_ += static_cast<double>(period_events_);
  if (rated_events_ >= kFadingEvents) {
    rated_events_ /= 2;
    rollbacks_ /= 2;
  }
  period_events_ = 0;
  period_cycles_ = 0;
  if (trial_.kind != kNone) {
    if (all_events_ - trial_.granted_at >= kLostTurn) trial_.granted = trial_.events;
    return;
  }
  if (held_cost_ == 0) held_cost_ = cost;
  const bool outdone = cost > kOutdone * held_cost_;
  if (outdone) {
    untried_ = candidates_ & ~(1u << kind_);
    hold_.shorten(4);
  }
  if (outdone || all_events_ >= next_trials_) begin_next_trial();
}

// ---- Trials

/// The cost of a turn without its events.
double CheckpointKindTuner::turn_cost() const {
  return trial_.kind == index(Kind::delta) ? kShadowCopies * copy_cycles_ : copy_cycles_;
}

CheckpointKindTuner::Turn CheckpointKindTuner::grant_turn() {
  const auto kind = static_cast<Kind>(trial_.kind);
  const std::uint8_t events = kind == Kind::delta ? kDeltaTurnEvents : kTurnEvents;
  budget_.charge(turn_cost());
  trial_.granted += events;
  trial_.granted_at = all_events_;
  return {kind, events};
}

void CheckpointKindTuner::add_trial_event(std::uint64_t cycles, double usual) {
  ++all_events_;
  const auto counted = static_cast<double>(costs_[trial_.kind].event.add(cycles));
  all_cycles_ += counted;
  budget_.charge(counted - usual);
  trial_.cycles += counted;
  trial_.usual += usual;
  if (++trial_.events >= trial_.wanted) judge();
}

void CheckpointKindTuner::add_trial_rollback(std::uint64_t cycles) {
  ++rollbacks_;
  const auto counted = static_cast<double>(cycles);
  all_cycles_ += counted;
  budget_.charge(counted);
  trial_.cycles += counted;
}

void CheckpointKindTuner::judge() {
  const auto events = static_cast<double>(trial_.events);
  const double relative = (trial_.cycles / events + costs_[trial_.kind].checkpoint_share()) /
                          (trial_.usual / events + costs_[kind_].checkpoint_share());
  const Level& level = kLevels[trial_.level];
  if (relative >= level.better && relative <= level.worse &&
      trial_.level + 1 < std::size(kLevels)) {
    trial_.wanted = kLevels[++trial_.level].events;
    return;
  }
  conclude(relative);
}

void CheckpointKindTuner::conclude(double relative) {
  const unsigned tried = std::exchange(trial_.kind, kNone);
  costs_[tried].relative = relative;
  if (relative < 1) {
    for (Costs& costs : costs_) costs.relative /= relative;
    kind_ = tried;
  }
  begin_next_trial();
}

void CheckpointKindTuner::begin_next_trial() {
  trial_ = {};
  if (untried_ == 0) return hold();
  trial_.kind = static_cast<unsigned>(__builtin_ctz(untried_));
  untried_ &= ~(1u << trial_.kind);
  trial_.wanted = kLevels[0].events;
  trial_.granted_at = all_events_;
}

/// All kinds are known: the best is kept for a while, then the others are tried again.
void CheckpointKindTuner::hold() {
  next_trials_ = all_events_ + hold_.take();
  held_cost_ = 0;
  ++holds_;
  untried_ = candidates_ & ~(1u << kind_);
  if (holds_ % kPatience == 0) return;
  for (unsigned kind = 0; kind < kKinds; ++kind)
    if (costs_[kind].relative > kHopeless) untried_ &= ~(1u << kind);
}

}  // namespace orrery::checkpoint
