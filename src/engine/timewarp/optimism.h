// SPDX-License-Identifier: Apache-2.0
//
// How far ahead of GVT events may be executed. Two bounds, both widened and narrowed by
// measurements:
//   - a window of keys over GVT, in ticks, or below a tick in microsteps (zero-delay sends of one
//     instant): events beyond it wait;
//   - a quota: how many events a worker executes before it waits for the next GVT. It is a multiple
//     of what a worker committed in the last round, so a run starts with few and quadruples, and
//     what a round can waste is bounded whatever the keys of the events are.
// A wide bound loses time to work that is undone or coasts forward, a narrow one to waiting for
// GVT. Both losses are measured, and the window moves so that they become equal; where nothing is
// undone it is unlimited. It also closes when memory nears its budget. The narrowest window is one
// microstep: all events of GVT's instant and microstep exist, since their causes are before GVT, so
// none of them is executed in vain and the run advances as a conservative one would. All workers
// feed this class the same reports, so all compute the same bounds without messages.
//
// Wrong events can multiply: a handler in a state that no correct run reaches may send more events
// than it received, to LPs that do the same. The loss then grows with the window not gradually but
// abruptly. So the window that last lost too much is remembered and approached slowly, and all
// events beyond the new window are undone together instead of one by one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "engine/timewarp/gvt.h"

namespace orrery::timewarp {

class Optimism {
 public:
  static constexpr double kUnlimited = std::numeric_limits<double>::infinity();

  /// `widest_ticks` > 0: the window never gets wider. `budget_bytes`: for all workers of a
  /// rank together. `workers`: of all ranks. `cores_a_worker`: the share of a core that each has.
  Optimism(std::int64_t widest_ticks, std::uint64_t budget_bytes, unsigned workers,
           double cores_a_worker)
      : widest_(widest_ticks > 0 ? static_cast<double>(widest_ticks) : kUnlimited),
        workers_(workers),
        cores_a_worker_(cores_a_worker),
        window_(widest_),
        budget_bytes_(static_cast<double>(budget_bytes)) {}

  /// Once a round.
  void note(const GvtReport& now) {
    in_vain_ = false;
    // Of the furthest event over GVT that was executed in the last round.
    const double lead = static_cast<double>(
        std::max<std::int64_t>(now.latest_ticks - now.lowest.time().ticks(), 0));
    widest_lead_ = std::max(widest_lead_, lead);
    note_memory(static_cast<double>(now.pressing_bytes), lead);
    if (now.executed > last_executed_) {
      quota_ = std::max({kSmallestQuota, quota_ / 2, kQuotaOverCommitted * now.most_committed});
    }
    last_executed_ = now.executed;
    ++rounds_;
    if (sample_is_full(now.executed - before_.executed)) take_sample(now);
  }

  /// The end of the window: events at or after it wait.
  Key horizon(const Key& gvt) const {
    if (window_ >= 1) {
      const double limit = static_cast<double>(gvt.time().ticks()) + window_;
      if (limit >= kLatest) return Key::end_of(Time::max());
      return Key::start_of(gvt.time() + Duration::from_ticks(static_cast<std::int64_t>(window_)));
    }
    return after_steps(gvt, static_cast<std::uint32_t>(std::ceil(window_ * kSteps)));
  }
  /// The narrowest horizon.
  static Key next_step(const Key& gvt) { return after_steps(gvt, 1); }
  double window_ticks() const { return window_; }
  /// Events that a worker executes between two rounds at most.
  std::uint64_t quota() const { return quota_; }
  /// Events executed beyond the horizon are to be undone: memory is beyond its budget, or nearly
  /// all of these events are wrong, and would be undone one by one.
  bool must_retreat() const { return over_budget_ || in_vain_; }
  /// The budget, or more if the model itself needs more.
  double budget_bytes() const { return budget_bytes_; }

 private:
  static constexpr double kSteps = 64;  ///< microsteps that make a tick's worth of window
  static constexpr double kNarrowest = 1 / kSteps;
  static constexpr double kLatest = 9e18;  ///< ticks
  static constexpr std::uint64_t kSampleEvents = 64, kSampleQuotas = 8, kLargeSample = 4096;
  static constexpr std::uint64_t kSampleRounds = 32;
  static constexpr std::uint64_t kFirstQuota = 32, kSmallestQuota = 8, kQuotaOverCommitted = 4;
  static constexpr double kTooMuchWasted = 0.6, kHopeless = 0.8;
  static constexpr double kLittleWasted = 0.15;
  static constexpr double kNearBad = 0.7, kFarBeyondBad = 1.5;
  static constexpr double kSoftLimit = 0.8;
  static constexpr double kRelief = 0.9, kGivingWay = 1.25;
  static constexpr unsigned kReliefRounds = 8, kClosedRounds = 32;

