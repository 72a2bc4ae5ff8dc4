// SPDX-License-Identifier: Apache-2.0
//
// Rows of a worker that executes each event once, until all events before them are executed and
// have not failed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/rows.h"
#include "run/engine.h"

namespace orrery {

class UncommittedRows {
 public:
  UncommittedRows(RunControl& control, const Model& model, const RunOptions& options,
                  unsigned worker)
      : sink_(control.rows),
        keeps_(control.takes_rows(model)),
        worker_(worker),
        horizon_(Key::end_of(options.until)) {}

  /// Whether rows are wanted.
  bool keeps() const { return keeps_; }
  /// Appends a row of the event that is being handled.
  void append(const Row& row) {
    if (row.ordinal == 0) before_ = rows_.mark();
    rows_.append(row);
  }
  /// The event that is being handled has failed after it emitted `count` rows.
  void drop_last(std::size_t count) {
    if (count > 0 && keeps_) rows_.return_to(before_);
  }
  /// Hands over all rows before `until`, and says that there will be no others.
  void commit(const Key& until) {
    if (sink_ == nullptr) return;
    if (!rows_.empty()) hand_over(until);
    sink_->advance(worker_, std::min(until, horizon_));
  }
  std::size_t bytes() const { return rows_.bytes(); }

 private:
  void hand_over(const Key& until) {
    rows_.for_each([&](const Row& row) { (row.key < until ? ready_ : kept_).append(row); });
    rows_.clear();
    std::swap(rows_, kept_);
    if (!ready_.empty()) sink_->commit(worker_, ready_);
  }

  RowSink* const sink_;
  const bool keeps_;
  const unsigned worker_;
  const Key horizon_;
  RowBuffer rows_, ready_, kept_;
  std::size_t before_ =
      0;  ///< end of the rows of earlier events; valid after the event's first row
};

}  // namespace orrery
