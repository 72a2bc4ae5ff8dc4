// SPDX-License-Identifier: Apache-2.0
//
// The Time Warp engine (Jefferson, "Virtual time", 1985) on the threads of one process. This file
// sets a run up, starts its workers, and puts together what they leave; worker.h is the engine.
#include <algorithm>
#include <memory>
#include <vector>

#include "core/assert.h"
#include "engine/timewarp/worker.h"
#include "pending/registry.h"
#include "run/clock.h"
#include "run/engine.h"
#include "run/finish.h"
#include "run/placement.h"

namespace orrery::timewarp {

Shared::Shared(const Model& run_model, const RunOptions& run_options, RunControl& run_control,
               unsigned worker_count, std::vector<std::uint16_t> lp_owners,
               const CacheLayout& cache_layout)
    : model(run_model),
      options(run_options),
      settings(Settings::of(run_options)),
      control(run_control),
      workers(worker_count),
      owners(std::move(lp_owners)),
      lps(owners.size()),
      mesh(worker_count, settings.channel_messages),
      rounds(worker_count),
      cache(cache_layout),
      mild_from(cache_layout.colouring.mild_from),
      memory_budget_bytes(options.memory_bytes > 0 ? options.memory_bytes
                                                   : available_memory_bytes() / 4 * 3),
      team(worker_count, options.bind) {
  for (unsigned i = 0; i < workers; ++i)
    arenas.push_back(std::make_unique<memory::Arena>(cache.of_worker(i), settings.deny_oversize));
  if (settings.offload.on())
    copier = settings.copier->make(workers, std::min(settings.offload.copiers, workers));
}

namespace {

template <class Pending>
class Run {
 public:
  Run(const Model& model, const RunOptions& options, RunControl& control, RunResult& result)
      : result_(result),
        workers_wanted_(count_workers(options, model)),
        shared_(model, options, control, workers_wanted_,
                place_lps(model, workers_wanted_, result.notes),
                CacheLayout::choose(Settings::of(options), workers_wanted_, result.notes)) {
    for (unsigned i = 0; i < shared_.workers; ++i)
      workers_.push_back(std::make_unique<Worker<Pending>>(shared_, i));
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run() {
    shared_.team.join();  // they run if some could not be started
    std::vector<bool> constructed;
    for (const auto& worker : workers_) constructed.push_back(worker->constructed());
    workers_.clear();
    for (LpId id = 0; id < shared_.lps.count(); ++id)
      if (constructed[shared_.owners[id]]) destroy(id);
  }

  void execute() {
    if (shared_.control.rows != nullptr) shared_.control.rows->begin(shared_.workers);
    Stopwatch watch;
    // All workers get threads of their own: the caller's must not stay bound to a core.
    shared_.team.start(0, {[this](unsigned i) { workers_[i]->run(); }});
    shared_.team.finish();
    if (shared_.copier != nullptr) shared_.copier->stop();
    for (const auto& worker : workers_)
      result_.startup_seconds = std::max(result_.startup_seconds, worker->set_up_seconds());
    result_.loop_seconds = watch.lap() - result_.startup_seconds;
    conclude();
    result_.shutdown_seconds = watch.lap();
  }

 private:
  void destroy(LpId id) {
    if (LogicalProcessBase* object = shared_.lps[id].object) {
      const memory::ApplicationMode application(shared_.lps.heap(id));
      delete object;
    }
    shared_.lps.destroy(id);
  }

  void conclude() {
    result_.workers = shared_.workers;
    if (shared_.team.take_failure(shared_.model, result_)) return;
    const Ending& ending = workers_[0]->ending();
    result_.end = ending.end;
    result_.reached = std::min(ending.reached.time(), shared_.options.until);
    if (ending.end == RunEnd::fault) describe_fault(ending.reached);
    finish_lps();
    report();
  }

  void describe_fault(const Key& key) {
    std::vector<LivelockTrail::Step> steps;
    for (const auto& worker : workers_) {
      if (const std::string* sentence = worker->faults().sentence_at(key))
        result_.fault = *sentence;
      const auto& noted = worker->livelock().steps();
      steps.insert(steps.end(), noted.begin(), noted.end());
    }
    result_.fault += LivelockTrail::text(steps, key, shared_.options.livelock_microsteps);
  }

  void finish_lps() {
    RowSink* rows = shared_.control.rows;
    Finisher finisher(shared_.model, result_.reached, rows);
    for (LpId id = 0; id < shared_.lps.count(); ++id) {
      LpState& lp = shared_.lps[id];
      if (result_.end == RunEnd::fault) {
        finisher.abandon(id, lp.kernel.hash);
      } else {
        finisher.finish(id, *lp.object, lp.kernel.hash, shared_.lps.heap(id));
      }
    }
    finisher.store(result_);
    if (rows == nullptr) return;
    for (unsigned i = 0; i < shared_.workers; ++i) rows->advance(i, Key::infinity());
  }

  // ---- What workers counted

  void report() {
    WorkerStatistics sum;
    checkpoint::Keeper::Statistics kept;
    double interval = 0;
    std::string note;
    for (const auto& worker : workers_) {
      merge_counters(kWorkerCounters, sum, worker->statistics());
      const History& history = worker->history();
      kept += history.keeper().statistics();
      if (note.empty()) note = history.keeper().note();
      interval += history.checkpoint_interval() / static_cast<double>(shared_.workers);
      if (worker->refusals().bytes > 0) note_refusals(worker->refusals());
    }
    if (!note.empty()) result_.notes.push_back(note);
    shared_.team.add_notes(result_.notes);
    ORRERY_ASSERT(sum.rolled_back <= sum.executed, "what is undone was executed");
    result_.executed = sum.executed;
    result_.committed = sum.executed - sum.rolled_back;
    sum.checkpoints += kept.taken;
    report_counters(kWorkerCounters, sum, result_.statistics);
    add("checkpoint_interval", interval,
        "events from one checkpoint to the next, at the end, of small LPs");
    if (kept.taken + kept.reversals > 0) add_checkpoints(kept);
    add_memory();
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

  void add_memory() {
    double taken = 0;
    for (const auto& arena : shared_.arenas) taken += static_cast<double>(arena->taken_bytes());
    const auto events = static_cast<double>(shared_.depot.slab_bytes());
    add("event_memory", events, "memory for events, at most", "B");
    add("lp_memory", taken, "memory for LPs, at most", "B");
    if (shared_.cache.colouring.on) describe_cache();
    result_.peak_memory_bytes =
        static_cast<std::uint64_t>(events + taken) + shared_.lps.count() * LpTable::bytes_per_lp();
  }

  /// A model that goes on without the memory that malloc did not give it must not do so unnoticed.
  void note_refusals(const typename Worker<Pending>::Refusals& refusals) {
    result_.notes.push_back("LPs of one worker were refused memory " +
                            std::to_string(refusals.count) + " times, at last " +
                            std::to_string(refusals.bytes) + " bytes" +
                            (shared_.settings.deny_oversize ? " (--oversize deny)" : ""));
  }

  /// How memory lay in the cache, and whether the system backed it so that this meant anything.
  void describe_cache() {
    const auto way = static_cast<double>(shared_.cache.colouring.way_bytes);
    const auto threshold = static_cast<double>(shared_.mild_from.load(std::memory_order_relaxed));
    double displaced = 0;
    for (const auto& arena : shared_.arenas)
      displaced += static_cast<double>(arena->displaced_bytes());
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
  const unsigned workers_wanted_;
  const MisuseWatch watch_;  ///< for LPs that are finished and destroyed on this thread
  Shared shared_;
  std::vector<std::unique_ptr<Worker<Pending>>> workers_;
};

class TimeWarpEngine final : public Engine {
 public:
  RunResult run(const Model& model, const RunOptions& options, RunControl& control) override {
    check_options(model, options);
    RunResult result;
    memory::prepare_library_state();
    Settings::of(options);  // refuses before anything is made
    pending::with_pending_set<TwEvent>(options.pending, [&]<class Pending>() {
      Run<Pending>(model, options, control, result).execute();
    });
    return result;
  }
};

const EngineRegistration registration{
    "timewarp", "optimistic: executes ahead and rolls back, on the threads of this machine",
    []() -> std::unique_ptr<Engine> { return std::make_unique<TimeWarpEngine>(); }, options};

}  // namespace
}  // namespace orrery::timewarp
