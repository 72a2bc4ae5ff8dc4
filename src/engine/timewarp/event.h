// SPDX-License-Identifier: Apache-2.0
//
// An event of the Time Warp engine: one cache line with up to 8 bytes of payload.
//
// The sender keeps a pointer to it in the list of what the current event sent, to cancel it. Who
// may write what:
//   key, receiver, type, size, remote, sent_next, payload   the sender, before it hands the event
//                                                           over; constant afterwards
//   first_sent                                              the receiver's worker
//   status                                                  both; event_status.h says who frees it
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/event_header.h"
#include "engine/timewarp/event_status.h"

namespace orrery::timewarp {

struct TwEvent : EventHeader {
  TwEvent* first_sent = nullptr;  ///< what its execution sent
  TwEvent* sent_next = nullptr;   ///< next event sent by the same cause
  EventStatus<> status;
  std::uint32_t remote = 0;  ///< whether sender and receiver have different workers

  explicit TwEvent(const EventHeader& header) : EventHeader(header) {}
  std::byte* payload() { return reinterpret_cast<std::byte*>(this) + kPayloadOffset; }
  const std::byte* payload() const {
    return reinterpret_cast<const std::byte*>(this) + kPayloadOffset;
  }
  std::size_t bytes() const { return kPayloadOffset + size.bytes(); }

  static constexpr std::size_t kPayloadOffset = 56;
  static constexpr std::size_t kInlinePayloadBytes = 8;  ///< of the payload in the first line
};
static_assert(sizeof(TwEvent) == TwEvent::kPayloadOffset);

}  // namespace orrery::timewarp
