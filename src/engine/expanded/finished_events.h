// SPDX-License-Identifier: Apache-2.0
//
// Events that are finished although events with lower keys are not. If one of the lower events
// fails, the run ends there, and the results must not contain the finished events behind it.
// Nothing has to be executed again, so only each LP's fingerprint before the event is kept.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/key.h"
#include "run/containment/faults.h"

namespace orrery::expanded {

class FinishedEvents {
 public:
  void add(const Key& key, LpId lp, std::uint64_t hash_before) {
    entries_.push_back({key, lp, hash_before});
  }
  /// Whether the history is long enough that a call of forget() pays.
  bool is_long() const { return entries_.size() >= long_; }
  /// Removes the events before all unfinished ones, which are final, and notes them in `trail`.
  void forget(const Key& lowest_unfinished, LivelockTrail& trail) {
    std::erase_if(entries_, [&](const Entry& entry) {
      if (entry.key >= lowest_unfinished) return false;
      trail.note(entry.key, entry.lp);
      return true;
    });
    long_ = std::max<std::size_t>(kLong, 2 * entries_.size());
  }
  /// Takes the events after `fault` back from the fingerprints; returns how many. Call
  /// `forget(fault)` then.
  template <class Lps>
  std::uint64_t take_back(const Key& fault, Lps& lps) {
    std::sort(entries_.begin(), entries_.end(),
              [](const Entry& a, const Entry& b) { return a.key > b.key; });
    std::uint64_t count = 0;
    for (; count < entries_.size() && entries_[count].key > fault; ++count)
      lps[entries_[count].lp].kernel.hash = entries_[count].hash_before;
    return count;
  }
  std::size_t bytes() const { return entries_.capacity() * sizeof(Entry); }

 private:
  static constexpr std::size_t kLong = 4096;
  struct Entry {
    Key key;
    LpId lp;
    std::uint64_t hash_before;
  };
  std::vector<Entry> entries_;
  std::size_t long_ = kLong;
};

}  // namespace orrery::expanded
