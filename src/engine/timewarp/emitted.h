// SPDX-License-Identifier: Apache-2.0
//
// Rows and metric values that a worker's handlers have emitted. Those of speculative events wait
// until the events commit; final rows go to the sink, and final values are counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/mergeable_statistics.h"
#include "core/rows.h"
#include "engine/timewarp/speculative_log.h"
#include "run/engine.h"

namespace orrery::timewarp {

class Emitted {
 public:
  Emitted(const Model& model, const RunControl& control)
      : mergeable_statistics(model),
        has_rows(control.takes_rows(model)),
        wanted_(has_rows || !mergeable_statistics.is_idle()) {}

  void append(const Row& row) {
    rows_.append(row.lp, row.key, {row.ordinal, row.table, {row.cells.begin(), row.cells.end()}});
    cell_bytes_ += bytes_of(row.cells);
  }
  void append(const Key& key, LpId lp, const Observation& value) { values_.append(lp, key, value); }
  /// Discards the rows and values of the LP's events at or after `from`.
  void roll_back(LpId lp, const Key& from) {
    if (!wanted_) [[likely]]
      return;
    rows_.roll_back(lp, from);
    values_.roll_back(lp, from);
  }
  /// Makes the rows and values of the events before `until` final.
  void commit(const Key& until) {
    if (!wanted_) [[likely]]
      return;
    rows_.commit(until, [this](const auto& entry) {
      const auto& [ordinal, table, cells] = entry.item;
      ready.append({entry.key, ordinal, entry.lp, table, cells});
    });
    cell_bytes_ = 0;
    for (const auto& entry : rows_.entries()) cell_bytes_ += bytes_of(entry.item.cells);
    values_.commit(until, [this](const auto& entry) { mergeable_statistics.add(entry.item); });
  }
  /// No row or value waits for its event to commit, and no row for the sink.
  bool empty() const { return ready.empty() && rows_.empty() && values_.empty(); }
  /// Bytes of rows and values that wait. Mergeable statistics are small, and not counted.
  std::size_t bytes() const {
    return ready.bytes() + rows_.bytes() + cell_bytes_ + values_.bytes();
  }

  MergeableStatistics mergeable_statistics;
  const bool has_rows;  ///< the run takes rows, and the model may emit some
  RowBuffer ready;      ///< rows that are final

 private:
  struct Cells {
    std::uint32_t ordinal, table;  ///< as in Row
    std::vector<std::uint64_t> cells;
  };
  static std::size_t bytes_of(std::span<const std::uint64_t> cells) { return cells.size_bytes(); }

  const bool wanted_;  ///< there may be rows or values
  SpeculativeLog<Cells> rows_;
  std::size_t cell_bytes_ = 0;  ///< of the rows in it
  SpeculativeLog<Observation> values_;
};

}  // namespace orrery::timewarp
