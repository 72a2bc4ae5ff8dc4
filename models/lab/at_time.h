// SPDX-License-Identifier: Apache-2.0
//
// Lists of what something is like from a time on: entries with a `from_ns`, by time, of which the
// first holds from the beginning.
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

/// When the first of those begins that do after `time`; `otherwise` if none does.
template <class Entries>
std::int64_t begins_after(const Entries& entries, std::int64_t time, std::int64_t otherwise) {
  for (const auto& one : entries)
    if (one.from_ns > time) return std::min(one.from_ns, otherwise);
  return otherwise;
}

}  // namespace orrery::lab
