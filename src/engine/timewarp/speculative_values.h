// SPDX-License-Identifier: Apache-2.0
//
// Values for mergeable statistics (core/mergeable_statistics.h) from events that may still be
// rolled back: for each LP in the order of its events. A worker's entries lie in one vector, linked
// to a list for each LP; free entries are reused, the one freed last first. LPs are found in a hash
// table (linear probing), since most LPs of a model may record nothing. So a value costs two or
// three cache lines, and nothing is allocated once the vector has reached its greatest size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/key.h"
#include "core/mergeable_statistics.h"

namespace orrery::timewarp {

class SpeculativeValues {
 public:
  void append(LpId lp, const Key& key, const Observation& value) {
    const std::uint32_t at = allocate();
    List& list = list_of(lp);
    entries_[at] = {key, value, list.last, kNone};
    (list.last == kNone ? list.first : entries_[list.last].newer) = at;
    list.last = at;
    ++held_;
  }
  /// Discards the values of the LP's events at or after `from`.
  void roll_back(LpId lp, const Key& from) {
    List* const list = find(lp);
    if (list == nullptr) return;
    while (list->last != kNone && entries_[list->last].key >= from) {
      const std::uint32_t at = std::exchange(list->last, entries_[list->last].older);
      (list->last == kNone ? list->first : entries_[list->last].newer) = kNone;
      release(at);
    }
  }
  /// Adds the values of the LP's events before `until` to `mergeable_statistics`.
  void commit(LpId lp, const Key& until, MergeableStatistics& mergeable_statistics) {
    List* const list = find(lp);
    if (list == nullptr) return;
    while (list->first != kNone && entries_[list->first].key < until) {
      mergeable_statistics.add(entries_[list->first].value);
      const std::uint32_t at = std::exchange(list->first, entries_[list->first].newer);
      (list->first == kNone ? list->last : entries_[list->first].older) = kNone;
      release(at);
    }
  }

  bool empty() const { return held_ == 0; }
  std::size_t bytes() const {
    return entries_.capacity() * sizeof(Entry) + lists_.capacity() * sizeof(List);
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  struct Entry {
    Key key;
    Observation value;
    std::uint32_t older, newer;
  };
  struct List {
    LpId lp;
    bool used = false;
    std::uint32_t first = kNone, last = kNone;
  };

  std::uint32_t allocate() {
    if (free_ == kNone) {
      entries_.emplace_back();
      return static_cast<std::uint32_t>(entries_.size() - 1);
    }
    return std::exchange(free_, entries_[free_].newer);
  }
  void release(std::uint32_t at) {
    entries_[at].newer = std::exchange(free_, at);
    --held_;
  }
  /// Where the LP's list is, or would be. Fibonacci hashing (Knuth, The Art of Computer
  /// Programming, vol. 3, 6.4): LPs of a worker are often neighbours.
  List& place_of(LpId lp) {
    const std::size_t mask = lists_.size() - 1;
    std::size_t at = (lp * std::uint64_t{0x9e3779b97f4a7c15}) >> 32 & mask;
    while (lists_[at].used && lists_[at].lp != lp) at = (at + 1) & mask;
    return lists_[at];
  }
  List* find(LpId lp) {
    if (held_ == 0) return nullptr;
    List& list = place_of(lp);
    return list.used ? &list : nullptr;
  }
  /// An LP that moves to another worker leaves an empty list.
  List& list_of(LpId lp) {
    if (2 * (used_ + 1) > lists_.size()) grow();
    List& list = place_of(lp);
    if (list.used) return list;
    ++used_;
    list = {lp, true, kNone, kNone};
    return list;
  }
  void grow() {
    constexpr std::size_t kFirst = 64;
    std::vector<List> old(lists_.empty() ? kFirst : 2 * lists_.size());
    old.swap(lists_);
    for (const List& list : old)
      if (list.used) place_of(list.lp) = list;
  }

  std::vector<Entry> entries_;
  std::vector<List> lists_;  ///< a power of two, at most half of them used
  std::size_t used_ = 0;
  std::uint32_t free_ = kNone;
  std::size_t held_ = 0;
};

}  // namespace orrery::timewarp
