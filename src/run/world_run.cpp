// SPDX-License-Identifier: Apache-2.0
//
// A run on one engine that works on worlds: the LPs' making, the engine's way to the end, the LPs'
// end.
#include <algorithm>

#include "core/model_stack.h"
#include "memory/library_state.h"
#include "run/clock.h"
#include "run/finish.h"
#include "run/guarded_call.h"
#include "run/model_checks.h"
#include "run/population.h"
#include "run/world_engine.h"

namespace orrery {
namespace {

/// A world without LPs. The graph, which placement and promises need, is gone before LPs are made.
World make_world(const WorldEngine& engine, const Model& model, const RunOptions& options,
                 RunResult& result) {
  const CommunicationGraph graph = communication_of(model);
  World::Layout where = engine.layout(model, graph, options, result.notes);
  if (!where.arenas.empty()) memory::prepare_library_state();
  return {model, std::move(where), Promises(model, graph), options.livelock_microsteps};
}

/// Ends all LPs where the engine has left them, and their rows.
void finish(World& world, const RunOptions& options, RunControl& control, RunResult& result) {
  result.reached = std::min(world.cut.time(), options.until);
  result.committed = world.committed;
  result.executed = world.executed;
  if (control.rows != nullptr) control.rows->begin(1);
  Finisher finisher(world.model(), result.reached, control.rows);
  for (LpId id = 0; id < world.lp_count(); ++id) {
    World::Lp& lp = world.lp(id);
    if (result.end == RunEnd::fault) {
      finisher.abandon(id, lp.kernel.hash);
    } else if (world.on_heaps()) {
      finisher.finish(id, *lp.object, lp.kernel.hash, world.heap(id));
    } else {
      finisher.finish(id, *lp.object, lp.kernel.hash);
    }
  }
  finisher.store(result);
  if (control.rows != nullptr) control.rows->advance(0, Key::infinity());
}

}  // namespace

RunResult WorldEngine::run(const Model& model, const RunOptions& options, RunControl& control) {
  check_options(model, options);
  RunResult result;
  on_model_stack([&] { run_whole(model, options, control, result); });
  return result;
}

void WorldEngine::run_whole(const Model& model, const RunOptions& options, RunControl& control,
                            RunResult& result) {
  Stopwatch watch;
  const MisuseWatch misuse;  // of LPs that end on this thread
  World world = make_world(*this, model, options, result);
  result.workers = world.parts();
  if (!populate(world, options, control, result)) {
    world.failed = true;
    return;
  }
  result.startup_seconds = watch.lap();
  const double before = result.startup_seconds;
  advance(world, options, Goal{}, control, result);
  result.peak_memory_bytes += world.lp_count() * world.bytes_per_lp() + world.promises().bytes();
  finish(world, options, control, result);
  world.failed = result.end == RunEnd::fault;
  result.shutdown_seconds = watch.lap() - result.loop_seconds - (result.startup_seconds - before);
}

}  // namespace orrery
