// SPDX-License-Identifier: Apache-2.0
//
// Executes what one LP has to do (its creation, its start, an event, its end) as often as it takes
// to see whether a rollback would show, and compares:
//
//   1. in the LP's present world (world.h), after a checkpoint; then the memory that nobody may
//      write is looked at;
//   2. rolled back as in Time Warp, by each checkpoint strategy in turn (strategies.h), and
//      compared with an image from before;
//   3. in the other world; memory and effects must be those of the first execution, but for bytes
//      that nobody has initialised (doubtful ones are settled in more worlds, doubt.h);
//   4. by the LP's twin at other addresses; the effects must be the same;
//   5. now and then rolled back over several events and executed up to here again. Such an LP goes
//      through these events in one world, as in Time Warp: the other is a detour, after which its
//      memory is again what its checkpoints were made of.
//
// An LP that must not roll back (LpExecution in orrery/model.h) is executed once, in its first
// world, and has no twin: only what it writes beyond its allocations is looked at.
//
// The first difference ends the run: it is thrown as a Finding, a sentence that names it. Whatever
// differs, the LP is executed some more times to find out what the difference follows: the pattern
// in uninitialised memory, or something outside of the LP.
//
// Every execution starts at the same address of the stack, with the world's pattern below it, so
// that what a compiler leaves in padding and dead variables does not depend on who called.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/withdrawn.h"
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
#include "run/engine.h"
#include "run/execution.h"
#include "run/faults.h"
#include "run/finish.h"
#include "run/guarded_call.h"
#include "run/lp_executions.h"
#include "run/model_checks.h"

namespace orrery::checker {

/// "time, rand" for messages.
std::string names_of(memory::OutsideCallSet calls);

/// What the checker has found, as a sentence behind "model fault in LP 5 ...: ".
struct Finding {
  std::string text;
};

/// Something that an LP has to do.
struct Job {
  enum class Kind : std::uint8_t { create, start, event, finish } kind;
  LpId lp;
  Key key;
  CheckedEvent* event = nullptr;  ///< kind event
};

struct CheckerStatistics {
  std::uint64_t executions = 0;      ///< of handlers, all told
  std::uint64_t rollbacks = 0;       ///< of one event
  std::uint64_t long_rollbacks = 0;  ///< of several events
  std::uint64_t coasted = 0;         ///< events executed again after those
  std::uint64_t compared_bytes = 0;  ///< of memory
  std::uint64_t allocations = 0;     ///< whose surroundings were watched
  std::uint64_t data_watched = 0;    ///< events around which the model's static data was compared
  std::uint64_t one_offs = 0;  ///< differences in bytes of memory that repetition did not show
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

  /// Executes and checks. True if it is to be committed: `executed` then is what it did. False if
  /// it failed, every time in the same way: `executed().fault` says how. Throws Finding, and
  /// UsageError out of Model::create.
  bool check(const Job& job);
  const Effects& executed() const { return first_; }

  /// A new event for send `i` of what was executed.
  CheckedEvent* make_event(std::size_t i);
  /// Gives an event back when it has been checked.
  void release(CheckedEvent* event);

  /// Whether it is a timer that its LP has cancelled.
  bool is_withdrawn(CheckedEvent& event) const {
    const CheckedLp& lp = lps_[event.receiver];
    return orrery::is_withdrawn(*lp.object, event, event.payload(lp.world));
  }
  LogicalProcessBase& object(LpId id) { return *lps_[id].object; }
  /// Of the same class, and whole whatever the LP has done to its memory, if it has a twin.
  const LogicalProcessBase& twin(LpId id) const {
    return lps_[id].twin != nullptr ? *lps_[id].twin : *lps_[id].object;
  }
  /// Whether it is executed more than once.
  bool repeats(LpId id) const { return executions_.of(id) == LpExecution::speculative; }
  std::uint64_t hash(LpId id) const { return lps_[id].kernel.hash; }
  /// The LP on which something was found: its destructor is not called.
  void abandon(LpId id) { lps_[id].broken = true; }
  /// Calls finish() for good, right after it was checked.
  void finish(LpId id, Finisher& finisher);

  std::string event_name(LpId id, EventTypeId type) const;
  /// "model fault in LP 5 (class Desk), event Customer at 12 s (tick 12), key ...: the checker ..."
  std::string sentence(const Job& job, const Finding& finding) const;

  /// What the thread executes, for those who watch it.
  const HandlerExecution& execution() const { return execution_; }
  /// The sentence for a crash of the handler that runs; for the handler of the signal.
  std::string crash_sentence(int signal) const;

  const CheckerStatistics& statistics() const { return statistics_; }
  const RollbackPlan& plan() const { return plan_; }
  std::size_t data_bytes() const { return data_.bytes(); }
  std::uint64_t memory_bytes() const;

 private:
  /// One of several events that an LP is to be rolled back over.
  struct Step {
    CheckedEvent* event;
    Effects executed;  ///< in the episode's world
  };
  /// The events are numbered from 0: their ordinals in the history.
  struct Episode {
    WorldIndex world;
    std::vector<std::byte> image;  ///< at its start
    checkpoint::KernelState kernel;
    std::uint32_t length;
    RollbackStrategy* strategy;
    History history;
    std::uint32_t now = 0;  ///< the event before which the LP is
    std::vector<Step> steps;

    bool reversing() const { return strategy->kind() == checkpoint::Kind::reverse; }
  };
  /// How an event that is being checked is to be undone.
  struct Rollback {
    RollbackStrategy& strategy;
    History& history;
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
    std::vector<Doubt> settled;         ///< of which bits are uninitialised and carried along
    std::unique_ptr<Episode> episode;
    std::uint32_t turn = 0;                ///< of the strategies
    Key last;                              ///< of what it executed last
    bool broken = false;                   ///< its memory means nothing any more
    const std::byte* object_at = nullptr;  ///< where the allocation begins that has the object
    std::size_t object_bytes = 0;
    std::size_t odd_at =
        kNoDifference;      ///< in it: a byte that depends on addresses, seen first ...
    std::string odd_since;  ///< ... then
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
  RollbackStrategy::Lp view(CheckedLp& lp, History& history);
  void prepare(RollbackStrategy& strategy, const RollbackStrategy::Lp& subject,
               std::uint32_t ordinal);
  Rollback take(const Job& job);
  void roll_back(const Job& job, const Rollback& rollback);
  std::uint32_t restore(CheckedLp& lp, const Job& job, RollbackStrategy& strategy, History& history,
                        std::uint32_t now, std::uint32_t target);
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

  // Saying what was found.
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
  bool reversing_ = false;               ///< its handler is to do what its reverse will need
  const Job* running_ = nullptr;         ///< nullptr: none
  std::vector<std::uint32_t> left_out_;  ///< told by who ends the LPs for good
  std::string usage_error_;              ///< what create() refused, if it did
  std::uintptr_t floor_ = 0;             ///< of the stack; 0: not yet known

  Effects first_, second_, twin_, more_;
  std::vector<std::byte> before_, scratch_;
  std::vector<Doubt> doubts_;   ///< of the event that is checked
  std::vector<Doubt> settled_;  ///< those that it has met and are settled
  std::vector<std::uint64_t> probe_payload_;
};

}  // namespace orrery::checker
