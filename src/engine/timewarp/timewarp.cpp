// SPDX-License-Identifier: Apache-2.0
//
// The Time Warp engine (Jefferson, "Virtual time", 1985) on the threads of one process. This file
// sets a run up, starts its workers, and puts together what they leave; worker.h is the engine.
#include <chrono>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

#include "engine/timewarp/worker.h"
#include "pending/registry.h"
#include "run/engine.h"
#include "run/placement.h"

namespace orrery::timewarp {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

unsigned count_workers(const RunOptions& options, std::uint64_t lps) {
  if (options.workers > kMostWorkers) {
    throw UsageError("--workers " + std::to_string(options.workers) + " is too many; at most " +
                     std::to_string(kMostWorkers) + " are possible");
  }
  const unsigned wanted = options.workers == 0 ? usable_cores() : options.workers;
  return static_cast<unsigned>(std::min<std::uint64_t>(wanted, lps));
}

template <class Pending>
class Run {
 public:
  Run(const Model& model, const RunOptions& options, RunControl& control, RunResult& result)
      : result_(result),
        workers_wanted_(count_workers(options, model.lp_count())),
        shared_(model, options, control, workers_wanted_,
                place_lps(model, workers_wanted_, result.notes),
                CacheLayout::choose(Settings::of(options), workers_wanted_, result.notes)) {
    const std::uint64_t available = available_memory_bytes();
    shared_.memory_budget_bytes =
        options.memory_bytes > 0 ? options.memory_bytes : available / 4 * 3;
    shared_.crowded = shared_.workers > usable_cores();
    memory::thread_context.on_misuse = note_heap_misuse;
    shared_.bind = options.bind && shared_.workers > 1 && !shared_.crowded;
    for (unsigned i = 0; i < shared_.workers; ++i)
      workers_.push_back(std::make_unique<Worker<Pending>>(shared_, i));
  }
  ~Run() {
    std::vector<bool> constructed;
    for (const auto& worker : workers_) constructed.push_back(worker->constructed());
    workers_.clear();
    for (LpId id = 0; id < shared_.lps.count(); ++id)
      if (constructed[shared_.owners[id]]) destroy(id);
    memory::thread_context.on_misuse = on_misuse_before_;
  }

  void execute() {
    if (shared_.control.rows != nullptr) shared_.control.rows->begin(shared_.workers);
    auto start = Clock::now();
    run_threads();
    const double total = seconds_since(start);
    for (const auto& worker : workers_)
      result_.startup_seconds = std::max(result_.startup_seconds, worker->set_up_seconds());
    result_.loop_seconds = total - result_.startup_seconds;
    start = Clock::now();
    conclude();
    result_.shutdown_seconds = seconds_since(start);
  }

 private:
  /// All workers get threads of their own: the caller's must not stay bound to a core.
  void run_threads() {
    std::vector<std::jthread> threads;
    try {
      for (unsigned i = 0; i < shared_.workers; ++i)
        threads.emplace_back([this, i] { workers_[i]->run(); });
    } catch (const std::system_error& error) {
      // Those that run wait for the others to be set up.
      shared_.set_up_failed[0].store(true, std::memory_order_relaxed);
      for (std::size_t i = threads.size(); i < shared_.workers; ++i)
        shared_.set_up.arrive_and_drop();
      throw UsageError("the system refused to start " + std::to_string(shared_.workers) +
                       " threads (" + error.what() + "); use fewer --workers");
    }
  }

  void destroy(LpId id) {
    if (LogicalProcessBase* object = shared_.lps[id].object) {
      const memory::ApplicationMode application(shared_.lps.heap(id));
      delete object;
    }
    shared_.lps.destroy(id);
  }

  void conclude() {
    result_.workers = shared_.workers;
    if (shared_.copier != nullptr) shared_.copier->stop();
    if (set_up_failed()) return;
    const Ending& ending = workers_[0]->ending();
    result_.end = ending.end;
    result_.reached = std::min(ending.reached.time(), shared_.options.until);
    if (ending.end == RunEnd::fault) describe_fault(ending.reached);
    finish_lps();
    sum_statistics();
  }

  bool set_up_failed() {
    const typename Worker<Pending>::SetUpFailure* first = nullptr;
    for (const auto& worker : workers_) {
      const auto& failure = worker->set_up_failure();
      const auto order = [](const auto& f) { return std::pair(f.phase, f.lp); };
      if (failure && (first == nullptr || order(*failure) < order(*first))) first = &*failure;
    }
    if (first == nullptr) return false;
    if (first->usage) throw UsageError(first->sentence);
    result_.end = RunEnd::fault;
    result_.fault = first->sentence;
    result_.metrics.resize(shared_.model.metrics().size());
    return true;
  }

  void describe_fault(const Key& key) {
    std::vector<LivelockTrail::Step> steps;
    for (const auto& worker : workers_) {
      if (const std::string* sentence = worker->fault_at(key)) result_.fault = *sentence;
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
        continue;
      }
      const memory::ApplicationMode application(shared_.lps.heap(id));
      heap_misuse().seen = false;
      finisher.finish(id, *lp.object, lp.kernel.hash);
      if (heap_misuse().seen) finisher.fail(id, heap_misuse().sentence());
    }
    finisher.store(result_);
    if (rows == nullptr) return;
    for (unsigned i = 0; i < shared_.workers; ++i) rows->advance(i, Key::infinity());
  }

