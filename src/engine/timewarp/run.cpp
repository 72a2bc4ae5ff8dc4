// SPDX-License-Identifier: Apache-2.0
//
// The Time Warp engine (Jefferson, "Virtual time", 1985) on the threads of one process. This file
// sets a run up, starts its threads, and collects their results; worker.h is the engine.
#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "checkpoint/options.h"
#include "core/assert.h"
#include "core/machine.h"
#include "engine/timewarp/account.h"
#include "engine/timewarp/cache_layout.h"
#include "engine/timewarp/worker.h"
#include "run/clock.h"
#include "run/loop/one_by_one.h"
#include "run/options/disturbances.h"
#include "run/ranks/rank_end.h"
#include "run/world/placement.h"
#include "run/world/rank_exchange.h"
#include "run/world/world_engine.h"
#include "transport/ranks/bytes.h"

namespace orrery::timewarp {
namespace {

/// The number of parts into which LPs are divided: one for each worker that executes, unless a
/// partition file names the parts. A worker has all parts of its thread.
unsigned count_parts(const RunOptions& options, const Model& model) {
  return options.get(partition_option()).empty() ? count_useful_workers(options, model)
                                                 : count_workers(options, model);
}

unsigned count_executing(const RunOptions& options, const World& world) {
  return std::min(count_useful_workers(options, world.model()), world.parts());
}

unsigned ranks_on_host(const RunControl& control) {
  return control.ranks == nullptr ? 1 : control.ranks->ranks_on_host();
}

constexpr const char* kNothingUrgent =
    "no handler was interrupted (--preempt): a single worker has no more urgent work";

}  // namespace

Shared::Shared(World& run_world, const RunOptions& run_options, const Goal& run_goal,
               const Settings& run_settings, RunControl& run_control, unsigned worker_count)
    : world(run_world),
      model(run_world.model()),
      options(run_options),
      goal(run_goal),
      cut_events(run_goal.is_a_slice() ? run_goal.events
                                       : run_options.disturbances->events_to_cut()),
      ends_at_cut(run_goal.pauses()),
      end(Key::start_of(run_goal.end(run_options))),
      settings(run_settings),
      control(run_control),
      workers(worker_count),
      owners(find_owners()),
      lps(run_world),
      mesh(worker_count, settings.channel_messages),
      tracker(checkpoint::make_tracker(run_options)),
      colouring(arena(0).colouring()),
      mild_from(colouring.mild_from),
      stream_from_bytes(run_options.disturbances->bytes_to_stream(
          last_level_cache_bytes() / 4 * 3 / (workers * ranks_on_host(run_control)))),
      memory_budget_bytes(
          (options.memory_bytes > 0 ? options.memory_bytes : available_memory_bytes() / 4 * 3) /
          ranks_on_host(run_control)),
      team(worker_count, options.bind, options.place),
      // A run that halts now and then, as for --stop-when, starts its threads anew each time.
      federation(team, run_control.ranks, run_goal.until == Time::max()),
      rounds(workers),
      moving(world.executions(), world.lp_count(), workers, *run_options.disturbances),
      text(run_world.model()),
      waker(workers),
      preempts((Preemptible::kPossible || run_settings.preempt_at_calls) &&
               (worker_count > 1 || run_control.ranks != nullptr) && run_settings.preempts() &&
               text.locals_bytes() <= Preemptible::kMostLocalsBytes),
      cores_a_worker(
          std::min(1.0, static_cast<double>(usable_cores()) / (workers * options.place.sharing))) {
  if (control.ranks != nullptr) {
    rank_link = std::make_unique<RankLink>(*control.ranks, world, owners, workers, rounds, depot,
                                           settings.channel_messages);
    if (preempts) rank_link->call_back(waker);
  }
  if (settings.offload.on())
    copier = checkpoint::find_copier_backend(options.get(checkpoint::kCopier))
                 .make(workers, std::min(settings.offload.copiers, workers));
}

namespace {

/// The load of a rank's busiest worker if loads were even; its actual load if LPs cannot move
/// there.
double even_load(const GvtReport& rank) {
  return rank.balances ? rank.load / static_cast<double>(rank.workers) : rank.most_load;
}

}  // namespace

GvtReport Shared::sum_of_reports() const {
  GvtReport sum;
  if (rank_link == nullptr) {
    for (unsigned worker = 0; worker < workers; ++worker) sum.add(rounds.report_of(worker));
    sum.pressing_bytes = sum.memory_bytes;
    sum.even_load = even_load(sum);
    return sum;
  }
  double most = 0;
  for (unsigned rank = 0; rank < rank_link->ranks(); ++rank) {
    const GvtReport& one = rank_link->rounds().report_of(rank);
    sum.add(one);
    sum.even_load = std::max(sum.even_load, even_load(one));
    most = std::max(
        most, static_cast<double>(one.memory_bytes) / static_cast<double>(one.memory_budget_bytes));
  }
  sum.pressing_bytes = static_cast<std::int64_t>(most * static_cast<double>(memory_budget_bytes));
  return sum;
}

std::vector<std::uint16_t> Shared::find_owners() const {
  std::vector<std::uint16_t> all(world.lp_count());
  for (LpId id = 0; id < world.lp_count(); ++id)
    all[id] = world.is_here(id) ? static_cast<std::uint16_t>(worker_of(world.part_of(id)))
                                : World::kElsewhere;
  return all;
}

std::optional<SetUpFailure> Shared::refusal() {
  const std::uint64_t bytes = state_bytes.load(std::memory_order_relaxed);
  bool reversible = any_reversible.load(std::memory_order_relaxed);
  if (control.ranks != nullptr) {
    transport::ByteWriter own;
    own.put(reversible);
    for (const transport::Parcel& one : control.ranks->gather_everywhere(own.take()))
      reversible |= transport::ByteReader(one).get<bool>();
  }
  std::optional<SetUpFailure> failure;
  if (settings.strategy.name == checkpoint::Strategy::Name::reverse && !reversible) {
    failure = {2, 0, true,
               "--checkpoint reverse: no LP of this model has reverse handlers "
               "(orrery/reverse.h); choose another strategy, or auto"};
  } else if (bytes > memory_budget_bytes) {
    failure = {2, 0, true,
               "the states of the model's LPs take " + std::to_string(bytes) +
                   " bytes, more than the memory budget of " + std::to_string(memory_budget_bytes) +
                   "; raise --memory or use fewer LPs"};
  }
  bool stopped = false;  // not needed: reports of rounds contain it, too
  if (control.ranks != nullptr) share_set_up(*control.ranks, failure, stopped);
  return failure;
}

/// LPs do not move where threads share cores: loads mean nothing there.
Balance::Terms Shared::balance_terms() const {
  const bool pays = options.get(kBalance) && !team.crowded();
  const std::uint64_t disturbed = options.disturbances->events_to_move();
  return {.on = workers > 1 && (disturbed > 0 || pays),
          .lps = world.lp_count(),
          .disturbed_after = disturbed};
}

namespace {

class TimeWarpRun {
 public:
  TimeWarpRun(World& world, const RunOptions& options, const Goal& goal, const Settings& settings,
              RunControl& control, RunResult& result)
      : result_(result),
        shared_(world, options, goal, settings, control, count_executing(options, world)) {
    for (unsigned i = 0; i < shared_.workers; ++i)
      workers_.push_back(std::make_unique<Worker>(shared_, i));
  }
  TimeWarpRun(const TimeWarpRun&) = delete;
  TimeWarpRun& operator=(const TimeWarpRun&) = delete;
  ~TimeWarpRun() {
    shared_.team.join();  // threads run if others could not be started
  }

