// SPDX-License-Identifier: Apache-2.0
//
// Meetings of threads that happen every few microseconds: each thread reports, thread 0 decides from
// all reports, and each thread reads the decision. A cache line that goes from one core to another
// takes 50 to 300 ns, so a meeting takes two of them: a report lies on the line of the word that
// announces it, and so does the decision (flags on lines of their own, as in the barriers of
// Mellor-Crummey and Scott: Algorithms for scalable synchronization on shared-memory
// multiprocessors. ACM TOCS 9(1), 1991). No function waits: the caller decides how (spin, yield,
// sleep, give up).
//
// Memory orders. Reporting is a release and seeing it an acquire, so thread 0 sees all that the
// others wrote before they arrived. Opening is a release and seeing it an acquire, so all see what
// thread 0 wrote and, through thread 0, what the others wrote before they arrived. A thread writes
// its next report when it has seen the meeting open, which is after thread 0 has read the last one;
// thread 0 writes its next decision when all have arrived again, which is after all have read it.
#pragma once

#include <cstdint>
#include <memory>

#include "transport/atomics.h"

namespace orrery::transport {

/// `Report`, `Decision`: default-constructible and assignable; of less than a cache line.
template <class Report, class Decision, class Atomics = StandardAtomics>
class Meetings {
 public:
  explicit Meetings(unsigned threads)
      : threads_(threads), places_(std::make_unique<Place[]>(threads)) {}

  // Meetings are numbered from 1.
  /// By each thread but thread 0.
  void arrive(unsigned thread, std::uint64_t meeting, const Report& report) {
    places_[thread].report = report;
    places_[thread].arrived.store(meeting, std::memory_order_release);
  }
  /// By thread 0. `first`: threads below it are known to have arrived; the function advances it.
  /// Begin with 1.
  bool all_arrived(std::uint64_t meeting, unsigned& first) const {
    while (first < threads_ && places_[first].arrived.load(std::memory_order_acquire) == meeting)
      ++first;
    return first == threads_;
  }
  /// By thread 0, when all have arrived.
  const Report& report_of(unsigned thread) const { return places_[thread].report; }
  void open(std::uint64_t meeting, const Decision& decision) {
    decision_ = decision;
    opened_.store(meeting, std::memory_order_release);
  }
  /// By the other threads.
  bool is_open(std::uint64_t meeting) const {
    return opened_.load(std::memory_order_acquire) == meeting;
  }
  /// From the time that a thread has seen the meeting open until it arrives at the next.
  const Decision& decision() const { return decision_; }

 private:
  using Number = typename Atomics::template atomic<std::uint64_t>;
  struct alignas(64) Place {
    Number arrived{0};
    Report report;
  };

  const unsigned threads_;
  const std::unique_ptr<Place[]> places_;
  alignas(64) Number opened_{0};
  Decision decision_;
};

}  // namespace orrery::transport
