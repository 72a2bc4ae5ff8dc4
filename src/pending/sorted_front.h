// SPDX-License-Identifier: Apache-2.0
//
// The next few events of a bucketed pending set, in order.
//
//              typical                                  worst case
//   load       rank sort of at most 48 entries without  the same, and 48^2/2 moves where times
//              branches, 2 to 4 ns an entry             differ by less than 2^-25 of their range
//   push       shift of a quarter of at most 64         O(log n), into the side heap
//   pop        O(1)                                     O(log n), from the side heap
//   memory     3 KiB                                    and the side heap
//
// In a sorted array a pop is the increment of an index, and a push is cheap as long as few entries
// must move. Entries that do not fit go to a side heap, and a pop takes the lower of the two. The
// side heap is nearly always empty, which costs one well predicted branch. Thus no pattern of
// pushes, stragglers and many events at one instant included, makes the front slower than a heap.
// When the side heap grows, the owner may take everything back and partition it more finely.
//
// Sorting by rank (for each entry, count the entries that precede it) needs the most comparisons.
// It is still the fastest for a few dozen entries, since mispredictions dominate a sort that
// branches on random keys. Measured here at 12 entries: 3.0 ns an entry against 9 for insertion
// sort and 10 for std::sort. Sets of at most 64 events lie in the front entirely, or nearly.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "pending/bucket_pool.h"
#include "pending/dary_heap.h"
#include "pending/pending_set.h"

namespace orrery::pending {

template <class Event, class Probe = NoProbe>
class SortedFront {
  using EntryT = Entry<Event>;
  using Pool = BucketPool<Event>;
  using Bucket = typename Pool::Bucket;

 public:
  /// Largest number of entries that `load` accepts.
  static constexpr std::size_t kLoadLimit = 48;

  bool empty() const { return begin_ == end_ && side_.empty(); }
  std::size_t size() const { return array_size() + side_.size(); }
  std::size_t side_size() const { return side_.size(); }
  std::size_t bytes() const { return side_.bytes() - sizeof(side_); }

  /// The lowest event. The front must not be empty.
  Event* top() const { return side_is_next() ? side_.top() : slots_[begin_].event; }

  Event* pop() {
    if (side_is_next()) [[unlikely]]
      return side_.pop();
    return slots_[begin_++].event;
  }

  const Event* upcoming(std::size_t i) const {
    return i < array_size() ? slots_[begin_ + i].event : side_.upcoming(i);
  }

  /// Returns whether the entry went to the side heap.
  bool push(EntryT entry) {
    if (array_size() >= kCapacity) {
      side_.push(entry);
      return true;
    }
    insert(entry);
    return false;
  }

  /// Takes over a bucket of at most kLoadLimit entries; the array must be empty. The events will be
  /// read soon, so they are prefetched and may arrive during the sort.
  void load(Pool& pool, Bucket bucket) {
    std::array<EntryT, kLoadLimit> unsorted;
    std::size_t count = 0;
    pool.consume(bucket, [&](const EntryT& entry) {
      __builtin_prefetch(entry.event, 1);
      unsorted[count++] = entry;
    });
    load(unsorted.data(), count);
  }

  /// Takes over a bucket of any length, into the side heap.
  void load_side(Pool& pool, Bucket bucket) {
    side_.reserve(side_.size() + Pool::count(bucket));
    pool.consume(bucket, [&](const EntryT& entry) { side_.append(entry); });
    side_.heapify();
  }

  /// Calls f(entry) for all entries, in any order, and empties the front. `f` must not access the
  /// front.
  template <class F>
  void take_back(F f) {
    Probe::steps(size());
    for (std::size_t i = begin_; i < end_; ++i) f(slots_[i]);
    begin_ = end_ = kCapacity;
    side_.drain_entries(f);
  }

 private:
  static constexpr std::size_t kCapacity = 64;  // entries in the array; more go to the side heap
  static constexpr std::size_t kFew = 8;        // up to here the vectors' set-up costs too much

  std::size_t array_size() const { return end_ - begin_; }

  void load(const EntryT* unsorted, std::size_t count) {
    Probe::steps(count * count / 2 + 1);
    begin_ = kCapacity;
    end_ = kCapacity + count;
    if (count <= kFew) {
      rank_sort_few(unsorted, count, &slots_[begin_]);
    } else {
      rank_sort_many(unsorted, count, &slots_[begin_]);
    }
    finish_order();
  }

  bool side_is_next() const {
    if (side_.empty()) [[likely]]
      return false;
    if (begin_ == end_) return true;
    Probe::steps(1);
    return precedes(side_.front(), slots_[begin_]);
  }

  /// Walks from the nearer end and shifts the entries that it passes by one. (A search and one
  /// block move are slower: the move reads in one piece what several stores have just written,
  /// which stalls.)
  void insert(EntryT entry) {
    if (begin_ == 0 || end_ == slots_.size()) [[unlikely]]
      move_to_middle();
    if (begin_ < end_ && precedes(entry, slots_[(begin_ + end_) / 2])) {
      insert_from_below(entry);
    } else {
      insert_from_above(entry);
    }
  }

