// SPDX-License-Identifier: Apache-2.0
//
// Observations of a run beyond its model's declarations: a warm-up that does not count, time series
// of any metric, batch means, and a condition that ends the run. This file has the options and
// their effects on a model's metrics; output/ and study/ evaluate the observations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/model.h"
#include "run/options/options.h"

namespace orrery {

/// In ticks of simulated time; 0: no warm-up.
const Option<std::int64_t>& warm_up_option();
/// "METRIC=TIME,..."
const Option<std::string>& series_option();
/// "LPS.METRIC,LPS.METRIC=TIME,..."
const Option<std::string>& record_option();
/// "METRIC,..."
const Option<std::string>& batch_means_option();
/// Conditions, parsed by output/stop_rule.h; and the interval of their checks, in ticks of
/// simulated time, 0: a hundred checks in the run.
const Option<std::string>& stop_when_option();
const Option<std::int64_t>& stop_check_option();

/// Options that hold from the beginning of a run, so that they cannot be changed when it is
/// resumed; and the others.
OptionList lasting_metric_options();
OptionList metric_options();

/// Makes the metrics of a prepared model keep what the options request; the horizon is known.
/// Throws UsageError for metrics that the model does not have, and for times without observations.
/// `options` then own what the metrics refer to, and must live until the results are written.
void apply_metric_options(const Model& model, RunOptions& options);

/// Throws UsageError that names the flag, the near matches and all metrics.
const Metric& find_metric(const Model& model, const std::string& name, const std::string& flag);
/// The metrics with batch means; their series have some thousand intervals.
std::vector<const Metric*> batched_metrics(const Model& model, const RunOptions& options);

}  // namespace orrery
