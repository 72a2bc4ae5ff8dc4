// SPDX-License-Identifier: Apache-2.0
#include "engine/auto/policy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace orrery::automatic {
namespace {

// No trial before this time, so that short runs have none.
constexpr double kQuietSeconds = 0.12;
// The budget: kShortShare of short runs; of longer runs kLongShare plus kLongSeconds. The first
// trial of a run may take more: a world that is slow to hand over must have a trial early if the
// trial is to pay.
constexpr double kShortShare = 0.05, kLongShare = 0.005, kLongSeconds = 0.1, kFirstShare = 0.15;
// The least length of a trial's first stage; also long enough for some hundred events, and at least
// as long as the hand-over.
constexpr double kTrialSeconds = 0.02, kTrialEvents = 300;
// The other stages' lengths in units of the first one, and the limits that decide in them, for the
// ratio of the candidate's rate to the incumbent's.
constexpr double kSecondStage = 3, kThirdStage = 6;
constexpr double kHopeless = 0.6, kBehind = 0.9, kAhead = 1.15, kBetter = 1.04;
constexpr double kClear = 1.3;  // a gain that is no chance
// A loser waits until its loss is this share of the time since. The first loss may be accidental:
// threads get their cores late, or an engine has not adapted its windows yet.
constexpr double kLossShare = 0.005, kFirstLossShare = 0.02;
constexpr double kShortestWait = 0.5, kLongestWait = 600;
constexpr double kChange = 0.2;  // of the incumbent's rate, after which all may try again
// The bounds of the incumbent's slices; a slice may be longer if its hand-overs are slow.
constexpr double kShortestSlice = 0.05, kLongestSlice = 2, kHandOversASlice = 100;
constexpr double kHandOversATrial = 2;
constexpr double kExpectedRatio = 0.5;
constexpr double kCloseShare = 0.06;  // share of the time that may be lost by a close comparison

double ratio_of(double a, double b) {
  return b > 0 ? a / b : std::numeric_limits<double>::infinity();
}

}  // namespace

Policy::Policy(std::vector<Candidate> candidates)
    : candidates_(std::move(candidates)), records_(candidates_.size()) {
  for (const Candidate& candidate : candidates_) {
    if (workers_at_.size() <= candidate.family) workers_at_.resize(candidate.family + 1, 0);
    workers_at_[candidate.family] = std::max(workers_at_[candidate.family], candidate.workers);
  }
}

double Policy::trial_seconds() const {
  return std::max({kTrialSeconds, hand_over_seconds_, rate_ > 0 ? kTrialEvents / rate_ : 0});
}

/// Whether a candidate whose rate is close to the incumbent's is compared again, with two more
/// hand-overs. Not while others wait for a trial, and not early in a run with slow hand-overs.
bool Policy::has_time_for_closeness() const {
  return !others_wait_ &&
         lost_seconds_ + kHandOversATrial * hand_over_seconds_ < kCloseShare * elapsed_seconds_;
}

double Policy::expected_loss() const {
  return (1 - kExpectedRatio) * trial_seconds() + kHandOversATrial * hand_over_seconds_;
}

bool Policy::affordable() const {
  return rate_ > 0 && affordable_in() <= 0;
}

/// Whether candidate i may be next. In the incumbent's family: the next larger and the next smaller
/// number of workers. In another family: the number of workers that did best, or is to be tried
/// next.
bool Policy::in_turn(std::size_t i, const std::vector<char>& open) const {
  if (i == incumbent_ || open[i] == 0) return false;
  const Candidate& one = candidates_[i];
  const Candidate& now = candidates_[incumbent_];
  if (one.family != now.family) return one.workers == workers_at_[one.family];
  return one.workers == now.workers * 2 || one.workers * 2 == now.workers ||
         std::none_of(candidates_.begin(), candidates_.end(), [&](const Candidate& between) {
           return between.family == one.family &&
                  between.workers > std::min(one.workers, now.workers) &&
                  between.workers < std::max(one.workers, now.workers);
         });
}

/// The candidate that is due and has waited longest, except `but`; the number of candidates if none
/// is due.
std::size_t Policy::best_due(const std::vector<char>& open, std::size_t but) const {
  std::size_t best = candidates_.size();
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (i == but || !in_turn(i, open) || records_[i].due_seconds > elapsed_seconds_) continue;
    if (best == candidates_.size() || records_[i].due_seconds < records_[best].due_seconds)
      best = i;
  }
  return best;
}

/// Seconds from now until the budget permits a trial.
double Policy::affordable_in() const {
  const double need = lost_seconds_ + expected_loss();
  const double when = trials_ == 0
                          ? need / kFirstShare
                          : std::max(need / kShortShare, (need - kLongSeconds) / kLongShare);
  return std::max(when, kQuietSeconds) - elapsed_seconds_;
}

double Policy::longest_slice() const {
  return std::max(kLongestSlice, kHandOversASlice * hand_over_seconds_);
}

/// How long the incumbent goes on before the next look.
double Policy::slice(const std::vector<char>& open) const {
  if (elapsed_seconds_ == 0) return kQuietSeconds;
  const double longest = longest_slice();
  double next = longest;
  for (std::size_t i = 0; i < candidates_.size(); ++i)
    if (in_turn(i, open)) next = std::min(next, records_[i].due_seconds - elapsed_seconds_);
  return std::clamp(std::max(next, affordable_in()), kShortestSlice, longest);
}