  void sum_statistics() {
    WorkerStatistics sum;
    double interval = 0;
    bool bind_failed = false;
    checkpoint::Keeper::Statistics kept;
    std::string note;
    for (const auto& worker : workers_) {
      kept += worker->keeper().statistics();
      if (note.empty()) note = worker->keeper().note();
      const WorkerStatistics& one = worker->statistics();
      sum.executed += one.executed;
      sum.rolled_back += one.rolled_back;
      sum.rollbacks += one.rollbacks;
      sum.coasted += one.coasted;
      sum.checkpoints += one.checkpoints;
      sum.remote_events += one.remote_events;
      sum.cancellations += one.cancellations;
      sum.notices += one.notices;
      sum.retreats += one.retreats;
      sum.idle_polls += one.idle_polls;
      sum.gvt_rounds = std::max(sum.gvt_rounds, one.gvt_rounds);
      interval += worker->checkpoint_interval() / static_cast<double>(shared_.workers);
      bind_failed |= worker->bind_failed();
      if (one.refused_bytes > 0) note_refusals(one);
    }
    if (!note.empty()) result_.notes.push_back(note);
    if (bind_failed) result_.notes.push_back("the system refused to bind workers to cores");
    result_.executed = sum.executed;
    result_.committed = sum.executed - sum.rolled_back;
    const auto add = [this](const char* name, double value, const char* help,
                            const char* unit = "") {
      result_.statistics.push_back({name, unit, help, value});
    };
    add("rolled_back", static_cast<double>(sum.rolled_back), "events undone");
    add("rollbacks", static_cast<double>(sum.rollbacks), "rollbacks of LPs");
    add("coasted", static_cast<double>(sum.coasted), "events executed again to reach a state");
    add("checkpoints", static_cast<double>(sum.checkpoints + kept.taken), "checkpoints taken");
    add("checkpoint_interval", interval,
        "events from one checkpoint to the next, at the end, of small LPs");
    add_checkpoints(kept, add);
    add("remote_events", static_cast<double>(sum.remote_events), "events sent to other workers");
    add("cancellations", static_cast<double>(sum.cancellations), "events cancelled");
    add("cancellation_notices", static_cast<double>(sum.notices),
        "of these, executed by another worker before");
    add("retreats", static_cast<double>(sum.retreats), "rollbacks to save memory");
    add("gvt_rounds", static_cast<double>(sum.gvt_rounds), "computations of GVT");
    add("idle_polls", static_cast<double>(sum.idle_polls), "times a worker found nothing to do");
    add("event_memory", static_cast<double>(shared_.depot.slab_bytes()),
        "memory for events, at most", "B");
    double taken = 0;
    for (const auto& arena : shared_.arenas) taken += static_cast<double>(arena->taken_bytes());
    add("lp_memory", taken, "memory for LPs, at most", "B");
    if (shared_.cache.colouring.on) describe_cache();
    result_.peak_memory_bytes = shared_.depot.slab_bytes() + static_cast<std::uint64_t>(taken) +
                                shared_.lps.count() * LpTable::bytes_per_lp();
  }

  /// Of the LPs with a record of their own, and of offloading.
  template <class Add>
  void add_checkpoints(const checkpoint::Keeper::Statistics& kept, Add&& add) {
    const auto mean = [](std::uint64_t sum, std::uint64_t count) {
      return count == 0 ? 0.0 : static_cast<double>(sum) / static_cast<double>(count);
    };
    if (kept.taken + kept.reversals == 0) return;
    add("checkpoint_distance", mean(kept.distance, kept.distances),
        "events between complete checkpoints of a large LP, mean");
    add("checkpoint_images", static_cast<double>(kept.images), "full copies of large LPs");
    add("checkpoint_deltas", static_cast<double>(kept.deltas), "incremental checkpoints");
    add("checkpoint_delta_bytes", mean(kept.delta_bytes, kept.deltas),
        "changed memory in one of them, mean", "B");
    add("checkpoint_reversals", static_cast<double>(kept.reversals),
        "events that a reverse handler can undo");
    if (shared_.copier == nullptr) return;
    add("checkpoints_offloaded", static_cast<double>(kept.offloaded), "handed to a copier");
    add("checkpoints_aborted", static_cast<double>(kept.aborted), "of these, given up");
    add("checkpoints_by_copier", static_cast<double>(kept.by_copier),
        "of these, complete when their LP was needed");
    add("checkpoints_by_worker", static_cast<double>(kept.by_worker),
        "of these, finished by the worker");
    add("checkpoint_resynchronisations", static_cast<double>(kept.resynchronised),
        "copies found unfinished when their LP was needed");
    add("checkpoints_no_slot", static_cast<double>(kept.no_slot),
        "not taken because the copier lay a whole ring behind (with threshold 0: made at once)");
    add("abort_threshold", workers_[0]->keeper().threshold(), "share of a copy, at the end");
    add("copier_utilisation", shared_.copier->utilisation(), "share of its time that it copied");
  }

  /// A model that goes on without the memory that malloc did not give it must not do so unnoticed.
  void note_refusals(const WorkerStatistics& worker) {
    result_.notes.push_back("LPs of one worker were refused memory " +
                            std::to_string(worker.refusals) + " times, at last " +
                            std::to_string(worker.refused_bytes) + " bytes" +
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
    const auto add = [this](const char* name, double value, const char* help, const char* unit) {
      result_.statistics.push_back({name, unit, help, value});
    };
    add("cache_share", threshold / way, "share of the cache sets kept from checkpoints, at the end",
        "");
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
  const decltype(memory::ThreadContext::on_misuse) on_misuse_before_ =
      memory::thread_context.on_misuse;
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
