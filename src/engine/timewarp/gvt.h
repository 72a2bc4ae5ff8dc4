// SPDX-License-Identifier: Apache-2.0
//
// Global virtual time without stopping anyone: rounds in two phases, as in the wait-free algorithm
// of Pellegrini and Quaglia ("Wait-free global virtual time computation in shared memory Time Warp
// systems", SBAC-PAD 2014), on channels that are first in, first out.
//
// A round n: every worker, when it next looks, publishes its outgoing messages and *joins*; from
// then on it remembers the lowest key that it sends. When all have joined, everything that was sent
// before is in the channels, so each worker empties its channels and *reports* the lowest of: its
// pending events, what it sent since it joined, what found no room in a channel when it joined.
// When all have reported, the lowest report is GVT: a message that the reports do not cover was
// sent after its sender reported, by an event at or after that report or after a message for which
// the same holds. Everyone computes it from the reports; there is no central thread and nobody
// waits. The reports carry further sums (executed, memory, stop requests), so decisions taken from
// them are the same on all workers.
//
// A worker overwrites its report of round n only when all have joined round n + 1, and a worker
// joins that after it has read the reports of round n.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "core/key.h"

namespace orrery::timewarp {

struct GvtReport {
  Key lowest;
  bool fault_at_lowest = false;  ///< `lowest` is an event whose execution failed
  bool stop = false;             ///< the run was asked to stop
  std::uint64_t executed = 0, rolled_back = 0, committed = 0;
  std::uint64_t cancellations = 0;  ///< events cancelled since the start of the run
  std::uint64_t pending = 0;        ///< events in the pending set
  std::int64_t memory_bytes = 0;
  std::int64_t latest_ticks = 0;  ///< time of the latest event executed since the last report
};

class Gvt {
 public:
  explicit Gvt(unsigned workers) : workers_(workers), slots_(std::make_unique<Slot[]>(workers)) {}

  /// Round that was started last. Acquire/release throughout: joining publishes the channels'
  /// contents to those who then see everyone joined, reporting publishes the report.
  std::uint64_t round() const { return round_.load(std::memory_order_acquire); }
  /// Starts round n + 1 if n is still the last one; else somebody was faster.
  void start(std::uint64_t n) {
    round_.compare_exchange_strong(n, n + 1, std::memory_order_acq_rel);
  }
  void join(unsigned worker, std::uint64_t round) {
    slots_[worker].joined.store(round, std::memory_order_release);
  }
  void report(unsigned worker, std::uint64_t round, const GvtReport& report) {
    slots_[worker].report = report;
    slots_[worker].reported.store(round, std::memory_order_release);
  }
  /// `first`: workers before it are known to have joined; advanced.
  bool all_joined(std::uint64_t round, unsigned& first) const {
    while (first < workers_ && slots_[first].joined.load(std::memory_order_acquire) >= round)
      ++first;
    return first == workers_;
  }
  bool all_reported(std::uint64_t round, unsigned& first) const {
    while (first < workers_ && slots_[first].reported.load(std::memory_order_acquire) >= round)
      ++first;
    return first == workers_;
  }
  const GvtReport& report_of(unsigned worker) const { return slots_[worker].report; }

 private:
  struct alignas(64) Slot {
    std::atomic<std::uint64_t> joined{0};
    std::atomic<std::uint64_t> reported{0};
    GvtReport report;
  };
  const unsigned workers_;
  alignas(64) std::atomic<std::uint64_t> round_{0};
  std::unique_ptr<Slot[]> slots_;
};

}  // namespace orrery::timewarp
