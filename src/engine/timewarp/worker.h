// SPDX-License-Identifier: Apache-2.0
//
// A worker: a thread with its LPs, their pending events and everything that was executed and is not
// committed. It executes its events lowest key first, in batches; between batches it takes what
// others sent, publishes what it sends, and takes part in GVT. Only its own thread touches its LPs.
//
// A straggler is noticed when it is popped, not when it arrives: by then it is the lowest event of
// the worker, so a burst of stragglers to one LP costs one rollback, to the lowest of them.
//
// A worker that is alone can receive no straggler: its lowest event is GVT. It executes events as
// committed, with neither history nor checkpoints (`speculative_` is false).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "core/cycles.h"
#include "core/fingerprint.h"
#include "engine/timewarp/backoff.h"
#include "engine/timewarp/optimism.h"
#include "engine/timewarp/shared.h"
#include "engine/timewarp/speculative_rows.h"
#include "memory/application_mode.h"
#include "memory/library_state.h"
#include "orrery/context.h"
#include "run/faults.h"
#include "run/finish.h"
#include "run/model_checks.h"
#include "run/placement.h"
#include "run/send_rules.h"

namespace orrery::timewarp {

template <class Pending>
class Worker final : public Context {
 public:
  Worker(Shared& shared, unsigned index);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker();

  /// The thread's life: makes and starts its LPs, runs until all workers end.
  void run();

  const Ending& ending() const { return ending_; }
  const WorkerStatistics& statistics() const { return statistics_; }
  const LivelockTrail& livelock() const { return trail_; }
  std::uint32_t checkpoint_interval() const { return interval_.events(); }
  const checkpoint::Keeper& keeper() const { return keeper_; }
  /// Whether the states of its LPs exist.
  bool constructed() const { return constructed_; }
  double set_up_seconds() const { return set_up_seconds_; }
  bool bind_failed() const { return bind_failed_; }
  /// What went wrong while making LPs or during start(), with the LP at which it did.
  struct SetUpFailure {
    int phase;  ///< 0: making LPs, 1: starting them
    LpId lp;
    bool usage;  ///< the input's fault rather than the model's
    std::string sentence;
  };
  const std::optional<SetUpFailure>& set_up_failure() const { return set_up_failure_; }
  /// The sentence for the fault with that key, if it is here.
  const std::string* fault_at(const Key& key) const;

 private:
  static constexpr std::uint32_t kBatchEvents = 64;
  static constexpr double kBatchSeconds = 20e-6;
  static constexpr std::uint32_t kPollEventsAlone = 4096;
  static constexpr std::uint64_t kGvtPeriodUs = 2000;
  static constexpr std::uint64_t kGvtEvents = 256;            ///< times the workers
  static constexpr std::uint64_t kSweepCancellations = 1024;  ///< times the workers

  /// An event whose handler failed: the last in its LP's history until a rollback undoes it or GVT
  /// reaches it. What arrives for the LP behind it waits here.
  struct Fault {
    LpId lp;
    Key key;
    std::string sentence;
    std::vector<TwEvent*> waiting;
  };

  // Set-up and end (worker_life.h).
  bool end_set_up_step(int phase);
  bool accept_set_up();
  void create_lps();
  void start_lps();
  template <class Action>
  bool guarded(int phase, LpId id, Action&& action);
  void end_run();

  // The loop (worker_life.h).
  void loop();
  void loop_alone();
  std::uint32_t run_batch(std::uint32_t limit);
  void prefetch_upcoming();
  void adapt_batch(std::uint32_t executed, std::uint64_t cycles);

  // Execution (worker_execution.h).
  void handle(TwEvent* event);
  bool claim(TwEvent* event);
  void execute(LpState& lp, TwEvent* event);
  bool run_handler(LpState& lp, TwEvent* event);
  void begin(LpId id, const Key& key, LpState& lp);
  void end(LpState& lp);
  void take_checkpoint(LpId id, LpState& lp);
  void execute_kept(LpState& lp, TwEvent* event);
  void adopt_if_large(LpId id, LpState& lp, std::size_t image_bytes);
  checkpoint::Keeper::Lp kept(LpId id, LpState& lp);
  void note_growth(LpState& lp);
  void note_fault(TwEvent* event, const char* addition);
  void free_event(TwEvent* event) { pool_.release(event); }
  void send(LpId destination, Duration delay, EventTypeId type, std::uint32_t size_word,
            const void* payload) override;
  void append_row(const Table& table, std::span<const std::uint64_t> cells) override;
  void save_before(const void* address, std::size_t bytes) override;
  void remember_bytes(const void* value, std::size_t bytes) override;

