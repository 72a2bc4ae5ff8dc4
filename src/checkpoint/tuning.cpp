// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tuning.h"

#include <utility>

namespace orrery::checkpoint {

void Tuning::add_event(std::uint64_t cycles) {
  const std::uint32_t stands_for = std::exchange(unmeasured_, 0);
  if (turn_left_ > 0) {
    if (!tuner_->on_trial(kind_)) return follow();  // other LPs have ended the trial
    tuner_->add_trial_event(cycles, usual_);
    if (--turn_left_ == 0) follow();
    return;
  }
  if (allowed(tuner_->kind()) != kind_) return follow();
  if (tuner_->kind() != kind_) return;  // an excluded kind: the costs teach nothing
  const std::uint64_t counted = tuner_->add_event(cycles, stands_for);
  if (cold_left_ > 0) {
    --cold_left_;
    return;
  }
  cycles_ += static_cast<double>(counted * stands_for);
  events_ += stands_for;
  if (events_ >= kFadingEvents) {
    events_ /= 2;
    cycles_ /= 2;
  }
  if (!known() || excluded_ != 0 || !tuner_->wants_turn()) return;
  usual_ = cycles_ / events_;
  const CheckpointKindTuner::Turn turn = tuner_->grant_turn();
  kind_ = turn.kind;
  turn_left_ = turn.events;
}

void Tuning::add_rollback(std::uint64_t cycles) {
  if (tuner_ == nullptr) return;
  if (turn_left_ > 0) {
    if (tuner_->on_trial(kind_)) tuner_->add_trial_rollback(cycles);
    return;
  }
  cycles_ += static_cast<double>(cycles);
  tuner_->add_rollback(cycles);
}

void Tuning::follow() {
  kind_ = allowed(tuner_->kind());
  turn_left_ = 0;
  events_ = cycles_ = 0;
}

}  // namespace orrery::checkpoint
