// SPDX-License-Identifier: Apache-2.0
//
// An event of the Time Warp engine: one cache line with up to 8 bytes of payload.
//
// The sender allocates it and keeps a pointer to it in the list of what the current event sent; the
// receiver's worker executes it and frees it. Cancellation is direct: the sender marks the event
// itself, there are no antimessages. Who may write what:
//   key, receiver, type, size, remote, sent_next, payload   the sender, before it hands the event
//                                                           over; constant afterwards
//   first_sent                                              the receiver's worker
//   status                                                  both, see below
// A sender never follows its list to an event that was freed: an event is freed when it is
// committed or cancelled, and if it is committed then its cause is before GVT and is not rolled
// back either.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/event_header.h"

namespace orrery::timewarp {

struct TwEvent : EventHeader {
  /// `status` bits. An event whose sender and receiver have the same worker is touched by that
  /// thread alone: relaxed loads and stores, no locked instruction. For a remote event both sides
  /// change it with one fetch_or/fetch_and each, and the order of these decides who frees it:
  ///   - cancelled first: the receiver sees kCancelled when it claims the event, and frees it;
  ///   - claimed first: the sender sees kProcessed, and owes the receiver a notice; the receiver
  ///     frees the event when the notice arrives, however often it was rolled back meanwhile.
  /// acq_rel: the receiver's later reuse of the memory must not be seen before the sender's last
  /// read of the event (sent_next, key), which precedes its fetch_or.
  static constexpr std::uint32_t kProcessed = 1;
  static constexpr std::uint32_t kCancelled = 2;

  TwEvent* first_sent = nullptr;  ///< what its execution sent; free list link when free
  TwEvent* sent_next = nullptr;   ///< next event sent by the same cause
  std::atomic<std::uint32_t> status{0};
  std::uint32_t remote = 0;  ///< whether sender and receiver have different workers

  TwEvent(const Key& key, LpId to, EventTypeId event_type, PayloadSize payload_size)
      : EventHeader(key, to, event_type, payload_size) {}
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
