// SPDX-License-Identifier: Apache-2.0
//
// Taking some events out of a pending event set before their time. No kind of set can find one
// event, so all are looked at: worth it where many are to go.
#pragma once

#include <vector>

namespace orrery::pending {

/// Takes the events out for which `gone(Event*)` is true; it may free them. `scratch`: empty before
/// and after, for one who calls this often.
template <class Set, class Event, class Gone>
void erase_if(Set& set, std::vector<Event*>& scratch, Gone&& gone) {
  set.drain([&](Event* event) { scratch.push_back(event); });
  for (Event* event : scratch)
    if (!gone(event)) set.push(event);
  scratch.clear();
}

}  // namespace orrery::pending
