// SPDX-License-Identifier: Apache-2.0
//
// The choice of the mode, by measurement. A run is a sequence of blocks. The tuner chooses the mode
// and the length of the next block, and then receives its cost.
//
// The tuner begins in place, but only until it knows the cost of an event, which takes a few dozen
// microseconds or two events. If events take kPresumedUs or more, it presumes that hand-over pays
// and adopts it at once; it withdraws if the first blocks show that no handlers run in parallel.
// Events shorter than kShortestUs are never handed over.
//
// The adopted mode is compared with the other one in pairs of neighbouring blocks by a sequential
// test (run/tuning/paired_selection.h), on the logarithm of the ratio of costs: time over events.
// The other mode replaces the adopted one if it is better by more than kTies, so that the choice
// does not alternate between nearly equal modes. The first block after a change, with sleeping
// threads, cold caches and events still in progress, is shorter and does not count.
//
// Trials may cost kShare of the run (run/tuning/trial_budget.h). The cost of a trial is measured
// from the first block in the other mode to the block that resumes the adopted mode. A trial begins
// only if its presumed cost, too, fits in the share. After a decision for the adopted mode the other
// one rests, twice as long each time.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/cycles.h"
#include "core/median.h"
#include "engine/expanded/settings.h"
#include "run/tuning/paired_selection.h"
#include "run/tuning/rest.h"
#include "run/tuning/trial_budget.h"

namespace orrery::expanded {

/// The cost of a block.
struct BlockCost {
  std::uint64_t events = 0;
  std::uint64_t cycles = 0;
  std::uint64_t busy_cycles = 0;  ///< within handlers, of all threads

  double per_event() const { return static_cast<double>(cycles) / static_cast<double>(events); }
};

class Tuner {
 public:
  Tuner(const Settings& settings, unsigned workers, double cycles_per_second)
      : fixed_(!settings.automatic || workers == 1),
        adopted_(workers == 1 ? Mode::in_place : settings.mode),
        mode_(adopted_),
        cycles_per_us_(cycles_per_second * 1e-6) {}

  Mode mode() const { return mode_; }
  /// Length of the next block: some hundred microseconds, but with so many events for each worker
  /// that waiting at the end of a block costs little.
  std::uint64_t block_cycles() const {
    double us = std::clamp(kBlockWorks * work_us(), kBlockUs, kLongestBlockUs);
    if (!fixed_ && looking_) us = looks_ < 2 ? kShortLookUs : kLongLookUs;
    if (!fixed_ && cold_) us *= kColdShare;
    return cycles(us);
  }

  /// A block in mode() is over.
  void note(BlockCost block) {
    now_ += block.cycles;
    if (block.events == 0) {  // all of it was waiting for results of the next block
      waited_ += block.cycles;
      return;
    }
    block.cycles += std::exchange(waited_, 0);
    if (mode_ == Mode::in_place) block.busy_cycles = block.cycles;
    works_[blocks_++ % works_.size()] =
        static_cast<double>(block.busy_cycles) / static_cast<double>(block.events);
    if (!fixed_) choose(block);
  }
  /// The number of events that take about kBatchUs.
  std::uint32_t batch() const { return events_in(kBatchUs, kMostInBatch); }
  /// In place: the number of events between two looks at the clock.
  std::uint32_t between_looks() const { return events_in(kLookUs, kMostUnseen); }
  /// Cycles per event; 0 if not known. The median of recent blocks, since a thread that the system
  /// interrupts makes a block look many times as expensive as it is.
  double work() const {
    auto recent = works_;
    return median_of({recent.data(), std::min(blocks_, recent.size())});
  }
  std::uint64_t switches() const { return switches_; }

  static constexpr double kShare = 0.005;
  static constexpr double kTies = 0.01;

 private:
  static constexpr double kBatchUs = 8;
  static constexpr std::uint32_t kMostInBatch = 32;
  static constexpr double kLookUs = 10;
  static constexpr std::uint32_t kMostUnseen = 16;
  static constexpr double kShortestUs = 0.25;
  static constexpr double kPresumedUs = 1;
  static constexpr double kInVain = 0.9;
  static constexpr double kShortLookUs = 20, kLongLookUs = 300, kLongUs = 10;
  static constexpr double kBlockUs = 500, kBlockWorks = 64, kLongestBlockUs = 20'000;
  static constexpr double kColdShare = 0.3;
  static constexpr double kLearning = 0.25;
  static constexpr unsigned kUsualBlocks = 4;  // before anything is compared with them
  static constexpr double kGuess = 0.3;        // presumed loss of hand-over before any measurement
  static constexpr double kFirstPauseUs = 20'000, kLongestPauseUs = 2'000'000;

  /// Recent costs of the adopted mode: sums with exponentially decreasing weights.
  struct Usual {
    double cycles = 0, events = 0, busy = 0;
    unsigned blocks = 0;
    void add(const BlockCost& block) {
      const auto fade = [](double& sum, std::uint64_t value) {
        sum = 0.9 * sum + static_cast<double>(value);
      };
      fade(cycles, block.cycles);
      fade(events, block.events);
      fade(busy, block.busy_cycles);
      ++blocks;
    }
  };

  void choose(const BlockCost& block) {
    const bool cold = std::exchange(cold_, false);
    if (mode_ != adopted_ || cold) charge(block);
    if (cold) {
      if (std::exchange(resuming_, false)) settle();
    } else if (mode_ != adopted_) {
      judge(block);
    } else {
      learn(block);
      decide();
    }
  }

