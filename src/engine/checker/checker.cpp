// SPDX-License-Identifier: Apache-2.0
//
// The checker engine. It executes one event at a time in time order, like the sequential engine and
// with the same results, but it executes each event, rolls it back and executes it again, and
// compares everything that should be equal (lp_checker.h). Authors run their models with it first:
// a model that passes gives other engines no reason to have different results.
#include <fmt/format.h>

#include <memory>

#include "checkpoint/options.h"
#include "engine/checker/crash_watch.h"
#include "engine/checker/lp_checker.h"
#include "memory/library_state.h"
#include "memory/outside_calls.h"
#include "pending/engine_set.h"
#include "run/clock.h"
#include "run/containment/faults.h"
#include "run/engine.h"
#include "run/execution/trace_recorder.h"
#include "run/execution/traced_event.h"
#include "run/loop/key_order.h"
#include "run/options/model_checks.h"
#include "run/results/finish.h"
#include "run/survey/edge_survey.h"

namespace orrery::checker {
namespace {

template <class Pending>
class CheckerRun {
 public:
  CheckerRun(const Model& model, const Promises& promises, const LpExecutions& executions,
             const RunOptions& options, RunControl& control)
      : model_(model),
        executions_(executions),
        options_(options),
        control_(control),
        lps_(static_cast<LpId>(model.lp_count())),
        trail_(options.livelock_microsteps),
        checker_(model, promises, executions, options),
        survey_(model, promises,
                [this](LpId id) -> const LogicalProcessBase& { return checker_.twin(id); }) {}
  ~CheckerRun() {
    if (current_.event != nullptr) checker_.release(current_.event);
    pending_.drain([this](CheckedEvent* event) { checker_.release(event); });
  }

  RunResult run() {
    const ThreadWatch watched(control_.threads, model_, checker_.execution(), false);
    RunResult result;
    if (control_.rows != nullptr) control_.rows->begin(1);
    Stopwatch watch;
    if (!set_up(result)) {
      result.metrics.resize(model_.metrics().size());
      add_statistics(result);
      return result;
    }
    result.startup_seconds = watch.lap();
    result.end = loop();
    result.reached = reached_;
    result.fault = fault_;
    result.loop_seconds = watch.lap();
    finish(result);
    result.shutdown_seconds = watch.lap();
    return result;
  }

 private:
  static constexpr std::uint64_t kPollEvents = 64;

  /// Checks `current_`; false if the run ends here, with a fault.
  bool check() {
    try {
      if (checker_.check(current_)) return true;
      const HandlerFault fault{current_.key, current_.lp, checker_.executed().fault};
      FaultReport report(fault.key, options_.livelock_microsteps);
      report.add(&fault);
      report.add(trail_);
      fault_ = report.text(model_);
    } catch (const Finding& finding) {
      fault_ = checker_.sentence(current_, finding);
      checker_.abandon(current_.lp);
    }
    return false;
  }

  bool set_up(RunResult& result) {
    const Key start = Key::start_of(Time::zero());
    for (const Job::Kind kind : {Job::Kind::create, Job::Kind::start}) {
      for (LpId id = 0; id < lps_; ++id) {
        current_ = {kind, id, start};
        if (!check()) {
          result.end = RunEnd::fault;
          result.fault = fault_;
          return false;
        }
        if (kind == Job::Kind::start) commit();
      }
    }
    return true;
  }

  RunEnd loop() {
    for (;;) {
      std::uint64_t executed = 0;
      bool failed = false;
      if (!loop::execute_in_order(
              pending_, executed, [&] { return executed < kPollEvents && !failed; },
              [](const CheckedEvent&) { return true; },
              [&](CheckedEvent* event) { failed = !execute(event); })) {
        reached_ = options_.until;
        poll();
        return RunEnd::completed;
      }
      if (failed) {
        reached_ = now_;
        return RunEnd::fault;
      }
      poll();
      if (control_.stop_requested.load(std::memory_order_relaxed)) {
        reached_ = now_;  // all events before that time are committed, and some at it
        return RunEnd::interrupted;
      }
    }
  }

