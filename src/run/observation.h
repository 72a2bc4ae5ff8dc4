// SPDX-License-Identifier: Apache-2.0
//
// What a run observes beside what its model declares, and until when: a warm-up that does not
// count, time series of any metric, batch means, and a condition at which the run has seen enough.
// Here are the options and what they do to a model's metrics; what is made of the observations is
// in observe/ and study/.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/model.h"
#include "run/options.h"

namespace orrery {

/// In ticks of simulated time; 0: there is none.
const Option<std::int64_t>& warm_up_option();
/// "METRIC=TIME,..."
const Option<std::string>& series_option();
/// "METRIC,..."
const Option<std::string>& batch_means_option();
/// Conditions, as observe/stop_rule.h reads them; and how often they are looked at, in ticks of
/// simulated time, 0: a hundred times in the run.
const Option<std::string>& stop_when_option();
const Option<std::int64_t>& stop_check_option();

/// What is with a run from its beginning, so that it cannot be changed where it is resumed, and the
/// rest.
OptionList lasting_observation_options();
OptionList observation_options();

/// Lets the metrics of a prepared model keep what is asked for; the horizon is known. Throws
/// UsageError for metrics that it does not have, and for times at which nothing would be observed.
void observe(const Model& model, const RunOptions& options);

/// Throws UsageError that names the flag and the near matches.
const Metric& find_metric(const Model& model, const std::string& name, const std::string& flag);
/// Those with batch means; their series have some thousand intervals.
std::vector<const Metric*> batched_metrics(const Model& model, const RunOptions& options);

}  // namespace orrery
