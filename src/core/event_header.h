// SPDX-License-Identifier: Apache-2.0
//
// The part of an event that all engines share: key, destination, type, payload size. Engines derive
// from it and place the payload behind their own fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/key.h"
#include "orrery/payload.h"

namespace orrery {

/// Payload size in bytes (less than 2^30), whether there is a trailer, and whether the bytes enter
/// the fingerprint, in one word. The trailer is the last 8 bytes of the payload, so that only
/// events that need a trailer pay for it. It is the duration in ticks, 0 or more, for an expanded
/// event; -1 - the place among the LP's live timers for a timer; detail::kSilent for a silent
/// event; the sum of both for a silent timer.
class PayloadSize {
 public:
  constexpr PayloadSize() = default;
  constexpr PayloadSize(std::uint32_t bytes, bool hashed, bool has_trailer = false)
      : PayloadSize(
            of_word((bytes << 2) | (std::uint32_t{has_trailer} << 1) | std::uint32_t{hashed})) {}
  /// The word that Context::send gets.
  static constexpr PayloadSize of_word(std::uint32_t word) {
    PayloadSize size;
    size.word_ = word;
    return size;
  }
  constexpr std::uint32_t word() const { return word_; }
  constexpr std::uint32_t bytes() const { return word_ >> 2; }
  constexpr bool has_trailer() const { return (word_ & 2) != 0; }
  /// Neither trailer nor hash: the common case in one test.
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

inline constexpr std::uint32_t kTrailerBytes = sizeof(std::int64_t);

/// The trailer of an event that has one. `payload`: its `size.bytes()` bytes.
inline std::int64_t trailer_of(const EventHeader& event, const void* payload) {
  std::int64_t trailer;
  std::memcpy(&trailer,
              static_cast<const std::byte*>(payload) + event.size.bytes() - sizeof trailer,
              sizeof trailer);
  return trailer;
}
/// Whether an event with that trailer stays out of the fingerprint.
inline bool is_silent(std::int64_t trailer) {
  return trailer < detail::kSilent / 2;
}
/// Duration of an event; zero for ordinary events and timers.
inline Duration duration_of(const EventHeader& event, const void* payload) {
  if (!event.size.has_trailer()) [[likely]]
    return Duration::zero();
  const std::int64_t trailer = trailer_of(event, payload);
  return Duration::from_ticks(trailer < 0 ? 0 : trailer);
}
/// Bytes of the payload without the trailer.
inline std::uint32_t model_bytes_of(const EventHeader& event) {
  return event.size.bytes() - (event.size.has_trailer() ? kTrailerBytes : 0);
}

}  // namespace orrery
