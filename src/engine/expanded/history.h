// SPDX-License-Identifier: Apache-2.0
//
// Events that are finished although events with lower keys are not. If one of those fails, the run
// ends before these: what is reported then must not contain them. Nothing has to be executed again,
// so all that is kept is each LP's fingerprint before the event.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/key.h"
#include "run/faults.h"

namespace orrery::expanded {

class History {
 public:
  void add(const Key& key, LpId lp, std::uint64_t hash_before) {
    entries_.push_back({key, lp, hash_before});
  }
  /// Whether it is worth while to look for what can be forgotten.
  bool is_long() const { return entries_.size() >= long_; }
  /// Forgets what precedes all unfinished events: it is final, and noted in `trail`.
  void forget(const Key& lowest_unfinished, LivelockTrail& trail) {
    std::erase_if(entries_, [&](const Entry& entry) {
      if (entry.key >= lowest_unfinished) return false;
      trail.note(entry.key, entry.lp);
      return true;
    });
    long_ = std::max<std::size_t>(kLong, 2 * entries_.size());
  }
  /// Undoes the effect on the fingerprints of what follows `fault`; returns how many events.
  /// Call `forget(fault)` then.
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
