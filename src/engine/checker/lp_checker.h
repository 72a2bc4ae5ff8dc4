// SPDX-License-Identifier: Apache-2.0
//
// Executes each job of an LP (its creation, its start, an event, its end) several times and
// compares the executions, to find out whether a rollback would change results:
//
//   1. it executes the job in the LP's present world (world.h), after a checkpoint, and checks that
//      memory which the handler must not write is unchanged;
//   2. it rolls the LP back as in Time Warp, by each checkpoint strategy in turn (strategies.h),
//      and compares the LP with an image from before;
//   3. it executes the job in the other world; memory and effects must be those of the first
//      execution, except for uninitialised bytes (doubtful bytes are settled in more worlds,
//      doubt.h);
//   4. the LP's twin at other addresses executes the job; the effects must be the same;
//   5. now and then it rolls the LP back over several events and executes these again. During such
//      an episode the LP's history stays in one world, as in Time Warp: after each execution in the
//      other world, the memory returns to the world of the LP's checkpoints.
//
// An LP that must not roll back (LpExecution in orrery/model.h) is executed once, in its first
// world, and has no twin: the checker only checks whether it writes beyond its allocations.
//
// The first difference ends the run: it is thrown as a Finding, a sentence that describes it.
// Before that, the LP is executed some more times to find out what the difference depends on: the
// pattern in uninitialised memory, or something outside of the LP.
//
// Every execution starts at the same address of the stack, with the world's pattern below it, so
// that the bytes that a compiler leaves in padding and dead variables do not depend on the caller.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/dead_timer.h"
#include "engine/checker/checked_event.h"
#include "engine/checker/compare.h"
#include "engine/checker/data_watch.h"
#include "engine/checker/doubt.h"
#include "engine/checker/effects.h"
#include "engine/checker/strategies.h"
#include "engine/checker/twin.h"
#include "memory/arena.h"
#include "memory/block_pool.h"
#include "memory/outside_calls.h"
#include "run/containment/faults.h"
#include "run/containment/guarded_call.h"
#include "run/engine.h"
#include "run/execution/execution.h"
#include "run/execution/lp_executions.h"
#include "run/options/model_checks.h"
#include "run/results/finish.h"

namespace orrery::checker {

/// "time, rand" for messages.
std::string names_of(memory::OutsideCallSet calls);

/// A fault that the checker has found: the sentence that follows "model fault in LP 5 ...: ".
struct Finding {
  std::string text;
};

/// One call of an LP.
struct Job {
  enum class Kind : std::uint8_t { create, start, event, finish } kind;
  LpId lp;
  Key key;
  CheckedEvent* event = nullptr;  ///< kind event
};

struct CheckerStatistics {
  std::uint64_t executions = 0;      ///< of handlers, in all
  std::uint64_t rollbacks = 0;       ///< of one event
  std::uint64_t long_rollbacks = 0;  ///< of several events
  std::uint64_t coasted = 0;         ///< events executed again after long rollbacks
  std::uint64_t compared_bytes = 0;  ///< of memory
  std::uint64_t allocations = 0;     ///< checked for overruns, summed over all events
  std::uint64_t data_watched = 0;    ///< events around which the model's static data was compared
  std::uint64_t one_offs = 0;  ///< differences in bytes that did not occur again when repeated
  memory::OutsideCallSet outside_calls = 0;
  std::string floats_left;  ///< the first handler that left a changed floating-point environment
};

class LpChecker {
 public:
  LpChecker(const Model& model, const Promises& promises, const LpExecutions& executions,
            const RunOptions& options);
  LpChecker(const LpChecker&) = delete;
  LpChecker& operator=(const LpChecker&) = delete;
  ~LpChecker();

  /// Executes and checks a job. True if it is to be committed: executed() then has its effects.
  /// False if it failed, every time in the same way: executed().fault is the error. Throws Finding,
  /// and UsageError out of Model::create.
  bool check(const Job& job);
  const Effects& executed() const { return first_; }

  /// Makes a pending event of send `i` of executed().
  CheckedEvent* make_event(std::size_t i);
  /// Frees an event that has been checked, unless an episode still needs it.
  void release(CheckedEvent* event);

