// SPDX-License-Identifier: Apache-2.0
//
// A sink that asks its run to stop, at a moment that the run's own progress decides.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "equality/run_model.h"

namespace orrery::testing {

class StoppingRows final : public RowSink {
 public:
  /// `when(worker, until)`: whether what a worker tells is the moment. Workers ask at the same
  /// time.
  using When = std::function<bool(unsigned worker, const Key& until)>;
  StoppingRows(RunControl& control, When when) : control_(control), when_(std::move(when)) {
    control.rows = this;
  }
  /// When some worker has passed a time.
  static When after(Time time) {
    return [time](unsigned, const Key& until) { return until.time() > time; };
  }
  /// When worker 0 has told of a round `calls` times.
  static When at_call(unsigned calls) {
    // Atomic, though only worker 0 counts: compilers read it for the others, too.
    const auto left = std::make_shared<std::atomic<unsigned>>(calls);
    return [left](unsigned worker, const Key&) {
      return worker == 0 && left->fetch_sub(1, std::memory_order_relaxed) == 1;
    };
  }

  void commit(unsigned worker, RowBuffer& rows) override { collected.commit(worker, rows); }
  void advance(unsigned worker, const Key& until) override {
    collected.advance(worker, until);
    if (when_(worker, until)) control_.stop_requested.store(true, std::memory_order_relaxed);
  }

  CollectedRows collected;

 private:
  RunControl& control_;
  When when_;
};

}  // namespace orrery::testing
