// SPDX-License-Identifier: Apache-2.0
//
// Memory for events of any engine: free blocks by size, last freed first used, so that the next
// event sent uses the cache lines of the event that was just handled. An allocation is a few loads
// and stores once warm. Sizes are multiples of a granule (half a cache line if one thread has all
// events, a whole line if several threads touch them), and powers of two from 1 KiB on.
//
// Each thread has a pool. Where another thread frees events than allocates them, one pool would
// overflow and another run dry: whole magazines pass through a depot that all threads share
// (Bonwick and Adams, "Magazines and Vmem: Extending the slab allocator to many CPUs and arbitrary
// resources", USENIX 2001), behind a mutex that is locked once in hundreds of events. The slabs
// live as long as the depot. AddressSanitizer reports uses of freed events (memory/poison.h).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/assert.h"
#include "memory/application_mode.h"
#include "memory/poison.h"

namespace orrery {

struct MemoryPiece {
  std::byte* base = nullptr;
  std::size_t bytes = 0;
};

namespace event_memory {
inline constexpr std::size_t kSteps = 1024;  ///< bytes up to which sizes are multiples of a granule
inline constexpr std::size_t kPowers = 24;   ///< powers of two above

/// The block sizes of a pool with this granule.
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
  /// Blocks in a magazine: as many as make 32 KiB.
  static constexpr std::uint32_t magazine_of(std::size_t kind) {
    const std::size_t events = kind == 0 ? 1 : 32768 / bytes_of(kind);
    return events == 0 ? 1 : static_cast<std::uint32_t>(events);
  }
};
}  // namespace event_memory

/// Magazines that no thread currently needs, and the slabs of all threads.
class EventDepot {
 public:
  /// As many free blocks of one kind as make a magazine.
  using Magazine = std::unique_ptr<void*[]>;

  EventDepot() = default;
  EventDepot(const EventDepot&) = delete;
  EventDepot& operator=(const EventDepot&) = delete;
  ~EventDepot() { clear(); }

  /// Returns all memory to the system. No pool may be used and no event touched afterwards.
  void clear();

  void give(std::size_t kind, Magazine magazine);
  /// A full magazine or nullptr.
  Magazine take(std::size_t kind);
  /// Fresh memory of at least that size, aligned to a page. Throws std::bad_alloc.
  MemoryPiece take_slab(std::size_t least_bytes);
  /// Counts memory that a pool has taken elsewhere.
  void note_slab(std::size_t bytes) { slab_bytes_.fetch_add(bytes, std::memory_order_relaxed); }
  /// Bytes taken from the system so far.
  std::size_t slab_bytes() const { return slab_bytes_.load(std::memory_order_relaxed); }

 private:
  std::mutex mutex_;
  std::vector<std::vector<Magazine>> magazines_;
  std::vector<MemoryPiece> slabs_;
  std::atomic<std::size_t> slab_bytes_{0};  // a statistic: relaxed
};

/// Slabs from the depot.
struct DepotSlabs {
  MemoryPiece take(EventDepot& depot, std::size_t least_bytes) {
    return depot.take_slab(least_bytes);
  }
};

/// How many threads use the pools of a run.
enum class Pools {
  one,   ///< one thread, one pool: nothing passes through the depot, no counts
  many,  ///< each thread has a pool
};

/// `Slabs` supplies memory: take(depot, least_bytes). Memory that is not the depot's may be freed
/// with the pool that took it. Since free blocks of one pool lie in others and in the depot, all
/// pools of a depot then end together, and none is used once the first has ended.
template <std::size_t kGranule, Pools kPools = Pools::many, class Slabs = DepotSlabs>
class EventPool;

/// For a single thread, which frees an event and allocates the next: a linked list of free blocks.
template <std::size_t kGranule, class Slabs>
class EventPool<kGranule, Pools::one, Slabs> {
  using Sizes = event_memory::Sizes<kGranule>;
  /// A free block; the link lies in the memory of the former event.
  struct Free {
    Free* next;
  };

 public:
  explicit EventPool(EventDepot& depot, Slabs slabs = {})
      : depot_(depot), slabs_(std::move(slabs)) {}
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;

  [[gnu::always_inline]] void* allocate(std::size_t bytes) {
    const std::size_t kind = Sizes::kind_of(bytes);
    Free* block = heads_[kind];
    if (block == nullptr) [[unlikely]]
      return refill(kind);
    heads_[kind] = block->next;
    memory::unpoison(block, Sizes::bytes_of(kind));
    return block;
  }
  [[gnu::always_inline]] void release(void* event, std::size_t bytes) {
    const std::size_t kind = Sizes::kind_of(bytes);
    Free*& head = heads_[kind];
    auto* block = static_cast<Free*>(event);
    ORRERY_ASSERT(block != head, "an event is freed once");
    block->next = head;
    head = block;
    memory::poison(block + 1, Sizes::bytes_of(kind) - sizeof(Free));
  }
  /// Not counted here.
  std::int64_t used_bytes() const { return 0; }

 private:
  [[gnu::noinline]] void* refill(std::size_t kind) {
    const std::size_t each = Sizes::bytes_of(kind);
    const MemoryPiece slab = slabs_.take(depot_, each);
    for (std::size_t at = (slab.bytes / each - 1) * each; at > 0; at -= each) {
      auto* block = reinterpret_cast<Free*>(slab.base + at);
      block->next = heads_[kind];
      heads_[kind] = block;
    }
    return slab.base;
  }

