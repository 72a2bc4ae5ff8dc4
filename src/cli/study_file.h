// SPDX-License-Identifier: Apache-2.0
//
// A study file holds the same settings as the command line of `orrery sweep`: `key = value` with
// the long names of the options, `model = "..."`, the values of parameters in a table [set], and,
// for points that are no grid, tables [[point]]. It is TOML, read by toml++. Every error is
// reported with its line and key.
#pragma once

#include <string>

#include "cli/sweep_request.h"

namespace orrery::cli {

/// Reads the file at `path` and sets options that the command line did not give. Throws UsageError.
void apply_study_file(OptionTable& options, const std::string& path, SweepRequest& request);

}  // namespace orrery::cli
