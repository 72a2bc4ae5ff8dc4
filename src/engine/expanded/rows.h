// SPDX-License-Identifier: Apache-2.0
//
// Rows on their way to the sink: rows that threads emitted in parallel are sorted by their keys,
// and handed over once all events before them are finished.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "core/rows.h"

namespace orrery::expanded {

class OrderedRows {
 public:
  /// Takes a thread's rows at the next commit(). The thread must execute nothing until then.
  void take(RowBuffer& rows) { sources_.push_back(&rows); }
  /// Hands over the rows taken so far with keys before `until`; the others are kept.
  void commit(const Key& until, RowSink& sink) {
    const auto sort_out = [&](const Row& row) {
      if (row.key < until) {
        sorted_.push_back(row);
      } else {
        kept_.append(row);
      }
    };
    held_.for_each(sort_out);
    for (const RowBuffer* source : sources_) source->for_each(sort_out);
    std::stable_sort(sorted_.begin(), sorted_.end(),
                     [](const Row& a, const Row& b) { return a.key < b.key; });
    for (const Row& row : sorted_) ready_.append(row);
    sorted_.clear();  // before the buffers that they point to
    held_.clear();
    for (RowBuffer* source : sources_) source->clear();
    sources_.clear();
    std::swap(held_, kept_);
    if (!ready_.empty()) sink.commit(0, ready_);
  }

 private:
  RowBuffer held_, ready_, kept_;
  std::vector<Row> sorted_;
  std::vector<RowBuffer*> sources_;
};

}  // namespace orrery::expanded
