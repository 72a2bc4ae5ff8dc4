// SPDX-License-Identifier: Apache-2.0
//
// Runs a model on an engine and keeps everything that must be equal on all of them.
#pragma once

#include <algorithm>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "core/model_registry.h"
#include "run/engine.h"
#include "run/threads/supervised_run.h"

namespace orrery::testing {

/// Collects rows and brings them into their order; checks that no row comes behind its watermark.
class CollectedRows final : public RowSink {
 public:
  using Line = std::tuple<Key, LpId, std::uint32_t, std::uint32_t, std::vector<std::uint64_t>>;

  void begin(unsigned workers) override {
    const std::lock_guard lock(mutex_);
    const Key reached =
        watermarks_.empty() ? Key() : *std::min_element(watermarks_.begin(), watermarks_.end());
    watermarks_.assign(workers, reached);
  }
  void commit(unsigned worker, RowBuffer& rows) override {
    const std::lock_guard lock(mutex_);
    if (watermarks_.size() <= worker) watermarks_.resize(worker + 1);
    rows.for_each([&](const Row& row) {
      late_ |= row.key < watermarks_[worker];
      lines_.emplace_back(row.key, row.lp, row.ordinal, row.table,
                          std::vector<std::uint64_t>(row.cells.begin(), row.cells.end()));
    });
    rows.clear();
  }
  void advance(unsigned worker, const Key& until) override {
    const std::lock_guard lock(mutex_);
    if (watermarks_.size() <= worker) watermarks_.resize(worker + 1);
    watermarks_[worker] = until;
  }
  std::vector<Line> sorted() {
    std::sort(lines_.begin(), lines_.end());
    return lines_;
  }
  bool late() const { return late_; }

 private:
  std::mutex mutex_;
  std::vector<Key> watermarks_;
  std::vector<Line> lines_;
  bool late_ = false;
};

struct Outcome {
  RunResult result;
  std::vector<CollectedRows::Line> rows;
  bool late_rows = false;
};

/// `halts`: null, or what halts the run.
inline Outcome run_model(const Model& model, const std::string& engine, RunOptions options,
                         RunHalts* halts = nullptr) {
  if (options.until == Time::max()) options.until = model.default_horizon();
  CollectedRows rows;
  RunControl control;
  control.rows = &rows;
  control.halts = halts;
  Outcome outcome;
  outcome.result = run_supervised(*find_engine(engine).make(), model, options, control);
  outcome.late_rows = rows.late();
  outcome.rows = rows.sorted();
  return outcome;
}

}  // namespace orrery::testing
