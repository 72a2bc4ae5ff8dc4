// SPDX-License-Identifier: Apache-2.0
//
// What an event carries, as it is stored: the struct, then, if the event was sent with bytes, those
// from the next multiple of 8 on, then, if it is expanded, silent or a timer, 8 bytes for that.
// Models need nothing of this; `Context::schedule` and the dispatch of events do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "orrery/event.h"

namespace orrery::detail {

/// An event is smaller than this, all told.
inline constexpr std::size_t kPayloadBytesLimit = std::size_t{1} << 30;
/// The struct and the bytes of an expanded event are no more than this.
inline constexpr std::size_t kExpandedBytesLimit = 64 * 1024;

/// Where bytes begin behind a struct of that size.
constexpr std::size_t bytes_begin(std::size_t event_bytes) {
  return (event_bytes + 7) / 8 * 8;
}

/// A payload that is put together where the event is made, so that it is copied once.
struct PayloadParts {
  const void* event = nullptr;
  std::uint32_t event_bytes = 0;
  bool hashed = false;       ///< equal structs have equal bytes, or there is none
  bool has_trailer = false;  ///< an expanded event, a timer, or a silent event
  std::int64_t trailer = 0;  ///< src/core/event_header.h says what it is
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

/// The trailer of a silent event; of a timer it is added to another.
inline constexpr std::int64_t kSilent = -(std::int64_t{1} << 40);

template <EventPayload E>
PayloadParts payload_parts(const E& event, std::span<const std::byte> bytes = {}) {
  PayloadParts parts;
  parts.event = &event;
  parts.event_bytes = event_payload_bytes<E>;
  parts.hashed = event_payload_is_hashed<E> || std::is_empty_v<E>;
  parts.bytes = bytes;
  if constexpr (event_is_silent<E>) {
    parts.has_trailer = true;
    parts.trailer = kSilent;
  }
  return parts;
}

/// The bytes of an event whose struct has `event_bytes`, of `payload_bytes` without a trailer.
inline std::span<const std::byte> bytes_behind(const void* payload, std::size_t event_bytes,
                                               std::size_t payload_bytes) {
  if (payload_bytes <= event_bytes) return {};
  const std::size_t begin = bytes_begin(event_bytes);
  return {static_cast<const std::byte*>(payload) + begin, payload_bytes - begin};
}

/// Throws the ModelFault for bytes that came to a handler that takes none.
[[noreturn]] void refuse_bytes(std::size_t event_bytes, std::size_t payload_bytes);

}  // namespace orrery::detail
