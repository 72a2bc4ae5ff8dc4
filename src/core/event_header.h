// SPDX-License-Identifier: Apache-2.0
//
// The part of an event that all engines share: key, destination, type, payload size. Engines derive
// from it and place the payload behind their own fields.
#pragma once

#include <cstdint>

#include "core/key.h"

namespace orrery {

/// Payload size in bytes and whether the bytes enter the fingerprint, in one word.
class PayloadSize {
 public:
  constexpr PayloadSize() = default;
  constexpr PayloadSize(std::uint32_t bytes, bool hashed)
      : word_((bytes << 1) | static_cast<std::uint32_t>(hashed)) {}
  constexpr std::uint32_t bytes() const { return word_ >> 1; }
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

}  // namespace orrery