  /// Whether the event is a timer that its LP has cancelled.
  bool is_dead_timer(CheckedEvent& event) const {
    const CheckedLp& lp = lps_[event.receiver];
    return orrery::is_dead_timer(*lp.object, event, event.payload(lp.world));
  }
  LogicalProcessBase& object(LpId id) { return *lps_[id].object; }
  /// An object of the LP's class: the twin, whose memory the LP cannot have damaged, or the LP
  /// itself if it has no twin.
  const LogicalProcessBase& twin(LpId id) const {
    return lps_[id].twin != nullptr ? *lps_[id].twin : *lps_[id].object;
  }
  /// Whether the LP's jobs are executed more than once.
  bool repeats(LpId id) const { return executions_.of(id) == LpExecution::speculative; }
  std::uint64_t hash(LpId id) const { return lps_[id].kernel.hash; }
  /// For an LP with a finding: its destructor will not be called.
  void abandon(LpId id) { lps_[id].broken = true; }
  /// Calls the LP's finish() for the results, right after it was checked.
  void finish(LpId id, Finisher& finisher);

  std::string event_name(LpId id, EventTypeId type) const;
  /// "model fault in LP 5 (class Desk), event Customer at 12 s (tick 12), key ...: the checker ..."
  std::string sentence(const Job& job, const Finding& finding) const;

  /// What the thread executes; for ThreadWatch.
  const HandlerExecution& execution() const { return execution_; }
  /// The sentence for a crash of the handler that runs; for the signal handler.
  std::string crash_sentence(int signal) const;

  const CheckerStatistics& statistics() const { return statistics_; }
  const RollbackPlan& plan() const { return plan_; }
  std::size_t data_bytes() const { return data_.bytes(); }
  std::uint64_t memory_bytes() const;

 private:
  /// An event of an episode.
  struct Step {
    CheckedEvent* event;
    Effects executed;  ///< in the episode's world
  };
  /// Several events of an LP that will be rolled back together. They are numbered from 0: these are
  /// their ordinals in the history.
  struct Episode {
    WorldIndex world;
    std::vector<std::byte> image;  ///< at its start
    checkpoint::KernelState kernel;
    std::uint32_t length;
    RollbackStrategy* strategy;
    RollbackHistory history;
    std::uint32_t now = 0;  ///< the event before which the LP is
    std::vector<Step> steps;

    bool reversing() const { return strategy->kind() == checkpoint::Kind::reverse; }
  };
  /// How the present job is to be undone.
  struct Rollback {
    RollbackStrategy& strategy;
    RollbackHistory& history;
    std::uint32_t ordinal;
    checkpoint::KernelState kernel;  ///< before it
    bool of_episode;
  };
  struct CheckedLp {
    CheckedLp(memory::Arena& arena, memory::Arena& twin_arena)
        : memory(arena), twin_heap(twin_arena) {}
    LpMemory memory;
    memory::LpHeap twin_heap;
    LogicalProcessBase* object = nullptr;
    LogicalProcessBase* twin = nullptr;
    checkpoint::KernelState kernel;
    WorldIndex world = 0;
    std::vector<std::byte> other;       ///< image of the world that the memory does not show
    std::vector<std::byte> twin_image;  ///< of the twin's memory
    std::vector<Doubt> settled;         ///< their bits are uninitialised and only carried along
    std::unique_ptr<Episode> episode;
    std::uint32_t turn = 0;                ///< for RollbackPlan::choose
    Key last;                              ///< of the last job
    bool broken = false;                   ///< its memory is damaged
    const std::byte* object_at = nullptr;  ///< start of the allocation that contains the object
    std::size_t object_bytes = 0;
    std::size_t odd_at =
        kNoDifference;      ///< offset in the object of a byte that depends on addresses
    std::string odd_since;  ///< text: when that byte was first seen
  };

  // Executing.
  void execute(const Job& job, WorldIndex world, WorldIndex stack_world, Effects& out);
  void begin(const Job& job, WorldIndex world);
  void note_floats(const Job& job);
  void call_at_floor();
  void invoke();
  void call();
  std::string describe_failure();
  std::string name_of(const Job& job) const;

  // Checking.
  bool check_once(const Job& job);
  bool succeeded() const;
  Difference execute_in_both_worlds(const Job& job);
  const void* execute_first(const Job& job, bool watched);
  void verify_untouched(const Job& job);
  void verify_twin(const Job& job);
  static void save(const memory::LpHeap& heap, std::vector<std::byte>& image);
  void go_to(CheckedLp& lp, WorldIndex world, const std::vector<std::byte>& image);
  Difference compare_worlds(CheckedLp& lp);
  Difference compare_memory(const CheckedLp& lp, const std::vector<std::byte>& a,
                            const std::vector<std::byte>& b, WorldIndex world_of_a,
                            const Labels& labels);
  Difference memory_difference(const CheckedLp& lp, const std::vector<std::byte>& a,
                               const std::vector<std::byte>& b, std::size_t at,
                               const Labels& labels) const;