  /// False if the run ends with a fault; then the event stays, for what is said of it.
  bool execute(CheckedEvent* event) {
    if (!checker_.is_dead_timer(*event)) {
      now_ = event->time();
      current_ = {Job::Kind::event, event->receiver, event->key(), event};
      trail_.note(event->key(), event->receiver);
      if (!check()) return false;
      commit();
      ++committed_;
      current_.event = nullptr;
    }
    checker_.release(event);
    return true;
  }

  /// Commits the present job: its sends become pending, its rows and values are kept.
  void commit() {
    const Effects& executed = checker_.executed();
    for (std::size_t i = 0; i < executed.sends.size(); ++i) {
      survey_.note(current_.key, executed.sends[i]);
      if (executed.sends[i].time() < options_.until) pending_.push(checker_.make_event(i));
    }
    for (const Observation& one : executed.observations) mergeable_statistics_.add(one);
    if (control_.rows == nullptr) return;
    executed.rows.for_each([this](const Row& row) { rows_.append(row); });
    if (control_.trace != nullptr) append_traced(executed);
  }

  /// Appends the event's row for the trace. Not during executions, where it would be one of their
  /// effects (effects.h).
  void append_traced(const Effects& executed) {
    CheckedEvent* const event = current_.event;
    if (event == nullptr && executed.sends.empty()) return;
    if (!control_.trace->takes_events() ||
        !control_.trace->scope().contains(current_.lp, current_.key.time()))
      return;
    std::string_view name;
    Duration duration;
    if (event != nullptr) {
      name = name_of_event(checker_.twin(current_.lp), event->type);
      duration = duration_of(*event, event->payload(0));
    }
    const std::uint64_t sends = executed.kernel.sends;
    const TracedEvent traced = TracedEvent::of(event, name, duration, executed.kernel.hash,
                                               sends - executed.sends.size(), sends);
    constexpr std::uint32_t kLast = ~std::uint32_t{0};  // behind the rows of the event
    TracedEvent::Cells cells;
    rows_.append({current_.key, kLast, current_.lp, TracedEvent::kTable, traced.pack(cells)});
  }

  void poll() {
    control_.gvt_ticks.store(now_.ticks(), std::memory_order_relaxed);
    control_.committed.store(committed_, std::memory_order_relaxed);
    control_.executed.store(committed_, std::memory_order_relaxed);
    control_.memory_bytes.store(checker_.memory_bytes() + pending_.bytes(),
                                std::memory_order_relaxed);
    if (control_.rows != nullptr && !rows_.empty()) {
      control_.rows->commit(0, rows_);
      control_.rows->advance(0, Key::start_of(now_));
    }
  }

  void finish(RunResult& result) {
    poll();
    Finisher finisher(model_, result.reached, control_.rows);
    if (result.end != RunEnd::fault) finisher.add(mergeable_statistics_);
    bool whole = result.end != RunEnd::fault;
    for (LpId id = 0; id < lps_; ++id) {
      if (whole && !finish_lp(id, finisher)) {
        whole = false;
        result.end = RunEnd::fault;
        result.fault = fault_;
      } else if (!whole) {
        finisher.abandon(id, checker_.hash(id));
      }
    }
    finisher.store(result);
    result.committed = result.executed = committed_;
    result.peak_memory_bytes = checker_.memory_bytes() + pending_.bytes();
    if (control_.rows != nullptr) control_.rows->advance(0, Key::infinity());
    add_statistics(result);
  }

  /// Checks and calls finish() of an LP. If finish() itself fails, the finisher reports that, as on
  /// the other engines. False if the check fails.
  bool finish_lp(LpId id, Finisher& finisher) {
    if (!checker_.repeats(id)) {
      checker_.finish(id, finisher);
      return true;
    }
    current_ = {Job::Kind::finish, id, Key::end_of(reached_)};
    if (!check() && checker_.executed().fault.empty()) return false;
    checker_.finish(id, finisher);
    return true;
  }

