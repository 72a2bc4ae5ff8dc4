// SPDX-License-Identifier: Apache-2.0
//
// What a worker's handlers have given out beside events: rows and what metrics count. Of guesses it
// is kept per LP until they commit; what is final goes to the sink, or is counted.
#pragma once

#include <cstddef>

#include "core/rows.h"
#include "core/tally.h"
#include "engine/timewarp/speculative_rows.h"
#include "engine/timewarp/speculative_values.h"
#include "run/engine.h"

namespace orrery::timewarp {

struct Emitted {
  Emitted(const Model& model, const RunControl& control)
      : tally(model), has_rows(control.takes_rows(model)), wanted(has_rows || !tally.is_idle()) {}

  /// Undoes what the LP's events at or after `from` gave out.
  void roll_back(LpId lp, const Key& from) {
    if (!wanted) [[likely]]
      return;
    rows.roll_back(lp, from);
    values.roll_back(lp, from);
  }
  /// What the LP's events before `until` gave out is final.
  void commit(LpId lp, const Key& until) {
    if (!wanted) [[likely]]
      return;
    if (has_rows) rows.commit(lp, until, ready);
    values.commit(lp, until, tally);
  }
  /// Nothing waits for its event to commit, or for the sink.
  bool empty() const { return ready.empty() && rows.empty() && values.empty(); }
  /// Of what may still be undone or is to go; what is counted takes little, and stays.
  std::size_t bytes() const { return ready.bytes() + rows.bytes() + values.bytes(); }

  Tally tally;
  const bool has_rows;  ///< somebody takes them, and there may be some
  const bool wanted;    ///< there may be something
  SpeculativeRows rows;
  SpeculativeValues values;
  RowBuffer ready;  ///< rows that are final
};

}  // namespace orrery::timewarp
