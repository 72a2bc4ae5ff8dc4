// SPDX-License-Identifier: Apache-2.0
//
// What a worker's events have emitted and a rollback may still undo: rows, or values for mergeable
// statistics. The entries lie in the order of execution. A rollback only appends a mark, so it costs
// the same however much it undoes. The next commit drops the entries that a later mark has undone.
// Commits are frequent (GVT rounds), so few entries wait for one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/key.h"

namespace orrery::timewarp {

template <class Item>
class SpeculativeLog {
 public:
  struct Entry {
    Key key;  ///< of the event that emitted the item
    LpId lp;
    bool undone;  ///< a mark: the LP has rolled back its events at or after `key`; or its item is
    Item item;
  };

  void append(LpId lp, const Key& key, Item item) {
    entries_.push_back({key, lp, false, std::move(item)});
  }
  /// The LP's events at or after `from` are undone.
  void roll_back(LpId lp, const Key& from) {
    if (entries_.empty()) return;
    entries_.push_back({from, lp, true, {}});
    has_marks_ = true;
  }
  /// Removes the entries of events before `until`, in the order of execution, calling
  /// committing(entry).
  template <class Committing>
  void commit(const Key& until, Committing&& committing) {
    if (has_marks_) drop_undone();
    std::erase_if(entries_, [&](const Entry& entry) {
      if (entry.key >= until) return false;
      committing(entry);
      return true;
    });
  }

  const std::vector<Entry>& entries() const { return entries_; }
  bool empty() const { return entries_.empty(); }
  std::size_t bytes() const { return entries_.size() * sizeof(Entry); }

 private:
  /// Walks back from the newest entry, with the lowest mark of each LP so far.
  void drop_undone() {
    std::unordered_map<LpId, Key> lowest_marks;
    for (std::size_t i = entries_.size(); i-- > 0;) {
      Entry& entry = entries_[i];
      if (entry.undone) {
        Key& lowest = lowest_marks.try_emplace(entry.lp, entry.key).first->second;
        lowest = std::min(lowest, entry.key);
      } else if (const auto mark = lowest_marks.find(entry.lp); mark != lowest_marks.end()) {
        entry.undone = entry.key >= mark->second;
      }
    }
    std::erase_if(entries_, [](const Entry& entry) { return entry.undone; });
    has_marks_ = false;
  }

  std::vector<Entry> entries_;
  bool has_marks_ = false;
};

}  // namespace orrery::timewarp
