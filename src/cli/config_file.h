// SPDX-License-Identifier: Apache-2.0
//
// A config file holds the same settings as the command line: `key = value` with the long names of
// the options, `model = "..."`, and the parameters in a section [set] (config_syntax.h).
#pragma once

#include "cli/run_arguments.h"

namespace CLI {
class App;
}

namespace orrery::cli {

/// Reads the file `arguments.config` and sets options that the command line did not give. Throws
/// UsageError with file and line for a key that does not exist.
void apply_config_file(CLI::App& command, RunArguments& arguments);

}  // namespace orrery::cli
