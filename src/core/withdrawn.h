// SPDX-License-Identifier: Apache-2.0
//
// Timers as events. A timer that was cancelled stays among the pending events until its turn comes,
// or until an engine looks for such: then it is *withdrawn*, which only the LP's set of live timers
// tells, at a moment at which the LP has executed what comes before it.
#pragma once

#include "core/event_header.h"
#include "core/logical_process_access.h"

namespace orrery {

/// The trailer of a timer, and back: its place in the set.
inline std::int64_t timer_trailer(std::uint32_t place, bool silent) {
  return -1 - std::int64_t{place} + (silent ? detail::kSilent : 0);
}
inline std::uint32_t timer_place(std::int64_t trailer) {
  return static_cast<std::uint32_t>(-1 - trailer - (is_silent(trailer) ? -detail::kSilent : 0));
}

/// Whether it is a timer; `payload`: the event's.
inline bool is_timer(const EventHeader& event, const void* payload) {
  if (!event.size.has_trailer()) return false;
  const std::int64_t trailer = trailer_of(event, payload);
  return trailer < 0 && trailer != detail::kSilent;
}

/// Whether it is a timer that its receiver, `lp`, has cancelled: it is to be dropped as if it had
/// never been sent.
inline bool is_withdrawn(const LogicalProcessBase& lp, const EventHeader& event,
                         const void* payload) {
  if (!is_timer(event, payload)) [[likely]]
    return false;
  const std::uint32_t place = timer_place(trailer_of(event, payload));
  const Ledger* const ledger = LogicalProcessAccess::ledger(lp);
  return ledger == nullptr || !ledger->timers.holds(place, event.sequence());
}

}  // namespace orrery
