// SPDX-License-Identifier: Apache-2.0
//
// The end of LPs: calls finish() of each, sums fingerprints, merges metrics (metric_totals.h), and
// hands over the last rows.
//
// LPs that end in several places (the workers of a team, the ranks of a run) are ended by a
// Finisher in each place, whose parts are merged. A part keeps the metrics of each LP apart, so
// that the whole has the same bits as if one Finisher had ended all LPs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/mergeable_statistics.h"
#include "core/rows.h"
#include "memory/lp_heap.h"
#include "run/engine.h"
#include "run/results/metric_totals.h"

namespace orrery {

class Finisher {
 public:
  enum class Metrics {
    summed,  ///< this Finisher ends all LPs of the run
    apart,   ///< parts are merged: the metrics of each LP are kept
  };
  Finisher(const Model& model, Time end, RowSink* rows, Metrics metrics = Metrics::summed);

  /// Adds the mergeable statistics of the run. Not after a fault.
  void add(const MergeableStatistics& mergeable_statistics) {
    mergeable_statistics_.merge(mergeable_statistics);
  }

  /// In place of finish after a model fault: the state of an LP whose handler failed is invalid, so
  /// only its committed fingerprint counts.
  void abandon(LpId id, std::uint64_t hash);
  /// LPs must come in order of their ids.
  void finish(LpId id, LogicalProcessBase& lp, std::uint64_t hash);
  /// The same in the application mode of the LP's heap.
  void finish(LpId id, LogicalProcessBase& lp, std::uint64_t hash, memory::LpHeap& heap);

  /// The results of the LPs of one place; plain values, which can be sent to other ranks.
  struct Part {
    std::uint64_t fingerprint = 0;
    std::vector<LpId> lps;           ///< LPs with metrics, in order
    std::vector<std::byte> metrics;  ///< the metrics in the ledger of each of these
    std::vector<std::uint64_t> mergeable_statistics;  ///< MergeableStatistics::words
    std::vector<std::uint32_t> left_out;  ///< metrics whose values in finish() begin too early
    LpId fault_lp = 0;                    ///< valid if there is a fault
    std::string fault;                    ///< sentence of the first LP that failed
  };
  /// For a Finisher with Metrics::apart; its rows are handed over.
  Part take_part();
  /// Merges all parts, in any order. `end`: of the run.
  static void store(const Model& model, Time end, std::vector<Part> parts, RunResult& result);

  /// Hands the last rows over; the result then holds fingerprint, metrics, and a fault if a
  /// finish() failed.
  void store(RunResult& result);

 private:
  void call(LpId id, LogicalProcessBase& lp, std::uint64_t hash);
  void note_fault(LpId id, std::size_t rows);
  void add_at_end(Observation one);
  void add_metrics(LpId id, const std::byte* metrics);
  void hand_rows_over();
  static void note_left_out(const Model& model, std::vector<std::uint32_t> metrics,
                            RunResult& result);

  const Model& model_;
  const Time end_;
  RowSink* const rows_;
  const bool apart_;
  RowBuffer buffer_;
  std::vector<Observation> observations_;  ///< of the LP that is ending
  MergeableStatistics mergeable_statistics_;
  MetricTotals totals_;
  Part part_;
};

}  // namespace orrery
