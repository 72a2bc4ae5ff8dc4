// SPDX-License-Identifier: Apache-2.0
//
// The stored form of an event's payload: the struct; then, if the event was sent with bytes, those
// bytes from the next multiple of 8 on; then, if the event is expanded, silent or a timer, a
// trailer of 8 bytes. Only `Context::schedule` and the dispatch of events use this header, models
// do not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "orrery/event.h"

namespace orrery::detail {

/// The whole payload of an event is smaller than this.
inline constexpr std::size_t kPayloadBytesLimit = std::size_t{1} << 30;
/// The struct and the bytes of an expanded event together are at most this large.
inline constexpr std::size_t kExpandedBytesLimit = 64 * 1024;

/// Offset of the bytes behind a struct of `event_bytes`.
constexpr std::size_t bytes_begin(std::size_t event_bytes) {
  return (event_bytes + 7) / 8 * 8;
}

/// A payload in parts, so that it is copied once: to where the event is made.
struct PayloadParts {
  const void* event = nullptr;
  std::uint32_t event_bytes = 0;
  bool hashed = false;           ///< equal structs have equal bytes, or there is no struct
  bool has_trailer = false;      ///< an expanded event, a timer, or a silent event
  std::int8_t phase = kNoPhase;  ///< that the send names
  std::int64_t trailer = 0;      ///< see src/core/event_header.h for its meaning
  std::span<const std::byte> bytes;

  std::size_t size() const {
    return (bytes.empty() ? event_bytes : bytes_begin(event_bytes) + bytes.size()) +
           (has_trailer ? sizeof trailer : 0);
  }
  void write(std::byte* to) const {
    if (event_bytes > 0) std::memcpy(to, event, event_bytes);
    to += event_bytes;
    if (!bytes.empty()) {
      const std::size_t gap = bytes_begin(event_bytes) - event_bytes;
      std::memset(to, 0, gap);
      std::memcpy(to + gap, bytes.data(), bytes.size());
      to += gap + bytes.size();
    }
    if (has_trailer) std::memcpy(to, &trailer, sizeof trailer);
  }
};

/// The trailer of a silent event; for a silent timer it is added to the timer's trailer.
inline constexpr std::int64_t kSilent = -(std::int64_t{1} << 40);

template <EventPayload E>
PayloadParts payload_parts(const E& event, std::span<const std::byte> bytes = {}) {
  static_assert(event_phase<E> >= kNoPhase && event_phase<E> <= int{Phase::kMost},
                "the phase of an event type is 0 to 15");
  PayloadParts parts;
  parts.event = &event;
  parts.event_bytes = event_payload_bytes<E>;
  parts.hashed = event_payload_is_hashed<E> || std::is_empty_v<E>;
  parts.bytes = bytes;
  parts.phase = static_cast<std::int8_t>(event_phase<E>);
  if constexpr (event_is_silent<E>) {
    parts.has_trailer = true;
    parts.trailer = kSilent;
  }
  return parts;
}

/// The bytes behind a struct of `event_bytes`; `payload_bytes` excludes the trailer.
inline std::span<const std::byte> bytes_behind(const void* payload, std::size_t event_bytes,
                                               std::size_t payload_bytes) {
  if (payload_bytes <= event_bytes) return {};
  const std::size_t begin = bytes_begin(event_bytes);
  return {static_cast<const std::byte*>(payload) + begin, payload_bytes - begin};
}

/// Throws the ModelFault for bytes sent to a handler that takes none.
[[noreturn]] void refuse_bytes(std::size_t event_bytes, std::size_t payload_bytes);

}  // namespace orrery::detail
