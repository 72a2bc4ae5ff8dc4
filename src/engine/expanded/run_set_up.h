// SPDX-License-Identifier: Apache-2.0
//
// Run: the making of LPs and threads. Included by run.h only.
#pragma once

namespace orrery::expanded {

template <class Pending>
Run<Pending>::Run(const Model& model, const RunOptions& options, const Settings& settings,
                  unsigned workers, RunControl& control)
    : model_(model),
      options_(options),
      settings_(settings),
      control_(control),
      workers_(workers),
      has_rows_(control.rows != nullptr && !model.tables().empty()),
      lps_(model.lp_count()),
      slots_(std::make_unique<Slot[]>(workers)),
      schedule_(static_cast<LpId>(model.lp_count()), settings.barriers_as_events),
      tuner_(settings, workers, cycles_per_second()),
      patience_(workers > usable_cores()),
      team_(workers, options.bind) {
  deal_.room.resize(workers);
  for (unsigned i = 0; i < workers; ++i)
    executors_.push_back(
        std::make_unique<Executor>(model, options, control.rows != nullptr, lps_, depot_));
  getrusage(RUSAGE_SELF, &usage_before_);
}

template <class Pending>
RunResult Run<Pending>::run() {
  RunResult result;
  result.workers = workers_;
  if (control_.rows != nullptr) control_.rows->begin(1);
  Stopwatch watch;
  const auto start = [this](LpId id) { schedule_.push(executors_[0]->start(id)); };
  if (!set_up_lps(model_, lps_, start, result)) return result;
  result.startup_seconds = watch.lap();
  loop();
  dismiss_workers();
  team_.finish();
  bind(false);
  result.loop_seconds = watch.lap();
  conclude(result);
  result.shutdown_seconds = watch.lap();
  return result;
}

template <class Pending>
void Run<Pending>::start_workers() {
  team_.start(1, {[this](unsigned i) { settings_.pull ? work_pulling(i) : work(i); },
                  [this] { wake_coordinator(); }});
}

/// The thread is the caller's: it gets back the cores that it had, and has them as long as it needs
/// nobody's help.
template <class Pending>
void Run<Pending>::bind(bool wanted) {
  if (wanted == cores_before_.has_value() || !team_.binds()) return;
  if (!wanted) {
    sched_setaffinity(0, sizeof *cores_before_, &*cores_before_);
    cores_before_.reset();
    return;
  }
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) == 0 && team_.bind(0)) cores_before_ = cores;
}

/// They leave when they have executed what they were given. Joining them is the team's.
template <class Pending>
void Run<Pending>::dismiss_workers() {
  queue_.close();
  // In a decentralised block that ended early a worker may be dealing to the others.
  const bool dealing = mode_ == Mode::decentralised;
  if (dealing) lock_block();
  decentralised_.closing = true;
  for (unsigned i = 1; i < workers_; ++i) slots_[i].publish(Command::leave);
  if (dealing) decentralised_.locked.store(false, std::memory_order_release);
}

/// A worker has failed, for a reason that is not the model's, and will not hand in its results.
template <class Pending>
void Run<Pending>::wake_coordinator() {
  queue_.close();
  doorbell_.ring_if_asleep();
  if (mode_ != Mode::decentralised) return;  // it does not change while events are in progress
  lock_block();
  const Unlock unlock{decentralised_};
  decentralised_.closing = true;
  slots_[0].publish(Command::wait);
}

/// Throws what a worker has failed with.
template <class Pending>
void Run<Pending>::check_workers() {
  if (!team_.failed()) [[likely]]
    return;
  dismiss_workers();
  team_.finish();
}

template <class Pending>
void Run<Pending>::work(unsigned worker) {
  Slot& slot = slots_[worker];
  for (std::uint32_t word = 0;;) {
    word = slot.wait_for_word(word, patience_);
    execute_given(worker, word);
    if (Slot::command_of(word) == Command::leave) return;
    if (Slot::command_of(word) == Command::serve) {
      serve(worker);
    } else {
      doorbell_.ring_if_asleep();
    }
  }
}

template <class Pending>
void Run<Pending>::work_pulling(unsigned worker) {
  for (PullQueue::Item item{}; queue_.take(item);)
    queue_.hand_in({item.handle, executors_[worker]->execute(item.event)});
}

}  // namespace orrery::expanded
