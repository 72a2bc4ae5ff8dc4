// SPDX-License-Identifier: Apache-2.0
//
// When a run may be halted again because the clock says so. Whoever asks sees the clock, and
// whoever halts the run knows what a halt costs: without this between them, halts that take longer
// than their period would be all that a run does, and one that begins slowly would halt where it
// began.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>

namespace orrery {

/// All by relaxed accesses: what is read late makes a halt later, or one too many.
class ClockHalts {
 public:
  using Clock = std::chrono::steady_clock;
  using Moment = Clock::time_point;
  /// How soon to look again where it is not known when a halt may be.
  static constexpr std::chrono::milliseconds kLook{20};

  /// How long a run has to go on after halts of `cost` in all, for them to be that share (above 0)
  /// of its time.
  static Clock::duration pause_after(Clock::duration cost, double share) {
    const double pause = static_cast<double>(cost.count()) * (1 / share - 1);
    constexpr auto kLongest = std::chrono::duration_cast<Clock::duration>(std::chrono::hours(24));
    return pause < static_cast<double>(kLongest.count())
               ? Clock::duration(static_cast<Clock::rep>(pause))
               : kLongest;
  }

  /// By whoever halts the run: from that moment on, when more than so many events are committed.
  void allow(Moment from, std::uint64_t committed) {
    committed_.store(committed, std::memory_order_relaxed);
    from_.store(from.time_since_epoch().count(), std::memory_order_relaxed);
  }
  /// By whoever asks, and while the run halts: not until it is allowed again.
  void forbid() { from_.store(kNever, std::memory_order_relaxed); }

  /// By whoever wants to ask: `now`, if it may; else when to look again.
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