  // Rollback and cancellation (worker_rollback.h).
  void roll_back(LpId id, const Key& to);
  void roll_back_one(LpId id, const Key& to);
  void undo(TwEvent* event);
  void cancel_sent(TwEvent* event);
  void cancel(TwEvent* event);
  void restore(LpId id, LpState& lp, std::uint32_t kept);
  void restore_kept(LpId id, LpState& lp, std::uint32_t kept_events);
  void coast(LpState& lp, std::uint32_t from, std::uint32_t to);
  void receive(Message message);
  Fault* fault_of(LpId lp);
  void clear_fault(LpId lp);

  // GVT and commitment (worker_gvt.h).
  bool drain();
  void flush();
  bool step_gvt();
  Time execution_limit() const;
  void join_round();
  void report();
  bool adopt();
  void commit_all(const Key& until);
  void hand_rows_over(const Key& until);
  void prefetch_commit(std::size_t at);
  bool commit(LpId id, LpState& lp, const Key& until);
  bool commit_kept(LpId id, LpState& lp, const Key& until);
  void rest_kept(LpId id, LpState& lp);
  void retreat(Time to);
  void adjust(const GvtReport& sum);
  Key lowest_key();
  Key lowest_waiting();
  Time horizon_from(Time gvt) const;
  void sweep_cancelled();
  bool round_is_due() const;
  std::int64_t memory_bytes() const;

  Shared& shared_;
  const Model& model_;
  const unsigned index_;
  const bool speculative_;
  LpTable& lps_;
  memory::Arena& arena_;
  EventPool pool_;
  memory::BlockPool blocks_;
  Pending pending_;
  std::vector<LpId> active_;  ///< own LPs with events that are not committed
  checkpoint::Keeper keeper_;
  std::vector<LpId> kept_lps_;  ///< own LPs with a record of their own

  // The event being handled.
  TwEvent* current_ = nullptr;
  Key cause_;
  std::uint64_t sends_ = 0;
  std::uint32_t ordinal_ = 0;  ///< of its rows
  bool coasting_ = false;

  // GVT.
  enum class Phase { between, joined, reported };
  Phase phase_ = Phase::between;
  std::uint64_t round_ = 0;
  unsigned scanned_ = 0;
  Key sent_lowest_ = Key::infinity();  ///< to other workers since the round was joined
  Key gvt_;
  Time horizon_;  ///< events at or after it wait
  std::int64_t latest_ticks_ = 0;
  std::uint64_t adopted_cycles_ = 0;
  std::uint64_t adopted_executed_ = 0;
  std::int64_t adopted_memory_bytes_ = 0;
  std::uint64_t period_cycles_;
  std::uint64_t period_events_;    ///< own events after which a round is due; 0: by time only
  std::uint64_t uncommitted_ = 0;  ///< executed events that the last round did not commit
  std::uint64_t committed_ = 0;    ///< events that the last round knew to be committed
  std::uint64_t swept_cancellations_ = 0;  ///< of all workers, at the last sweep
  std::vector<TwEvent*> swept_;
  bool idle_ = false;
  Optimism optimism_;
  bool constructed_ = false;
  bool ending_run_ = false;
  bool bind_failed_ = false;
  Ending ending_;

  // Cancellations of local events that were executed: roll_back works them off.
  std::vector<TwEvent*> to_cancel_;
  std::vector<Fault> faults_;
  SpeculativeRows speculative_rows_;
  RowBuffer rows_;
  const bool has_rows_;
  LivelockTrail trail_;

  // Self-tuning.
  checkpoint::Interval interval_;
  std::optional<CacheTuning> cache_tuning_;  ///< of worker 0, if automatic
  std::uint32_t batch_events_ = kBatchEvents;
  std::uint64_t batch_cycles_limit_;
  double event_cycles_ = 0, checkpoint_cycles_ = 0;
  std::uint64_t adjusted_executed_ = 0, adjusted_rollbacks_ = 0;
  WorkerStatistics statistics_;
  std::optional<SetUpFailure> set_up_failure_;
  double set_up_seconds_ = 0;
  Backoff backoff_;
};

}  // namespace orrery::timewarp

#include "engine/timewarp/worker_execution.h"
#include "engine/timewarp/worker_gvt.h"
#include "engine/timewarp/worker_life.h"
#include "engine/timewarp/worker_rollback.h"
