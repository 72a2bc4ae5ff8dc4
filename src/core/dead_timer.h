// SPDX-License-Identifier: Apache-2.0
//
// Timers as events. The event of a cancelled timer stays in the pending event set until its turn
// comes, or until an engine searches for such events. It is then *dead*: only the LP's set of
// live timers shows this, and only when the LP has executed all events before it.
#pragma once

#include "core/event_header.h"
#include "core/logical_process_access.h"

namespace orrery {

/// The trailer of a timer's event, and back: the timer's place in the set.
inline std::int64_t timer_trailer(std::uint32_t place, bool silent) {
  return -1 - std::int64_t{place} + (silent ? detail::kSilent : 0);
}
inline std::uint32_t timer_place(std::int64_t trailer) {
  return static_cast<std::uint32_t>(-1 - trailer - (is_silent(trailer) ? -detail::kSilent : 0));
}

/// Whether the event is of a timer; `payload`: the event's.
inline bool is_timer(const EventHeader& event, const void* payload) {
  if (!event.size.has_trailer()) return false;
  const std::int64_t trailer = trailer_of(event, payload);
  return trailer < 0 && trailer != detail::kSilent;
}

/// Whether the event is of a timer that its receiver, `lp`, has cancelled. Such an event is dropped
/// as if it had never been sent.
inline bool is_dead_timer(const LogicalProcessBase& lp, const EventHeader& event,
                          const void* payload) {
  if (!is_timer(event, payload)) [[likely]]
    return false;
  const std::uint32_t place = timer_place(trailer_of(event, payload));
  const Ledger* const ledger = LogicalProcessAccess::ledger(lp);
  return ledger == nullptr || !ledger->timers.holds(place, event.sequence());
}

}  // namespace orrery