Policy::Step Policy::next(const std::vector<char>& open) {
  if (stage_ == Stage::none && affordable()) {
    if (const std::size_t due = best_due(open, incumbent_); due != candidates_.size()) {
      stage_ = Stage::first;
      challenger_ = due;
      others_wait_ = best_due(open, due) != candidates_.size();
      base_seconds_ = trial_seconds();
      lost_before_ = lost_seconds_;
      rate_at_look_ = rate_;
      ++trials_;
    }
  }
  switch (stage_) {
    case Stage::none:
      return step_ = {incumbent_, slice(open), Purpose::progress};
    case Stage::first:
      return step_ = {challenger_, base_seconds_, Purpose::trial};
    case Stage::second:
      return step_ = {challenger_, kSecondStage * base_seconds_, Purpose::trial};
    case Stage::check:
      return step_ = {incumbent_, kSecondStage * base_seconds_, Purpose::check};
    case Stage::third:
      return step_ = {challenger_, kThirdStage * base_seconds_, Purpose::trial};
  }
  return step_;
}

void Policy::note(const Outcome& outcome) {
  elapsed_seconds_ += outcome.wall_seconds;
  const double rate =
      outcome.loop_seconds > 0 ? static_cast<double>(outcome.events) / outcome.loop_seconds : rate_;
  step_.candidate == incumbent_ ? note_progress(outcome, rate) : note_trial(outcome, rate);
}

void Policy::note_given_back(double seconds, Purpose of_step) {
  elapsed_seconds_ += seconds;
  if (of_step != Purpose::progress) lost_seconds_ += seconds;
}

void Policy::note_progress(const Outcome& outcome, double rate) {
  hand_over_seconds_ = outcome.hand_over_seconds;
  rate_ = rate;
  if (stage_ == Stage::check) {
    lost_seconds_ += outcome.wall_seconds - outcome.loop_seconds;
    incumbent_rates_ += kSecondStage * rate;
    stage_ = Stage::third;
    return;
  }
  if (rate_at_look_ > 0 && std::abs(ratio_of(rate, rate_at_look_) - 1) > kChange) {
    rate_at_look_ = rate;
    for (Record& record : records_) {
      record.due_seconds = std::min(record.due_seconds, elapsed_seconds_);
      record.losses = 0;
    }
  }
}

void Policy::note_trial(const Outcome& outcome, double rate) {
  const double as_before = static_cast<double>(outcome.events) / rate_;
  lost_seconds_ += std::max(0.0, outcome.wall_seconds - as_before);
  const double ratio = ratio_of(rate, rate_);
  switch (stage_) {
    case Stage::first:
      if (ratio < kHopeless) return lose(outcome);
      stage_ = Stage::second;
      return;
    case Stage::second:
      if (ratio < (has_time_for_closeness() ? kBehind : kBetter)) return lose(outcome);
      if (ratio > kAhead) return win(rate);
      incumbent_rates_ = kSecondStage * rate_;
      challenger_rates_ = kSecondStage * rate;
      stage_ = Stage::check;
      return;
    default: {
      challenger_rates_ += kThirdStage * rate;
      const double mean = challenger_rates_ / (kSecondStage + kThirdStage);
      const double other = incumbent_rates_ / (2 * kSecondStage);
      mean > kBetter* other ? win(mean) : lose(outcome);
    }
  }
}

void Policy::win(double rate) {
  last_gain_ = ratio_of(rate, rate_);
  records_[challenger_] = {};
  const std::size_t before = std::exchange(incumbent_, challenger_);
  const double trial = lost_seconds_ - lost_before_;
  // The replaced candidate may have been slow by accident, above all where both rates were close.
  put_off(before, last_gain_ < kClear ? 0 : trial);
  workers_at_[candidates_[incumbent_].family] = candidates_[incumbent_].workers;
  rate_ = rate_at_look_ = rate;
  stage_ = Stage::none;
}

void Policy::lose(const Outcome& outcome) {
  const double to_come = outcome.stays ? hand_over_seconds_ / 2 : 0;
  put_off(challenger_, lost_seconds_ - lost_before_ + to_come);
  stage_ = Stage::none;
  // The family's next trial has fewer workers, or the most workers after the fewest.
  const Candidate& loser = candidates_[challenger_];
  if (loser.family == candidates_[incumbent_].family) return;
  unsigned fewer = 0, most = 0;
  for (const Candidate& one : candidates_) {
    if (one.family != loser.family) continue;
    most = std::max(most, one.workers);
    if (one.workers < loser.workers) fewer = std::max(fewer, one.workers);
  }
  workers_at_[loser.family] = fewer > 0 ? fewer : most;
}

void Policy::put_off(std::size_t i, double loss) {
  Record& record = records_[i];
  const double share = record.losses == 0 ? kFirstLossShare : kLossShare;
  const double wait = std::max(loss / share, kShortestWait) *
                      static_cast<double>(std::uint64_t{1} << std::min(record.losses, 20u));
  ++record.losses;
  record.due_seconds = elapsed_seconds_ + std::min(wait, kLongestWait);
}

}  // namespace orrery::automatic