  void add_statistics(RunResult& result) const {
    const CheckerStatistics& s = checker_.statistics();
    const auto add = [&](const char* name, double value, const char* help, const char* unit = "1") {
      result.statistics.push_back({name, unit, help, value});
    };
    const auto count = [](std::uint64_t n) { return static_cast<double>(n); };
    add("executions", count(s.executions), "calls of handlers, in all");
    add("rollbacks", count(s.rollbacks), "rollbacks of one event, each compared byte for byte");
    add("long_rollbacks", count(s.long_rollbacks), "rollbacks of several events of an LP");
    add("coasted", count(s.coasted), "events executed again after long rollbacks");
    const checkpoint::Checkpointer::Statistics kept = checker_.plan().statistics();
    add("checkpoints", count(checker_.plan().small_copies() + kept.taken),
        "checkpoints taken, of small LPs and of LPs with a record");
    add("checkpoint_images", count(kept.images), "full copies of LPs with a record");
    add("checkpoint_deltas", count(kept.deltas), "incremental checkpoints of LPs with a record");
    add("checkpoint_reversals", count(kept.reversals),
        "events recorded for their reverse handlers");
    add("compared", count(s.compared_bytes), "compared memory of LPs", "B");
    add("allocations", count(s.allocations),
        "allocations checked for overruns, summed over events");
    add("static_data", count(checker_.data_bytes()), "watched static data of the model's file",
        "B");
    add("static_checks", count(s.data_watched), "events around which static data was compared");
    add("one_offs", count(s.one_offs), "differences of bytes that did not occur again");
    result.edges = survey_.kinds();
    result.account = survey_.conclusion();
    if (result.end != RunEnd::fault) result.notes.push_back(verdict());
    if (const std::string once = text_of(executions_); !once.empty())
      result.notes.push_back("of the LPs that must not roll back (" + once +
                             ") events were executed once and not compared");
    if (!s.floats_left.empty()) result.notes.push_back(s.floats_left);
    if (s.outside_calls != 0) result.notes.push_back(outside_note(s.outside_calls));
  }

  std::string verdict() const {
    return fmt::format(
        "the checker found no difference: {} events, each rolled back and executed again ({} "
        "rollbacks over several), {} bytes of memory compared, strategies: {}",
        committed_, checker_.statistics().long_rollbacks, checker_.statistics().compared_bytes,
        checker_.plan().names());
  }

  static std::string outside_note(memory::OutsideCallSet calls) {
    return "handlers call " + names_of(calls) +
           "; no compared state depended on them in this run, and none may";
  }

  const Model& model_;
  const LpExecutions& executions_;
  const RunOptions& options_;
  RunControl& control_;
  const LpId lps_;
  LivelockTrail trail_;
  LpChecker checker_;
  EdgeSurvey survey_;
  const CrashWatch crash_watch_{checker_};
  Pending pending_;
  RowBuffer rows_;
  MergeableStatistics mergeable_statistics_{model_};
  Job current_{Job::Kind::create, 0, {}, nullptr};
  std::uint64_t committed_ = 0;
  Time now_, reached_;
  std::string fault_;
};

class CheckerEngine final : public Engine {
 public:
  RunResult run(const Model& model, const RunOptions& options, RunControl& control) override {
    check_options(model, options);
    memory::prepare_library_state();
    const Promises promises(model, communication_of(model));
    const LpExecutions executions(model, promises);
    return CheckerRun<pending::EngineSet<CheckedEvent>>(model, promises, executions, options,
                                                        control)
        .run();
  }
};

const EngineRegistration registration{
    "checker", "for authors of models: rolls every event back and compares states; slow",
    []() -> std::unique_ptr<Engine> { return std::make_unique<CheckerEngine>(); },
    [] { return OptionList{&checkpoint::kCheckpoint}; }, EngineUse::diagnosis};

}  // namespace
}  // namespace orrery::checker
