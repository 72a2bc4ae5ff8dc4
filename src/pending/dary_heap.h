// SPDX-License-Identifier: Apache-2.0
//
// A 4-ary implicit heap: the simple pending event set with a bound on every single operation.
//
//              typical                        worst case
//   push       O(1), sifts up a step or two   O(log n), amortised over growing the array
//   pop        O(log n), half as many levels  O(log n), 4 comparisons a level
//              as a binary heap
//   top        O(1)                           O(1)
//   memory     16 bytes an event; the array grows by half, so at most 24
//
// Four children share one cache line (the root is placed so that each group of siblings starts a
// line), so each level on the way down costs one line, and there are half as many levels as in a
// binary heap. Conditional moves find the least of four, since no branch predictor can learn which
// child wins; only equal times branch. Slots behind the last entry hold a sentinel at the end of
// time, so that the last group needs no special case.
//
// `pop` lets the hole sink to the bottom and then lifts the last entry into it, as it nearly always
// belongs near the bottom: Wegener, "Bottom-up heapsort", Theoretical Computer Science 118 (1993).
// d-ary heaps and their cache behaviour: Johnson, "Priority queues with update and finding minimum
// spanning trees", Information Processing Letters 4 (1975); LaMarca and Ladner, "The influence of
// caches on the performance of heaps", ACM Journal of Experimental Algorithmics 1 (1996).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "pending/entry_array.h"
#include "pending/pending_set.h"

namespace orrery::pending {

template <class Event, class Probe = NoProbe>
class DaryHeap {
  using EntryT = Entry<Event>;
  static constexpr std::size_t kArity = 4;
  static constexpr std::size_t kMinCapacity = 64;

 public:
  DaryHeap() = default;

  void push(Event* event) { push(entry_of(event)); }

  void push(EntryT entry) {
    if (size_ + kArity >= entries_.capacity()) [[unlikely]]
      reserve(size_ + size_ / 2 + kMinCapacity);
    lift(size_++, entry);
  }

  Event* top() const { return size_ == 0 ? nullptr : entries_[0].event; }
  /// The lowest entry. The heap must not be empty.
  const EntryT& front() const { return entries_[0]; }

  Event* pop() {
    if (size_ == 0) return nullptr;
    Event* const lowest = entries_[0].event;
    const EntryT last = entries_[--size_];
    entries_[size_] = sentinel();
    if (size_ > 0) lift(sink_hole(), last);
    return lowest;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::size_t bytes() const { return sizeof(*this) + entries_.bytes(); }
  const Event* upcoming(std::size_t i) const { return i < size_ ? entries_[i].event : nullptr; }
  // The entries behind the root are in no order that would help prefetching.
  bool announces() const { return false; }
  const Event* announced() { return nullptr; }

  template <class F>
  void drain(F f) {
    drain_entries([&](const EntryT& entry) { f(entry.event); });
  }

  /// As drain, with the entries in place of the events.
  template <class F>
  void drain_entries(F f) {
    for (std::size_t i = 0; i < size_; ++i) f(entries_[i]);
    clear();
  }

  /// Appends an entry without restoring the order; call `heapify` afterwards.
  void append(EntryT entry) {
    if (size_ + kArity >= entries_.capacity()) [[unlikely]]
      reserve(size_ + size_ / 2 + kMinCapacity);
    entries_[size_++] = entry;
  }

  /// Restores the heap order after append, in O(n).
  void heapify() {
    Probe::steps(size_);
    for (std::size_t i = size_ < 2 ? 0 : (size_ - 2) / kArity + 1; i-- > 0;) sift_down(i);
  }

  /// Room for `count` entries.
  void reserve(std::size_t count) {
    const std::size_t old_capacity = entries_.capacity();
    if (count + kArity <= old_capacity) return;
    entries_.grow(count + kArity, old_capacity);
    std::fill(entries_.data() + old_capacity, entries_.data() + entries_.capacity(), sentinel());
  }

 private:
  static constexpr EntryT sentinel() { return {std::numeric_limits<std::int64_t>::max(), nullptr}; }

  /// As `precedes`, but either entry may be the sentinel, which follows everything.
  static bool before(const EntryT& a, const EntryT& b) {
    if (a.time != b.time) return a.time < b.time;
    if (a.event == nullptr || b.event == nullptr) return a.event != nullptr;
    return precedes(a, b);
  }

  /// Puts `entry` at `i` or at an ancestor of `i`.
  void lift(std::size_t i, EntryT entry) {
    while (i > 0) {
      const std::size_t parent = (i - 1) / kArity;
      Probe::steps(1);
      if (!precedes(entry, entries_[parent])) break;
      entries_[i] = entries_[parent];
      i = parent;
    }
    entries_[i] = entry;
  }

  /// Moves the least child up into the hole at the root, and so on down; returns the empty leaf.
  std::size_t sink_hole() {
    std::size_t hole = 0;
    for (std::size_t first = 1; first < size_; first = kArity * hole + 1) {
      const std::size_t child = first + least_of_four(&entries_[first]);
      entries_[hole] = entries_[child];
      hole = child;
    }
    return hole;
  }

  void sift_down(std::size_t i) {
    const EntryT entry = entries_[i];
    for (std::size_t first = kArity * i + 1; first < size_; first = kArity * i + 1) {
      const std::size_t child = first + least_of_four(&entries_[first]);
      if (!precedes(entries_[child], entry)) break;
      entries_[i] = entries_[child];
      i = child;
    }
    entries_[i] = entry;
  }

  /// Index of the least of four siblings, of which the first is not the sentinel.
  static std::size_t least_of_four(const EntryT* e) {
    Probe::steps(kArity);
    const std::size_t a = e[1].time < e[0].time;
    const std::size_t b = 2 + (e[3].time < e[2].time);
    const std::int64_t time_a = e[a].time;
    const std::int64_t time_b = e[b].time;
    const bool tied = (e[0].time == e[1].time) | (e[2].time == e[3].time) | (time_a == time_b);
    if (tied) [[unlikely]]
      return least_of_four_by_key(e);
    return time_b < time_a ? b : a;
  }

  static std::size_t least_of_four_by_key(const EntryT* e) {
    std::size_t least = 0;
    for (std::size_t i = 1; i < kArity; ++i) {
      if (before(e[i], e[least])) least = i;
    }
    return least;
  }

  void clear() {
    std::fill(entries_.data(), entries_.data() + size_, sentinel());
    size_ = 0;
  }

  EntryArray<Event, kArity - 1> entries_;
  std::size_t size_ = 0;
};

}  // namespace orrery::pending
