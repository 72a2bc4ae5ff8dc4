// SPDX-License-Identifier: Apache-2.0
//
// The end of LPs: finish() of each, fingerprints summed, metrics merged (metric_totals.h), the last
// rows handed over.
//
// LPs that end in several places (the workers of a team, the ranks of a run) are ended by a
// Finisher in each, and the parts are merged: a part keeps the metrics of its LPs apart, so that
// the whole has the same bits as if one had ended them all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/rows.h"
#include "core/tally.h"
#include "memory/lp_heap.h"
#include "run/engine.h"
#include "run/metric_totals.h"

namespace orrery {

class Finisher {
 public:
  enum class Metrics {
    summed,  ///< it ends all LPs of the run
    apart,   ///< its part is merged with others: the metrics of each LP are kept
  };
  Finisher(const Model& model, Time end, RowSink* rows, Metrics metrics = Metrics::summed);

  /// What metrics have counted before. Not after a fault.
  void add(const Tally& tally) { tally_.merge(tally); }

  /// In place of finish after a model fault: the state of an LP whose handler failed means nothing,
  /// so only what was committed counts.
  void abandon(LpId id, std::uint64_t hash);
  /// LPs must come in order of their ids.
  void finish(LpId id, LogicalProcessBase& lp, std::uint64_t hash);
  /// The same in the application mode of the LP's heap.
  void finish(LpId id, LogicalProcessBase& lp, std::uint64_t hash, memory::LpHeap& heap);

  /// What the LPs of one place left; plain values, so that it can travel.
  struct Part {
    std::uint64_t fingerprint = 0;
    std::vector<LpId> lps;                ///< those that recorded, in order
    std::vector<std::byte> metrics;       ///< for each of them what is in its ledger
    std::vector<std::uint64_t> tally;     ///< Tally::words
    std::vector<std::uint32_t> left_out;  ///< metrics that finish() recorded, but over too much
    LpId fault_lp = 0;                    ///< valid if there is a fault
    std::string fault;                    ///< of the first LP that failed
  };
  /// Of a finisher that keeps metrics apart; its rows are handed over.
  Part take_part();
  /// The whole from all parts, in any order. `end`: of the run.
  static void store(const Model& model, Time end, std::vector<Part> parts, RunResult& result);

  /// Hands the last rows over; the result then holds fingerprint, metrics, and a fault if a
  /// finish() failed.
  void store(RunResult& result);

 private:
  void call(LpId id, LogicalProcessBase& lp, std::uint64_t hash);
  void note_fault(LpId id, std::size_t rows);
  void tally_at_end(Observation one);
  void add_metrics(LpId id, const std::byte* metrics);
  void hand_rows_over();
  static void note_left_out(const Model& model, std::vector<std::uint32_t> metrics,
                            RunResult& result);

  const Model& model_;
  const Time end_;
  RowSink* const rows_;
  const bool apart_;
  RowBuffer buffer_;
  std::vector<Observation> observations_;  ///< of the LP that ends
  Tally tally_;
  MetricTotals totals_;
  Part part_;
};

}  // namespace orrery
