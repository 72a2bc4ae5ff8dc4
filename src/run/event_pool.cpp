// SPDX-License-Identifier: Apache-2.0
#include "run/event_pool.h"

#include <sys/mman.h>

#include <new>

namespace orrery {
namespace {
// Small runs take little, large ones get huge pages where the system has them.
constexpr std::size_t kSlabBytes = 64 * 1024;  // beyond a few of these: kLargeSlabBytes
constexpr std::size_t kLargeSlabBytes = 2 * 1024 * 1024;
constexpr std::size_t kSmallStart = 16 * kSlabBytes;
}  // namespace

EventDepot::~EventDepot() {
  for (const MemoryPiece& slab : slabs_) munmap(slab.base, slab.bytes);
}

void EventDepot::give(std::size_t kind, Free* magazine) {
  const std::lock_guard lock(mutex_);
  if (magazines_.size() <= kind) magazines_.resize(kind + 1);
  magazines_[kind].push_back(magazine);
}

EventDepot::Free* EventDepot::take(std::size_t kind) {
  const std::lock_guard lock(mutex_);
  if (magazines_.size() <= kind || magazines_[kind].empty()) return nullptr;
  Free* magazine = magazines_[kind].back();
  magazines_[kind].pop_back();
  return magazine;
}

MemoryPiece EventDepot::take_slab(std::size_t least_bytes) {
  std::size_t bytes = slab_bytes() < kSmallStart ? kSlabBytes : kLargeSlabBytes;
  if (least_bytes > bytes) bytes = (least_bytes + 4095) / 4096 * 4096;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  if (bytes >= kLargeSlabBytes) madvise(memory, bytes, MADV_HUGEPAGE);  // only a hint
  const std::lock_guard lock(mutex_);
  slabs_.push_back({static_cast<std::byte*>(memory), bytes});
  note_slab(bytes);
  return slabs_.back();
}

}  // namespace orrery
