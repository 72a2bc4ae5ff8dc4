// SPDX-License-Identifier: Apache-2.0
//
// The part of an event that all engines share: key, destination, type, payload size. Engines derive
// from it and place the payload behind their own fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/key.h"

namespace orrery {

/// Payload size in bytes (less than 2^30), whether the event is expanded, and whether the bytes
/// enter the fingerprint, in one word. The payload of an expanded event ends with its duration in
/// ticks, 8 bytes that count as payload, so that only those events have it that need it.
class PayloadSize {
 public:
  constexpr PayloadSize() = default;
  constexpr PayloadSize(std::uint32_t bytes, bool hashed, bool expanded = false)
      : PayloadSize(
            of_word((bytes << 2) | (std::uint32_t{expanded} << 1) | std::uint32_t{hashed})) {}
  /// The word that Context::send gets.
  static constexpr PayloadSize of_word(std::uint32_t word) {
    PayloadSize size;
    size.word_ = word;
    return size;
  }
  constexpr std::uint32_t bytes() const { return word_ >> 2; }
  constexpr bool expanded() const { return (word_ & 2) != 0; }
  /// Neither expanded nor hashed: the common case in one test.
  constexpr bool plain() const { return (word_ & 3) == 0; }
  constexpr bool hashed() const { return (word_ & 1) != 0; }

 private:
  std::uint32_t word_ = 0;
};

class EventHeader : public Key {
 public:
  constexpr EventHeader() = default;
  constexpr EventHeader(const Key& key, LpId to, EventTypeId event_type, PayloadSize payload)
      : Key(key), receiver(to), type(event_type), size(payload) {}

  const Key& key() const { return *this; }

  LpId receiver = 0;
  EventTypeId type = 0;
  PayloadSize size;
};

static_assert(sizeof(EventHeader) == 32);

/// How long an event lasts; zero for an ordinary one. `payload`: its `size.bytes()` bytes.
inline Duration duration_of(const EventHeader& event, const void* payload) {
  if (!event.size.expanded()) [[likely]]
    return Duration::zero();
  std::int64_t ticks;
  std::memcpy(&ticks, static_cast<const std::byte*>(payload) + event.size.bytes() - sizeof ticks,
              sizeof ticks);
  return Duration::from_ticks(ticks);
}

}  // namespace orrery
