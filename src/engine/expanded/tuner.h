// SPDX-License-Identifier: Apache-2.0
//
// The choice of the mode, by measurement. A run is a sequence of blocks. The tuner chooses the mode
// and the length of the next block, and then receives its cost.
//
// The tuner begins in place, but only until it knows the cost of an event, which takes a few dozen
// microseconds or two events. If events take kPresumedUs or more, it presumes that hand-over pays
// and adopts kPresumed at once; it withdraws if the first blocks show that no handlers run in
// parallel. Events shorter than kShortestUs are never handed over.
//
// The adopted mode is compared with each other one in pairs of neighbouring blocks by a sequential
// test (selection.h), on the logarithm of the ratio of costs. A mode replaces the adopted one if it
// is better by more than kTies, so that the choice does not alternate between nearly equal modes.
//   The cost of a block, between modes that use all workers: its time over the time that handlers
//   took in it, on all threads. Events of a model differ by an order of magnitude, so time over
//   events says little about a block of a dozen events; the handlers' time is the control that
//   takes this noise out (a ratio estimator; Cochran: Sampling Techniques, Wiley, 1977, ch. 6).
//   Against executing in place, the cost is time over events: handlers take longer where cores
//   share a cache or are taken away, and this comparison has to include that.
//   The first block after a change, with sleeping threads, cold caches and events still in
//   progress, is shorter and does not count.
//
// Trials of each other mode may cost kShare of the run. The cost of a trial is measured from the
// first block in the other mode to the block that resumes the adopted mode, less the cost of the
// adopted mode for the same work. A trial begins only if its presumed cost, too, fits in the share.
// So modes that are nearly equal are compared quickly, because that costs nothing, and a clearly
// worse mode rarely. After a decision for the adopted mode the other one rests, twice as long each
// time.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/cycles.h"
#include "engine/expanded/selection.h"
#include "engine/expanded/settings.h"

namespace orrery::expanded {

/// The cost of a block.
struct BlockCost {
  std::uint64_t events = 0;
  std::uint64_t cycles = 0;
  std::uint64_t busy_cycles = 0;  ///< within handlers, of all threads

  double per_event() const { return static_cast<double>(cycles) / static_cast<double>(events); }
  double per_busy() const { return static_cast<double>(cycles) / static_cast<double>(busy_cycles); }
};

class Tuner {
 public:
  Tuner(const Settings& settings, unsigned workers, double cycles_per_second)
      : fixed_(!settings.automatic || workers == 1),
        adopted_(settings.automatic || workers == 1 ? Mode::in_place : settings.mode),
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
    if (block.busy_cycles == 0) return;  // not measured where workers pull
    works_.add(static_cast<double>(block.busy_cycles) / static_cast<double>(block.events));
    if (!fixed_) choose(block);
  }
  /// The number of events that take about kBatchUs.
  std::uint32_t batch() const {
    if (work() == 0) return 1;
    return static_cast<std::uint32_t>(std::clamp(kBatchUs / work_us(), 1.0, double{kMostInBatch}));
  }
  /// In place: the number of events between two looks at the clock.
  std::uint32_t between_looks() const {
    if (work() == 0) return 1;
    return static_cast<std::uint32_t>(std::clamp(kLookUs / work_us(), 1.0, double{kMostUnseen}));
  }
  /// Cycles per event, median of recent blocks; 0 if not known.
  double work() const { return works_.median(); }
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
  // Presumed loss of a mode before any measurement, against executing in place, and against the
  // other mode that uses all workers.
  static constexpr double kGuess = 0.3, kGuessOfKin = 0.05;
  static constexpr double kFirstPauseUs = 20'000, kLongestPauseUs = 2'000'000;
  static constexpr Mode kPresumed = Mode::decentralised;
  static constexpr std::array<Mode, 3> kModes = {Mode::in_place, Mode::batched,
                                                 Mode::decentralised};

  /// The median of a figure over the last blocks. The median, since a thread that the system
  /// interrupts makes a block look many times as expensive as it is.
  class Recent {
   public:
    void add(double value) { last_[count_++ % last_.size()] = value; }
    double median() const {
      const std::size_t known = std::min(count_, last_.size());
      if (known == 0) return 0;
      auto sorted = last_;
      std::nth_element(sorted.begin(), sorted.begin() + known / 2, sorted.begin() + known);
      return sorted[known / 2];
    }

   private:
    std::array<double, 8> last_{};
    std::size_t count_ = 0;
  };

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
  /// A mode that is compared with the adopted one.
  struct Rival {
    PairedSelection test;
    std::uint64_t next = 0;  ///< no trial before this time
    double pause_us = kFirstPauseUs;
    std::optional<double> loss;  ///< presumed cost of a trial, in cycles
    double lost = 0;             ///< cycles that trials have cost

    double longer_pause() const { return std::min(2 * pause_us, kLongestPauseUs); }
    void settle(double trial_loss) {
      lost = std::max(lost + trial_loss, 0.0);
      loss = loss ? *loss + (trial_loss - *loss) * kLearning : trial_loss;
    }
  };

