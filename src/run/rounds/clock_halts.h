// SPDX-License-Identifier: Apache-2.0
//
// Limits how often the clock may halt a run. The code that requests halts sees only the clock; the
// code that halts knows the cost of a halt. Without this class between them, a run whose halts take
// longer than their period would do nothing else, and a run that begins slowly would halt where it
// began.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>

namespace orrery {

/// All accesses are relaxed: a value that is read late only delays a halt, or causes one too many.
class ClockHalts {
 public:
  using Clock = std::chrono::steady_clock;
  using Moment = Clock::time_point;
  /// How soon to look again while the time of the next halt is unknown.
  static constexpr std::chrono::milliseconds kLook{20};

  /// How long a run must continue after halts of total duration `cost`, so that they are the share
  /// `share` (above 0) of its time.
  static Clock::duration pause_after(Clock::duration cost, double share) {
    const double pause = static_cast<double>(cost.count()) * (1 / share - 1);
    constexpr auto kLongest = std::chrono::duration_cast<Clock::duration>(std::chrono::hours(24));
    return pause < static_cast<double>(kLongest.count())
               ? Clock::duration(static_cast<Clock::rep>(pause))
               : kLongest;
  }

  /// Called by the halting code: allows halts from that moment on, once more events are committed.
  void allow(Moment from, std::uint64_t committed) {
    committed_.store(committed, std::memory_order_relaxed);
    from_.store(from.time_since_epoch().count(), std::memory_order_relaxed);
  }
  /// Called when a halt is requested, and while the run halts: no further halt until allow().
  void forbid() { from_.store(kNever, std::memory_order_relaxed); }

  /// Called before a request: returns `now` if it is allowed, else when to look again.
  Moment next_look(Moment now, std::uint64_t committed) const {
    const Clock::rep from = from_.load(std::memory_order_relaxed);
    if (from == kNever) return now + kLook;
    const Moment begin{Clock::duration(from)};
    if (now < begin) return begin;
    return committed > committed_.load(std::memory_order_relaxed) ? now : now + kLook;
  }

 private:
  static constexpr Clock::rep kNever = std::numeric_limits<Clock::rep>::max();
  std::atomic<Clock::rep> from_{kNever};
  std::atomic<std::uint64_t> committed_{0};
};

}  // namespace orrery
