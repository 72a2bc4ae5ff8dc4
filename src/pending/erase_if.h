// SPDX-License-Identifier: Apache-2.0
//
// Removes some events from a pending event set before their time. No kind of set can find a single
// event, so all events are visited: this pays only if many are removed.
#pragma once

#include <vector>

namespace orrery::pending {

/// Removes the events for which `gone(Event*)` is true; `gone` may free them. `scratch`: empty
/// before and after; frequent callers reuse it.
template <class Set, class Event, class Gone>
void erase_if(Set& set, std::vector<Event*>& scratch, Gone&& gone) {
  set.drain([&](Event* event) { scratch.push_back(event); });
  for (Event* event : scratch)
    if (!gone(event)) set.push(event);
  scratch.clear();
}

}  // namespace orrery::pending