  static Key after_steps(const Key& gvt, std::uint32_t steps) {
    if (gvt.step() > Key::kMaxStep - steps) return Key::end_of(gvt.time());
    return Key(gvt.time(), gvt.step() + steps, 0, 0);
  }
  static double share(double part, double whole) {
    return whole > 0 ? std::clamp(part / whole, 0.0, 1.0) : 1.0;
  }

  /// The quota shows how much a round commits: where that is little, few events must do.
  bool sample_is_full(std::uint64_t executed) const {
    if (executed < kSampleEvents) return false;
    const std::uint64_t enough = std::clamp(kSampleQuotas * quota_, kSampleEvents * workers_,
                                            std::max(kLargeSample, kSampleEvents * workers_));
    return executed >= enough || rounds_ >= kSampleRounds;
  }
  void take_sample(const GvtReport& now) {
    const auto since = [&](std::uint64_t GvtReport::*count) {
      return static_cast<double>(now.*count - before_.*count);
    };
    const double coasted = since(&GvtReport::coasted);
    const double undone = since(&GvtReport::rolled_back) - since(&GvtReport::undone_at_cuts);
    const double wasted = share(undone + coasted, since(&GvtReport::executed) + coasted);
    const double busy =
        share(since(&GvtReport::busy_cycles), since(&GvtReport::lived_cycles) * cores_a_worker_);
    adapt(wasted, busy);
    before_ = now;
    widest_lead_ = 0;
    rounds_ = 0;
  }
  /// `busy`: share of the time that was spent with events, `wasted`: share of that which was lost.
  void adapt(double wasted, double busy) {
    const bool settling = std::exchange(settling_, false);
    if (wasted > kHopeless) {
      bad_ = std::min(window_, std::max(widest_lead_, 1.0));
      close(wasted);
      in_vain_ = true;
    } else if (settling) {
      return;  // the undone events may be from before the window closed
    } else if (wasted > kTooMuchWasted || (wasted > kLittleWasted && busy * wasted > 1 - busy)) {
      close(wasted);
    } else if (pressed_rounds_ == 0) {
      open(wasted);
    }
  }
  void close(double wasted) {
    narrow(widest_lead_, std::clamp(1.2 - wasted, 0.3, 0.9));
    settling_ = true;
  }
  void open(double wasted) {
    const double near = kNearBad * bad_;
    if (window_ >= near) {
      widen(1.03);
    } else {
      widen(wasted > kLittleWasted ? 1.1 : 2);
      window_ = std::min(window_, std::max(near, 1.0));
    }
    if (window_ > kFarBeyondBad * bad_) bad_ = kUnlimited;
  }

  /// Near the budget the window closes; beyond the budget, events beyond the window are undone.
  /// Where that does not help, or the window has long been closed, the model itself needs the
  /// memory: then the budget is raised, because a closed window would only slow the run down.
  void note_memory(double bytes, double lead_ticks) {
    over_budget_ = false;
    if (bytes <= kSoftLimit * budget_bytes_) {
      pressed_rounds_ = closed_rounds_ = 0;
      return;
    }
    if (pressed_rounds_ == 0) pressed_bytes_ = bytes;
    over_budget_ = bytes > budget_bytes_;
    if (window_ > 1) {
      narrow(lead_ticks, 0.5);
    } else {
      ++closed_rounds_;
    }
    if (++pressed_rounds_ <= kReliefRounds) return;
    if (bytes > kRelief * pressed_bytes_ || closed_rounds_ > kClosedRounds)
      budget_bytes_ = std::max(budget_bytes_, bytes * kGivingWay / kSoftLimit);
    pressed_rounds_ = 0;
  }
  void narrow(double lead_ticks, double factor) {
    const double from = std::min(window_, std::max(lead_ticks, 1.0));
    window_ = std::max(kNarrowest, from * factor);
  }
  void widen(double factor) {
    if (window_ >= widest_) return;
    const double wider = window_ * factor;
    // A window far wider than any lead is the same as no window.
    window_ = wider > 64.0 * std::max(widest_lead_, 1.0) ? widest_ : std::min(wider, widest_);
  }

  const double widest_;
  const unsigned workers_;
  const double cores_a_worker_;
  double window_;  ///< ticks
  std::uint64_t quota_ = kFirstQuota;
  double bad_ = kUnlimited;  ///< window that lost too much
  double budget_bytes_;
  double widest_lead_ = 0;  ///< since the last sample
  std::uint64_t rounds_ = 0;
  GvtReport before_;  ///< at the last sample
  std::uint64_t last_executed_ = 0;
  bool settling_ = false;  ///< the window closed at the last sample
  bool in_vain_ = false;   ///< nearly all that lies beyond the window is wrong
  bool over_budget_ = false;
  unsigned pressed_rounds_ = 0;  ///< for which memory has been near its budget
  unsigned closed_rounds_ = 0;   ///< of these, with no window left to close
  double pressed_bytes_ = 0;     ///< held when that began
};

}  // namespace orrery::timewarp
