// SPDX-License-Identifier: Apache-2.0
//
// Rows emitted by events that may still be rolled back: per LP, in the order of its events. Most
// LPs emit nothing, so they are found by hash and the engine asks only if the model has tables.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/rows.h"
#include "orrery/results.h"

namespace orrery::timewarp {

class SpeculativeRows {
 public:
  void append(LpId lp, const Row& row) {
    Stored stored{
        row.key, row.ordinal, row.table, static_cast<std::uint32_t>(row.cells.size()), {}};
    std::copy(row.cells.begin(), row.cells.end(), stored.cells.begin());
    rows_[lp].push_back(stored);
    ++held_;
  }
  /// Forgets what the LP's events at or after `from` emitted.
  void roll_back(LpId lp, const Key& from) {
    const auto found = rows_.find(lp);
    if (found == rows_.end()) return;
    auto& rows = found->second;
    while (!rows.empty() && rows.back().key >= from) {
      rows.pop_back();
      --held_;
    }
  }
  /// Moves what the LP's events before `until` emitted to `out`.
  void commit(LpId lp, const Key& until, RowBuffer& out) {
    const auto found = rows_.find(lp);
    if (found == rows_.end()) return;
    auto& rows = found->second;
    std::size_t n = 0;
    for (; n < rows.size() && rows[n].key < until; ++n) {
      const Stored& row = rows[n];
      out.append({row.key, row.ordinal, lp, row.table, {row.cells.data(), row.count}});
    }
    held_ -= n;
    rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(n));
    if (rows.empty()) rows_.erase(found);
  }

  bool empty() const { return held_ == 0; }
  std::size_t bytes() const { return held_ * sizeof(Stored); }

 private:
  struct Stored {
    Key key;
    std::uint32_t ordinal, table, count;
    std::array<std::uint64_t, Table::kMaxColumns> cells;
  };
  std::unordered_map<LpId, std::vector<Stored>> rows_;
  std::size_t held_ = 0;
};

}  // namespace orrery::timewarp
