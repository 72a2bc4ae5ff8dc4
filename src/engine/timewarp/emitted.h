// SPDX-License-Identifier: Apache-2.0
//
// Rows and metric values that a worker's handlers have emitted. Those of speculative events are
// kept per LP until the events commit; final rows go to the sink, and final values are counted.
#pragma once

#include <cstddef>

#include "core/mergeable_statistics.h"
#include "core/rows.h"
#include "engine/timewarp/speculative_rows.h"
#include "engine/timewarp/speculative_values.h"
#include "run/engine.h"

namespace orrery::timewarp {

struct Emitted {
  Emitted(const Model& model, const RunControl& control)
      : mergeable_statistics(model),
        has_rows(control.takes_rows(model)),
        wanted(has_rows || !mergeable_statistics.is_idle()) {}

  /// Discards the rows and values of the LP's events at or after `from`.
  void roll_back(LpId lp, const Key& from) {
    if (!wanted) [[likely]]
      return;
    rows.roll_back(lp, from);
    values.roll_back(lp, from);
  }
  /// Makes the rows and values of the LP's events before `until` final.
  void commit(LpId lp, const Key& until) {
    if (!wanted) [[likely]]
      return;
    if (has_rows) rows.commit(lp, until, ready);
    values.commit(lp, until, mergeable_statistics);
  }
  /// No row or value waits for its event to commit, and no row for the sink.
  bool empty() const { return ready.empty() && rows.empty() && values.empty(); }
  /// Bytes of rows and values that wait. Mergeable statistics are small, and not counted.
  std::size_t bytes() const { return ready.bytes() + rows.bytes() + values.bytes(); }

  MergeableStatistics mergeable_statistics;
  const bool has_rows;  ///< the run takes rows, and the model may emit some
  const bool wanted;    ///< there may be rows or values
  SpeculativeRows rows;
  SpeculativeValues values;
  RowBuffer ready;  ///< rows that are final
};

}  // namespace orrery::timewarp