  /// Makes room at both ends, for at least kCapacity / 2 insertions.
  void move_to_middle() {
    const std::size_t count = array_size();
    const std::size_t begin = (slots_.size() - count) / 2;
    Probe::steps(count);
    std::memmove(&slots_[begin], &slots_[begin_], count * sizeof(EntryT));
    begin_ = begin;
    end_ = begin + count;
  }

  void insert_from_below(EntryT entry) {
    std::size_t at = --begin_;
    for (; at + 1 < end_ && precedes(slots_[at + 1], entry); ++at) slots_[at] = slots_[at + 1];
    Probe::steps(at - begin_ + 1);
    slots_[at] = entry;
  }

  void insert_from_above(EntryT entry) {
    std::size_t at = end_++;
    for (; at > begin_ && precedes(entry, slots_[at - 1]); --at) slots_[at] = slots_[at - 1];
    Probe::steps(end_ - at);
    slots_[at] = entry;
  }

  /// Sorts a few entries by their ranks: the place of an entry is the number of entries that
  /// precede it, counted without branches. Entries of equal time keep their order here.
  static void rank_sort_few(const EntryT* from, std::size_t count, EntryT* to) {
    std::array<std::uint32_t, kFew> rank;
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t time = from[i].time;
      std::uint32_t lower = 0;
      for (std::size_t j = 0; j < i; ++j) {
        const std::uint32_t after = time < from[j].time;
        rank[j] += after;
        lower += 1 - after;
      }
      rank[i] = lower;
    }
    for (std::size_t i = 0; i < count; ++i) to[rank[i]] = from[i];
  }

  using Lanes = std::int32_t __attribute__((vector_size(16)));
  static constexpr std::size_t kLanes = 4;

  /// As rank_sort_few for up to kLoadLimit entries, four comparisons at a time. It ranks 31-bit
  /// keys: the leading 25 bits of the distance to the least time, then the position, which makes
  /// keys distinct. Entries that these bits do not separate are left to `finish_order`.
  static void rank_sort_many(const EntryT* from, std::size_t count, EntryT* to) {
    alignas(16) std::array<std::int32_t, kLoadLimit> keys;
    alignas(16) std::array<std::int32_t, kLoadLimit> rank;
    pack_keys(from, count, keys.data());
    for (std::size_t j = 0; j < count; j += kLanes) {
      const Lanes mine = load_lanes(&keys[j]);
      Lanes even{};
      Lanes odd{};
      for (std::size_t i = 0; i < count; i += kLanes) {
        Lanes other = load_lanes(&keys[i]);
        even -= mine > other;  // a comparison yields -1 where it holds
        other = rotate(other);
        odd -= mine > other;
        other = rotate(other);
        even -= mine > other;
        other = rotate(other);
        odd -= mine > other;
      }
      even += odd;
      std::memcpy(&rank[j], &even, sizeof(even));
    }
    for (std::size_t i = 0; i < count; ++i) to[rank[i]] = from[i];
  }

  static void pack_keys(const EntryT* from, std::size_t count, std::int32_t* keys) {
    std::int64_t least = from[0].time;
    std::int64_t greatest = least;
    for (std::size_t i = 1; i < count; ++i) {
      least = std::min(least, from[i].time);
      greatest = std::max(greatest, from[i].time);
    }
    const std::uint64_t origin = static_cast<std::uint64_t>(least);
    const auto width =
        static_cast<int>(std::bit_width(static_cast<std::uint64_t>(greatest) - origin));
    const int shift = std::max(0, width - 25);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t distance = (static_cast<std::uint64_t>(from[i].time) - origin) >> shift;
      keys[i] = static_cast<std::int32_t>((distance << 6) | i);
    }
    for (; count % kLanes != 0; ++count) keys[count] = std::numeric_limits<std::int32_t>::max();
  }

  static Lanes load_lanes(const std::int32_t* from) {
    Lanes lanes;
    std::memcpy(&lanes, from, sizeof(lanes));
    return lanes;
  }
  static Lanes rotate(Lanes lanes) { return __builtin_shufflevector(lanes, lanes, 1, 2, 3, 0); }

  /// Insertion sort, for entries that are in order except for a few neighbours.
  void finish_order() {
    for (std::size_t i = begin_ + 1; i < end_; ++i) {
      if (slots_[i - 1].time < slots_[i].time) [[likely]]
        continue;
      const EntryT entry = slots_[i];
      std::size_t at = i;
      for (; at > begin_ && precedes(entry, slots_[at - 1]); --at) slots_[at] = slots_[at - 1];
      Probe::steps(i - at + 1);
      slots_[at] = entry;
    }
  }

  // Loads go to the middle third, so that a full array has room at one end at least.
  std::array<EntryT, 3 * kCapacity> slots_;
  std::size_t begin_ = kCapacity;
  std::size_t end_ = kCapacity;
  DaryHeap<Event, Probe> side_;
};

}  // namespace orrery::pending
