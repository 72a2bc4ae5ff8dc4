// SPDX-License-Identifier: Apache-2.0
//
// Run: what is put together at the end. Included by run.h only.
#pragma once

namespace orrery::expanded {

template <class Pending>
void Run<Pending>::conclude(RunResult& result) {
  const bool failed = std::any_of(executors_.begin(), executors_.end(), [](const auto& executor) {
    return executor->fault().has_value();
  });
  const bool complete = schedule_.lowest_unfinished() == Key::infinity();
  result.end = failed ? RunEnd::fault : complete ? RunEnd::completed : RunEnd::interrupted;
  result.reached = result.end == RunEnd::completed ? options_.until : schedule_.limit().time();
  result.executed = result.committed = finished_;
  result.peak_memory_bytes = depot_.slab_bytes() + schedule_.bytes() + history_.bytes() +
                             lps_.capacity() * sizeof(LpRecord);
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
      finisher.abandon(id, lps_[id].kernel.hash);
    } else {
      finisher.finish(id, *lps_[id].object, lps_[id].kernel.hash);
    }
  }
  finisher.store(result);
  if (control_.rows != nullptr) control_.rows->advance(0, Key::infinity());
}

template <class Pending>
void Run<Pending>::add_statistics(RunResult& result) const {
  team_.add_notes(result.notes);
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