  void execute() {
    if (shared_.control.rows != nullptr) shared_.control.rows->begin(shared_.workers);
    Stopwatch watch;
    // No worker runs on the caller's thread: that thread must not stay bound to a core.
    shared_.team.start(0, {[this](unsigned i) { workers_[i]->run(); }});
    shared_.team.finish();
    if (shared_.copier != nullptr) shared_.copier->stop();
    double set_up_seconds = 0;
    for (const auto& worker : workers_)
      set_up_seconds = std::max(set_up_seconds, worker->set_up_seconds());
    result_.startup_seconds += set_up_seconds;
    result_.loop_seconds += watch.lap() - set_up_seconds;
    conclude();
  }

 private:
  const Worker& first() const { return *workers_.front(); }
  void conclude() {
    result_.workers = shared_.workers;
    if (shared_.team.take_failure(shared_.model, result_)) return;
    const Ending& ending = first().ending();
    result_.end = ending.end;
    for (const auto& worker : workers_) {
      shared_.world.trail.merge(worker->faults().trail);
      shared_.world.mergeable_statistics.merge(worker->mergeable_statistics());
    }
    const auto ends = share_ends(shared_.control.ranks, own_end(ending.reached));
    if (ending.end == RunEnd::fault)
      result_.fault = describe_fault(shared_.world.model(), ends, ending.reached,
                                     shared_.options.livelock_microsteps);
    report(ends);
    shared_.world.cut = ending.reached;
    if (ending.end == RunEnd::paused)
      for (unsigned i = 0; i < shared_.workers; ++i)
        workers_[i]->give_events(shared_.world.pending[shared_.first_part(i)]);
  }

