// SPDX-License-Identifier: Apache-2.0
//
// Rows on their way to the sink: what threads emitted beside each other is brought into the order
// of the keys, and handed over once nothing before it is unfinished.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "core/rows.h"

namespace orrery::expanded {

class OrderedRows {
 public:
  /// Takes a thread's rows; it executes nothing meanwhile.
  void take(RowBuffer& rows) { sources_.push_back(&rows); }
  /// Hands over what was taken, now or before, with a key before `until`; the rest is kept.
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
    sorted_.clear();  // before what they point to
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
