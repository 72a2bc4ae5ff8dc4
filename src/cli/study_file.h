// SPDX-License-Identifier: Apache-2.0
//
// A study file holds what the command line of `orrery sweep` can: `key = value` with the long names
// of the options, `model = "..."`, the values of parameters in a table [set], and, where they are
// no grid, points as tables [[point]]. It is TOML, read by toml++, and every mistake is told with
// its line and key.
#pragma once

#include <cstddef>
#include <string>

#include "cli/run_arguments.h"

namespace CLI {
class App;
}

namespace orrery::cli {

/// Fills in what the command line left open from the file `arguments.study_file`. Throws
/// UsageError.
void apply_study_file(CLI::App& command, SweepArguments& arguments);

/// "study file 'a.toml', line 3, 'seeds': "
std::string study_file_place(const std::string& path, std::size_t line, std::string_view key);

}  // namespace orrery::cli