  // ---- Statistics

  struct Counters {
    WorkerStatistics sum;
    checkpoint::Checkpointer::Statistics kept;

    void add(const Counters& one) {
      merge_counters(kWorkerCounters, sum, one.sum);
      merge_counters(checkpoint::Checkpointer::kCounters, kept, one.kept);
    }
  };
  RankEnd<Counters> own_end(const Key& reached) const {
    RankEnd<Counters> end;
    for (const auto& worker : workers_) {
      end.counters.add({worker->statistics(), worker->rollback_log().checkpointer().statistics()});
      end.note(worker->faults().at(reached));
    }
    end.executed = end.counters.sum.executed;
    end.committed = end.executed - end.counters.sum.rolled_back;
    end.set_trail(shared_.world.trail);
    return end;
  }

  void report(const std::vector<RankEnd<Counters>>& ends) {
    Counters all;
    for (const RankEnd<Counters>& end : ends) all.add(end.counters);
    const auto& [sum, kept] = all;
    double interval = 0;
    for (const auto& worker : workers_)
      interval +=
          worker->rollback_log().checkpoint_interval() / static_cast<double>(shared_.workers);
    note_budget();
    note_preemption();
    note_threads();
    if (const std::string note = shared_.tracker->note(); !note.empty())
      result_.notes.push_back(note);
    shared_.team.add_notes(result_.notes);
    ORRERY_ASSERT(sum.rolled_back <= sum.executed, "what is undone was executed");
    shared_.world.executed += sum.executed;
    shared_.world.committed += sum.executed - sum.rolled_back;
    result_.account = account_of(sum, shared_.all_workers());
    WorkerStatistics reported = sum;
    reported.checkpoints += kept.taken;
    reported.streamed_checkpoints = kept.streamed;
    report_counters(kWorkerCounters, reported, result_.statistics);
    add("checkpoint_interval", interval,
        "events from one checkpoint of a small LP to the next, at the end");
    first().rollback_log().checkpointer().report(kept, shared_.copier.get(), result_);
    if (!shared_.world.executions().all_speculative())
      add("held_events", static_cast<double>(sum.held), "events of LPs that must not roll back");
    if (first().balance().is_on() || sum.moves > 0) add_moves(sum);
    if (shared_.options.disturbances->reports_cuts())
      add("cuts", static_cast<double>(sum.cuts), "times that all workers came to a cut");
    add_memory();
  }

  void add(const char* name, double value, const char* help, const char* unit = "") {
    result_.statistics.push_back({name, unit, help, value});
  }

  void add_moves(const WorkerStatistics& sum) {
    const Balance& balance = first().balance();
    add("moves", static_cast<double>(sum.moves), "times that LPs moved between workers");
    add("lps_moved", static_cast<double>(sum.lps_moved), "LPs moved between workers, in all moves");
    add("vain_moves", static_cast<double>(balance.vain_moves()),
        "moves after which the rate of commits did not rise");
    if (balance.first_imbalance() > 0)
      add("imbalance_before", balance.first_imbalance(),
          "load of the busiest thread / mean load, before the first move");
    add("imbalance", balance.imbalance(),
        "load of the busiest thread / mean load, in the last measured period");
  }

  void add_memory() {
    double taken = 0;
    for (unsigned i = 0; i < shared_.world.parts(); ++i)
      taken += static_cast<double>(shared_.world.arena(i).taken_bytes());
    const auto events = static_cast<double>(shared_.depot.slab_bytes());
    add("event_memory", events, "largest memory for events", "B");
    add("lp_memory", taken, "largest memory for LPs", "B");
    if (shared_.colouring.on) describe_cache();
    result_.peak_memory_bytes = static_cast<std::uint64_t>(events + taken);
  }

