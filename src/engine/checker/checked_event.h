// SPDX-License-Identifier: Apache-2.0
//
// A pending event of the checker. Its payload is kept once, or once for each world (world.h) and
// the twin (twin.h) if uninitialised bytes or addresses make the payloads differ.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/event_header.h"
#include "engine/checker/world.h"

namespace orrery::checker {

struct CheckedEvent : EventHeader {
  static constexpr unsigned kVariants = kWorlds + 1;

  CheckedEvent(const EventHeader& header, bool variants)
      : EventHeader(header), stride(variants ? (header.size.bytes() + 7) / 8 * 8 : 0) {}
  std::byte* payload(WorldIndex world) {
    return reinterpret_cast<std::byte*>(this + 1) + std::size_t{world} * stride;
  }
  static std::size_t bytes_for(std::uint32_t payload_bytes, bool variants) {
    const std::size_t one = (std::size_t{payload_bytes} + 7) / 8 * 8;
    return sizeof(CheckedEvent) + (variants ? kVariants * one : one);
  }
  std::size_t block_bytes() const { return bytes_for(size.bytes(), stride != 0); }

  std::uint64_t stride;  ///< bytes between the variants; 0: one payload for all
};

}  // namespace orrery::checker
