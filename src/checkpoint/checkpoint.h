// SPDX-License-Identifier: Apache-2.0
//
// A checkpoint holds the data for bringing an LP back to its state before the event with a given
// ordinal. An LP's checkpoints form a list, newest first, of two kinds that may be mixed:
//   image    a copy of the live memory, complete in itself
//   delta    which chunks were live, and the way back from the next newer delta to this one; the
//            contents of the newest delta are in the LP's shadow (incremental.h)
// A rollback restores the newest checkpoint that is not after its target and executes the events
// between again ("coasting forward"). A third kind of record, reverse, says how the model's reverse
// handler undoes the event with that ordinal. These records form a list of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/kernel_state.h"
#include "core/ledger.h"
#include "memory/block_pool.h"
#include "memory/lp_heap.h"

namespace orrery::checkpoint {

using orrery::KernelState;

enum class Kind : std::uint8_t { image, delta, reverse };

struct alignas(16) Checkpoint {
  Checkpoint* older;
  std::uint32_t ordinal;  ///< of the event that follows the checkpoint (wraps)
  Kind kind;
  Ledger::Extent ledger_before;  ///< of a reverse record: size of the LP's ledger
  KernelState kernel;
  std::uint64_t image_bytes;

  std::byte* image() { return reinterpret_cast<std::byte*>(this + 1); }
  std::size_t block_bytes() const { return sizeof(Checkpoint) + image_bytes; }

  /// For a delta: the way back to it from the next newer delta. The layout follows in the image.
  struct Back {
    std::byte* steps;
    std::uint64_t bytes;
  };
  Back& back() { return *reinterpret_cast<Back*>(image()); }
  std::byte* layout() { return image() + sizeof(Back); }
};
static_assert(sizeof(Checkpoint) == 48);

/// How a worker writes images: into the caches, or past them. The memory of an image serves again
/// only after the next GVT round. So if the images between two rounds fill the last-level cache, an
/// image has left the caches before its memory serves again. Written into the caches, it would cost
/// a read of each line from memory, and push out the model.
class ImageWriting {
 public:
  /// Counts images that are written past the caches in `streamed`.
  explicit ImageWriting(std::uint64_t& streamed) : streamed_(streamed) {}

  /// After a GVT round. `stream_from`: bytes of images from round to round, from which on the next
  /// images are written past the caches. The mean of many rounds decides: a round that took long by
  /// chance says little, and while images are written past the caches, rounds can take longer.
  void choose(std::size_t stream_from) {
    mean_bytes_ += (static_cast<double>(std::exchange(bytes_, 0)) - mean_bytes_) / kRounds;
    streams_ = mean_bytes_ >= static_cast<double>(stream_from);
  }
  void write(const memory::LpHeap& heap, Checkpoint& checkpoint) {
    bytes_ += checkpoint.image_bytes;
    if (!streams_) [[likely]] {
      heap.save(checkpoint.image());
    } else {
      heap.stream(checkpoint.image());
      ++streamed_;
    }
  }

 private:
  static constexpr double kRounds = 16;

  bool streams_ = false;
  std::size_t bytes_ = 0;  ///< since the last round
  double mean_bytes_ = 0;  ///< from round to round
  std::uint64_t& streamed_;
};

inline Checkpoint* make(memory::BlockPool& pool, Kind kind, std::size_t image_bytes,
                        const KernelState& kernel, std::uint32_t ordinal, Checkpoint* older) {
  auto* checkpoint = static_cast<Checkpoint*>(pool.allocate(sizeof(Checkpoint) + image_bytes));
  checkpoint->older = older;
  checkpoint->ordinal = ordinal;
  checkpoint->kind = kind;
  checkpoint->kernel = kernel;
  checkpoint->image_bytes = image_bytes;
  return checkpoint;
}

inline Checkpoint* take(memory::BlockPool& pool, const memory::LpHeap& heap,
                        const KernelState& kernel, std::uint32_t ordinal, Checkpoint* older,
                        ImageWriting& writing) {
  Checkpoint* checkpoint = make(pool, Kind::image, heap.image_bytes(), kernel, ordinal, older);
  writing.write(heap, *checkpoint);
  return checkpoint;
}

/// The same for a heap of one chunk (LpHeap::single_chunk), whose state is not read.
inline Checkpoint* take_single(memory::BlockPool& pool, const void* chunk, std::size_t chunk_bytes,
                               const KernelState& kernel, std::uint32_t ordinal,
                               Checkpoint* older) {
  Checkpoint* checkpoint = make(pool, Kind::image, memory::LpHeap::kSingleHeaderBytes + chunk_bytes,
                                kernel, ordinal, older);
  memory::LpHeap::save_single(chunk, chunk_bytes, checkpoint->image());
  return checkpoint;
}

inline void release(memory::BlockPool& pool, Checkpoint* checkpoint) {
  if (checkpoint->kind == Kind::delta && checkpoint->back().steps != nullptr)
    pool.release(checkpoint->back().steps, checkpoint->back().bytes);
  pool.release(checkpoint, checkpoint->block_bytes());
}

/// Releases `list` and everything older than it.
inline void release_all(memory::BlockPool& pool, Checkpoint* list) {
  while (list != nullptr) {
    Checkpoint* older = list->older;
    release(pool, list);
    list = older;
  }
}

/// Distance between two ordinals, which wrap.
inline std::int32_t difference(std::uint32_t later, std::uint32_t earlier) {
  return static_cast<std::int32_t>(later - earlier);
}

/// The newest checkpoint in `list` from which coasting forward reaches the state before event
/// `ordinal`. The list must have one.
inline Checkpoint* base_for(Checkpoint* list, std::uint32_t ordinal) {
  while (difference(list->ordinal, ordinal) > 0) list = list->older;
  return list;
}

}  // namespace orrery::checkpoint
