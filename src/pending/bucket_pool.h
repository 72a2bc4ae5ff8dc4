// SPDX-License-Identifier: Apache-2.0
//
// Unsorted buckets of entries that share one pool of chunks.
//
// A bucket is a chain of chunks of 256 bytes: a header and 15 entries. All chunks but the last are
// full, so one word describes a bucket: the address of its next entry, whose low bits show whether
// the chunk is full. Appending is then a load, a test and two stores, and hundreds of buckets can
// be written to in turn while their heads stay in the first-level cache. The memory depends on the
// number of entries, not on their distribution: 17 bytes an entry and at most one unfinished chunk
// a bucket in use. Consumed chunks are reused at once, last out first in, so redistributing a
// bucket writes to lines that are still in the cache.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>

#include "memory/application_mode.h"
#include "pending/pending_set.h"

namespace orrery::pending {

template <class Event>
class BucketPool {
  using EntryT = Entry<Event>;
  static constexpr std::size_t kChunkBytes = 256;
  static constexpr std::size_t kMinSlabChunks = 16;

  struct alignas(kChunkBytes) Chunk {
    Chunk* previous;
    std::size_t entries_before;  // in the chain, up to this chunk
    EntryT entries[kChunkBytes / sizeof(EntryT) - 1];
  };
  static constexpr std::size_t kChunkEntries = std::size(Chunk{}.entries);
  static_assert(sizeof(Chunk) == kChunkBytes);

 public:
  /// The place of a bucket's next entry, nullptr for an empty bucket. An address that is a multiple
  /// of the chunk size is one behind the end of a full chunk.
  using Bucket = EntryT*;

  BucketPool() = default;
  BucketPool(const BucketPool&) = delete;
  BucketPool& operator=(const BucketPool&) = delete;

  ~BucketPool() {
    while (slabs_ != nullptr) {
      Chunk* const slab = slabs_;
      slabs_ = slab->previous;
      ::operator delete (slab, std::align_val_t{kChunkBytes});
    }
  }

  /// Returns whether a chunk was added, as is always so for an empty bucket.
  bool append(Bucket& bucket, EntryT entry) {
    EntryT* place = bucket;
    const bool full = reinterpret_cast<std::uintptr_t>(place) % kChunkBytes == 0;
    if (full) [[unlikely]]
      place = extend(place);
    *place = entry;
    bucket = place + 1;
    return full;
  }

  static std::size_t count(Bucket bucket) {
    if (bucket == nullptr) return 0;
    const Chunk* const chunk = last_chunk(bucket);
    return chunk->entries_before + static_cast<std::size_t>(bucket - chunk->entries);
  }

  /// Returns the last entry and makes `bucket` the entries before it, which stay those of the bucket
  /// that `bucket` was copied from. Prefetches what later calls need.
  static const EntryT& take_last(Bucket& bucket) {
    const Chunk* const chunk = last_chunk(bucket);
    const EntryT* const entry = bucket - 1;
    if (entry != chunk->entries) [[likely]] {
      bucket = const_cast<Bucket>(entry);
    } else {
      bucket = end_of(chunk->previous);
      if (bucket != nullptr) prefetch(chunk->previous->previous);
    }
    return *entry;
  }
  /// Prefetches what the first calls of take_last need; the header of the last chunk is read.
  static void prefetch_last(Bucket bucket) {
    const Chunk* const chunk = last_chunk(bucket);
    prefetch(chunk);
    prefetch(chunk->previous);
  }

  /// Calls f(entry) for all entries, and keeps them.
  template <class F>
  static void for_each(Bucket bucket, F f) {
    while (bucket != nullptr) {
      const Chunk* const chunk = last_chunk(bucket);
      prefetch(chunk->previous);
      for (const EntryT* entry = chunk->entries; entry != bucket; ++entry) f(*entry);
      bucket = end_of(chunk->previous);
    }
  }

  /// Calls f(entry) for all entries and frees the bucket. `f` may append to other buckets.
  template <class F>
  void consume(Bucket bucket, F f) {
    while (bucket != nullptr) {
      Chunk* const chunk = last_chunk(bucket);
      Chunk* const previous = chunk->previous;
      prefetch(previous);
      for (const EntryT* entry = chunk->entries; entry != bucket; ++entry) f(*entry);
      chunk->previous = free_;
      free_ = chunk;
      bucket = end_of(previous);
    }
  }

  std::size_t bytes() const { return chunks_ * kChunkBytes; }

 private:
  static Chunk* last_chunk(Bucket bucket) {
    const auto address = reinterpret_cast<std::uintptr_t>(bucket - 1);
    return reinterpret_cast<Chunk*>(address & ~(kChunkBytes - 1));
  }

  static Bucket end_of(Chunk* chunk) {
    return chunk == nullptr ? nullptr : chunk->entries + kChunkEntries;
  }

  static void prefetch(const Chunk* chunk) {
    for (std::size_t offset = 0; offset < kChunkBytes; offset += 64) {
      __builtin_prefetch(reinterpret_cast<const char*>(chunk) + offset);
    }
  }

  /// Adds a chunk to the chain; returns the place of its first entry.
  EntryT* extend(Bucket full) {
    Chunk* const chunk = take_chunk();
    chunk->previous = full == nullptr ? nullptr : last_chunk(full);
    chunk->entries_before = full == nullptr ? 0 : chunk->previous->entries_before + kChunkEntries;
    return chunk->entries;
  }

  Chunk* take_chunk() {
    if (free_ != nullptr) {
      Chunk* const chunk = free_;
      free_ = chunk->previous;
      return chunk;
    }
    if (fresh_ == fresh_end_) add_slab();
    return fresh_++;
  }

  /// A slab grows the pool by an eighth; its first chunk links it to the slab before.
  [[gnu::noinline]] void add_slab() {
    const memory::PlatformMode platform;
    const std::size_t chunks = std::max(kMinSlabChunks, chunks_ / 8);
    auto* const slab =
        static_cast<Chunk*>(::operator new (chunks* kChunkBytes, std::align_val_t{kChunkBytes}));
    slab->previous = slabs_;
    slabs_ = slab;
    chunks_ += chunks;
    fresh_ = slab + 1;
    fresh_end_ = slab + chunks;
  }

  Chunk* free_ = nullptr;
  Chunk* fresh_ = nullptr;  // chunks of the newest slab that were never used
  Chunk* fresh_end_ = nullptr;
  Chunk* slabs_ = nullptr;
  std::size_t chunks_ = 0;
};

}  // namespace orrery::pending
