// SPDX-License-Identifier: Apache-2.0
//
// The choice of the mode, by measurement. A run is a sequence of blocks of some hundred
// microseconds; the tuner names the mode of the next one and is told what it cost, in cycles an
// event. It begins in place, where the cost of an event is known without hand-over, and tries
// another mode only if events are long enough that a hand-over could pay. A mode that was tried in
// vain is tried again after a pause that doubles each time, so that trials cost a few per cent of a
// run at most; one that was adopted is compared with the others now and then. A mode replaces
// another only if it is better by kMargin: what is nearly equal does not swing to and fro.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "core/cycles.h"
#include "engine/expanded/settings.h"

namespace orrery::expanded {

class Tuner {
 public:
  Tuner(const Settings& settings, unsigned workers, double cycles_per_second)
      : fixed_(!settings.automatic || workers == 1),
        current_(settings.automatic || workers == 1 ? Mode::in_place : settings.mode),
        cycles_per_us_(cycles_per_second * 1e-6) {}

  Mode mode() const { return trial_ ? *trial_ : current_; }

  /// A block in mode() has executed `events` in `cycles`.
  void note(std::uint64_t events, std::uint64_t cycles) {
    now_ += cycles;
    if (events == 0) {  // all of it was waiting: for what the next block collects
      waited_ += cycles;
      return;
    }
    cycles += std::exchange(waited_, 0);
    Costs& costs = costs_[static_cast<std::size_t>(mode())];
    if (trial_ && trial_.blocks++ == 0) return costs.clear();  // threads slept, caches were cold
    costs.add(static_cast<double>(cycles) / static_cast<double>(events));
    if (mode() == Mode::in_place) work_ = costs.lowest();
    if (fixed_) return;
    if (trial_) {
      if (trial_.blocks > kTrialBlocks) judge();
    } else if (now_ >= next_trial_ && costs.count() >= kTrialBlocks) {
      begin_trial();
    }
  }
  /// One event executed where no hand-over disturbs, in cycles.
  void note_event(std::uint64_t cycles) {
    const auto measured = static_cast<double>(cycles);
    work_ = work_ == 0 ? measured : 0.9 * work_ + 0.1 * measured;
  }
  /// How many events make kBatchUs.
  std::uint32_t batch() const {
    const double fitting = kBatchUs * cycles_per_us_ / std::max(work_, 1.0);
    return static_cast<std::uint32_t>(std::clamp(fitting, 1.0, double{kMostInBatch}));
  }
  /// Cycles an event, as far as they are known.
  double work() const { return work_; }
  std::uint64_t switches() const { return switches_; }

 private:
  static constexpr double kBatchUs = 8;
  static constexpr std::uint32_t kMostInBatch = 32;
  static constexpr double kMargin = 0.93;
  static constexpr unsigned kTrialBlocks = 3;
  static constexpr double kShortestUs = 0.25;  // shorter events are never handed over
  static constexpr double kFirstPauseUs = 20'000, kLongestPauseUs = 2'000'000;
  static constexpr double kAdoptedPauseUs = 50'000;

  /// What the last blocks in a mode have cost, in cycles an event. A thread that was interrupted
  /// makes a block look many times as dear as it is, hence medians, and the lowest for what an
  /// event costs.
  class Costs {
   public:
    void clear() { count_ = 0; }
    void add(double cost) { last_[count_++ % last_.size()] = cost; }
    std::size_t count() const { return std::min(count_, last_.size()); }
    double lowest() const { return *std::min_element(last_.begin(), end()); }
    double median() const {
      auto sorted = last_;
      const std::size_t half = count() / 2;
      std::nth_element(sorted.begin(), sorted.begin() + half, sorted.begin() + count());
      return sorted[half];
    }

   private:
    const double* end() const { return last_.data() + count(); }
    std::array<double, 8> last_{};
    std::size_t count_ = 0;
  };

  struct Trial {
    bool set = false;
    Mode mode = Mode::in_place;
    unsigned blocks = 0;
    explicit operator bool() const { return set; }
    Mode operator*() const { return mode; }
  };

  static constexpr std::array<Mode, 3> kOrder = {Mode::in_place, Mode::batched,
                                                 Mode::decentralised};

  double cost_of(Mode mode) const { return costs_[static_cast<std::size_t>(mode)].median(); }

  void begin_trial() {
    pause(current_ == Mode::in_place ? pause_us_ : kAdoptedPauseUs);
    if (current_ == Mode::in_place && work_ < kShortestUs * cycles_per_us_) return;
    do {
      turn_ = (turn_ + 1) % kOrder.size();
    } while (kOrder[turn_] == current_);
    trial_ = {true, kOrder[turn_], 0};
  }
  void judge() {
    const Mode tried = *trial_;
    trial_ = {};
    if (cost_of(tried) < kMargin * cost_of(current_)) {
      current_ = tried;
      ++switches_;
      pause_us_ = kFirstPauseUs;
    } else {
      pause_us_ = std::min(2 * pause_us_, kLongestPauseUs);
    }
    pause(current_ == Mode::in_place ? pause_us_ : kAdoptedPauseUs);
  }
  void pause(double us) { next_trial_ = now_ + static_cast<std::uint64_t>(us * cycles_per_us_); }

  const bool fixed_;
  Mode current_;
  const double cycles_per_us_;
  Trial trial_;
  std::array<Costs, 4> costs_{};
  double work_ = 0;
  std::size_t turn_ = 0;
  std::uint64_t now_ = 0, next_trial_ = 0;
  std::uint64_t waited_ = 0;  ///< cycles of blocks that collected nothing
  double pause_us_ = kFirstPauseUs;
  std::uint64_t switches_ = 0;
};

}  // namespace orrery::expanded
