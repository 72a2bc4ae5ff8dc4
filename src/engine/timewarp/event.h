// SPDX-License-Identifier: Apache-2.0
//
// An event of the Time Warp engine: one cache line with up to 8 bytes of payload.
//
// The sender keeps a pointer to the event in the list of what the current event sent, to cancel it.
// Which worker may write which member:
//   key, receiver, type, size, route, sent_next, payload    the sender, before it hands the event
//                                                           over; constant afterwards
//   first_sent                                              the receiver's worker
//   status                                                  both; event_status.h says who frees it
//
// An event from another rank is made by the rank that receives it (rank_link.h); from then on it is
// treated as if the receiver's worker had sent it. An event to another rank leaves the sender a
// *record*, an event without payload: an entry in the list of what the cause sent, which becomes an
// antimessage if it is cancelled.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/event_header.h"
#include "engine/timewarp/event_status.h"
#include "pending/engine_set.h"

namespace orrery::timewarp {

/// Where the sender and the receiver of an event are.
enum class Route : std::uint32_t {
  local,       ///< both LPs have the same worker
  shared,      ///< their workers differ
  imported,    ///< the event came from another rank
  exported,    ///< a record of an event that went to another rank
  antimessage  ///< from another rank: cancels the event with the same key
};

struct TwEvent : EventHeader {
  TwEvent* first_sent = nullptr;  ///< what its execution sent
  union {
    TwEvent* sent_next = nullptr;  ///< next event sent by the same cause
    std::int64_t cause_ticks;      ///< of an imported event: when it was sent (imports.h)
  };
  EventStatus<> status;
  Route route = Route::local;

  explicit TwEvent(const EventHeader& header) : EventHeader(header) {}
  std::byte* payload() { return reinterpret_cast<std::byte*>(this) + kPayloadOffset; }
  const std::byte* payload() const {
    return reinterpret_cast<const std::byte*>(this) + kPayloadOffset;
  }
  std::size_t bytes() const { return kPayloadOffset + size.bytes(); }
  /// Whether two workers change its status.
  bool is_shared() const { return route == Route::shared; }

  static constexpr std::size_t kPayloadOffset = 56;
  static constexpr std::size_t kInlinePayloadBytes = 8;  ///< of the payload in the first line
};
static_assert(sizeof(TwEvent) == TwEvent::kPayloadOffset);

/// A worker's pending events.
using Pending = pending::EngineSet<TwEvent>;

}  // namespace orrery::timewarp
