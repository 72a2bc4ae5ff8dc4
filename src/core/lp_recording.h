// SPDX-License-Identifier: Apache-2.0
//
// What a run keeps of single LPs: the LPs whose figures of a metric are results of their own, and
// the LPs of which there is a time series. The figures themselves are in the ledgers of the LPs
// (ledger.h) in any run, so a recording costs nothing until the run ends. A series costs about 70
// bytes for each interval and LP (series.h).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/lp_ranges.h"
#include "orrery/results.h"
#include "orrery/time.h"

namespace orrery {

/// Of one metric.
struct LpRecording {
  LpRanges lps;                          ///< with figures
  LpRanges series_lps;                   ///< those of them with a series
  Duration interval = Duration::zero();  ///< of the series

  bool has_series() const { return !series_lps.empty(); }
};

/// The figures of the LPs of a recording, in the order of their numbers. An LP that has not
/// recorded the metric is not among them.
struct LpFigures {
  std::vector<std::pair<LpId, Summary>> values;       ///< of a metric that keeps values
  std::vector<std::pair<LpId, LevelSummary>> levels;  ///< of a level
};

}  // namespace orrery
