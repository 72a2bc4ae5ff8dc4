// SPDX-License-Identifier: Apache-2.0
//
// A checkpoint: an image of an LP's live memory and of its kernel state (fingerprint, random
// stream, send count), taken before the event with a given ordinal. An LP's checkpoints form a
// list, newest first; a rollback restores the newest that is not after its target and executes the
// events between again ("coasting forward").
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory/block_pool.h"
#include "memory/lp_heap.h"

namespace orrery::checkpoint {

/// The part of an LP's rollback state that the platform keeps.
struct KernelState {
  std::uint64_t hash = 0;             ///< running fingerprint
  std::uint64_t random_position = 0;  ///< next block of the random stream
  std::uint64_t sends = 0;            ///< send count
};

struct alignas(16) Checkpoint {
  Checkpoint* older;
  std::uint32_t ordinal;  ///< of the event before which it was taken (wraps)
  KernelState kernel;
  std::uint64_t image_bytes;

  std::byte* image() { return reinterpret_cast<std::byte*>(this + 1); }
  std::size_t block_bytes() const { return sizeof(Checkpoint) + image_bytes; }
};
static_assert(sizeof(Checkpoint) == 48);

inline Checkpoint* make(memory::BlockPool& pool, std::size_t image_bytes, const KernelState& kernel,
                        std::uint32_t ordinal, Checkpoint* older) {
  auto* checkpoint = static_cast<Checkpoint*>(pool.allocate(sizeof(Checkpoint) + image_bytes));
  checkpoint->older = older;
  checkpoint->ordinal = ordinal;
  checkpoint->kernel = kernel;
  checkpoint->image_bytes = image_bytes;
  return checkpoint;
}

inline Checkpoint* take(memory::BlockPool& pool, const memory::LpHeap& heap,
                        const KernelState& kernel, std::uint32_t ordinal, Checkpoint* older) {
  Checkpoint* checkpoint = make(pool, heap.image_bytes(), kernel, ordinal, older);
  heap.save(checkpoint->image());
  return checkpoint;
}

/// The same for a heap of one chunk (LpHeap::single_chunk), whose state is not touched.
inline Checkpoint* take_single(memory::BlockPool& pool, const void* chunk, std::size_t chunk_bytes,
                               const KernelState& kernel, std::uint32_t ordinal,
                               Checkpoint* older) {
  Checkpoint* checkpoint =
      make(pool, memory::LpHeap::kSingleHeaderBytes + chunk_bytes, kernel, ordinal, older);
  memory::LpHeap::save_single(chunk, chunk_bytes, checkpoint->image());
  return checkpoint;
}

/// Releases `list` and everything older than it.
inline void release_all(memory::BlockPool& pool, Checkpoint* list) {
  while (list != nullptr) {
    Checkpoint* older = list->older;
    pool.release(list, list->block_bytes());
    list = older;
  }
}

}  // namespace orrery::checkpoint
