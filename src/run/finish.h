// SPDX-License-Identifier: Apache-2.0
//
// The end of LPs: finish() of each in the order of their numbers, fingerprints summed, metrics
// merged.
#pragma once

#include <string>
#include <vector>

#include "core/rows.h"
#include "run/engine.h"

namespace orrery {

/// finish() for one LP: returns its contribution to the fingerprint, merges its metrics.
/// `append_row` receives the rows of finish().
class Finisher {
 public:
  Finisher(const Model& model, Time end, RowSink* rows);
  /// LPs must come in order of their ids.
  void finish(LpId id, LogicalProcessBase& lp, std::uint64_t hash);
  /// The end of LP `id` is a model fault, "it ..."; the first one counts.
  void fail(LpId id, const std::string& what);
  /// In place of finish after a model fault: the state of an LP whose handler failed means nothing,
  /// so only what was committed counts.
  void abandon(LpId id, std::uint64_t hash);
  /// Hands the last rows over; the result then holds fingerprint, metrics, and a fault if a
  /// finish() failed.
  void store(RunResult& result);

 private:
  class FinishContext;
  const Model& model_;
  Time end_;
  RowSink* rows_;
  RowBuffer buffer_;
  std::string fault_;
  std::uint64_t fingerprint_ = 0;
  std::vector<Summary> totals_;
};

}  // namespace orrery
