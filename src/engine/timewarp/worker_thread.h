// SPDX-License-Identifier: Apache-2.0
//
// The thread of a worker: set-up, turns, GVT rounds, waiting, and what it does while a handler is
// interrupted. A thread has one worker. Several workers could take turns on a thread, but they
// would execute the events of their LPs in much the same order as one worker with all these LPs
// does, and pay for messages between them (docs/decisions/workers-and-cores.md).
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/assert.h"
#include "core/cycles.h"
#include "engine/timewarp/core_sharing.h"
#include "engine/timewarp/laggards.h"
#include "engine/timewarp/worker.h"
#include "run/containment/activity.h"
#include "run/containment/preemption.h"
#include "run/workers/handler_thread.h"

namespace orrery::timewarp {

class WorkerThread final : Preemptor {
 public:
  WorkerThread(Shared& shared, unsigned index)
      : shared_(shared),
        worker_(shared, index),
        member_(shared.rounds, index),
        laggards_(member_, shared.waker),
        sharing_(shared.federation, index, shared.rank_link != nullptr, worker_.mailbox()),
        idleness_(worker_.lane()) {}
  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;

  /// The body of the thread: sets up the worker's LPs, then executes until the run ends.
  void run();

  const Worker& worker() const { return worker_; }
  Worker& worker() { return worker_; }
  double set_up_seconds() const { return set_up_seconds_; }
  /// For the report: what the system refused, what ticks cost, and the handler that had not returned
  /// when the run was stopped.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  static constexpr unsigned kRoundLooks = 64;
  static constexpr unsigned kMostInterrupted = 16;
  static constexpr double kRoundWaitSeconds = 5e-6;  ///< while a handler is interrupted
  static constexpr std::uint64_t kRunForLook = 10;   ///< times as long as the look before took

  bool set_up();
  void take_turns();
  void deal_with_ranks(bool busy);
  bool may_interrupt() const override;
  bool heeds_tick() override;
  bool is_idle() const override { return idle_; }
  bool look_around(bool has_room) noexcept override;
  void fail();
  std::uint64_t work_within(bool may_execute);
  bool turn_within(bool may_execute);
  void arm();
  void note_unreturned();
  bool move_lps();
  struct RoundHooks;
  struct Interruptions;
  bool end_step();
  void give_way() {
    if (sharing_.is_on()) sharing_.give_way(worker_.lowest_pending().time());
  }
  void wait() { sharing_.wait(worker_.lowest_pending().time()); }
  double tick_seconds() const;

  Shared& shared_;
  Worker worker_;
  transport::RoundMember<GvtRounds> member_;
  Laggards laggards_;
  CoreSharing sharing_;
  TraceIdleness idleness_;
  unsigned looks_ = 0;                  ///< at a round under way, since the last turn
  bool idle_ = false;                   ///< the last turn executed nothing
  bool over_ = false;                   ///< the run has ended
  unsigned interrupted_ = 0;            ///< handlers
  std::uint64_t next_look_cycles_ = 0;  ///< no handler is interrupted before this time
  std::uint64_t next_deal_cycles_ = 0;  ///< while there is work, no look at other ranks before this
  std::uint64_t turn_cycles_ = 0;       ///< when the last turn began that no handler was in
  std::uint64_t turn_at_tick_ = 0;      ///< turn_cycles_ at the last tick
  std::vector<std::string> notes_;
  std::exception_ptr error_;  ///< of the platform, while a handler was interrupted
  double set_up_seconds_ = 0;
};

}  // namespace orrery::timewarp
