// SPDX-License-Identifier: Apache-2.0
//
// The Time Warp engine (Jefferson, "Virtual time", 1985) on the threads of one process. This file
// sets a run up, starts its threads, and puts together what they leave; worker.h is the engine.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "checkpoint/options.h"
#include "core/assert.h"
#include "engine/timewarp/account.h"
#include "engine/timewarp/crew.h"
#include "pending/registry.h"
#include "run/clock.h"
#include "run/placement.h"
#include "run/world_engine.h"

namespace orrery::timewarp {

Shared::Shared(World& run_world, const RunOptions& run_options, const Goal& run_goal,
               const Settings& run_settings, RunControl& run_control, unsigned worker_count,
               const CacheLayout& cache_layout)
    : world(run_world),
      model(run_world.model()),
      options(run_options),
      goal(run_goal),
      cut_events(run_goal.pauses() ? run_goal.events : run_settings.pause_every),
      ends_at_cut(run_goal.pauses() || run_settings.pause_ends),
      settings(run_settings),
      control(run_control),
      workers(worker_count),
      regrouped(regroup()),
      owners(regrouped.empty() ? world.part_table() : regrouped),
      lps(run_world),
      mesh(worker_count, settings.channel_messages),
      tracker(checkpoint::make_tracker(run_options)),
      cache(cache_layout),
      mild_from(cache_layout.colouring.mild_from),
      memory_budget_bytes(options.memory_bytes > 0 ? options.memory_bytes
                                                   : available_memory_bytes() / 4 * 3),
      team(count_threads(options, worker_count), options.bind),
      rounds(team.workers()),
      moving(world.executions(), world.lp_count(), workers, team.workers()),
      text(run_world.model()),
      bells(worker_count, team.workers()),
      preempts((Preemptible::kPossible || run_settings.preempt_always) && worker_count > 1 &&
               run_settings.preempts() && text.locals_bytes() <= Preemptible::kMostLocalsBytes),
      cores_a_worker(static_cast<double>(std::min(team.workers(), usable_cores())) / workers) {
  if (settings.offload.on())
    copier = settings.copier->make(workers, std::min(settings.offload.copiers, workers));
}

std::vector<std::uint16_t> Shared::regroup() const {
  if (workers == world.parts()) return {};
  std::vector<std::uint16_t> all(world.lp_count());
  for (LpId id = 0; id < world.lp_count(); ++id)
    all[id] = static_cast<std::uint16_t>(worker_of(world.part_of(id)));
  return all;
}

/// Loads say nothing where threads share cores.
Balance::Terms Shared::balance_terms() const {
  return {.on = workers > 1 && (settings.move_every > 0 || (settings.balance && !team.crowded())),
          .workers = workers,
          .threads = team.workers(),
          .lps = world.lp_count(),
          .move_every = settings.move_every,
          .period_cycles = cycles_in(Balance::kPeriodSeconds)};
}

void Shared::give_to(LpId id, unsigned worker) {
  if (!regrouped.empty()) regrouped[id] = static_cast<std::uint16_t>(worker);
  world.give_to(id, worker, workers);
}

namespace {

template <class Pending>
class Run {
 public:
  Run(World& world, const RunOptions& options, const Goal& goal, const Settings& settings,
      RunControl& control, const CacheLayout& cache, RunResult& result)
      : result_(result),
        shared_(world, options, goal, settings, control,
                std::min(count_workers(options, world.model()), world.parts()), cache) {
    for (unsigned i = 0; i < shared_.workers; ++i)
      workers_.push_back(std::make_unique<Worker<Pending>>(shared_, i));
    make_crews();
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() {
    shared_.team.join();  // they run if some could not be started
    try {
      give_lps_back();
    } catch (const std::bad_alloc&) {
      // The run has failed already, or fails now; nobody will call these LPs again.
    }
  }

  void execute() {
    if (shared_.control.rows != nullptr) shared_.control.rows->begin(shared_.workers);
    Stopwatch watch;
    // All workers get threads of their own: the caller's must not stay bound to a core.
    shared_.team.start(0, {[this](unsigned i) { crews_[i]->run(); }});
    shared_.team.finish();
    if (shared_.copier != nullptr) shared_.copier->stop();
    double set_up_seconds = 0;
    for (const auto& crew : crews_)
      set_up_seconds = std::max(set_up_seconds, crew->set_up_seconds());
    result_.startup_seconds += set_up_seconds;
    result_.loop_seconds += watch.lap() - set_up_seconds;
    conclude();
    give_lps_back();
  }

 private:
  /// Last, and when all else is gone, for it takes memory.
  void give_lps_back() {
    crews_.clear();
    workers_.clear();
    shared_.depot.clear();
    shared_.lps.give_back();
  }
  /// Neighbouring workers share a thread.
  void make_crews() {
    const unsigned threads = shared_.team.workers();
    std::vector<typename Crew<Pending>::WorkerList> lists(threads);
    for (unsigned i = 0; i < shared_.workers; ++i)
      lists[shared_.bells.thread_of(i)].push_back(workers_[i].get());
    for (unsigned i = 0; i < threads; ++i)
      crews_.push_back(std::make_unique<Crew<Pending>>(shared_, i, std::move(lists[i])));
    if (threads == shared_.workers) return;
    result_.notes.push_back(std::to_string(shared_.workers) + " workers share " +
                            std::to_string(threads) + (threads == 1 ? " thread" : " threads") +
                            " (--threads)");
  }

  void conclude() {
    result_.workers = shared_.workers;
    if (shared_.team.take_failure(shared_.model, result_)) return;
    const Ending& ending = workers_[0]->ending();
    result_.end = ending.end;
    if (ending.end == RunEnd::fault) describe_fault(ending.reached);
    report();
    shared_.world.cut = ending.reached;
    if (ending.end == RunEnd::paused)
      for (unsigned i = 0; i < shared_.workers; ++i)
        workers_[i]->give_events(shared_.world.pending[shared_.first_part(i)]);
    for (const auto& worker : workers_) shared_.world.trail.merge(worker->faults().trail);
  }

  void describe_fault(const Key& key) {
    FaultReport report(key, shared_.options.livelock_microsteps);
    report.add(shared_.world.trail);
    for (const auto& worker : workers_) {
      report.add(worker->faults().at(key));
      report.add(worker->faults().trail);
    }
    result_.fault = report.text();
  }

  // ---- What workers counted

  void report() {
    WorkerStatistics sum;
    checkpoint::Keeper::Statistics kept;
    double interval = 0;
    std::uint64_t held = 0;
    for (const auto& worker : workers_) {
      merge_counters(kWorkerCounters, sum, worker->statistics());
      const History& history = worker->history();
      held += worker->held().executed();
      merge_counters(checkpoint::Keeper::kCounters, kept, history.keeper().statistics());
      interval += history.checkpoint_interval() / static_cast<double>(shared_.workers);
    }
    note_budget();
    note_preemption();
    for (const auto& crew : crews_)
      if (!crew->refusal_note().empty()) result_.notes.push_back(crew->refusal_note());
    add_checkpoint_notes(kept);
    shared_.team.add_notes(result_.notes);
    ORRERY_ASSERT(sum.rolled_back <= sum.executed, "what is undone was executed");
    shared_.world.executed += sum.executed;
    shared_.world.committed += sum.executed - sum.rolled_back;
    result_.account =
        account_of(sum, shared_.workers, {shared_.moving.times(), shared_.moving.lps_moved()});
    sum.checkpoints += kept.taken;
    report_counters(kWorkerCounters, sum, result_.statistics);
    add("checkpoint_interval", interval,
        "events from one checkpoint to the next, at the end, of small LPs");
    if (kept.taken + kept.reversals > 0) add_checkpoints(kept);
    if (!shared_.world.executions().all_speculative())
      add("held_events", static_cast<double>(held),
          "events of LPs that must not roll back, executed when nothing could undo them");
    if (workers_[0]->balance().is_on()) add_moves();
    if (shared_.settings.pause_every > 0)
      add("cuts", static_cast<double>(sum.cuts), "times all workers came to a cut");
    add_memory();
  }

  void add_checkpoint_notes(const checkpoint::Keeper::Statistics& kept) {
    if (const std::string note = shared_.tracker->note(); !note.empty())
      result_.notes.push_back(note);
    if (kept.refused == 0) return;
    result_.notes.push_back("the system refused the memory for " + std::to_string(kept.refused) +
                            " checkpoints; they were taken later, or as plain copies");
  }

  void add(const char* name, double value, const char* help, const char* unit = "") {
    result_.statistics.push_back({name, unit, help, value});
  }

  /// Of the LPs with a record of their own, and of offloading.
  void add_checkpoints(const checkpoint::Keeper::Statistics& kept) {
    const auto mean = [](std::uint64_t sum, std::uint64_t count) {
      return count == 0 ? 0.0 : static_cast<double>(sum) / static_cast<double>(count);
    };
    const auto count = [](std::uint64_t n) { return static_cast<double>(n); };
    add("checkpoint_distance", mean(kept.distance, kept.distances),
        "events between complete checkpoints of a large LP, mean");
    add("checkpoint_images", count(kept.images), "full copies of large LPs");
    add("checkpoint_deltas", count(kept.deltas), "incremental checkpoints");
    add("checkpoint_delta_bytes", mean(kept.delta_bytes, kept.deltas),
        "changed memory in one of them, mean", "B");
    add("checkpoint_reversals", count(kept.reversals), "events that a reverse handler can undo");
    if (shared_.copier == nullptr) return;
    add("checkpoints_offloaded", count(kept.offloaded), "handed to a copier");
    add("checkpoints_aborted", count(kept.aborted), "of these, given up");
    add("checkpoints_by_copier", count(kept.by_copier),
        "of these, complete when their LP was needed");
    add("checkpoints_by_worker", count(kept.by_worker), "of these, finished by the worker");
    add("checkpoint_resynchronisations", count(kept.resynchronised),
        "copies found unfinished when their LP was needed");
    add("checkpoints_no_slot", count(kept.no_slot),
        "not taken because the copier lay a whole ring behind (with threshold 0: made at once)");
    add("abort_threshold", workers_[0]->history().keeper().threshold(),
        "share of a copy, at the end");
    add("copier_utilisation", shared_.copier->utilisation(), "share of its time that it copied");
  }

  void add_moves() {
    const Balance& balance = workers_[0]->balance();
    add("moves", static_cast<double>(shared_.moving.times()),
        "times that LPs moved between workers");
    add("lps_moved", static_cast<double>(shared_.moving.lps_moved()), "of them, all together");
    add("vain_moves", static_cast<double>(balance.vain_moves()),
        "moves after which not more was committed");
    if (balance.first_imbalance() > 0)
      add("imbalance_before", balance.first_imbalance(),
          "load of the busiest thread over the mean, before the first move");
    add("imbalance", balance.imbalance(),
        "load of the busiest thread over the mean, in the last period that was looked at");
  }

  void add_memory() {
    double taken = 0;
    for (unsigned i = 0; i < shared_.world.parts(); ++i)
      taken += static_cast<double>(shared_.world.arena(i).taken_bytes());
    const auto events = static_cast<double>(shared_.depot.slab_bytes());
    add("event_memory", events, "memory for events, at most", "B");
    add("lp_memory", taken, "memory for LPs, at most", "B");
    if (shared_.cache.colouring.on) describe_cache();
    result_.peak_memory_bytes =
        static_cast<std::uint64_t>(events + taken) + shared_.lps.count() * LpTable::bytes_per_lp();
  }

  /// Why handlers were not interrupted, to those who asked for it.
  void note_preemption() {
    if (shared_.text.locals_bytes() > Preemptible::kMostLocalsBytes &&
        shared_.settings.preempts() && shared_.workers > 1) {
      result_.notes.push_back("the model has " + std::to_string(shared_.text.locals_bytes()) +
                              " bytes of thread-local variables, more than can be set aside: no "
                              "handler was interrupted (--preempt)");
    } else if (shared_.settings.preempt_asked && !shared_.preempts) {
      result_.notes.push_back(
          std::string("no handler was interrupted (--preempt): ") +
          (shared_.workers == 1 ? "a worker that is alone has nothing more urgent to do"
                                : "this needs an x86-64 processor and a build without sanitizers "
                                  "of addresses or threads"));
    }
    constexpr double kDearShare = 0.01;
    if (const double share = crews_.front()->tick_share(); share > kDearShare) {
      char text[16];
      std::snprintf(text, sizeof text, "%.0f", 100 * share);
      result_.notes.push_back(
          std::string("ticks take ") + text +
          " % of the time on this machine, whatever they are good for (--tick)");
    }
    for (const auto& crew : crews_)
      if (!crew->unreturned_note().empty()) result_.notes.push_back(crew->unreturned_note());
    const auto lacks_tick = [](const auto& crew) { return crew->lacks_tick(); };
    if (std::any_of(crews_.begin(), crews_.end(), lacks_tick))
      result_.notes.push_back("the system refused a timer: handlers were not interrupted by it");
  }
  void note_budget() {
    const std::uint64_t needed = workers_[0]->budget_bytes();
    if (needed <= shared_.memory_budget_bytes) return;
    result_.notes.push_back(
        "the memory budget of " + std::to_string(shared_.memory_budget_bytes) +
        " bytes does not hold the LPs and what is to be committed: the run used up to " +
        std::to_string(needed) + " (--memory)");
  }

  /// How memory lay in the cache, and whether the system backed it so that this meant anything.
  void describe_cache() {
    const auto way = static_cast<double>(shared_.cache.colouring.way_bytes);
    const auto threshold = static_cast<double>(shared_.mild_from.load(std::memory_order_relaxed));
    double displaced = 0;
    for (unsigned i = 0; i < shared_.world.parts(); ++i)
      displaced += static_cast<double>(shared_.world.arena(i).displaced_bytes());
    const memory::Region::Backing backing = memory::Region::instance().backing();
    add("cache_share", threshold / way,
        "share of the cache sets kept from checkpoints, at the end");
    add("displaced_memory", displaced, "memory on the sets of the other kind", "B");
    add("huge_page_memory", static_cast<double>(backing.huge_bytes),
        "LP memory that huge pages back", "B");
    if (threshold > 0 && backing.huge_bytes < backing.resident_bytes / 2) {
      result_.notes.push_back(
          "memory is separated by cache sets, but the system backs less than half of it with huge "
          "pages (see transparent_hugepage in /sys/kernel/mm): the separation is partly chance");
    }
  }

  RunResult& result_;
  Shared shared_;
  std::vector<std::unique_ptr<Worker<Pending>>> workers_;
  std::vector<std::unique_ptr<Crew<Pending>>> crews_;
};

class TimeWarpEngine final : public WorldEngine {
 public:
  World::Layout layout(const Model& model, const CommunicationGraph& graph,
                       const RunOptions& options, std::vector<std::string>& notes) const override {
    const Settings settings = Settings::of(options);
    const unsigned workers = count_workers(options, model);
    const CacheLayout cache = CacheLayout::choose(settings, workers, notes);
    World::Layout layout;
    layout.parts = place_lps(model, graph, workers, notes);
    for (unsigned i = 0; i < workers; ++i) layout.arenas.push_back(cache.of_worker(i));
    layout.deny_oversize = settings.deny_oversize;
    return layout;
  }
  void advance(World& world, const RunOptions& options, const Goal& goal, RunControl& control,
               RunResult& result) override {
    const Settings settings = Settings::of(options);
    std::vector<std::string> known;  // told with the layout
    const CacheLayout cache =
        CacheLayout::choose(settings, count_workers(options, world.model()), known);
    pending::with_pending_set<TwEvent>(options.pending, [&]<class Pending>() {
      Run<Pending>(world, options, goal, settings, control, cache, result).execute();
    });
  }
};

const EngineRegistration registration{
    "timewarp", "optimistic: executes ahead and rolls back, on the threads of this machine",
    []() -> std::unique_ptr<Engine> { return std::make_unique<TimeWarpEngine>(); }, options};

}  // namespace
}  // namespace orrery::timewarp
