// SPDX-License-Identifier: Apache-2.0
//
// Decides when LPs move between workers. The initial placement of LPs is a guess: LPs may cost
// different amounts, and the costs may change. An optimistic worker never idles, since a worker
// that has little to do runs ahead and is rolled back; so idleness says nothing about balance. The
// measure is the *load*: cycles spent on events, times the share of these events that commits.
//
// A run is observed in periods of wall-clock time. If the load of the busiest thread is above
// kUnevenLoad times the mean in several periods in a row, and does not clearly fall, LPs move. All
// but the last of these periods cost nothing, since the loads come from counters that exist anyway;
// in the last one each event's cycles are counted for its LP, as far as new owners need it. At a
// cut (cut.h) one thread chooses new owners (moving.h).
//
// Afterwards the rate of commitment is compared with the rate before the move: the best of a few
// periods each, since other programs on the machine can only slow a period down. A move that gained
// nothing is not repeated soon: the engine rests, twice as long after each such move. A move that
// cost much is undone first. So a load that changes faster than this method can follow, or a rate
// that does not depend on the load, costs only a few moves in a run. (Traffic on a grid: the network
// fills within a second, from 1.5 times the mean over 1.3 and 1.2 to even. When LPs moved for that
// after two periods in a row, they moved too late, and the rate was 0.91 to 0.94 of that without
// moves.)
//
// All workers feed this class the same reports, so all decide the same, although the decisions
// depend on clocks. They decide which worker executes an event and never what is committed.
//
// With several ranks, LPs move within each rank, at a cut that all ranks have together. The measure
// is then how much lower the load of the busiest thread of all would be if loads were even within
// ranks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "core/cycles.h"
#include "engine/timewarp/gvt.h"
#include "run/tuning/rest.h"

namespace orrery::timewarp {

class Balance {
 public:
  struct Terms {
    bool on = false;  ///< LPs of this rank may move; reports tell whether those of other ranks may
    std::uint64_t lps = 0;
    std::uint64_t disturbed_after = 0;  ///< Disturbances::events_to_move
  };
  static constexpr double kPeriodSeconds = 0.25;
  static constexpr double kUnevenLoad = 1.15;

  explicit Balance(const Terms& terms) : terms_(terms) {}

  bool is_on() const { return terms_.on; }
  /// How new owners are chosen.
  enum class Plan : std::uint8_t {
    even,      ///< from the loads
    back,      ///< undo the last move
    disturbed  ///< by Disturbances
  };

  /// After each round.
  void note(const GvtReport& sum) {
    begins_ = false;
    if (!sum.balances || phase_ == Phase::moving) return;
    const std::uint64_t lived = sum.lived_cycles / sum.workers;
    if (begin_anew_) return begin(sum, lived);
    if (terms_.disturbed_after > 0) return note_events(sum);
    if (lived - lived_ < sum.period_cycles) return;
    imbalance_ = sum.even_load > 0 ? sum.most_load / sum.even_load : 1;
    end_period(
        static_cast<double>(sum.committed - committed_) / static_cast<double>(lived - lived_),
        sum.executed - executed_);
    if (phase_ != Phase::moving) begin(sum, lived);  // else its loads say what moves
  }
  /// Whether the last note() has begun a period: loads count from now on.
  bool period_begins() const { return begins_; }
  /// Whether each event's cycles are to be counted for its LP.
  bool measures() const {
    return terms_.on && (phase_ == Phase::measuring || terms_.disturbed_after);
  }
  bool wants_cut() const { return phase_ == Phase::moving; }
  Plan plan() const { return plan_; }

  /// The cut that this class wanted is over. `moved`: some LPs have moved, or may have on other
  /// ranks.
  void note_cut(bool moved) {
    begin_anew_ = true;
    if (plan_ == Plan::back || !moved || terms_.disturbed_after > 0) {
      rest();
    } else {
      if (first_imbalance_ == 0) first_imbalance_ = imbalance_;
      phase_ = Phase::settling;
    }
  }
  /// The cut was given up.
  void give_up() {
    if (phase_ == Phase::moving) note_cut(false);
  }

  /// The busiest thread's load over an even one: before the first move (0: no move), and in the
  /// last period.
  double first_imbalance() const { return first_imbalance_; }
  double imbalance() const { return imbalance_; }
  /// Moves that gained nothing.
  std::uint64_t vain_moves() const { return vain_moves_; }

