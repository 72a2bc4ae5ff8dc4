// SPDX-License-Identifier: Apache-2.0
//
// An event of the expanded engine, and the barrier that it raises while it is unfinished.
//
// Events lie on cache lines of their own: the thread that executes an event is often not the thread
// that takes it from the pending event set, and must not share a line with other threads' data.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/event_header.h"

namespace orrery::expanded {

struct Event : EventHeader {
  Event* next = nullptr;  ///< in the list of events that one execution sent

  Event() = default;
  explicit Event(const EventHeader& header) : EventHeader(header) {}
  std::byte* payload() { return reinterpret_cast<std::byte*>(this) + kPayloadOffset; }
  const std::byte* payload() const {
    return reinterpret_cast<const std::byte*>(this) + kPayloadOffset;
  }
  std::size_t bytes() const { return kPayloadOffset + size.bytes(); }

  static constexpr std::size_t kPayloadOffset = 40;
};
static_assert(sizeof(Event) == Event::kPayloadOffset);

/// The barrier of `event`: no event that it causes has a lower key. With a duration d > 0 its sends
/// have times at its start plus d or later; with d = 0 they are at the next step or later. No
/// event's key equals a barrier: send counts begin at 1.
inline Key barrier_of(const Event& event) {
  const Duration duration = duration_of(event, event.payload());
  if (duration > Duration::zero()) return Key::start_of(event.time() + duration);
  if (event.step() < Key::kMaxStep) [[likely]]
    return Key(event.time(), event.step() + 1, 0, 0);
  // The last possible step: the livelock limit refuses a send without delay.
  return Key::start_of(event.time() + Duration::from_ticks(1));
}

}  // namespace orrery::expanded
