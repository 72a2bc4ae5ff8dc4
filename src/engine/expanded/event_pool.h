// SPDX-License-Identifier: Apache-2.0
//
// Memory for the events of this engine. Each thread has free lists by size, in cache lines, last
// freed first served: the event that it has executed lends its lines, which are in its cache, to
// the one that it sends next. A thread that frees more than it sends gives whole packs to a depot,
// from which those that send more take them; that is the only place with a mutex, visited once in
// hundreds of events.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "engine/expanded/event.h"

namespace orrery::expanded {

inline constexpr std::size_t kEventLineBytes = 64;
inline constexpr std::size_t kLineKinds = 17;  // up to 1024 bytes in lines, then powers of two
inline constexpr std::size_t kEventKinds = kLineKinds + 24;

class EventDepot {
 public:
  EventDepot() = default;
  EventDepot(const EventDepot&) = delete;
  EventDepot& operator=(const EventDepot&) = delete;
  ~EventDepot();

  /// Takes over a pack of free events.
  void give(std::size_t kind, Event* pack);
  /// Such a list, or nullptr.
  Event* take(std::size_t kind);
  /// Fresh memory, aligned to a line, freed with the depot.
  std::byte* take_slab(std::size_t bytes);
  /// Bytes taken from the system.
  std::size_t bytes();

 private:
  std::mutex mutex_;
  std::array<std::vector<Event*>, kEventKinds> packs_;
  std::vector<void*> slabs_;
  std::size_t bytes_ = 0;
};

class EventPool {
 public:
  explicit EventPool(EventDepot& depot) : depot_(depot) {}
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;

  void* allocate(std::size_t bytes) {
    const std::size_t kind = kind_of(bytes);
    List& list = lists_[kind];
    Event* event = list.head;
    if (event == nullptr) [[unlikely]]
      return refill(kind);
    list.head = event->next;
    --list.count;
    return event;
  }
  void release(Event* event) {
    const std::size_t kind = kind_of(event->bytes());
    List& list = lists_[kind];
    event->next = list.head;
    list.head = event;
    if (++list.count >= 2 * pack_of(kind)) [[unlikely]]
      give_pack(kind);
  }

 private:
  struct List {
    Event* head = nullptr;
    std::uint32_t count = 0;
  };

  static std::size_t kind_of(std::size_t bytes) {
    const std::size_t lines = (bytes + kEventLineBytes - 1) / kEventLineBytes;
    if (lines < kLineKinds) [[likely]]
      return lines;
    return kLineKinds + static_cast<std::size_t>(std::bit_width(bytes - 1)) - 10;
  }
  static std::size_t bytes_of(std::size_t kind) {
    return kind < kLineKinds ? kind * kEventLineBytes : std::size_t{1} << (kind - kLineKinds + 10);
  }
  /// Events that change hands together: as many as make 32 KiB.
  static std::uint32_t pack_of(std::size_t kind) {
    const std::size_t events = 32768 / std::max(bytes_of(kind), kEventLineBytes);
    return static_cast<std::uint32_t>(std::max<std::size_t>(events, 1));
  }
  void* refill(std::size_t kind);
  void give_pack(std::size_t kind);

  EventDepot& depot_;
  std::array<List, kEventKinds> lists_{};
};

}  // namespace orrery::expanded
