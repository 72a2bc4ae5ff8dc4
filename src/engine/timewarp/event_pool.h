// SPDX-License-Identifier: Apache-2.0
//
// Memory for Time Warp events. Every worker has free lists by size (multiples of a cache line),
// last freed first served. An event is freed by the worker that executed it, not by the one that
// made it; where that leaves one worker with too many and another with none, whole magazines of
// events pass through a depot that all workers share (Bonwick and Adams, "Magazines and Vmem",
// 2001), once in hundreds of events.
//
// Where memory is separated by cache sets, events lie in the intensive part of the worker's ways
// (memory/colour.h). An event that was executed stays where it was pending.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "engine/timewarp/event.h"
#include "memory/arena.h"

namespace orrery::timewarp {

namespace event_memory {
inline constexpr std::size_t kLineBytes = 64;
inline constexpr std::size_t kSmallKinds = 17;  // 64 to 1024 bytes, then powers of two
inline constexpr std::size_t kKinds = kSmallKinds + 28;

constexpr std::size_t kind_of(std::size_t bytes) {
  const std::size_t lines = (bytes + kLineBytes - 1) / kLineBytes;
  if (lines < kSmallKinds) return lines;
  return kSmallKinds + static_cast<std::size_t>(std::bit_width(bytes - 1)) - 10;
}
constexpr std::size_t bytes_of(std::size_t kind) {
  return kind < kSmallKinds ? kind * kLineBytes : std::size_t{1} << (kind - kSmallKinds + 10);
}
/// Events in a magazine: as many as make 32 KiB.
constexpr std::uint32_t magazine_of(std::size_t kind) {
  const std::size_t events = kind == 0 ? 1 : 32768 / bytes_of(kind);
  return events == 0 ? 1 : static_cast<std::uint32_t>(events);
}
}  // namespace event_memory

/// Magazines that no worker needs at the moment, and all slabs. Behind a mutex: it is visited once
/// in hundreds of events, and only when workers are out of balance.
class EventDepot {
 public:
  EventDepot() = default;
  EventDepot(const EventDepot&) = delete;
  EventDepot& operator=(const EventDepot&) = delete;
  ~EventDepot();

  void give(std::size_t kind, TwEvent* magazine);
  /// A full magazine or nullptr.
  TwEvent* take(std::size_t kind);
  /// Fresh memory, cache-line aligned, that lives as long as the depot.
  std::byte* take_slab(std::size_t bytes);
  /// Slabs that a worker took elsewhere.
  void note_slab(std::size_t bytes) { slab_bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  std::size_t slab_bytes() const { return slab_bytes_.load(std::memory_order_relaxed); }

 private:
  std::mutex mutex_;
  std::array<std::vector<TwEvent*>, event_memory::kKinds> magazines_;
  struct Slab {
    void* memory;
    std::size_t bytes;
  };
  std::vector<Slab> slabs_;
  std::atomic<std::size_t> slab_bytes_{0};  // a statistic: relaxed
};

class EventPool {
 public:
  EventPool(EventDepot& depot, memory::Arena& arena) : depot_(depot), arena_(arena) {}
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;

  void* allocate(std::size_t bytes) {
    const std::size_t kind = event_memory::kind_of(bytes);
    used_bytes_ += static_cast<std::int64_t>(event_memory::bytes_of(kind));
    List& list = lists_[kind];
    TwEvent* event = list.head;
    if (event == nullptr) [[unlikely]]
      return refill(kind);
    list.head = event->first_sent;
    __builtin_prefetch(list.head, 1);  // the next one's line left the nearest cache at commit
    --list.count;
    return event;
  }
  void release(TwEvent* event) {
    const std::size_t kind = event_memory::kind_of(event->bytes());
    used_bytes_ -= static_cast<std::int64_t>(event_memory::bytes_of(kind));
    List& list = lists_[kind];
    event->first_sent = list.head;
    list.head = event;
    if (++list.count >= 2 * event_memory::magazine_of(kind)) [[unlikely]]
      give_magazine(kind);
  }
  /// Bytes of events allocated less those freed here; negative for one that frees what others
  /// allocated. The sum over the workers is what is in use.
  std::int64_t used_bytes() const { return used_bytes_; }

 private:
  struct List {
    TwEvent* head = nullptr;
    std::uint32_t count = 0;
  };

  void* refill(std::size_t kind);
  memory::Arena::Piece take_slab(std::size_t least_bytes);
  void give_magazine(std::size_t kind);

  EventDepot& depot_;
  memory::Arena& arena_;
  std::array<List, event_memory::kKinds> lists_{};
  std::int64_t used_bytes_ = 0;
};

}  // namespace orrery::timewarp
