// SPDX-License-Identifier: Apache-2.0
//
// A worker's records of what it sent to other ranks (event.h). They are in the list of what their
// cause sent, so a cause that is undone finds them as it finds all else that it sent. When nothing
// can undo the cause any more they are of no use: that is seen to here, once a round. A record is a
// cache line, which the event would have taken here as well.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/timewarp/event.h"

namespace orrery::timewarp {

class Exports {
 public:
  void add(TwEvent* record, std::int64_t cause_ticks) { entries_.push_back({record, cause_ticks}); }
  /// One of them is cancelled, which its status says; it has no cause any more.
  void note_cancelled() { ++cancelled_; }

  /// What is before `gvt` is not undone: calls release(record) for those that nobody needs.
  template <class Release>
  void commit(const Key& gvt, Release&& release) {
    const std::int64_t gvt_ticks = gvt.time().ticks();
    std::size_t left = 0;
    for (const Entry& entry : entries_) {
      if (is_needed(entry, gvt, gvt_ticks)) {
        entries_[left++] = entry;
      } else {
        release(entry.record);
      }
    }
    entries_.resize(left);
    cancelled_ = 0;
  }
  std::size_t bytes() const { return entries_.capacity() * sizeof(Entry); }

 private:
  struct Entry {
    TwEvent* record;
    std::int64_t cause_ticks;
  };

  /// Times nearly always decide, without a look at the record. Of a cause at the very time of GVT
  /// it is not known whether it is committed: the record stays until its own key is.
  bool is_needed(const Entry& entry, const Key& gvt, std::int64_t gvt_ticks) const {
    if (entry.cause_ticks < gvt_ticks) return false;
    if (cancelled_ > 0 && entry.record->status.is_cancelled()) return false;
    return entry.cause_ticks > gvt_ticks || entry.record->key() >= gvt;
  }

  std::vector<Entry> entries_;
  std::uint64_t cancelled_ = 0;  ///< since the last commit()
};

}  // namespace orrery::timewarp