  /// A note if no handler was interrupted although the options asked for it.
  void note_preemption() {
    if (shared_.text.locals_bytes() > Preemptible::kMostLocalsBytes &&
        shared_.settings.preempts() && shared_.all_workers() > 1) {
      result_.notes.push_back("the model has " + std::to_string(shared_.text.locals_bytes()) +
                              " bytes of thread-local variables, more than Orrery can save: no "
                              "handler was interrupted (--preempt)");
    } else if (shared_.settings.preempt_asked && !shared_.preempts) {
      result_.notes.emplace_back(
          shared_.all_workers() == 1
              ? kNothingUrgent
              : "no handler was interrupted (--preempt): this needs an x86-64 "
                "processor and a build without sanitizers of addresses or "
                "threads");
    }
  }
  /// What several threads note, such as a timer that the system refuses, is noted once.
  void note_threads() {
    std::set<std::string> notes;
    for (const auto& worker : workers_)
      notes.insert(worker->notes().begin(), worker->notes().end());
    result_.notes.insert(result_.notes.end(), notes.begin(), notes.end());
  }
  void note_budget() {
    const std::uint64_t needed = first().budget_bytes();
    if (needed <= shared_.memory_budget_bytes) return;
    result_.notes.push_back(
        "the memory budget of " + std::to_string(shared_.memory_budget_bytes) +
        " bytes is too small for the LPs and the events to be committed: the run used up to " +
        std::to_string(needed) + " bytes (--memory)");
  }

  /// Statistics of the separation by cache sets, and a note if too few huge pages back the memory
  /// for the separation to be effective.
  void describe_cache() {
    const auto way = static_cast<double>(shared_.colouring.way_bytes);
    const auto threshold = static_cast<double>(shared_.mild_from.load(std::memory_order_relaxed));
    double displaced = 0;
    for (unsigned i = 0; i < shared_.world.parts(); ++i)
      displaced += static_cast<double>(shared_.world.arena(i).displaced_bytes());
    const memory::Region::Backing backing = memory::Region::instance().backing();
    add("cache_share", threshold / way,
        "share of the cache sets that checkpoints do not use, at the end");
    add("displaced_memory", displaced, "memory on cache sets that are meant for the other kind",
        "B");
    add("huge_page_memory", static_cast<double>(backing.huge_bytes), "memory of LPs in huge pages",
        "B");
    if (threshold > 0 && backing.huge_bytes < backing.resident_bytes / 2) {
      result_.notes.push_back(
          "less than half of the memory lies in huge pages (see transparent_hugepage in "
          "/sys/kernel/mm), so its separation by cache sets is incomplete");
    }
  }

  RunResult& result_;
  Shared shared_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

/// Whether the options say how rollbacks are prepared, or how much memory that may take.
bool asks_for_rollbacks(const RunOptions& options, const Settings& settings) {
  return settings.offload.on() || !settings.strategy.automatic() || options.memory_bytes > 0;
}

class TimeWarpEngine final : public WorldEngine {
 public:
  World::Layout layout(const Model& model, const CommunicationGraph& graph,
                       const RunOptions& options, std::vector<std::string>& notes) const override {
    const unsigned asked = count_workers(options, model);
    const unsigned executing = count_useful_workers(options, model);
    if (executing < asked) notes.push_back(note_of_workers(executing, asked));
    const unsigned workers = count_parts(options, model);
    memory::Colouring colouring = choose_colouring(options, executing, notes);
    World::Layout layout = place_lps(model, graph, options, workers, notes);
    for (colouring.worker = 0; colouring.worker < workers; ++colouring.worker)
      layout.arenas.push_back(colouring);
    layout.deny_oversize = options.get(kOversize) == "deny";
    return layout;
  }
  bool spans_ranks() const override { return true; }
  void advance(World& world, const RunOptions& options, const Goal& goal, RunControl& control,
               RunResult& result) override {
    const Settings settings = Settings::of(options);
    if (control.ranks == nullptr && count_executing(options, world) == 1 &&
        !asks_for_rollbacks(options, settings)) {
      advance_one_by_one(world, options, goal, control, result);
      result.account = account_of({}, 1);
      if (settings.preempt_asked) result.notes.emplace_back(kNothingUrgent);
      return;
    }
    TimeWarpRun(world, options, goal, settings, control, result).execute();
  }
};

const EngineRegistration registration{
    "timewarp", "optimistic: executes events ahead of GVT and rolls back",
    []() -> std::unique_ptr<Engine> { return std::make_unique<TimeWarpEngine>(); }, options};

}  // namespace
}  // namespace orrery::timewarp
