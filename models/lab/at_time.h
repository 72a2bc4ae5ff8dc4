// SPDX-License-Identifier: Apache-2.0
//
// Lookup in lists of values over time: entries with a `from_ns`, in order of time. The first entry
// also holds before its own time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace orrery::lab {

/// The entry that holds at `time`.
template <class Entries>
const auto& at_time(const Entries& entries, std::int64_t time) {
  std::size_t i = entries.size() - 1;
  while (i > 0 && entries[i].from_ns > time) --i;
  return entries[i];
}

/// The earliest `from_ns` after `time`, at most `otherwise`.
template <class Entries>
std::int64_t begins_after(const Entries& entries, std::int64_t time, std::int64_t otherwise) {
  for (const auto& one : entries)
    if (one.from_ns > time) return std::min(one.from_ns, otherwise);
  return otherwise;
}

}  // namespace orrery::lab
