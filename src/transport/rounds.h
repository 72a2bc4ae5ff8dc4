// SPDX-License-Identifier: Apache-2.0
//
// Agreement without stopping any worker: rounds in two phases, as in the wait-free algorithm of
// Pellegrini and Quaglia ("Wait-free global virtual time computation in shared memory Time Warp
// systems", SBAC-PAD 2014), on FIFO rings. Time Warp computes global virtual time (GVT) with it.
// The engine defines the contents of a report.
//
// A round n: every worker publishes its outgoing messages and *joins* when it next checks the
// round. From then on it remembers the lowest key that it sends. When all have joined, all messages
// sent before are in the rings, so each worker empties its rings and *reports* the lowest of: its
// pending events, the messages sent since it joined, the messages that found no room in a ring when
// it joined. When all have reported, the lowest report is GVT. Every worker *adopts* it from the
// reports; there is no central thread, and no worker waits. The reports may also carry sums
// (executed events, memory, stop requests). All workers read the same sums, so they take the same
// decisions from them.
//
// Why this is right. At the moment of a worker's report, a message or event that may still be
// executed or cancelled is
//   - pending with the worker: it is in its report;
//   - in a ring, sent before its sender joined: joining published it, so the receiver took it out
//     before its own report, which has it;
//   - in a ring or waiting for room, sent after its sender joined and before it reported, or
//     waiting since before: it is in the sender's report;
//   - sent after its sender reported: its cause is an event that was pending with the sender at its
//     report, or a message that came in later. A cause has a lower key than its effect, so the
//     chain of causes ends at an event or message that a report covers.
//
// A worker overwrites its report of round n only when all have joined round n + 1, and a worker
// joins that after it has read the reports of round n.
//
// Memory orders. Joining is a release and seeing it an acquire: a worker that has seen all others
// join finds all messages that they published before in the rings, and the others' reading of the
// previous round's reports precedes the overwriting of these. The same holds for reporting. The
// number of the round carries no data and is relaxed: a worker that reads an old number joins a
// little later, and starting a round is one compare-exchange, of which only one succeeds.
#pragma once

#include <cstdint>
#include <memory>

#include "transport/atomics.h"

namespace orrery::transport {

/// The state that the workers share. `Report` is default-constructible and assignable.
template <class Report, class Atomics = StandardAtomics>
class Rounds {
 public:
  using ReportType = Report;

  explicit Rounds(unsigned workers)
      : workers_(workers), slots_(std::make_unique<Slot[]>(workers)) {}

  unsigned workers() const { return workers_; }
  /// The round that was started last.
  std::uint64_t round() const { return round_.load(std::memory_order_relaxed); }
  /// Starts round n + 1 if n is still the last one; otherwise another worker has started it.
  void start(std::uint64_t n) {
    round_.compare_exchange_strong(n, n + 1, std::memory_order_relaxed);
  }
  void join(unsigned worker, std::uint64_t round) {
    slots_[worker].joined.store(round, std::memory_order_release);
  }
  void report(unsigned worker, std::uint64_t round, const Report& report) {
    slots_[worker].report = report;
    slots_[worker].reported.store(round, std::memory_order_release);
  }
  /// `first`: workers below it are known to have joined; the function advances it.
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
  bool has_joined(unsigned worker, std::uint64_t round) const {
    return slots_[worker].joined.load(std::memory_order_relaxed) >= round;
  }
  bool has_reported(unsigned worker, std::uint64_t round) const {
    return slots_[worker].reported.load(std::memory_order_relaxed) >= round;
  }
  /// For a worker that adopts a round.
  const Report& report_of(unsigned worker) const { return slots_[worker].report; }

 private:
  using Number = typename Atomics::template atomic<std::uint64_t>;
  struct alignas(64) Slot {
    Number joined{0};
    Number reported{0};
    Report report;
  };
  const unsigned workers_;
  alignas(64) Number round_{0};
  std::unique_ptr<Slot[]> slots_;
};

/// One worker's part in the rounds. It calls these functions of `hooks`:
///   bool due()       whether this worker wants a round to begin
///   void join()      publish outgoing messages; remember the lowest that found no room, and from
///                    now on the lowest that is sent
///   Report report()  empty the rings; return the report
///   bool adopt()     take the result from the reports of all (Rounds::report_of); true: the end
/// And with other ranks (ranks/rank_rounds.h) these, which may be called repeatedly:
///   bool delivered(round)  whether all that other ranks sent before they joined has arrived here
///   bool settled(round)    whether the other ranks have reported, too
/// And if members may sleep (run/threads/federation.h):
///   void call_others()     wake the others: a round has begun, or no member is missing any more
template <class RoundsType>
class RoundMember {
 public:
  RoundMember(RoundsType& rounds, unsigned worker) : rounds_(rounds), worker_(worker) {}

  /// Advances the current round as far as possible without waiting, but not into the next one,
  /// since a member for whom a round is always due would never return. True if it was the last
  /// round.
  template <class Hooks>
  bool step(Hooks&& hooks) {
    bool is_last = false;  // whether it is the last to reach its phase, as far as it sees
    for (;;) {
      switch (phase_) {
        case Phase::between:
          if (rounds_.round() == round_) {
            if (!hooks.due()) return false;
            rounds_.start(round_);
            call_others(hooks);
          }
          hooks.join();
          rounds_.join(worker_, ++round_);
          enter(Phase::joined);
          is_last = true;
          break;
        case Phase::joined:
          if (!rounds_.all_joined(round_, scanned_)) return false;
          if constexpr (requires { hooks.delivered(round_); })
            if (!hooks.delivered(round_)) return false;
          if (is_last) call_others(hooks);
          rounds_.report(worker_, round_, hooks.report());
          enter(Phase::reported);
          is_last = true;
          break;
        case Phase::reported:
          if (!rounds_.all_reported(round_, scanned_)) return false;
          if constexpr (requires { hooks.settled(round_); })
            if (!hooks.settled(round_)) return false;
          if (is_last) call_others(hooks);
          enter(Phase::between);
          return hooks.adopt();
      }
    }
  }
  /// Between joining a round and adopting it.
  bool in_round() const { return phase_ != Phase::between; }
  /// In a round: visits the members that it waits for, visit(worker).
  template <class Visit>
  void for_each_lagging(Visit&& visit) const {
    for (unsigned worker = 0; worker < rounds_.workers(); ++worker) {
      const bool is_there = phase_ == Phase::joined ? rounds_.has_joined(worker, round_)
                                                    : rounds_.has_reported(worker, round_);
      if (!is_there) visit(worker);
    }
  }
  /// The round that this worker joined last.
  std::uint64_t round() const { return round_; }

 private:
  enum class Phase : std::uint8_t { between, joined, reported };
  template <class Hooks>
  static void call_others(Hooks& hooks) {
    if constexpr (requires { hooks.call_others(); }) hooks.call_others();
  }
  void enter(Phase phase) {
    phase_ = phase;
    scanned_ = 0;
  }

  RoundsType& rounds_;
  const unsigned worker_;
  Phase phase_ = Phase::between;
  unsigned scanned_ = 0;  ///< workers before it are known to have reached this phase
  std::uint64_t round_ = 0;
};

}  // namespace orrery::transport
