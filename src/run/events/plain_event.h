// SPDX-License-Identifier: Apache-2.0
//
// The event of engines that execute events one after another on one thread: header and payload,
// without fields of an engine.
#pragma once

#include <cstddef>
#include <new>

#include "core/event_header.h"
#include "core/payload.h"

namespace orrery {

struct PlainEvent : EventHeader {
  explicit PlainEvent(const EventHeader& header) : EventHeader(header) {}
  std::byte* payload() { return reinterpret_cast<std::byte*>(this) + sizeof(PlainEvent); }
  std::size_t bytes() const { return sizeof(PlainEvent) + size.bytes(); }

  /// Allocates from the pool; free by `pool.release(event, event->bytes())`.
  template <class Pool, class Payload>
  [[gnu::always_inline]] static PlainEvent* make(Pool& pool, const EventHeader& header,
                                                 const Payload& payload) {
    void* memory = pool.allocate(sizeof(PlainEvent) + header.size.bytes());
    auto* event = new (memory) PlainEvent(header);
    write_payload(event->payload(), payload, header.size);
    return event;
  }
};

}  // namespace orrery
