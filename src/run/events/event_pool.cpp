// SPDX-License-Identifier: Apache-2.0
#include "run/events/event_pool.h"

#include <new>
#include <utility>

#include "core/huge_pages.h"
#include "memory/application_mode.h"

namespace orrery {
namespace {
// Small runs take little memory; large slabs get huge pages if the system has them.
constexpr std::size_t kSlabBytes = 64 * 1024;  // after the first kSmallStart bytes: kLargeSlabBytes
constexpr std::size_t kLargeSlabBytes = 2 * 1024 * 1024;
constexpr std::size_t kSmallStart = 16 * kSlabBytes;
}  // namespace

void EventDepot::clear() {
  for (const MemoryPiece& slab : slabs_) {
    memory::unpoison(slab.base, slab.bytes);
    huge_pages::unmap(slab.base, slab.bytes);
  }
  slabs_.clear();
  magazines_.clear();
}

void EventDepot::give(std::size_t kind, Magazine magazine) {
  const std::lock_guard lock(mutex_);
  if (magazines_.size() <= kind) magazines_.resize(kind + 1);
  magazines_[kind].push_back(std::move(magazine));
}

EventDepot::Magazine EventDepot::take(std::size_t kind) {
  const std::lock_guard lock(mutex_);
  if (magazines_.size() <= kind || magazines_[kind].empty()) return nullptr;
  Magazine magazine = std::move(magazines_[kind].back());
  magazines_[kind].pop_back();
  return magazine;
}

MemoryPiece EventDepot::take_slab(std::size_t least_bytes) {
  const memory::PlatformMode platform;
  std::size_t bytes = slab_bytes() < kSmallStart ? kSlabBytes : kLargeSlabBytes;
  if (least_bytes > bytes) bytes = (least_bytes + 4095) / 4096 * 4096;
  memory::note_growth();
  const std::lock_guard lock(mutex_);
  slabs_.emplace_back();  // before mapping, so that the mapping cannot be lost
  void* memory = bytes < kLargeSlabBytes ? huge_pages::map_small(bytes) : huge_pages::map(bytes);
  if (memory == nullptr) {
    slabs_.pop_back();
    memory::throw_refused(bytes);
  }
  slabs_.back() = {static_cast<std::byte*>(memory), bytes};
  note_slab(bytes);
  return slabs_.back();
}

}  // namespace orrery
