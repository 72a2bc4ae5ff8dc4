// SPDX-License-Identifier: Apache-2.0
//
// A study file holds the same settings as the command line of `orrery sweep`: `key = value` with
// the long names of the options, `model = "..."`, the values of parameters in a table [set], and,
// for points that are no grid, tables [[point]]. It is TOML, read by toml++. Every error is
// reported with its line and key.
#pragma once

#include <cstddef>
#include <string>

#include "cli/run_arguments.h"

namespace CLI {
class App;
}

namespace orrery::cli {

/// Reads the file `arguments.study_file` and sets options that the command line did not give.
/// Throws UsageError.
void apply_study_file(CLI::App& command, SweepArguments& arguments);

/// "study file 'a.toml', line 3, 'seeds': "
std::string study_file_place(const std::string& path, std::size_t line, std::string_view key);

}  // namespace orrery::cli
