// SPDX-License-Identifier: Apache-2.0
#include "run/events/event_list.h"

#include <algorithm>

#include "core/huge_pages.h"
#include "memory/application_mode.h"

namespace orrery {

/// A large event gets a chunk of its own size, at the front: so the rest of the last chunk stays
/// usable, and no room behind the large event is wasted.
EventList::Chunk* EventList::add_chunk(std::size_t event_bytes) {
  const std::size_t share = std::clamp(bytes_ / kSharesOfList, kPageBytes, kMostChunkBytes);
  const std::size_t needed = sizeof(Chunk) + event_bytes;
  const bool large = needed > std::min(share, kLargeEventBytes);
  const std::size_t bytes = ((large ? needed : share) + kPageBytes - 1) / kPageBytes * kPageBytes;
  void* const piece =
      bytes < huge_pages::kPageBytes ? huge_pages::map_small(bytes) : huge_pages::map(bytes);
  if (piece == nullptr) memory::throw_refused(bytes);
  auto* const chunk = new (piece) Chunk{nullptr, bytes, sizeof(Chunk), sizeof(Chunk), 0};
  if (!large || first_ == nullptr) {
    append_chunk(chunk);
  } else {
    chunk->next = first_;
    first_ = chunk;
    bytes_ += bytes;
  }
  return chunk;
}

void EventList::append_chunk(Chunk* chunk) noexcept {
  chunk->next = nullptr;
  (last_ == nullptr ? first_ : last_->next) = chunk;
  last_ = chunk;
  size_ += chunk->events;
  bytes_ += chunk->bytes;
}

void EventList::drop_first() noexcept {
  Chunk* const chunk = first_;
  first_ = chunk->next;
  if (first_ == nullptr) last_ = nullptr;
  size_ -= chunk->events;
  bytes_ -= chunk->bytes;
  huge_pages::unmap(chunk, chunk->bytes);
}

}  // namespace orrery
