// SPDX-License-Identifier: Apache-2.0
//
// A worker's events from other ranks that may still be cancelled, so that an antimessage can find
// its event by the key. An event can be cancelled as long as its cause may be undone, which is
// shorter than until the event itself commits. An antimessage in transit holds GVT at the cause, so
// it always finds the entry (mailbox.h). Entries lie in the order in which the events arrived. They
// are put into a hash table only when an antimessage arrives: a model without rollbacks pays for 24
// bytes an event, and no table.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/timewarp/event.h"

namespace orrery::timewarp {

class Imports {
 public:
  /// `cause_ticks`: time of the event that sent `event`.
  void add(TwEvent* event, std::int64_t cause_ticks) {
    entries_.push_back({event, cause_ticks, hash_of(*event), kNone});
  }
  /// Removes the entry of the event with that key and returns the event; nullptr if there is none.
  TwEvent* take(const Key& key) {
    index();
    const std::uint32_t hash = hash_of(key);
    for (std::uint32_t* link = &buckets_[hash & mask()]; *link != kNone;) {
      Entry& entry = entries_[*link];
      if (entry.hash == hash && entry.event->key() == key) {
        *link = entry.next;
        return std::exchange(entry.event, nullptr);
      }
      link = &entry.next;
    }
    return nullptr;
  }
  /// Events before `gvt` are never undone: drops the entries whose cause is one of them. Call
  /// before the first of the entries' events is freed.
  void commit(const Key& gvt) {
    const std::int64_t gvt_ticks = gvt.time().ticks();
    const auto is_over = [&](const Entry& entry) {
      return entry.event == nullptr || entry.cause_ticks < gvt_ticks ||
             (entry.cause_ticks == gvt_ticks && entry.event->key() < gvt);
    };
    const std::size_t before = entries_.size();
    std::erase_if(entries_, is_over);
    if (entries_.size() != before) indexed_ = 0;
  }
  std::size_t bytes() const {
    return entries_.capacity() * sizeof(Entry) + buckets_.capacity() * sizeof(std::uint32_t);
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  static constexpr std::size_t kLeastBuckets = 64;
  struct Entry {
    TwEvent* event;
    std::int64_t cause_ticks;
    std::uint32_t hash;
    std::uint32_t next;  ///< in its bucket
  };

  static std::uint32_t hash_of(const Key& key) {
    const std::uint64_t words = key.sequence() * 0x9e3779b97f4a7c15 + key.sender();
    return static_cast<std::uint32_t>((words * 0xbf58476d1ce4e5b9) >> 32);
  }
  std::uint32_t mask() const { return static_cast<std::uint32_t>(buckets_.size() - 1); }
  /// Puts the entries added since the last call into the hash table.
  void index() {
    if (indexed_ == 0 || entries_.size() > buckets_.size()) {
      buckets_.assign(std::max(kLeastBuckets, std::bit_ceil(2 * entries_.size())), kNone);
      indexed_ = 0;
    }
    for (; indexed_ < entries_.size(); ++indexed_) {
      Entry& entry = entries_[indexed_];
      if (entry.event == nullptr) continue;
      entry.next =
          std::exchange(buckets_[entry.hash & mask()], static_cast<std::uint32_t>(indexed_));
    }
  }

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> buckets_;
  std::size_t indexed_ = 0;  ///< entries in the table
};

}  // namespace orrery::timewarp