  EventDepot& depot_;
  [[no_unique_address]] Slabs slabs_;
  std::array<Free*, Sizes::kKinds> heads_{};
};

/// For one of several threads. Events are freed in bulk, when they commit; their lines have left
/// the nearest cache by then, or lie in another core's: a stack of pointers does not touch these
/// lines, and shows early which blocks come next.
template <std::size_t kGranule, class Slabs>
class EventPool<kGranule, Pools::many, Slabs> {
  using Sizes = event_memory::Sizes<kGranule>;

 public:
  explicit EventPool(EventDepot& depot, Slabs slabs = {})
      : depot_(depot), slabs_(std::move(slabs)) {}
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;

  /// Throws std::bad_alloc.
  [[gnu::always_inline]] void* allocate(std::size_t bytes) {
    const std::size_t kind = Sizes::kind_of(bytes);
    Stack& stack = stacks_[kind];
    if (stack.count == 0) [[unlikely]]
      refill(kind);
    used_bytes_ += static_cast<std::int64_t>(Sizes::bytes_of(kind));
    void** top = &stack.blocks[kAhead + --stack.count];
    __builtin_prefetch(top[-static_cast<std::ptrdiff_t>(kAhead)], 1);
    memory::unpoison(*top, Sizes::bytes_of(kind));
    return *top;
  }
  /// By any thread, for events that any thread has allocated.
  [[gnu::always_inline]] void release(void* event, std::size_t bytes) {
    const std::size_t kind = Sizes::kind_of(bytes);
    Stack& stack = stacks_[kind];
    used_bytes_ -= static_cast<std::int64_t>(Sizes::bytes_of(kind));
    if (stack.count == stack.most) [[unlikely]]
      make_room(kind);
    ORRERY_ASSERT(stack.count == 0 || event != stack.blocks[kAhead + stack.count - 1],
                  "an event is freed once");
    stack.blocks[kAhead + stack.count++] = event;
    memory::poison(event, Sizes::bytes_of(kind));
  }
  /// Bytes of events allocated less those freed here; negative if the thread frees events of
  /// others. The sum over the threads is the memory in use.
  std::int64_t used_bytes() const { return used_bytes_; }

 private:
  static constexpr std::size_t kAhead = 4;         ///< allocations for which lines are prefetched
  static constexpr std::size_t kFreshBlocks = 16;  ///< taken from a slab at once
  static constexpr std::uint32_t kMagazines = 4;   ///< most magazines that a thread keeps

  struct Stack {
    std::unique_ptr<void*[]> blocks;  ///< from index kAhead on; earlier ones are only prefetched
    std::uint32_t count = 0;
    std::uint32_t most = 0;  ///< 0: no memory yet
    MemoryPiece fresh;       ///< unused rest of the last slab
  };

  /// Puts at least one block on the stack.
  [[gnu::noinline]] void refill(std::size_t kind) {
    Stack& stack = stacks_[kind];
    if (stack.most == 0) make_stack(kind);
    if (const EventDepot::Magazine magazine = depot_.take(kind)) {
      std::copy_n(magazine.get(), Sizes::magazine_of(kind), &stack.blocks[kAhead]);
      stack.count = Sizes::magazine_of(kind);
      return;
    }
    const std::size_t each = Sizes::bytes_of(kind);
    MemoryPiece& fresh = stack.fresh;
    if (fresh.bytes < each) fresh = slabs_.take(depot_, each);
    const std::size_t blocks =
        std::min({kFreshBlocks, std::size_t{Sizes::magazine_of(kind)}, fresh.bytes / each});
    for (std::size_t i = blocks; i-- > 0;)
      stack.blocks[kAhead + stack.count++] = fresh.base + i * each;
    fresh = {fresh.base + blocks * each, fresh.bytes - blocks * each};
  }
  [[gnu::noinline]] void make_room(std::size_t kind) {
    stacks_[kind].most == 0 ? make_stack(kind) : give_magazine(kind);
  }
  void make_stack(std::size_t kind) {
    const memory::PlatformMode platform;  // a handler's send may have led here
    const std::uint32_t most = kMagazines * Sizes::magazine_of(kind);
    stacks_[kind].blocks = std::make_unique<void*[]>(kAhead + most);
    stacks_[kind].most = most;
  }
  /// Gives the blocks that have been free for longest, since the others are more likely in the
  /// cache.
  void give_magazine(std::size_t kind) {
    Stack& stack = stacks_[kind];
    const std::uint32_t events = Sizes::magazine_of(kind);
    void** const first = &stack.blocks[kAhead];
    auto magazine = std::make_unique<void*[]>(events);
    std::copy_n(first, events, magazine.get());
    depot_.give(kind, std::move(magazine));
    stack.count -= events;
    std::copy_n(first + events, stack.count, first);
  }

  EventDepot& depot_;
  [[no_unique_address]] Slabs slabs_;
  std::array<Stack, Sizes::kKinds> stacks_{};
  std::int64_t used_bytes_ = 0;
};

}  // namespace orrery
