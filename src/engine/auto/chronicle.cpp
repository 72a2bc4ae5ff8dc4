// SPDX-License-Identifier: Apache-2.0
#include "engine/auto/chronicle.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace orrery::automatic {
namespace {

constexpr std::size_t kMostTold = 3;  // stretches in the account
const std::string kTrial = "trial";

std::string seconds_text(double seconds) {
  return seconds < 0.095 ? fmt::format("{:.0f} ms", seconds * 1e3)
                         : fmt::format("{:.{}f} s", seconds, seconds < 9.95 ? 1 : 0);
}

/// The times for which engines had the run, without trials: the time of a failed trial counts as
/// that of the engine that went on.
std::vector<EnginePeriod> stretches_of(const RunCourse& course) {
  std::vector<EnginePeriod> all;
  std::string last;
  for (std::size_t i = 0; i < course.periods.size(); ++i) {
    const EnginePeriod& one = course.periods[i];
    if (all.empty() || (one.why != kTrial && course.titles[i] != last)) {
      all.push_back(one);
      all.back().engine = last = course.titles[i];
    } else {
      all.back().seconds += one.seconds;
    }
  }
  return all;
}

std::string turns_text(const std::vector<EnginePeriod>& stretches, double seconds) {
  std::string text;
  if (stretches.size() <= kMostTold) {
    for (const EnginePeriod& one : stretches)
      text += fmt::format("{}{} for {}", text.empty() ? "" : ", then ", one.engine,
                          seconds_text(one.seconds));
    return text;
  }
  std::map<std::string, double> shares;
  for (const EnginePeriod& one : stretches) shares[one.engine] += one.seconds / seconds;
  for (const auto& [engine, share] : shares)
    text +=
        fmt::format("{}{} for {:.0f} % of the time", text.empty() ? "" : ", ", engine, share * 100);
  return text + fmt::format(", in {} turns", stretches.size());
}

}  // namespace

std::string account_of(const RunCourse& course, const Policy* policy, bool given) {
  if (course.periods.empty()) return "";
  if (policy == nullptr && !given) return course.titles.front() + ", which is the only choice";
  if (policy == nullptr)
    return fmt::format("the world changed hands {} times (--hand-over-every)", course.hand_overs);
  double seconds = 0;
  for (const EnginePeriod& one : course.periods) seconds += one.seconds;
  const std::vector<EnginePeriod> stretches = stretches_of(course);
  const std::string text = stretches.size() == 1
                               ? stretches[0].engine + " throughout"
                               : turns_text(stretches, seconds) +
                                     fmt::format(" ({:.2f} times as fast)", policy->last_gain());
  if (policy->trials() == 0) return text + "; the run was too short to try another engine";
  return text + fmt::format("; {} trial{} cost {:.1f} % of the time", policy->trials(),
                            policy->trials() == 1 ? "" : "s",
                            100 * policy->lost_seconds() / seconds);
}

void Chronicle::add(const Candidate& candidate, const Slice& slice) {
  const double begin = seconds();
  outside_loops_seconds_ += slice.wall_seconds - slice.loop_seconds;
  const std::string title = candidate.text();
  auto& [periods, titles, hand_overs] = course_;
  const bool same = !titles.empty() && titles.back() == title;
  if (!same && !titles.empty()) ++hand_overs;
  if (same && (slice.why.empty() || periods.back().why == slice.why)) {
    EnginePeriod& last = periods.back();
    last.seconds += slice.wall_seconds;
    last.loop_seconds += slice.loop_seconds;
    last.committed += slice.committed;
    ++last.slices;
    return;
  }
  periods.push_back({candidate.info->name, candidate.workers, slice.why, begin, slice.wall_seconds,
                     slice.loop_seconds, slice.committed, 1});
  titles.push_back(title);
}

void Chronicle::add_result(const Candidate& candidate, const RunResult& one) {
  if (!has_results_) first_startup_seconds_ = one.startup_seconds;
  has_results_ = true;
  const double outside =
      outside_loops_seconds_ - std::exchange(outside_before_, outside_loops_seconds_);
  last_shutdown_seconds_ = std::max(0.0, outside - one.startup_seconds);
  peak_memory_bytes_ = std::max(peak_memory_bytes_, one.peak_memory_bytes);
  count(candidate.info->name, one.statistics);
  for (const std::string& note : one.notes) add_note(notes_, note);
}

double Chronicle::seconds() const {
  if (course_.periods.empty()) return 0;
  return course_.periods.back().begin_seconds + course_.periods.back().seconds;
}

void Chronicle::count(const std::string& engine, const std::vector<Statistic>& statistics) {
  for (Statistic one : statistics) {
    one.name = engine + "." + one.name;
    add_statistic(statistics_, std::move(one));
  }
}

void Chronicle::add_to(RunCourse& course) const {
  for (std::size_t i = 0; i < course_.periods.size(); ++i) {
    const EnginePeriod& one = course_.periods[i];
    const std::string& title = course_.titles[i];
    const bool same = !course.titles.empty() && course.titles.back() == title;
    if (!same && !course.titles.empty() && i == 0) ++course.hand_overs;
    if (same && (course.periods.back().why == kTrial) == (one.why == kTrial)) {
      course.periods.back().seconds += one.seconds;
    } else {
      course.periods.push_back(one);
      course.titles.push_back(title);
    }
  }
  course.hand_overs += course_.hand_overs;
}

void Chronicle::store(RunResult& result) const {
  result.startup_seconds += first_startup_seconds_;
  result.loop_seconds += seconds() - first_startup_seconds_ - last_shutdown_seconds_;
  result.peak_memory_bytes = peak_memory_bytes_;
  result.periods = course_.periods;
  result.notes.insert(result.notes.end(), notes_.begin(), notes_.end());
}

void Chronicle::add_statistics(const Policy* policy, RunResult& result) const {
  const auto add = [&](const char* name, double value, const char* help, const char* unit = "",
                       bool adds_up = false) {
    result.statistics.push_back({name, unit, help, value, adds_up});
  };
  add("hand_overs", static_cast<double>(course_.hand_overs),
      "times that the world went to another engine", "", true);
  add("outside_loops", outside_loops_seconds_,
      "time that engines needed to set up, to take the world and to return it", "s", true);
  if (policy != nullptr) {
    add("trials", static_cast<double>(policy->trials()),
        "trials of other engines or numbers of workers");
    add("lost_in_trials", policy->lost_seconds(),
        "time of trials beyond that of the previous engine for the same events", "s");
  }
  result.statistics.insert(result.statistics.end(), statistics_.begin(), statistics_.end());
}

}  // namespace orrery::automatic
