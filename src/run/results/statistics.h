// SPDX-License-Identifier: Apache-2.0
//
// Counters of an engine, declared once: name, unit, help, and how the counts of several workers are
// merged. An engine has a struct of counters and a table that describes them; addition and report
// are derived from the table, so that no counter can be missing in a sum.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "run/engine.h"

namespace orrery {

/// How to merge the counts of several workers; the maximum if all workers count the same things.
enum class Merge : std::uint8_t { sum, maximum };

template <class Counters>
struct CounterInfo {
  std::uint64_t Counters::*value;
  Merge merge;
  const char* name = nullptr;  ///< in reports; nullptr: not reported
  const char* help = "";
  const char* unit = "";
};

/// Adds `one` to `sum`, field by field.
template <class Counters, std::size_t N>
void merge_counters(const CounterInfo<Counters> (&table)[N], Counters& sum, const Counters& one) {
  static_assert(sizeof(Counters) == N * sizeof(std::uint64_t), "a counter is not in the table");
  for (const CounterInfo<Counters>& info : table) {
    std::uint64_t& total = sum.*info.value;
    const std::uint64_t value = one.*info.value;
    total = info.merge == Merge::sum ? total + value : std::max(total, value);
  }
}

template <class Counters, std::size_t N>
void report_counters(const CounterInfo<Counters> (&table)[N], const Counters& counters,
                     std::vector<Statistic>& out) {
  for (const CounterInfo<Counters>& info : table) {
    if (info.name == nullptr) continue;
    out.push_back(
        {info.name, info.unit, info.help, static_cast<double>(counters.*info.value), true});
  }
}

}  // namespace orrery
