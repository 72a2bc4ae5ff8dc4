// SPDX-License-Identifier: Apache-2.0
//
// Memory for events, of any engine: free lists by size, last freed first served, so that the event
// that was just handled lends its lines, which are in the cache, to the one that is sent next. An
// allocation is a load and a store once warm. Sizes are multiples of a granule (half a cache line
// where one thread has all events, a whole one where several touch them), powers of two from 1 KiB
// on.
//
// A thread has a pool. Where events are freed by another thread than the one that made them, one
// pool would run over and another dry: whole magazines pass through a depot that all share (Bonwick
// and Adams, "Magazines and Vmem: Extending the slab allocator to many CPUs and arbitrary
// resources", USENIX 2001), behind a mutex that is visited once in hundreds of events. Slabs live
// as long as the depot.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "core/assert.h"

namespace orrery {

struct MemoryPiece {
  std::byte* base = nullptr;
  std::size_t bytes = 0;
};

namespace event_memory {
inline constexpr std::size_t kSteps = 1024;  ///< bytes up to which sizes are multiples of a granule
inline constexpr std::size_t kPowers = 24;   ///< powers of two above

/// The sizes that a pool with this granule has.
template <std::size_t kGranule>
struct Sizes {
  static constexpr std::size_t kSmallKinds = kSteps / kGranule + 1;
  static constexpr std::size_t kKinds = kSmallKinds + kPowers;

  static constexpr std::size_t kind_of(std::size_t bytes) {
    const std::size_t granules = (bytes + kGranule - 1) / kGranule;
    if (granules < kSmallKinds) [[likely]]
      return granules;
    return kSmallKinds + static_cast<std::size_t>(std::bit_width(bytes - 1)) -
           std::bit_width(kSteps);
  }
  static constexpr std::size_t bytes_of(std::size_t kind) {
    return kind < kSmallKinds ? kind * kGranule : 2 * kSteps << (kind - kSmallKinds);
  }
  /// Events that change hands together: as many as make 32 KiB.
  static constexpr std::uint32_t magazine_of(std::size_t kind) {
    const std::size_t events = kind == 0 ? 1 : 32768 / bytes_of(kind);
    return events == 0 ? 1 : static_cast<std::uint32_t>(events);
  }
};
}  // namespace event_memory

/// Magazines that no thread needs at the moment, and the slabs of all.
class EventDepot {
 public:
  /// A free block; the link lies where the event was.
  struct Free {
    Free* next;
  };

  EventDepot() = default;
  EventDepot(const EventDepot&) = delete;
  EventDepot& operator=(const EventDepot&) = delete;
  ~EventDepot();

  void give(std::size_t kind, Free* magazine);
  /// A full magazine or nullptr.
  Free* take(std::size_t kind);
  /// Fresh memory of at least that size, aligned to a page. Throws std::bad_alloc.
  MemoryPiece take_slab(std::size_t least_bytes);
  /// Memory that a pool took elsewhere counts, too.
  void note_slab(std::size_t bytes) { slab_bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  /// Taken from the system so far.
  std::size_t slab_bytes() const { return slab_bytes_.load(std::memory_order_relaxed); }

 private:
  std::mutex mutex_;
  std::vector<std::vector<Free*>> magazines_;
  std::vector<MemoryPiece> slabs_;
  std::atomic<std::size_t> slab_bytes_{0};  // a statistic: relaxed
};

/// Slabs from the depot.
struct DepotSlabs {
  MemoryPiece take(EventDepot& depot, std::size_t least_bytes) {
    return depot.take_slab(least_bytes);
  }
};

/// Who uses the pools of a run.
enum class Pools {
  one,   ///< one thread has the only pool: nothing passes through the depot, nothing is counted
  many,  ///< each thread has its own
};

/// `Slabs` says where memory comes from: take(depot, least_bytes).
template <std::size_t kGranule, Pools kPools = Pools::many, class Slabs = DepotSlabs>
class EventPool {
  using Sizes = event_memory::Sizes<kGranule>;
  using Free = EventDepot::Free;

 public:
  explicit EventPool(EventDepot& depot, Slabs slabs = {}) : depot_(depot), slabs_(slabs) {
    for (std::size_t kind = 0; kind < Sizes::kKinds; ++kind)
      lists_[kind].most = 2 * Sizes::magazine_of(kind);
  }
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;

  [[gnu::always_inline]] void* allocate(std::size_t bytes) {
    const std::size_t kind = Sizes::kind_of(bytes);
    List& list = lists_[kind];
    if constexpr (kPools == Pools::many)
      used_bytes_ += static_cast<std::int64_t>(Sizes::bytes_of(kind));
    Free* block = list.head;
    if (block == nullptr) [[unlikely]]
      return refill(kind);
    list.head = block->next;
    if constexpr (kPools == Pools::many) {
      __builtin_prefetch(list.head, 1);  // the next one's line may have left the nearest cache
      --list.count;
    }
    return block;
  }
  [[gnu::always_inline]] void release(void* event, std::size_t bytes) {
    const std::size_t kind = Sizes::kind_of(bytes);
    List& list = lists_[kind];
    auto* block = static_cast<Free*>(event);
    ORRERY_ASSERT(block != list.head, "an event is freed once");
    block->next = list.head;
    list.head = block;
    if constexpr (kPools == Pools::many) {
      used_bytes_ -= static_cast<std::int64_t>(Sizes::bytes_of(kind));
      if (++list.count >= list.most) [[unlikely]]
        give_magazine(kind);
    }
  }
  /// Bytes of events allocated less those freed here; negative for one that frees what others
  /// allocated. The sum over the threads is what is in use.
  std::int64_t used_bytes() const { return used_bytes_; }

 private:
  struct List {
    Free* head = nullptr;
    std::uint32_t count = 0;
    std::uint32_t most = 0;  ///< at that count a magazine goes to the depot
  };

  [[gnu::noinline]] void* refill(std::size_t kind) {
    List& list = lists_[kind];
    if (Free* magazine = depot_.take(kind)) {
      list.head = magazine->next;
      list.count = Sizes::magazine_of(kind) - 1;
      return magazine;
    }
    const std::size_t each = Sizes::bytes_of(kind);
    const MemoryPiece slab = slabs_.take(depot_, each);
    for (std::size_t at = (slab.bytes / each - 1) * each; at > 0; at -= each) {
      auto* block = reinterpret_cast<Free*>(slab.base + at);
      block->next = list.head;
      list.head = block;
      ++list.count;
    }
    return slab.base;
  }
  [[gnu::noinline]] void give_magazine(std::size_t kind) {
    const std::uint32_t events = Sizes::magazine_of(kind);
    List& list = lists_[kind];
    Free* magazine = list.head;
    Free* last = magazine;
    for (std::uint32_t i = 1; i < events; ++i) last = last->next;
    list.head = last->next;
    last->next = nullptr;
    list.count -= events;
    depot_.give(kind, magazine);
  }

  EventDepot& depot_;
  [[no_unique_address]] Slabs slabs_;
  std::array<List, Sizes::kKinds> lists_{};
  std::int64_t used_bytes_ = 0;
};

}  // namespace orrery