  void choose(const BlockCost& block) {
    const bool cold = std::exchange(cold_, false);
    if (mode_ != adopted_ || cold) charge(block);
    if (cold) {
      if (std::exchange(resuming_, false)) close_trial();
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
    if (looking_) works_ = {};
    return !looking_;
  }
  void presume() {
    presumed_ = on_probation_ = true;
    adopt(kPresumed);
  }
  /// Returns to executing in place: all workers together spend less time in handlers than one
  /// would.
  void withdraw() {
    const double share = 1 - usual_.busy / usual_.cycles;
    adopt(Mode::in_place);
    for (Rival& rival : rivals_) {
      rival.loss = share * trial_cycles();
      rival.next = now_ + cycles(kFirstPauseUs);
    }
  }

  /// Begins a trial of the mode that has waited longest among those that the budget permits.
  void begin_trial() {
    Rival* chosen = nullptr;
    for (const Mode mode : kModes) {
      Rival& rival = of(mode);
      if (mode == adopted_ || rival.next > now_ || !affordable(mode)) continue;
      if (chosen != nullptr && chosen->next <= rival.next) continue;
      chosen = &rival;
      mode_ = mode;
    }
    cold_ = chosen != nullptr;
    if (cold_) chosen->loss = presumable_loss(mode_);
  }
  bool affordable(Mode mode) const {
    return of(mode).lost + presumable_loss(mode) <= kShare * static_cast<double>(now_);
  }
  /// The presumed cost of a trial. Before any measurement, executing in place is taken to need the
  /// handlers' time.
  double presumable_loss(Mode mode) const {
    if (const auto& known = of(mode).loss) return *known;
    if (mode != Mode::in_place)
      return (adopted_ == Mode::in_place ? kGuess : kGuessOfKin) * trial_cycles();
    return std::max(1 - usual_.cycles / usual_.busy, 0.0) * trial_cycles();
  }
  double trial_cycles() const { return (1 + 2 * kColdShare) * static_cast<double>(block_cycles()); }

  /// Adds what a block of a trial took beyond what the adopted mode would have taken.
  void charge(const BlockCost& block) {
    if (usual_.cycles == 0) return;
    trial_loss_ += static_cast<double>(block.cycles) -
                   (by_busy() ? static_cast<double>(block.busy_cycles) / usual_.busy
                              : static_cast<double>(block.events) / usual_.events) *
                       usual_.cycles;
  }
  bool by_busy() const { return mode_ != Mode::in_place && adopted_ != Mode::in_place; }

  /// A block of the other mode.
  void judge(const BlockCost& block) {
    tried_ = mode_;
    Rival& rival = of(mode_);
    const double ratio =
        by_busy() ? block.per_busy() / home_.per_busy() : block.per_event() / home_.per_event();
    rival.test.add(std::log(ratio) + kTies);
    switch (rival.test.verdict()) {
      case PairedSelection::Verdict::second:
        return replace(block);
      case PairedSelection::Verdict::first:
        rival.test = {};
        rival.next = now_ + cycles(rival.pause_us);
        rival.pause_us = rival.longer_pause();
        break;
      case PairedSelection::Verdict::open:
        break;
    }
    mode_ = adopted_;
    cold_ = resuming_ = true;
  }
  /// The mode that was tried replaces the adopted one.
  void replace(const BlockCost& block) {
    const double share = 1 - std::exp(of(mode_).test.mean());
    const Mode before = adopted_;
    const double pause_us = of(mode_).longer_pause();
    of(mode_).settle(std::exchange(trial_loss_, 0));
    adopt(mode_);
    of(before).loss = share * trial_cycles();
    of(before).pause_us = pause_us;
    learn(block);
  }
  void adopt(Mode mode) {
    cold_ = mode_ != mode;
    mode_ = adopted_ = mode;
    ++switches_;
    usual_ = {};
    for (Rival& rival : rivals_) {
      Rival fresh;
      fresh.next = now_;
      fresh.lost = rival.lost;
      rival = fresh;
    }
  }
  /// The adopted mode has been resumed.
  void close_trial() { of(tried_).settle(std::exchange(trial_loss_, 0)); }

  Rival& of(Mode mode) { return rivals_[static_cast<std::size_t>(mode)]; }
  const Rival& of(Mode mode) const { return rivals_[static_cast<std::size_t>(mode)]; }
  double work_us() const { return work() / cycles_per_us_; }
  std::uint64_t cycles(double us) const { return static_cast<std::uint64_t>(us * cycles_per_us_); }

  const bool fixed_;
  Mode adopted_;
  Mode mode_;
  const double cycles_per_us_;
  Recent works_;  ///< cycles an event
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
  Mode tried_ = Mode::in_place;
  std::array<Rival, 4> rivals_{};
  double trial_loss_ = 0;  ///< cycles, by the trial under way
};

}  // namespace orrery::expanded
