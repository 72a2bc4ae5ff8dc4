// SPDX-License-Identifier: Apache-2.0
#include "engine/expanded/event_pool.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace orrery::expanded {
namespace {
constexpr std::size_t kSlabBytes = 256 * 1024;
}

EventDepot::~EventDepot() {
  for (void* slab : slabs_) std::free(slab);
}

void EventDepot::give(std::size_t kind, Event* pack) {
  const std::lock_guard lock(mutex_);
  packs_[kind].push_back(pack);
}

Event* EventDepot::take(std::size_t kind) {
  const std::lock_guard lock(mutex_);
  auto& packs = packs_[kind];
  if (packs.empty()) return nullptr;
  Event* pack = packs.back();
  packs.pop_back();
  return pack;
}

std::byte* EventDepot::take_slab(std::size_t bytes) {
  void* slab = std::aligned_alloc(kEventLineBytes, bytes);
  if (slab == nullptr) throw std::bad_alloc();
  const std::lock_guard lock(mutex_);
  slabs_.push_back(slab);
  bytes_ += bytes;
  return static_cast<std::byte*>(slab);
}

std::size_t EventDepot::bytes() {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

void* EventPool::refill(std::size_t kind) {
  List& list = lists_[kind];
  if (Event* pack = depot_.take(kind)) {
    list.head = pack->next;
    list.count = pack_of(kind) - 1;
    return pack;
  }
  const std::size_t each = bytes_of(kind);
  const std::size_t count = std::max<std::size_t>(1, kSlabBytes / each);
  std::byte* slab = depot_.take_slab(count * each);
  for (std::size_t i = count; i-- > 1;) {
    auto* event = reinterpret_cast<Event*>(slab + i * each);
    event->next = list.head;
    list.head = event;
    ++list.count;
  }
  return slab;
}

void EventPool::give_pack(std::size_t kind) {
  List& list = lists_[kind];
  Event* pack = list.head;
  Event* last = pack;
  for (std::uint32_t i = 1; i < pack_of(kind); ++i) last = last->next;
  list.head = last->next;
  last->next = nullptr;
  list.count -= pack_of(kind);
  depot_.give(kind, pack);
}

}  // namespace orrery::expanded
