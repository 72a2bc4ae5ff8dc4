// SPDX-License-Identifier: Apache-2.0
//
// A run of one engine that works on worlds: makes the LPs, runs the engine to the end, ends the
// LPs.
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>

#include "core/model_stack.h"
#include "memory/library_state.h"
#include "run/clock.h"
#include "run/containment/guarded_call.h"
#include "run/execution/trace_recorder.h"
#include "run/options/model_checks.h"
#include "run/ranks/rank_rows.h"
#include "run/results/finish.h"
#include "run/world/halts.h"
#include "run/world/population.h"
#include "run/world/rank_exchange.h"
#include "run/world/rank_files.h"
#include "run/world/world_engine.h"

namespace orrery {
namespace {

/// Makes a world without LPs. The graph, which placement and promises need, is freed before LPs are
/// made. A world that leaves its process or comes from another lies on heaps, whatever its engine
/// needs.
World make_world(const WorldEngine& engine, const Model& model, const RunOptions& options,
                 const RunControl& control, RunResult& result) {
  const CommunicationGraph graph = communication_of(model);
  World::Layout where = engine.layout(model, graph, options, result.notes);
  const bool travels =
      (control.halts != nullptr && control.halts->moves_the_world()) || control.origin != nullptr;
  if (travels && where.arenas.empty()) where.arenas.resize(where.part_count);
  if (!where.arenas.empty()) memory::prepare_library_state();
  return {model, std::move(where), Promises(model, graph), options.livelock_microsteps};
}

/// Ends all LPs where the engine has left them, and hands over their rows.
void finish(World& world, const RunOptions& options, RunControl& control, RunResult& result) {
  result.reached = std::min(world.cut.time(), options.until);
  result.committed = world.committed;
  result.executed = world.executed;
  const TraceSpan span(run_lane_of(control.trace), TraceKind::finish, result.reached.ticks());
  if (control.rows != nullptr) control.rows->begin(1);
  const bool alone = control.ranks == nullptr;
  Finisher finisher(world.model(), result.reached, control.rows,
                    alone ? Finisher::Metrics::summed : Finisher::Metrics::apart);
  if (result.end != RunEnd::fault) finisher.add(world.mergeable_statistics);
  for (LpId id = 0; id < world.lp_count(); ++id) {
    if (!world.is_here(id)) continue;
    World::Lp& lp = world.lp(id);
    if (result.end == RunEnd::fault) {
      finisher.abandon(id, lp.kernel.hash);
    } else if (world.on_heaps()) {
      finisher.finish(id, *lp.object, lp.kernel.hash, world.heap(id));
    } else {
      finisher.finish(id, *lp.object, lp.kernel.hash);
    }
  }
  alone ? finisher.store(result)
        : share_end(*control.ranks, world.model(), finisher.take_part(), result);
  if (control.rows != nullptr) control.rows->advance(0, Key::infinity());
}

bool goes_on(World& world, RunControl& control) {
  const TraceSpan span(run_lane_of(control.trace), TraceKind::halt, world.cut.time().ticks());
  return control.halts->at_halt(world);
}

/// While it exists, rows of a run over ranks go to the sink of rank 0.
class RowsOfRanks {
 public:
  explicit RowsOfRanks(RunControl& control) : control_(control), sink_(control.rows) {
    if (control.ranks == nullptr) return;
    rows_ = std::make_unique<RankRows>(*control.ranks, sink_);
    control_.rows = rows_->wanted() ? rows_.get() : nullptr;
  }
  ~RowsOfRanks() { control_.rows = sink_; }
  RowsOfRanks(const RowsOfRanks&) = delete;
  RowsOfRanks& operator=(const RowsOfRanks&) = delete;
  /// Waits until the sink has all rows committed so far.
  void flush() {
    if (rows_) rows_->flush();
  }

 private:
  RunControl& control_;
  RowSink* const sink_;
  std::unique_ptr<RankRows> rows_;  ///< on the heap: model code runs below, on a bounded stack
};

}  // namespace

RunResult WorldEngine::run(const Model& model, const RunOptions& options, RunControl& control) {
  check_options(model, options);
  RunResult result;
  std::vector<LpId> here;
  on_model_stack([&] { run_whole(model, options, control, result, here); });
  // What LPs leave is whole when they are destroyed.
  if (control.ranks != nullptr) bring_files(*control.ranks, model, here);
  return result;
}

void WorldEngine::run_whole(const Model& model, const RunOptions& options, RunControl& control,
                            RunResult& result, std::vector<LpId>& here) {
  Stopwatch watch;
  const MisuseWatch misuse;  // of LPs that end on this thread
  RowsOfRanks rows(control);
  std::optional<TraceSpan> setting_up(std::in_place, run_lane_of(control.trace), TraceKind::set_up);
  World world = make_world(*this, model, options, control, result);
  if (control.ranks != nullptr) check_placement(*control.ranks, world);
  for (LpId id = 0; control.ranks != nullptr && id < world.lp_count(); ++id)
    if (world.is_here(id)) here.push_back(id);
  result.workers = world.parts();
  if (control.origin != nullptr) {
    control.origin->fill(world);
    result.committed_before = world.committed;
    result.begun = world.cut.time();
  } else if (!populate(world, options, control, result)) {
    world.failed = true;
    rows.flush();
    return;
  }
  setting_up.reset();
  result.startup_seconds = watch.lap();
  const double before = result.startup_seconds;
  if (control.halts == nullptr) {
    advance(world, options, Goal{}, control, result);
  } else {
    advance_with_halts(
        world, options, control, [&] { rows.flush(); }, result);
  }
  result.peak_memory_bytes += world.lp_count() * world.bytes_per_lp() + world.promises().bytes();
  finish(world, options, control, result);
  rows.flush();
  world.failed = result.end == RunEnd::fault;
  result.shutdown_seconds = watch.lap() - result.loop_seconds - (result.startup_seconds - before);
}

/// Halts count as a part of the loop, since they belong to the run's work.
void WorldEngine::advance_with_halts(World& world, const RunOptions& options, RunControl& control,
                                     const std::function<void()>& flush_rows, RunResult& result) {
  Stopwatch watch;
  double seconds = 0;
  const double startup = result.startup_seconds;
  do {
    RunResult part;
    const Goal goal = control.halts->next_goal(world);
    Stopwatch had;
    advance(world, options, goal, control, part);
    const double handing_over = had.lap() - part.loop_seconds;
    const bool is_first = seconds == 0;
    if (is_first) result.startup_seconds += part.startup_seconds;
    result.add_part(std::move(part), seconds);
    seconds += watch.lap();
    if (result.end == RunEnd::paused) control.halts->note_hand_over(handing_over);
    if (result.end == RunEnd::paused) flush_rows();
  } while (result.end == RunEnd::paused && goes_on(world, control));
  if (result.end == RunEnd::paused)
    result.end = control.halts->end();
  else if (result.end == RunEnd::completed)
    control.halts->at_completion(world);
  seconds += watch.lap();
  control.halts->at_end(result);
  result.loop_seconds = seconds - (result.startup_seconds - startup);
}

}  // namespace orrery
