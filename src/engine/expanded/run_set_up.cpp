// SPDX-License-Identifier: Apache-2.0
//
// ExpandedRun: takes the LPs, and starts and ends threads.
#include "engine/expanded/run.h"

namespace orrery::expanded {

ExpandedRun::ExpandedRun(World& world, const RunOptions& options, const Goal& goal,
                         const Settings& settings, unsigned workers, RunControl& control)
    : world_(world),
      options_(options),
      goal_(goal),
      control_(control),
      workers_(workers),
      has_rows_(control.takes_rows(world.model())),
      lps_(world.lp_count()),
      slots_(std::make_unique<Slot[]>(workers)),
      schedule_(world.lp_count(), world.executions()),
      tuner_(settings, workers, cycles_per_second()),
      end_(Key::start_of(goal.end(options))),
      lock_(workers > usable_cores()),
      waiting_(workers > usable_cores()),
      team_(workers, options.bind) {
  ORRERY_ASSERT(!world.on_heaps() || workers <= world.parts(), "a thread has an arena of its own");
  deal_.room.resize(workers);
  for (unsigned i = 0; i < workers; ++i) {
    memory::Arena* const arena = world.on_heaps() ? &world.arena(i) : nullptr;
    executors_.push_back(
        std::make_unique<Executor>(world, options, control.rows != nullptr, lps_, arena, depot_));
    executors_.back()->trace_with(control.trace, lane_of(control.trace, i));
  }
  getrusage(RUSAGE_SELF, &usage_before_);
}

void ExpandedRun::advance(RunResult& result) {
  const HandlerThread thread(world_, control_, executors_[0]->execution());
  result.workers = workers_;
  if (control_.rows != nullptr) control_.rows->begin(1);
  Stopwatch watch;
  take_world();
  if (end_ < Key::start_of(options_.until))
    schedule_.lower_limit(Key::end_of(end_.time() - Duration::from_ticks(1)));
  result.startup_seconds += watch.lap();
  goal_.restart();
  loop();
  dismiss_workers();
  team_.finish();
  bind(false);
  result.loop_seconds += watch.lap();
  conclude(result);
}

void ExpandedRun::take_world() {
  for (LpId id = 0; id < lps_.size(); ++id) lps_[id] = LpRecord::of(world_, id);
  for (EventList& list : world_.pending)
    list.take_all([this](const EventHeader& header, const void* payload) {
      schedule_.push(executors_[0]->make(header, payload));
    });
}

void ExpandedRun::start_workers() {
  const auto work_watched = [this](unsigned i) {
    const HandlerThread thread(world_, control_, executors_[i]->execution());
    work(i);
  };
  // Wakes the coordinator when a worker has failed and will not hand in its results.
  team_.start(1, {work_watched, [this] { slots_[0].call(); }});
}

/// Binds the coordinator to a core, or gives it back the cores that it had. It is the caller's
/// thread, so it is bound only while other threads execute, too.
void ExpandedRun::bind(bool wanted) {
  if (wanted == cores_before_.has_value() || !team_.binds()) return;
  if (!wanted) {
    sched_setaffinity(0, sizeof *cores_before_, &*cores_before_);
    cores_before_.reset();
    return;
  }
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) == 0 && team_.bind(0)) cores_before_ = cores;
}

/// Makes workers leave when they have executed the events that they were given. The team joins
/// them.
void ExpandedRun::dismiss_workers() {
  for (unsigned i = 1; i < workers_; ++i) slots_[i].dismiss();
}

/// If a worker has failed, throws its exception.
void ExpandedRun::check_workers() {
  if (!team_.failed()) [[likely]]
    return;
  dismiss_workers();
  team_.finish();
}

}  // namespace orrery::expanded
