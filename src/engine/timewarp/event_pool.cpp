// SPDX-License-Identifier: Apache-2.0
#include "engine/timewarp/event_pool.h"

#include <sys/mman.h>

#include <new>

namespace orrery::timewarp {
namespace {
constexpr std::size_t kSlabBytes = 64 * 1024;  // beyond a few of these: kLargeSlabBytes
constexpr std::size_t kLargeSlabBytes = 2 * 1024 * 1024;
constexpr std::size_t kSmallStart = 16 * kSlabBytes;
}  // namespace

EventDepot::~EventDepot() {
  for (const Slab& slab : slabs_) munmap(slab.memory, slab.bytes);
}

void EventDepot::give(std::size_t kind, TwEvent* magazine) {
  const std::lock_guard lock(mutex_);
  magazines_[kind].push_back(magazine);
}

TwEvent* EventDepot::take(std::size_t kind) {
  const std::lock_guard lock(mutex_);
  auto& magazines = magazines_[kind];
  if (magazines.empty()) return nullptr;
  TwEvent* magazine = magazines.back();
  magazines.pop_back();
  return magazine;
}

std::byte* EventDepot::take_slab(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  if (bytes >= kLargeSlabBytes) madvise(memory, bytes, MADV_HUGEPAGE);  // only a hint
  const std::lock_guard lock(mutex_);
  slabs_.push_back({memory, bytes});
  slab_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  return static_cast<std::byte*>(memory);
}

void* EventPool::refill(std::size_t kind) {
  List& list = lists_[kind];
  if (TwEvent* magazine = depot_.take(kind)) {
    list.head = magazine->first_sent;
    list.count = event_memory::magazine_of(kind) - 1;
    return magazine;
  }
  const std::size_t each = event_memory::bytes_of(kind);
  const memory::Arena::Piece slab = take_slab(each);
  for (std::size_t at = (slab.bytes / each - 1) * each; at > 0; at -= each) {
    auto* event = reinterpret_cast<TwEvent*>(slab.base + at);
    event->first_sent = list.head;
    list.head = event;
    ++list.count;
  }
  return slab.base;
}

memory::Arena::Piece EventPool::take_slab(std::size_t least_bytes) {
  memory::Arena::Piece piece = arena_.take_piece(memory::Access::intensive, least_bytes);
  if (piece.base == nullptr)
    piece = arena_.take_spare_piece(memory::Access::intensive, least_bytes);
  if (piece.base != nullptr) {
    depot_.note_slab(piece.bytes);
    return piece;
  }
  std::size_t bytes = depot_.slab_bytes() < kSmallStart ? kSlabBytes : kLargeSlabBytes;
  if (least_bytes > bytes) bytes = (least_bytes + 4095) / 4096 * 4096;
  return {depot_.take_slab(bytes), bytes};
}

void EventPool::give_magazine(std::size_t kind) {
  const std::uint32_t events = event_memory::magazine_of(kind);
  List& list = lists_[kind];
  TwEvent* magazine = list.head;
  TwEvent* last = magazine;
  for (std::uint32_t i = 1; i < events; ++i) last = last->first_sent;
  list.head = last->first_sent;
  last->first_sent = nullptr;
  list.count -= events;
  depot_.give(kind, magazine);
}

}  // namespace orrery::timewarp
