// SPDX-License-Identifier: Apache-2.0
//
// Rows emitted by events that may still be rolled back: per LP, in the order of its events. Most
// LPs emit nothing, so a hash table finds them, and the engine looks only if the model has tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/rows.h"

namespace orrery::timewarp {

class SpeculativeRows {
 public:
  void append(LpId lp, const Row& row) {
    OfLp& of = rows_[lp];
    of.rows.push_back({row.key, row.ordinal, row.table, of.cells.size()});
    of.cells.insert(of.cells.end(), row.cells.begin(), row.cells.end());
    held_bytes_ += bytes_of(1, row.cells.size());
  }
  /// Discards the rows of the LP's events at or after `from`.
  void roll_back(LpId lp, const Key& from) {
    const auto found = rows_.find(lp);
    if (found == rows_.end()) return;
    auto& [rows, cells] = found->second;
    while (!rows.empty() && rows.back().key >= from) {
      held_bytes_ -= bytes_of(1, cells.size() - rows.back().first_cell);
      cells.resize(rows.back().first_cell);
      rows.pop_back();
    }
  }
  /// Moves the rows of the LP's events before `until` to `out`.
  void commit(LpId lp, const Key& until, RowBuffer& out) {
    const auto found = rows_.find(lp);
    if (found == rows_.end()) return;
    auto& [rows, cells] = found->second;
    std::size_t n = 0;
    for (; n < rows.size() && rows[n].key < until; ++n) {
      const std::size_t first = rows[n].first_cell;
      const std::size_t end = n + 1 < rows.size() ? rows[n + 1].first_cell : cells.size();
      out.append({rows[n].key, rows[n].ordinal, lp, rows[n].table, {&cells[first], end - first}});
    }
    drop_first(found->second, n);
    if (rows.empty()) rows_.erase(found);
  }

  bool empty() const { return held_bytes_ == 0; }
  std::size_t bytes() const { return held_bytes_; }

 private:
  struct Stored {
    Key key;
    std::uint32_t ordinal, table;
    std::size_t first_cell;  ///< its cells end where those of the next row begin
  };
  struct OfLp {
    std::vector<Stored> rows;
    std::vector<std::uint64_t> cells;
  };

  static std::size_t bytes_of(std::size_t rows, std::size_t cells) {
    return rows * sizeof(Stored) + cells * sizeof(std::uint64_t);
  }
  void drop_first(OfLp& of, std::size_t n) {
    if (n == 0) return;
    const std::size_t gone = n < of.rows.size() ? of.rows[n].first_cell : of.cells.size();
    held_bytes_ -= bytes_of(n, gone);
    of.rows.erase(of.rows.begin(), of.rows.begin() + static_cast<std::ptrdiff_t>(n));
    of.cells.erase(of.cells.begin(), of.cells.begin() + static_cast<std::ptrdiff_t>(gone));
    for (Stored& row : of.rows) row.first_cell -= gone;
  }

  std::unordered_map<LpId, OfLp> rows_;
  std::size_t held_bytes_ = 0;
};

}  // namespace orrery::timewarp