  // Doubts.
  bool find_doubts(const CheckedLp& lp, const std::byte* in0, const std::byte* in1,
                   std::size_t bytes);
  Difference settle_doubts(const Job& job);
  bool may_be_carried(const CheckedLp& lp, const Doubt& doubt) const;
  std::size_t first_not_carried(const Job& job, WorldIndex probe);
  const void* payload_in(CheckedEvent& event, WorldIndex world);
  bool metrics_differ(const CheckedLp& lp) const;

  // Addresses.
  static void find_object(CheckedLp& lp);
  std::size_t first_odd_byte(const CheckedLp& lp) const;
  void note_odd_byte(const Job& job);
  std::string odd_byte_text(const CheckedLp& lp) const;

  // Rolling back.
  RollbackStrategy::Lp view(CheckedLp& lp, RollbackHistory& history);
  void prepare(RollbackStrategy& strategy, const RollbackStrategy::Lp& subject,
               std::uint32_t ordinal);
  Rollback take(const Job& job);
  void roll_back(const Job& job, const Rollback& rollback);
  std::uint32_t restore(CheckedLp& lp, const Job& job, RollbackStrategy& strategy,
                        RollbackHistory& history, std::uint32_t now, std::uint32_t target);
  void verify_restored(const CheckedLp& lp, const std::vector<std::byte>& image,
                       const checkpoint::KernelState& kernel, const RollbackStrategy& strategy,
                       std::size_t events);

  // Over several events.
  void begin_episode(CheckedLp& lp);
  void note_step(CheckedLp& lp, const Job& job);
  void end_episode(CheckedLp& lp, const Job& job);
  void roll_back_to(CheckedLp& lp, const Job& job, std::uint32_t target);
  Difference go_back_to(CheckedLp& lp, const Job& job, std::uint32_t target);
  Difference coast(CheckedLp& lp, const Job& job, std::uint32_t target);
  Difference compare_present(const CheckedLp& lp);
  void drop_episode(CheckedLp& lp);
  std::uint64_t random_number();

  // Reports.
  [[noreturn]] void report_difference(const Job& job, const Difference& difference, Versus versus);
  [[noreturn]] void report_overrun(const Job& job, const Overrun& overrun);
  [[noreturn]] void report_stateful(memory::OutsideCallSet calls);
  [[noreturn]] void report_static(const void* variable, const Difference& difference);
  std::string cause(const Job& job);
  std::string cause_outside(memory::OutsideCallSet calls, const void* variable) const;
  std::string place_text(const Allocation& allocation) const;
  const Metric& metric_at(std::uint32_t offset) const;
  std::string address_text(const CheckedLp& lp, const std::byte* address) const;
  const std::byte* address_in_image(const CheckedLp& lp, std::size_t image_bytes,
                                    std::size_t at) const;
  std::string holders_of(LpId victim) const;

  const Model& model_;
  const LpExecutions& executions_;
  Names names_;
  memory::Arena arena_, twin_arena_;
  memory::LpHeap nowhere_{memory::LpHeap::kNoArena};
  const MisuseWatch misuse_watch_;
  Guard guard_;
  TwinMemory twins_;
  DataWatch data_;
  memory::BlockPool blocks_;  ///< events and checkpoints
  RollbackPlan plan_;
  std::vector<CheckedLp> lps_;
  CheckerStatistics statistics_;
  std::uint64_t random_state_;
  std::uint64_t next_watched_ = 0;
  std::size_t open_episodes_ = 0;

  // Of the execution that runs.
  Execution<Outbox> execution_;
  bool other_marks_ = false;             ///< errno and the like are those of the other world
  bool reversing_ = false;               ///< the handler saves what its reverse handler will need
  const Job* running_ = nullptr;         ///< nullptr: none
  std::vector<std::uint32_t> left_out_;  ///< ignored here: Finisher reports it
  std::string usage_error_;              ///< the UsageError of create(), if any
  std::uintptr_t floor_ = 0;             ///< stack address where handlers start; 0: not yet known

  Effects first_, second_, twin_, more_;
  std::vector<std::byte> before_, scratch_;
  std::vector<Doubt> doubts_;   ///< of the present job
  std::vector<Doubt> settled_;  ///< doubts of the present job that are settled
  std::vector<std::uint64_t> probe_payload_;
};

}  // namespace orrery::checker
