// SPDX-License-Identifier: Apache-2.0
//
// A config file holds what the command line can: `key = value` with the long names of the options,
// `model = "..."`, and the parameters in a section [set] (config_syntax.h).
#pragma once

#include "cli/run_arguments.h"

namespace CLI {
class App;
}

namespace orrery::cli {

/// Fills in what the command line left open from the file `arguments.config`. Throws UsageError
/// that names file and line for a key that does not exist.
void apply_config_file(CLI::App& command, RunArguments& arguments);

}  // namespace orrery::cli
