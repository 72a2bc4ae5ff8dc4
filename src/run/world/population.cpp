// SPDX-License-Identifier: Apache-2.0
#include "run/world/population.h"

#include <algorithm>

#include "core/machine.h"
#include "memory/application_mode.h"
#include "memory/library_state.h"
#include "orrery/error.h"
#include "run/containment/faults.h"
#include "run/containment/guarded_call.h"
#include "run/execution/execution.h"
#include "run/options/model_checks.h"
#include "run/threads/team.h"
#include "run/world/rank_exchange.h"
#include "run/world/refusals.h"

namespace orrery {
namespace {

/// Receives the sends, rows and observations of start().
struct StartOutbox {
  EventList& pending;
  MergeableStatistics& mergeable_statistics;
  RowBuffer& rows;
  const bool keep_rows;

  using Modes = OutboxModes<memory::PlatformMode>;
  template <class Payload>
  void send(const EventHeader& header, const Payload& payload) {
    pending.append(header, payload);
  }
  bool takes_rows() const { return keep_rows; }
  void append_row(const Row& row) { rows.append(row); }
  void observe(const Key&, LpId, const Observation& observation) {
    mergeable_statistics.add(observation);
  }
};

class Population {
 public:
  Population(World& world, const RunOptions& options, RunControl& control, Team& team)
      : world_(world),
        options_(options),
        control_(control),
        team_(team),
        parts_statistics_(world.parts(), world.mergeable_statistics),
        rows_(world.parts()),
        notes_(team.workers()) {}

  /// The share of one thread.
  void work(unsigned thread) {
    if (world_.on_heaps()) memory::prepare_worker_thread();
    const MisuseWatch misuse;
    const Refusals refusals;
    const OversizeLimit limit(world_.denies_oversize());
    for (const int phase : {kMaking, kStarting}) {
      for (unsigned part = 0; part < world_.parts(); ++part)
        if (world_.worker_of(part, team_.workers()) == thread) set_up(phase, part);
      if (!team_.end_step()) break;
    }
    memory::thread_context.heap_grew = false;
    notes_[thread] = refusals.note(world_.denies_oversize());
  }
  /// Notes about refused allocations of LPs.
  void add_notes(RunResult& result) const {
    for (const std::string& note : notes_)
      if (!note.empty()) result.notes.push_back(note);
  }
  void merge_parts() {
    for (const MergeableStatistics& mergeable_statistics : parts_statistics_)
      world_.mergeable_statistics.merge(mergeable_statistics);
  }
  void hand_rows_over() {
    for (unsigned part = 0; part < world_.parts(); ++part)
      if (!rows_[part].empty()) control_.rows->commit(part, rows_[part]);
  }

 private:
  static constexpr int kMaking = 0, kStarting = 1;

  void set_up(int phase, unsigned part) {
    Execution<StartOutbox> execution(world_.model(), world_.promises(), options_,
                                     StartOutbox{world_.pending[part], parts_statistics_[part],
                                                 rows_[part], control_.rows != nullptr});
    execution.trace_with(control_.trace, nullptr);
    const ThreadWatch watched(control_.threads, world_.model(), execution, false);
    if (phase == kMaking && world_.on_heaps()) world_.make_heaps(part);
    bool failed = false;
    world_.for_each_of(part, [&](LpId id) {
      if (failed || control_.stop_requested.load(std::memory_order_relaxed)) return;
      failed = !call(phase, id, [&] {
        World::Lp& lp = world_.lp(id);
        if (phase == kMaking) {
          lp.object = create_lp(world_.model(), id).release();
          return;
        }
        execution.begin_start(id, *lp.object, lp.kernel);
        execution.call_start();
        execution.end(lp.kernel);
      });
    });
  }
  /// Runs `action` in the memory of the LP. Returns false, and notes it, if the action threw.
  template <class Action>
  bool call(int phase, LpId id, Action&& action) {
    const auto on_failure = [&] { note_failure(phase, id); };
    return world_.on_heaps() ? guarded_call(world_.heap(id), action, on_failure)
                             : guarded_call(action, on_failure);
  }
  /// Notes the exception that is being handled.
  void note_failure(int phase, LpId id) {
    try {
      throw;
    } catch (const UsageError& error) {
      team_.note_failure({phase, id, true, error.what()});
    } catch (...) {
      team_.note_failure(
          {phase, id, false, report_current_exception(world_.model(), id, {}, Time::zero())});
    }
  }

  World& world_;
  const RunOptions& options_;
  RunControl& control_;
  Team& team_;
  std::vector<MergeableStatistics> parts_statistics_;  ///< by part, like the next
  std::vector<RowBuffer> rows_;
  std::vector<std::string> notes_;  ///< by thread
};

}  // namespace

bool populate(World& world, const RunOptions& options, RunControl& control, RunResult& result) {
  Team team(std::min(world.parts(), usable_cores()), options.bind, options.place);
  Population population(world, options, control, team);
  if (control.rows != nullptr) control.rows->begin(world.parts());
  if (team.workers() == 1) {
    population.work(0);
  } else {
    try {
      team.start(0, {[&population](unsigned thread) { population.work(thread); }});
    } catch (...) {
      team.join();  // started threads work on this population, which is destroyed first
      throw;
    }
    team.finish();
  }
  bool stopped = control.stop_requested.load(std::memory_order_relaxed);
  if (control.ranks != nullptr) share_set_up(*control.ranks, team.set_up_failure(), stopped);
  if (team.take_failure(world.model(), result)) return false;
  if (stopped) {
    result.end = RunEnd::interrupted;
    result.metrics.resize(world.model().metrics().size());
    result.notes.emplace_back(
        "the run was interrupted while its LPs were made: nothing is committed");
    return false;
  }
  population.add_notes(result);
  population.merge_parts();
  if (control.rows != nullptr) population.hand_rows_over();
  return true;
}

}  // namespace orrery
