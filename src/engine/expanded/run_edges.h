// SPDX-License-Identifier: Apache-2.0
//
// Run: the making of LPs and threads, and what is put together at the end. Included by run.h only.
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
      crowded_(workers > usable_cores()),
      has_rows_(control.rows != nullptr && !model.tables().empty()),
      patience_(crowded_),
      lps_(model.lp_count()),
      slots_(std::make_unique<Slot[]>(workers)),
      schedule_(static_cast<LpId>(model.lp_count()), settings.barriers_as_events),
      tuner_(settings, workers, cycles_per_second()),
      room_(workers) {
  for (unsigned i = 0; i < workers; ++i)
    executors_.push_back(
        std::make_unique<Executor>(model, options, control.rows != nullptr, lps_, depot_));
  block_cycles_ = static_cast<std::uint64_t>(cycles_per_second() * kBlockSeconds);
  rows_cycles_ = static_cast<std::uint64_t>(cycles_per_second() * kRowsSeconds);
  getrusage(RUSAGE_SELF, &usage_before_);
}

template <class Pending>
RunResult Run<Pending>::run() {
  const auto seconds_since = [](Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  RunResult result;
  result.workers = workers_;
  if (control_.rows != nullptr) control_.rows->begin(1);
  auto start = Clock::now();
  if (!set_up(result)) return result;
  result.startup_seconds = seconds_since(start);
  start = Clock::now();
  loop();
  stop_workers();
  bind(false);
  result.loop_seconds = seconds_since(start);
  start = Clock::now();
  conclude(result);
  result.shutdown_seconds = seconds_since(start);
  return result;
}

/// False if the making or starting of an LP failed: then nothing is committed.
template <class Pending>
bool Run<Pending>::set_up(RunResult& result) {
  try {
    for (making_ = 0; making_ < lps_.size(); ++making_)
      lps_[making_].object = create_lp(model_, making_);
    for (making_ = 0; making_ < lps_.size(); ++making_)
      schedule_.push(executors_[0]->start(making_));
    return true;
  } catch (const UsageError&) {
    throw;
  } catch (...) {
    result.end = RunEnd::fault;
    result.fault = describe_current_exception(model_, making_, {}, Time::zero());
    result.metrics.resize(model_.metrics().size());
  }
  return false;
}

template <class Pending>
void Run<Pending>::start_workers() {
  try {
    for (unsigned i = 1; i < workers_; ++i) {
      threads_.emplace_back([this, i] {
        if (options_.bind && !crowded_ && !bind_to_core(i)) bind_failed_ = true;
        settings_.pull ? work_pulling(i) : work(i);
      });
    }
  } catch (const std::system_error& error) {
    stop_workers();
    throw UsageError("the system refused to start " + std::to_string(workers_) + " threads (" +
                     error.what() + "); use fewer --workers");
  }
}

/// The thread is the caller's: it gets back the cores that it had, and has them as long as it needs
/// nobody's help.
template <class Pending>
void Run<Pending>::bind(bool wanted) {
  if (wanted == cores_before_.has_value() || !options_.bind || crowded_) return;
  if (!wanted) {
    sched_setaffinity(0, sizeof *cores_before_, &*cores_before_);
    cores_before_.reset();
    return;
  }
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) == 0 && bind_to_core(0)) {
    cores_before_ = cores;
  } else {
    bind_failed_ = true;
  }
}

template <class Pending>
void Run<Pending>::stop_workers() {
  queue_.close();
  for (unsigned i = 1; i <= threads_.size(); ++i) slots_[i].publish(Command::leave);
  threads_.clear();  // joins
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

template <class Pending>
void Run<Pending>::conclude(RunResult& result) {
  const bool failed = std::any_of(executors_.begin(), executors_.end(), [](const auto& executor) {
    return executor->fault().has_value();
  });
  const bool complete = schedule_.lowest_unfinished() == Key::infinity();
  result.end = failed ? RunEnd::fault : complete ? RunEnd::completed : RunEnd::interrupted;
  result.reached = result.end == RunEnd::completed ? options_.until : schedule_.limit().time();
  result.executed = result.committed = finished_;
  result.peak_memory_bytes =
      depot_.bytes() + schedule_.bytes() + history_.bytes() + lps_.capacity() * sizeof(LpRecord);
  if (failed) take_back(result);
  finish_lps(result);
  add_statistics(result);
}

/// After a fault: what was finished behind it does not count.
template <class Pending>
void Run<Pending>::take_back(RunResult& result) {
  result.committed -= history_.take_back(schedule_.limit(), lps_);
  describe_fault(result);
}

template <class Pending>
void Run<Pending>::describe_fault(RunResult& result) const {
  const Key& key = schedule_.limit();  // the lowest fault's
  std::vector<LivelockTrail::Step> steps;
  for (const auto& executor : executors_) {
    if (executor->fault() && executor->fault()->key == key)
      result.fault = executor->fault()->sentence;
    const auto& noted = executor->livelock().steps();
    steps.insert(steps.end(), noted.begin(), noted.end());
  }
  result.fault += LivelockTrail::text(steps, key, options_.livelock_microsteps);
}

template <class Pending>
void Run<Pending>::finish_lps(RunResult& result) {
  // What is behind a fault stays here.
  if (has_rows_) commit_rows(result.end == RunEnd::fault ? schedule_.limit() : Key::infinity());
  Finisher finisher(model_, result.reached, control_.rows);
  for (LpId id = 0; id < lps_.size(); ++id) {
    if (result.end == RunEnd::fault) {
      finisher.abandon(id, lps_[id].hash);
    } else {
      finisher.finish(id, *lps_[id].object, lps_[id].hash);
    }
  }
  finisher.store(result);
  if (control_.rows != nullptr) control_.rows->advance(0, Key::infinity());
}

template <class Pending>
void Run<Pending>::add_statistics(RunResult& result) const {
  if (bind_failed_) result.notes.push_back("the system refused to bind workers to cores");
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto add = [&](const char* name, double value, const char* help, const char* unit = "") {
    result.statistics.push_back({name, unit, help, value});
  };
  add("handed_over", static_cast<double>(handed_over_), "events given to another thread");
  add("mode_switches", static_cast<double>(tuner_.switches()), "changes of the automatic mode");
  add("event_cost", tuner_.work() / cycles_per_second() * 1e9, "of one event, at the end", "ns");
  add("switches_waiting", static_cast<double>(usage.ru_nvcsw - usage_before_.ru_nvcsw),
      "context switches of threads that waited");
  add("switches_forced", static_cast<double>(usage.ru_nivcsw - usage_before_.ru_nivcsw),
      "context switches of threads that were interrupted");
}

}  // namespace orrery::expanded
