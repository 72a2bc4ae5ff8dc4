// SPDX-License-Identifier: Apache-2.0
//
// Events of a set that are executed and not final: an event of another set with a lower key may
// fail, and then the run ends before them. Nothing is executed again, so the log keeps only each
// LP's fingerprint before the event. A set is executed in the order of keys, so the log is in that
// order: half a cache line per event, and a commit removes final events at the front.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "core/key.h"
#include "run/containment/faults.h"

namespace orrery {

class FingerprintLog {
 public:
  [[gnu::always_inline]] void add(const Key& key, LpId lp, std::uint64_t hash_before) {
    if (count_ == capacity_) [[unlikely]]
      grow();
    entries_[count_++] = {key, lp, hash_before};
    highest_microstep_ = std::max(highest_microstep_, key.microstep());
  }
  std::size_t size() const { return count_ - first_; }
  /// Removes the events before `key`, which are final, and notes them in `trail`.
  void forget(const Key& key, LivelockTrail& trail) {
    if (first_ == count_) return;
    if (entries_[count_ - 1] < key && !trail.concerns(highest_microstep_)) return clear();
    const Entry* const begin = entries_.get() + first_;
    const Entry* const end = entries_.get() + count_;
    const Entry* const kept = std::lower_bound(begin, end, key);
    for (const Entry* entry = begin; entry != kept; ++entry) trail.note(*entry, entry->lp);
    first_ = static_cast<std::size_t>(kept - entries_.get());
    if (2 * first_ >= count_) move_to_front();
  }
  /// Takes the events after `fault` back from the fingerprints; returns how many.
  template <class Lps>
  std::uint64_t take_back(const Key& fault, Lps&& lps) {
    const std::size_t before = count_;
    for (; count_ > first_ && entries_[count_ - 1] > fault; --count_)
      lps[entries_[count_ - 1].lp].kernel.hash = entries_[count_ - 1].hash_before;
    return before - count_;
  }
  std::size_t bytes() const { return capacity_ * sizeof(Entry); }

 private:
  struct Entry : Key {
    Entry() = default;
    Entry(const Key& key, LpId id, std::uint64_t hash) : Key(key), lp(id), hash_before(hash) {}
    LpId lp = 0;
    std::uint64_t hash_before = 0;
  };
  static_assert(sizeof(Entry) == 32);

  void clear() {
    first_ = count_ = 0;
    highest_microstep_ = 0;
  }

  [[gnu::noinline]] void grow() {
    const std::size_t capacity = std::max<std::size_t>(64, 2 * capacity_);
    auto entries = std::make_unique<Entry[]>(capacity);
    std::copy_n(entries_.get(), count_, entries.get());
    entries_ = std::move(entries);
    capacity_ = capacity;
  }
  /// Called when no more entries are left than were removed, so that it costs O(1) per entry.
  void move_to_front() {
    std::copy(entries_.get() + first_, entries_.get() + count_, entries_.get());
    count_ -= first_;
    first_ = 0;
  }

  std::unique_ptr<Entry[]> entries_;
  std::size_t first_ = 0, count_ = 0, capacity_ = 0;
  std::uint32_t highest_microstep_ = 0;  ///< of the entries since the last clear()
};

}  // namespace orrery
