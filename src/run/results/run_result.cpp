// SPDX-License-Identifier: Apache-2.0
//
// Results of runs whose engine took the world several times.
#include <algorithm>
#include <utility>

#include "run/engine.h"

namespace orrery {

void add_statistic(std::vector<Statistic>& sum, Statistic one) {
  const auto known =
      std::find_if(sum.begin(), sum.end(), [&](const Statistic& s) { return s.name == one.name; });
  if (known == sum.end()) {
    sum.push_back(std::move(one));
  } else {
    known->value = one.adds_up ? known->value + one.value : one.value;
  }
}

void add_note(std::vector<std::string>& notes, const std::string& note) {
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
}

void RunResult::add_part(RunResult part, double begin) {
  end = part.end;
  fault = std::move(part.fault);
  account = std::move(part.account);
  workers = begin == 0 ? part.workers : std::max(workers, part.workers);
  peak_memory_bytes = std::max(peak_memory_bytes, part.peak_memory_bytes);
  for (Statistic& one : part.statistics) add_statistic(statistics, std::move(one));
  for (const std::string& note : part.notes) add_note(notes, note);
  for (EnginePeriod& period : part.periods) {
    period.begin_seconds += begin;
    const bool goes_on = !periods.empty() && periods.back().engine == period.engine &&
                         periods.back().workers == period.workers;
    if (!goes_on) {
      periods.push_back(std::move(period));
      continue;
    }
    EnginePeriod& last = periods.back();
    last.seconds += period.seconds;
    last.loop_seconds += period.loop_seconds;
    last.committed += period.committed;
    last.slices += period.slices;
  }
}

}  // namespace orrery