  /// A block of the adopted mode.
  void learn(const BlockCost& block) {
    home_ = block;
    usual_.add(block);
  }
  void decide() {
    if (looking_ && !seen_enough()) return;
    if (adopted_ == Mode::in_place && work_us() < kShortestUs) return;
    if (!presumed_ && work_us() >= kPresumedUs) return presume();
    if (usual_.blocks < kUsualBlocks) return;
    if (std::exchange(on_probation_, false) && usual_.busy < kInVain * usual_.cycles)
      return withdraw();
    begin_trial();
  }

  /// Whether the cost of an event is known. The first block runs with cold caches and does not
  /// count; the second one partly does, and counts only if its events are long.
  bool seen_enough() {
    ++looks_;
    looking_ = looks_ == 1 || (looks_ == 2 && work_us() < kLongUs);
    if (looking_) blocks_ = 0;
    return !looking_;
  }
  void presume() {
    presumed_ = on_probation_ = true;
    adopt(Mode::batched);
  }
  /// Returns to executing in place: all workers together spend less time in handlers than one
  /// would.
  void withdraw() {
    const double share = 1 - usual_.busy / usual_.cycles;
    adopt(Mode::in_place);
    loss_ = share * trial_cycles();
    next_trial_ = now_ + cycles(kFirstPauseUs);
  }

  void begin_trial() {
    const double loss = presumable_loss();
    if (next_trial_ > now_ || !budget_.allows(loss, static_cast<double>(now_))) return;
    mode_ = other();
    cold_ = true;
    loss_ = loss;
  }
  /// The presumed cost of a trial. Before any measurement, executing in place is taken to need the
  /// handlers' time.
  double presumable_loss() const {
    if (loss_) return *loss_;
    if (adopted_ == Mode::in_place) return kGuess * trial_cycles();
    return std::max(1 - usual_.cycles / usual_.busy, 0.0) * trial_cycles();
  }
  double trial_cycles() const { return (1 + 2 * kColdShare) * static_cast<double>(block_cycles()); }

  /// Adds what a block of a trial took beyond what the adopted mode would have taken.
  void charge(const BlockCost& block) {
    if (usual_.cycles == 0) return;
    trial_loss_ += static_cast<double>(block.cycles) -
                   static_cast<double>(block.events) / usual_.events * usual_.cycles;
  }
  /// Ends a trial's account.
  void settle() {
    const double loss = std::exchange(trial_loss_, 0);
    budget_.charge(loss);
    loss_ = loss_ ? *loss_ + (loss - *loss_) * kLearning : loss;
  }

  /// A block of the other mode.
  void judge(const BlockCost& block) {
    test_.add(std::log(block.per_event() / home_.per_event()) + kTies);
    const auto verdict = test_.verdict();
    if (verdict == tuning::PairedSelection::Verdict::second) return replace(block);
    if (verdict == tuning::PairedSelection::Verdict::first) {
      test_ = {};
      next_trial_ = now_ + rest_.take();
    }
    mode_ = adopted_;
    cold_ = resuming_ = true;
  }
  /// The mode that was tried replaces the adopted one, which rests longer before it is tried again.
  void replace(const BlockCost& block) {
    const double share = 1 - std::exp(test_.mean());
    auto rest = rest_;
    rest.take();
    settle();
    adopt(mode_);
    loss_ = share * trial_cycles();
    rest_ = rest;
    learn(block);
  }
  void adopt(Mode mode) {
    cold_ = mode_ != mode;
    mode_ = adopted_ = mode;
    ++switches_;
    usual_ = {};
    test_ = {};
    rest_.reset();
    loss_.reset();
    next_trial_ = now_;
  }

  Mode other() const { return adopted_ == Mode::in_place ? Mode::batched : Mode::in_place; }
  std::uint32_t events_in(double us, std::uint32_t most) const {
    if (work() == 0) return 1;
    return static_cast<std::uint32_t>(std::clamp(us / work_us(), 1.0, static_cast<double>(most)));
  }
  double work_us() const { return work() / cycles_per_us_; }
  std::uint64_t cycles(double us) const { return static_cast<std::uint64_t>(us * cycles_per_us_); }

  const bool fixed_;
  Mode adopted_;
  Mode mode_;
  const double cycles_per_us_;
  std::array<double, 8> works_{};  ///< of recent blocks: cycles an event
  std::size_t blocks_ = 0;         ///< put into works_
  std::uint64_t now_ = 0;
  std::uint64_t waited_ = 0;  ///< cycles of blocks that collected nothing
  std::uint64_t switches_ = 0;

  bool looking_ = true;  ///< what an event costs is not known well enough
  unsigned looks_ = 0;
  bool presumed_ = false, on_probation_ = false;

  BlockCost home_;  ///< the adopted mode's last block
  Usual usual_;
  bool cold_ = false;      ///< the next block is the first after a change
  bool resuming_ = false;  ///< and it ends a trial

  // Trials of the other mode, in cycles.
  tuning::PairedSelection test_;
  tuning::TrialBudget budget_{kShare};
  tuning::Rest<std::uint64_t> rest_{cycles(kFirstPauseUs), cycles(kLongestPauseUs)};
  std::uint64_t next_trial_ = 0;  ///< none before this time
  std::optional<double> loss_;    ///< presumed cost of a trial
  double trial_loss_ = 0;         ///< by the trial under way
};

}  // namespace orrery::expanded
