// SPDX-License-Identifier: Apache-2.0
//
// What a worker does after a GVT round: it commits and frees events (fossil collection), hands rows
// over, and decides how far ahead of GVT it may execute until the next round. All workers draw the
// same conclusions from the same reports; nothing here depends on the pending event set.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/timewarp/emitted.h"
#include "engine/timewarp/fault_list.h"
#include "engine/timewarp/held.h"
#include "engine/timewarp/optimism.h"
#include "engine/timewarp/rollback_log.h"
#include "engine/timewarp/shared.h"
#include "memory/cache_tuning.h"

namespace orrery::timewarp {

class Commitment {
 public:
  Commitment(Shared& shared, unsigned index, Mailbox& mailbox, RollbackLog& log, HeldEvents& held,
             FaultList& faults, Emitted& emitted, WorkerStatistics& statistics);
  Commitment(const Commitment&) = delete;
  Commitment& operator=(const Commitment&) = delete;

  /// What the worker adds to its report.
  struct Local {
    Key lowest_pending;
    std::uint64_t pending = 0;  ///< events
    std::int64_t memory_bytes = 0;
    std::int64_t latest_ticks = 0;  ///< time of the latest event executed since the last report
    double event_cycles = 0;        ///< mean cost of an event
    LoadReport load;
  };
  GvtReport report(const Local& local) const;

  /// Acts on the reports of a round, added up: commits, and sets the window. True if the run ends.
  bool adopt(const GvtReport& sum, const Local& local);

  // Decided in the last round; the worker must act on these.
  /// Undo all events executed at or after horizon(); see Optimism::must_retreat.
  bool must_retreat() const { return optimism_.must_retreat(); }
  /// Cancelled events that still wait for their time have piled up.
  bool must_sweep() const { return must_sweep_; }
  /// Called after a retreat or sweep: the bytes that the worker holds now.
  void settle(std::int64_t memory_bytes) { adopted_memory_bytes_ = memory_bytes; }

  const Key& gvt() const { return gvt_; }
  /// Events of this worker that the last round knew to be committed.
  std::uint64_t committed() const { return committed_; }
  /// Events at or after the horizon wait.
  const Key& horizon() const { return horizon_; }
  /// Events that this worker may execute until the next round.
  std::uint64_t quota() const { return optimism_.quota(); }
  /// The memory budget, or the larger one to which Optimism has raised it.
  std::uint64_t budget_bytes() const {
    return static_cast<std::uint64_t>(optimism_.budget_bytes());
  }
  /// Where execution stops for now: the horizon, or one microstep after GVT if this worker has come
  /// to hold more than its part of the memory budget since the last round. A worker in a long event
  /// delays the next round; the others must not fill the memory meanwhile.
  Key limit(std::int64_t memory_bytes) const;
  /// Ends the run at a cut, which is at GVT.
  void pause() { ending_ = {RunEnd::paused, gvt_}; }
  const Ending& ending() const { return ending_; }

 private:
  bool decide_end(const GvtReport& sum);
  void hand_rows_over();
  void decide_sweep(const GvtReport& sum);
  void adjust(const GvtReport& sum, const Local& local);
  void show(const GvtReport& sum);
  Key horizon_from(const Key& gvt) const;

  Shared& shared_;
  const unsigned index_;
  Mailbox& mailbox_;
  RollbackLog& log_;
  HeldEvents& held_;
  FaultList& faults_;
  Emitted& emitted_;
  WorkerStatistics& statistics_;
  Optimism optimism_;
  std::optional<memory::CacheTuning> cache_tuning_;  ///< of worker 0, if automatic
  Key gvt_;
  Key horizon_;
  std::uint64_t committed_ = 0;  ///< events that the last round knew to be committed
  /// Events committed and pending in all workers, and when that was.
  struct Told {
    std::uint64_t cycles = 0, committed = 0, pending = 0;
  };
  Told told_;
  std::uint64_t adopted_cycles_ = 0;       ///< when this round was adopted
  std::uint64_t newly_committed_ = 0;      ///< of these, by that round
  std::uint64_t swept_cancellations_ = 0;  ///< of all workers, at the last sweep
  bool must_sweep_ = false;
  std::int64_t adopted_memory_bytes_ = 0;
  Ending ending_;
};

}  // namespace orrery::timewarp
