// SPDX-License-Identifier: Apache-2.0
//
// How a worker's thread gives way to other threads and waits for them. Where threads share cores,
// the thread is a federate (run/threads/federation.h) until that no longer pays; else, and from
// then on, it waits by a Backoff.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/cycles.h"
#include "engine/timewarp/mailbox.h"
#include "run/threads/federation.h"
#include "run/threads/team.h"
#include "run/threads/waiting.h"

namespace orrery::timewarp {

class CoreSharing {
 public:
  /// `has_ranks`: whether there are other ranks.
  CoreSharing(const Federation& federation, unsigned worker, bool has_ranks, Mailbox& mailbox)
      : federation_(federation),
        worker_(worker),
        looks_before_sleep_(has_ranks ? kLooksBeforeSleep : 1),
        mailbox_(mailbox),
        backoff_(federation.team().crowded()) {}
  CoreSharing(const CoreSharing&) = delete;
  CoreSharing& operator=(const CoreSharing&) = delete;

  /// While it exists, the thread is a federate, if threads share cores and that pays.
  class Membership {
   public:
    explicit Membership(CoreSharing& sharing) : sharing_(sharing) { sharing.join(); }
    ~Membership() { sharing_.leave(); }
    Membership(const Membership&) = delete;
    Membership& operator=(const Membership&) = delete;

   private:
    CoreSharing& sharing_;
  };

  bool is_on() const { return federate_.has_value(); }
  /// Null if the thread is no federate.
  Federate* federate() { return is_on() ? &*federate_ : nullptr; }
  /// A note for the report if the system refused what a Federate needs; else empty.
  const std::string& note() const { return note_; }

  // `lowest`: time of the lowest pending event.
  /// For a federate: gives the core to threads with earlier events.
  void give_way(Time lowest) {
    federate_->announce();
    federate_->step(lowest);
    federate_->look();
  }
  /// Waits, since there is nothing to execute.
  void wait(Time lowest) {
    if (!is_on()) return backoff_.wait();
    // The next looks send what was posted, and advance a round.
    if (++idle_turns_ < looks_before_sleep_) return give_way(lowest);
    federate_->announce();
    federate_->wait(lowest);
    federate_->look();
    idle_turns_ = 0;
    if (++sleeps_ < kSleeps) return;
    const bool pays = turn_cycles_ > kSleeps * cycles_in(kWorthASleepSeconds);
    sleeps_ = 0;
    turn_cycles_ = 0;
    if (!pays) leave();
  }
  /// After a turn that began at `start_cycles` and executed something.
  void note_turn(std::uint64_t start_cycles) {
    backoff_.reset();
    idle_turns_ = 0;
    if (is_on()) turn_cycles_ += read_cycles() - start_cycles;
  }
  /// The next wait is a short one again.
  void reset_backoff() { backoff_.reset(); }

 private:
  static constexpr unsigned kLooksBeforeSleep = 3;  ///< where there are other ranks
  // A thread that executes for less than this between two sleeps, on average over kSleeps, spends
  // its time mostly on synchronisation.
  static constexpr unsigned kSleeps = 64;
  static constexpr double kWorthASleepSeconds = 100e-6;

  /// As a federate the thread announces what its worker sends.
  void join() {
    if (!federation_.is_on()) return;
    federate_.emplace(federation_, worker_);
    note_ = federate_->refusal();
    if (!federate_->is_on()) return federate_.reset();
    mailbox_.share(&*federate_);
  }
  void leave() {
    mailbox_.share(nullptr);
    federate_.reset();
  }

  const Federation& federation_;
  const unsigned worker_;
  const unsigned looks_before_sleep_;
  Mailbox& mailbox_;
  Backoff backoff_;
  std::optional<Federate> federate_;
  unsigned idle_turns_ = 0, sleeps_ = 0;
  std::uint64_t turn_cycles_ = 0;  ///< of turns in which something was executed, since sleeps_ is 0
  std::string note_;
};

}  // namespace orrery::timewarp
