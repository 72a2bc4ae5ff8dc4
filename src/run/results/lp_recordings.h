// SPDX-License-Identifier: Apache-2.0
//
// Reads what --record requests of single LPs, such as 'router*.wait=10ms,*.drops': LPs and metric,
// with a dot between them, and the interval of a series.
#pragma once

#include <string>
#include <vector>

#include "core/lp_recording.h"
#include "orrery/model.h"

namespace orrery {

/// By metric; a metric that is not requested has no LPs. Throws UsageError that names `flag`: for
/// metrics and LPs that the model does not have, and for series up to `until` that would fill the
/// memory.
std::vector<LpRecording> read_recordings(const std::string& flag, const std::string& text,
                                         const Model& model, Time until);

}  // namespace orrery
