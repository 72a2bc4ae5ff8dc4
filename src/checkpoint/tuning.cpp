// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tuning.h"

namespace orrery::checkpoint {

void Tuning::decide() {
  const double cost = static_cast<double>(event_cycles_ + checkpoint_cycles_ + rollback_cycles_) /
                      static_cast<double>(events_);
  costs_[kind_] = costs_[kind_] == 0 ? cost : 0.5 * (costs_[kind_] + cost);
  adjust_interval();
  events_ = event_cycles_ = checkpoints_ = checkpoint_cycles_ = rollbacks_ = rollback_cycles_ = 0;
  if (periods_left_ > 0 && --periods_left_ > 0 && !outdone()) return;
  periods_left_ = 0;
  if (!try_next()) hold_cheapest();
}

void Tuning::adjust_interval() {
  if (checkpoints_ == 0) return;
  intervals_[kind_].adjust(
      events_, rollbacks_,
      static_cast<double>(checkpoint_cycles_) / static_cast<double>(checkpoints_),
      static_cast<double>(event_cycles_) / static_cast<double>(events_));
}

/// Whether the kind in use has become dearer than another one was.
bool Tuning::outdone() {
  for (unsigned kind = 0; kind < kKinds; ++kind) {
    if (costs_[kind] > 0 && kOutdone * costs_[kind] < costs_[kind_]) {
      untried_ |= 1u << kind;
      hold_ = std::max(hold_ / 4, 1u);
      return true;
    }
  }
  return false;
}

/// Goes over to the next kind that is to be tried.
bool Tuning::try_next() {
  if (untried_ == 0) return false;
  kind_ = first_of(untried_);
  untried_ &= ~(1u << kind_);
  period_ = kTrialEvents;
  return true;
}

/// All known: keeps the cheapest for a while; then the others are to be tried again.
void Tuning::hold_cheapest() {
  for (unsigned kind = 0; kind < kKinds; ++kind)
    if (costs_[kind] > 0 && costs_[kind] < costs_[kind_]) kind_ = kind;
  period_ = kPeriodEvents;
  periods_left_ = hold_;
  hold_ = std::min(hold_ * 2, kLongestHold);
  ++holds_;
  untried_ = candidates_ & ~(1u << kind_);
  for (unsigned kind = 0; kind < kKinds; ++kind)
    if (costs_[kind] > kHopeless * costs_[kind_] && holds_ % kPatience != 0)
      untried_ &= ~(1u << kind);
}

}  // namespace orrery::checkpoint
