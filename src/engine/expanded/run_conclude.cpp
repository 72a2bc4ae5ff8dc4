// SPDX-License-Identifier: Apache-2.0
//
// ExpandedRun: collects the results at the end of the run.
#include "engine/expanded/run.h"

namespace orrery::expanded {

void ExpandedRun::conclude(RunResult& result) {
  const bool failed = std::any_of(executors_.begin(), executors_.end(), [](const auto& executor) {
    return executor->fault().has_value();
  });
  const bool complete = schedule_.lowest_unfinished() == Key::infinity();
  result.end = failed                                        ? RunEnd::fault
               : complete                                    ? RunEnd::completed
               : pauses_ || schedule_.limit().next() == end_ ? RunEnd::paused
                                                             : RunEnd::interrupted;
  const Key end = failed     ? schedule_.limit()
                  : complete ? Key::infinity()
                             : std::max(world_.cut, schedule_.limit().next());
  result.peak_memory_bytes = memory_bytes() + lps_.capacity() * sizeof(LpRecord);
  // Events behind a fault do not count in the results.
  const std::uint64_t taken_back = failed ? finished_events_.take_back(end, lps_) : 0;
  finished_events_.forget(end, world_.trail);
  if (failed) describe_fault(result);
  for (const auto& executor : executors_)
    world_.mergeable_statistics.merge(executor->mergeable_statistics());
  if (has_rows_) commit_rows(end);
  if (control_.rows != nullptr)
    control_.rows->advance(0, std::min(end, Key::end_of(options_.until)));
  add_statistics(result);
  world_.committed += finished_ - taken_back;
  world_.executed += finished_;
  world_.cut = end;
  give_back();
}

void ExpandedRun::give_back() {
  for (LpId id = 0; id < lps_.size(); ++id) world_.lp(id).kernel = lps_[id].kernel;
  schedule_.take_all(
      [this](const Event* event) { world_.append_pending(*event, event->payload()); });
}

void ExpandedRun::describe_fault(RunResult& result) const {
  const Key& key = schedule_.limit();  // the lowest fault's
  FaultReport report(key, options_.livelock_microsteps);
  for (const auto& executor : executors_)
    if (executor->fault() && executor->fault()->key == key) report.add(&*executor->fault());
  report.add(world_.trail);
  result.fault = report.text(world_.model());
}

void ExpandedRun::add_statistics(RunResult& result) const {
  team_.add_notes(result.notes);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto add = [&](const char* name, double value, const char* help, const char* unit = "") {
    result.statistics.push_back({name, unit, help, value});
  };
  result.account =
      fmt::format("other threads executed {} of {} events; an event took {:.3g} ns at the end",
                  fmt::group_digits(handed_over_), fmt::group_digits(finished_),
                  tuner_.work() / cycles_per_second() * 1e9);
  add("handed_over", static_cast<double>(handed_over_), "events that one thread gave to another");
  add("mode_switches", static_cast<double>(tuner_.switches()),
      "times that mode auto chose another mode");
  add("event_cost", tuner_.work() / cycles_per_second() * 1e9, "mean time of an event, at the end",
      "ns");
  add("switches_waiting", static_cast<double>(usage.ru_nvcsw - usage_before_.ru_nvcsw),
      "context switches of threads that waited");
  add("switches_forced", static_cast<double>(usage.ru_nivcsw - usage_before_.ru_nivcsw),
      "context switches of threads that were interrupted");
}

}  // namespace orrery::expanded
