// SPDX-License-Identifier: Apache-2.0
//
// A config file holds the same settings as the command line: `key = value` with the long names of
// the options, `model = "..."`, and the parameters in a section [set] (config_syntax.h).
#pragma once

#include <functional>
#include <string>

#include "cli/run_request.h"

namespace orrery::cli {

/// Reads the file `request.config` and sets options that the command line did not give and that are
/// not `ignored`. Throws UsageError with file, line and key for a key that does not exist.
void apply_config_file(OptionTable& options, RunRequest& request,
                       const std::function<bool(const std::string& flag)>& ignored);

}  // namespace orrery::cli
