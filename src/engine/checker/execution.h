// SPDX-License-Identifier: Apache-2.0
//
// All that one execution of a handler did, so that it can be compared with another execution of the
// same event.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "core/event_header.h"
#include "core/rows.h"
#include "engine/checker/guard.h"
#include "engine/checker/world.h"

namespace orrery::checker {

struct Sent : EventHeader {
  Sent(const EventHeader& header, std::size_t payload_at)
      : EventHeader(header), payload(payload_at) {}
  std::size_t payload;  ///< where it begins in Execution::payloads
};

struct Execution {
  WorldIndex world = 0;
  std::vector<Sent> sends;  ///< those beyond the horizon, too
  std::vector<std::byte> payloads;
  RowBuffer rows;
  checkpoint::KernelState kernel;  ///< after it
  std::string fault;               ///< a sentence, if it failed
  std::vector<AllocationStep> steps;
  std::vector<std::byte> image;  ///< of the LP's memory, after it

  void begin(WorldIndex index) {
    world = index;
    sends.clear();
    payloads.clear();
    rows.clear();
    fault.clear();
    steps.clear();
    image.clear();
  }
  Execution without_image() const {
    return {world, sends, payloads, rows, kernel, fault, steps, {}};
  }
  const std::byte* payload_of(const Sent& sent) const { return payloads.data() + sent.payload; }
  void add_send(const EventHeader& header, const void* payload) {
    sends.emplace_back(header, payloads.size());
    const auto* bytes = static_cast<const std::byte*>(payload);
    payloads.insert(payloads.end(), bytes, bytes + header.size.bytes());
  }
};

/// An event that is pending. Its payload is kept once, or once for each world and the twin where
/// bytes that nobody initialised (or addresses) made them differ.
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

  std::uint64_t stride;  ///< between the variants; 0: there is one for all
};

}  // namespace orrery::checker
