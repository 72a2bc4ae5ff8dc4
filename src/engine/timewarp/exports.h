// SPDX-License-Identifier: Apache-2.0
//
// A worker's records of the events that it sent to other ranks (event.h). A record is in the list
// of what its cause sent, so a rollback of the cause finds it there like any local event. When
// nothing can undo the cause any more, the record is useless: this class frees it, once a round. A
// record is a cache line, which the event would have taken here as well.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/timewarp/event.h"

namespace orrery::timewarp {

class Exports {
 public:
  void add(TwEvent* record, std::int64_t cause_ticks) { entries_.push_back({record, cause_ticks}); }

  /// Events before `gvt` are never undone: calls release(record) for the records no longer needed.
  template <class Release>
  void commit(const Key& gvt, Release&& release) {
    std::erase_if(entries_, [&](const Entry& entry) {
      if (is_needed(entry, gvt)) return false;
      release(entry.record);
      return true;
    });
  }
  std::size_t bytes() const { return entries_.capacity() * sizeof(Entry); }

 private:
  struct Entry {
    TwEvent* record;
    std::int64_t cause_ticks;
  };

  /// The times nearly always decide, without reading the record. It is not known here whether a
  /// cause at exactly GVT's time is committed: such a record stays until its own key is before GVT.
  static bool is_needed(const Entry& entry, const Key& gvt) {
    const std::int64_t gvt_ticks = gvt.time().ticks();
    if (entry.cause_ticks < gvt_ticks) return false;
    return entry.cause_ticks > gvt_ticks || entry.record->key() >= gvt;
  }

  std::vector<Entry> entries_;
};

}  // namespace orrery::timewarp