 private:
  enum class Phase : std::uint8_t { watching, measuring, moving, settling, judging, resting };
  static constexpr double kGain = 1.03, kLoss = 0.85;        ///< of the rate, by a move
  static constexpr unsigned kLeastUneven = 4;                ///< periods in a row
  static constexpr double kLasting = 0.8;                    ///< of the excess over the mean
  static constexpr unsigned kRatesBefore = 3, kJudging = 3;  ///< periods
  static constexpr std::uint64_t kEventsAnLp = 2;  ///< to be measured at least, on average
  static constexpr unsigned kMostMeasuring = 4;    ///< periods
  static constexpr unsigned kFirstRest = 8, kLongestRest = 1024;  ///< periods

  void begin(const GvtReport& sum, std::uint64_t lived) {
    lived_ = lived;
    committed_ = sum.committed;
    executed_ = sum.executed;
    begins_ = true;
    begin_anew_ = false;
  }
  /// Counts periods in which the load is uneven and does not even out by itself.
  bool lasts(bool uneven) {
    const bool goes_on = uneven && imbalance_ - 1 >= kLasting * (uneven_from_ - 1);
    uneven_periods_ = !uneven ? 0 : goes_on ? uneven_periods_ + 1 : 1;
    uneven_from_ = uneven_periods_ <= 1 ? imbalance_ : std::max(uneven_from_, imbalance_);
    return goes_on;
  }
  void end_period(double rate, std::uint64_t executed) {
    const bool uneven = imbalance_ > kUnevenLoad;
    switch (phase_) {
      case Phase::watching:
        rates_[next_rate_++ % kRatesBefore] = rate;
        if (!lasts(uneven) || uneven_periods_ + 1 < kLeastUneven) break;
        phase_ = Phase::measuring;
        measured_periods_ = 0;
        measured_events_ = 0;
        break;
      case Phase::measuring:
        measured_events_ += executed;
        ++measured_periods_;
        if (!lasts(uneven)) {
          phase_ = Phase::watching;  // the measured rates still hold
        } else if (measured_events_ >= kEventsAnLp * terms_.lps ||
                   measured_periods_ == kMostMeasuring) {
          move(Plan::even);
        }
        break;
      case Phase::settling:
        phase_ = Phase::judging;
        rate_after_ = 0;
        judged_periods_ = 0;
        break;
      case Phase::judging:
        judge(rate);
        break;
      case Phase::resting:
        if (--periods_to_rest_ == 0) watch();
        break;
      case Phase::moving:
        break;
    }
  }
  void judge(double rate) {
    const double before = *std::max_element(std::begin(rates_), std::end(rates_));
    rate_after_ = std::max(rate_after_, rate);
    if (rate_after_ >= kGain * before) {
      rest_.reset();
      watch();
    } else if (++judged_periods_ == kJudging) {
      ++vain_moves_;
      rate_after_ < before* kLoss ? move(Plan::back) : rest();
    }
  }
  void watch() {
    phase_ = Phase::watching;
    uneven_periods_ = 0;
    uneven_from_ = 1;
    std::fill(std::begin(rates_), std::end(rates_), 0.0);
  }
  void rest() {
    phase_ = terms_.disturbed_after > 0 ? Phase::watching : Phase::resting;
    periods_to_rest_ = rest_.take();
  }
  void move(Plan plan) {
    plan_ = plan;
    phase_ = Phase::moving;
  }
  void note_events(const GvtReport& sum) {
    if (sum.committed - committed_ < terms_.disturbed_after) return;
    constexpr Plan kPlans[] = {Plan::disturbed, Plan::even, Plan::disturbed, Plan::back};
    move(kPlans[++forced_ % std::size(kPlans)]);
  }

  Terms terms_;
  Phase phase_ = Phase::watching;
  Plan plan_ = Plan::even;
  bool begins_ = false, begin_anew_ = true;
  std::uint64_t lived_ = 0, committed_ = 0, executed_ = 0;  ///< at the begin of the period
  double rates_[kRatesBefore] = {}, rate_after_ = 0;  ///< of commitment; before and after a move
  double imbalance_ = 1, first_imbalance_ = 0;
  double uneven_from_ = 1;  ///< the highest since the load is uneven
  unsigned uneven_periods_ = 0;
  unsigned next_rate_ = 0, measured_periods_ = 0, judged_periods_ = 0;
  tuning::Rest<unsigned> rest_{kFirstRest, kLongestRest};
  unsigned periods_to_rest_ = 0;
  std::uint64_t measured_events_ = 0, vain_moves_ = 0, forced_ = 0;
};

}  // namespace orrery::timewarp
